/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * What scheduling costs per task: a policy and an eviction rule without an engine, without execution, in one thread.
 *
 * All tasks of a workload are ready at once: the two- and three-dimensional tiled matrix product, or the task set of
 * the Cholesky factorisation. Each of K devices holds a quarter of the data. The devices take turns: one pop, the loads
 * and evictions that it implies, start, done. The time is processor time and includes this small model of the devices;
 * the memory is what the policy holds when all tasks have arrived. Devices are all alike, and have no work but what the
 * policy has planned for them. sched_cost_wide is the same for more devices.
 *
 * Of several runs the fastest counts. With --plain the plain versions of the policies are measured (tests/reference):
 * full scans, so mind the number of tasks.
 */
#include "bench/common/clock.h"
#include "bench/common/command.h"
#include "sched/evict.h"
#include "sched/phase/active.h"
#include "sched/policy.h"
#include "tests/reference/reference.h"

#include <malloc.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- what is measured ------------------------------------------------------- */

struct device {
    od_list resident; /* od_replica.lru */
    od_list buffer;   /* always empty: a task runs as soon as it is popped */
    uint32_t room;    /* data that still fit */
};

struct load {
    unsigned ndevices;
    uint32_t ndata, ntasks, filled;
    od_datum **data;
    od_task *tasks;
    struct device device[OD_MAX_DEVICES];
    uint64_t loads;
    od_policy_env env;
    size_t memory; /* of each device */
    od_known *known; /* where the policy wants it */
    od_active active;
    od_alike alike;
    od_placeset moved;
};

struct subject {
    od_policy_choice policy;
    const od_policy_ops *ops; /* of the policy, or its plain version */
    const od_evict_ops *rule;
};

struct figures {
    double ns_per_task, bytes_per_task, loads_per_task;
};

static void *checked(void *memory)
{
    if (!memory)
        bench_fail("out of memory");
    return memory;
}

static double processor_seconds(void)
{
    return bench_clock(CLOCK_PROCESS_CPUTIME_ID);
}

static double heap_bytes(void)
{
    struct mallinfo2 info = mallinfo2();
    return (double)info.uordblks + (double)info.hblkhd;
}

/* --- workloads ---------------------------------------------------------------- */

static double unit_transfer(void *engine, const od_datum *datum, unsigned k)
{
    (void)engine;
    (void)k;
    return (double)datum->size * 1e-4;
}

static double unit_transfer_from(void *engine, const od_datum *datum, od_placeset places, unsigned k)
{
    (void)places;
    return unit_transfer(engine, datum, k);
}

static od_device_load no_load(void *engine, unsigned k)
{
    (void)engine;
    (void)k;
    return (od_device_load){0};
}

static void make_data(struct load *load, uint32_t ndata, uint32_t ntasks)
{
    load->ndata = ndata;
    load->ntasks = ntasks;
    load->data = checked(calloc(ndata, sizeof *load->data));
    load->tasks = checked(calloc(ntasks, sizeof *load->tasks));
    for (uint32_t d = 0; d < ndata; d++) {
        od_datum *datum = checked(calloc(1, sizeof *datum + load->ndevices * sizeof datum->replica[0]));
        *datum = (od_datum){
            .id = d, .base = 1 + (uintptr_t)d, .size = 1, .valid = od_placeset_of(OD_HOST), .home = OD_NOWHERE};
        for (unsigned k = 0; k < load->ndevices; k++)
            datum->replica[k].datum = datum;
        load->data[d] = datum;
    }
    for (unsigned k = 0; k < load->ndevices; k++) {
        load->device[k].room = ndata / 4 > 3 ? ndata / 4 : 3;
        od_list_init(&load->device[k].resident);
        od_list_init(&load->device[k].buffer);
    }
}

static void make_task(struct load *load, uint32_t naccess, const uint32_t *reads)
{
    uint32_t i = load->filled++;
    od_access *access = checked(calloc(naccess, sizeof *access));
    for (uint32_t a = 0; a < naccess; a++)
        access[a] = (od_access){.datum = load->data[reads[a]], .mode = OD_READ};
    load->tasks[i] = (od_task){
        .id = i, .place = OD_NOWHERE, .bound = OD_NOWHERE, .duration = 1e-3, .naccess = naccess, .access = access};
}

static void make_gemm2d(struct load *load, double ntasks)
{
    uint32_t n = (uint32_t)(sqrt(ntasks) + 0.5);
    make_data(load, 2 * n, n * n);
    for (uint32_t i = 0; i < n * n; i++)
        make_task(load, 2, (uint32_t[]){i / n, n + i % n});
}

static void make_gemm3d(struct load *load, double ntasks)
{
    uint32_t n = (uint32_t)(cbrt(ntasks) + 0.5);
    make_data(load, 3 * n * n, n * n * n);
    for (uint32_t t = 0; t < n * n * n; t++) {
        uint32_t i = t / (n * n), j = t / n % n, l = t % n;
        make_task(load, 3, (uint32_t[]){i * n + l, n * n + l * n + j, 2 * n * n + i * n + j});
    }
}

static uint32_t lower_tile(uint32_t i, uint32_t j)
{
    return i * (i + 1) / 2 + j;
}

static void make_cholesky(struct load *load, double ntasks)
{
    uint32_t n = (uint32_t)(cbrt(6 * ntasks) - 0.5);
    make_data(load, n * (n + 1) / 2, n * (n + 1) / 2 * (n + 2) / 3);
    for (uint32_t k = 0; k < n; k++) {
        make_task(load, 1, (uint32_t[]){lower_tile(k, k)});
        for (uint32_t i = k + 1; i < n; i++)
            make_task(load, 2, (uint32_t[]){lower_tile(k, k), lower_tile(i, k)});
        for (uint32_t i = k + 1; i < n; i++) {
            make_task(load, 2, (uint32_t[]){lower_tile(i, k), lower_tile(i, i)});
            for (uint32_t j = k + 1; j < i; j++)
                make_task(load, 3, (uint32_t[]){lower_tile(i, k), lower_tile(j, k), lower_tile(i, j)});
        }
    }
}

static const struct workload {
    const char *name;
    void (*make)(struct load *load, double ntasks);
} workloads[] = {{"gemm2d", make_gemm2d}, {"gemm3d", make_gemm3d}, {"cholesky", make_cholesky}};

static void release(struct load *load)
{
    for (uint32_t i = 0; i < load->ntasks; i++)
        free(load->tasks[i].access);
    for (uint32_t d = 0; d < load->ndata; d++)
        free(load->data[d]);
    free(load->tasks);
    free(load->data);
}

/* --- the model of the devices --------------------------------------------------- */

static void make_room(struct load *load, const struct subject *subject, void *state, const od_task *task)
{
    unsigned k = (unsigned)task->place;
    struct device *device = &load->device[k];
    od_evict_query query = {.k = k,
                            .resident = &device->resident,
                            .buffer = &device->buffer,
                            .head = task,
                            .policy = subject->ops,
                            .policy_state = state};
    od_replica *replica = subject->rule->victim(&query);
    od_list_remove(&device->resident, &replica->lru);
    replica->state = OD_ABSENT;
    device->room++;
    od_policy_evicted(subject->ops, state, replica->datum, k);
}

static void bring(struct load *load, const struct subject *subject, void *state, const od_task *task)
{
    unsigned k = (unsigned)task->place;
    struct device *device = &load->device[k];
    for (uint32_t a = 0; a < task->naccess; a++) {
        od_replica *replica = &task->access[a].datum->replica[k];
        if (replica->state == OD_PRESENT) {
            od_list_remove(&device->resident, &replica->lru);
        } else {
            if (device->room == 0)
                make_room(load, subject, state, task);
            device->room--;
            load->loads++;
            replica->state = OD_PRESENT;
            od_policy_incoming(subject->ops, state, replica->datum, k);
        }
        od_list_push_back(&device->resident, &replica->lru);
    }
}

static void run_task(struct load *load, const struct subject *subject, void *state, od_task *task)
{
    unsigned k = (unsigned)task->place;
    for (uint32_t a = 0; a < task->naccess; a++)
        task->access[a].datum->replica[k].buffered_uses++;
    bring(load, subject, state, task);
    for (uint32_t a = 0; a < task->naccess; a++)
        task->access[a].datum->replica[k].buffered_uses--;
    if (subject->ops->started)
        subject->ops->started(state, task, k);
    if (subject->ops->done)
        subject->ops->done(state, task, k);
    od_known_follow_done(load->known, task);
}

static void choose_active(struct load *load)
{
    od_active_estimate estimate;
    if (!od_active_is_due(&load->active, load->known))
        return;
    checked(od_active_begin(&load->active, &load->env, load->known, &estimate) ? NULL : load);
    od_active_find(&estimate);
    od_active_end(&load->active, &estimate);
}

/* True: it had a task. */
static bool ask(struct load *load, const struct subject *subject, void *state, unsigned k)
{
    choose_active(load);
    od_task *task = subject->ops->pop(state, k);
    if (!task)
        return false;
    od_known_follow_taken(load->known, task);
    task->state = OD_TASK_BUFFERED;
    task->place = (int)k;
    run_task(load, subject, state, task);
    return true;
}

static void run_all(struct load *load, const struct subject *subject, void *state)
{
    od_placeset all = od_placeset_below(load->ndevices);
    for (uint32_t done = 0; done < load->ntasks;) {
        od_placeset_walk at = od_placeset_begin(subject->ops->offers ? subject->ops->offers(state) : all);
        while (od_placeset_next(&at))
            done += ask(load, subject, state, at.place);
    }
}

static unsigned active(void *engine)
{
    return ((const struct load *)engine)->active.count;
}

static bool is_idle(void *engine, unsigned k)
{
    return k >= active(engine);
}

static struct figures measure(struct load *load, const struct subject *subject)
{
    void *state;
    load->memory = load->device[0].room;
    load->alike = (od_alike){.ngroups = 1, .nsorts = 1};
    load->env = (od_policy_env){.ndevices = load->ndevices,
                                .buffer = 5,
                                .memory = &load->memory,
                                .seed = 1,
                                .values = subject->policy.values,
                                .transfer_time = unit_transfer,
                                .transfer_time_from = unit_transfer_from,
                                .inbound = 1e4,
                                .load = no_load,
                                .moved = &load->moved,
                                .alike = &load->alike,
                                .engine = load,
                                .active = active,
                                .is_idle = is_idle};
    double bytes = heap_bytes(), start = processor_seconds();
    od_active_init(&load->active, &load->env, OD_ACTIVE_AS_POLICY, subject->ops->chooses_active);
    load->known = subject->ops->wants_known ? checked(od_known_create(load->ndevices, NULL, NULL)) : NULL;
    load->env.known = load->known;
    if (od_policy_create(subject->ops, &load->env, &state))
        checked(NULL);
    for (uint32_t i = 0; i < load->ntasks; i++) {
        load->tasks[i].state = OD_TASK_READY;
        if (od_known_follow_ready(load->known, &load->tasks[i]) || subject->ops->ready(state, &load->tasks[i]))
            checked(NULL);
    }
    bytes = heap_bytes() - bytes;
    run_all(load, subject, state);
    double seconds = processor_seconds() - start;
    subject->ops->destroy(state);
    od_known_destroy(load->known);
    return (struct figures){.ns_per_task = seconds * 1e9 / load->ntasks,
                            .bytes_per_task = bytes / load->ntasks,
                            .loads_per_task = (double)load->loads / load->ntasks};
}

/* --- the command ------------------------------------------------------------------ */

struct command {
    bool json, plain;
    uint64_t repeat;
    char *policies, *tasks, *devices, *workloads; /* lists with commas */
};

static struct subject subject_of(const struct command *command, const char *policy)
{
    struct subject subject;
    char error[1024];
    if (od_policy_choose(policy, &subject.policy, error, sizeof error))
        bench_fail("%s: %s", policy, error);
    subject.ops = command->plain ? od_reference_find(subject.policy.ops->name) : subject.policy.ops;
    subject.rule = od_evict_find(subject.policy.ops->default_evict);
    if (!subject.ops)
        bench_fail("%s has no plain version", policy);
    return subject;
}

static const struct workload *workload_of(const char *name)
{
    for (size_t i = 0; i < sizeof workloads / sizeof *workloads; i++) {
        if (strcmp(workloads[i].name, name) == 0)
            return &workloads[i];
    }
    bench_fail("no workload '%s'", name);
}

static void print_figures(const struct command *command, const struct load *load, const char *workload,
                          const char *policy, struct figures figures)
{
    static bool any;
    const char *kind = command->plain ? "plain " : "";
    if (command->json)
        printf(
            "%s\n  {\"workload\": \"%s\", \"tasks\": %u, \"devices\": %u, \"policy\": \"%s%s\", \"ns_per_task\": %.1f, "
            "\"bytes_per_task\": %.1f}",
            any ? "," : "[", workload, load->ntasks, load->ndevices, kind, policy, figures.ns_per_task,
            figures.bytes_per_task);
    else if (!any)
        printf("%-9s %9s %8s %-20s %11s %14s %14s\n", "workload", "tasks", "devices", "policy", "ns/task", "bytes/task",
               "loads/task");
    if (!command->json)
        printf("%-9s %9u %8u %s%-*s %11.0f %14.0f %14.3f\n", workload, load->ntasks, load->ndevices, kind,
               20 - (int)strlen(kind), policy, figures.ns_per_task, figures.bytes_per_task, figures.loads_per_task);
    any = true;
    fflush(stdout);
}

static void run_one(const struct command *command, const struct workload *workload, const char *policy,
                    const double size[2])
{
    struct subject subject = subject_of(command, policy);
    struct figures best = {.ns_per_task = (double)INFINITY};
    struct load load = {0};
    for (uint64_t run = 0; run < command->repeat; run++) {
        load = (struct load){.ndevices = (unsigned)size[1]};
        workload->make(&load, size[0]);
        struct figures figures = measure(&load, &subject);
        best = figures.ns_per_task < best.ns_per_task ? figures : best;
        release(&load);
    }
    print_figures(command, &load, workload->name, policy, best);
}

/* Calls run_one for each number of tasks and of devices. */
static void run_sizes(const struct command *command, const struct workload *workload, const char *policy)
{
    char *tasks = checked(strdup(command->tasks)), *rest = tasks;
    for (char *count; (count = strsep(&rest, ","));) {
        char *devices = checked(strdup(command->devices)), *others = devices;
        for (char *k; (k = strsep(&others, ","));)
            run_one(command, workload, policy, (double[]){strtod(count, NULL), strtod(k, NULL)});
        free(devices);
    }
    free(tasks);
}

static void run_list(const struct command *command)
{
    char *names = checked(strdup(command->workloads)), *rest = names;
    for (char *name; (name = strsep(&rest, ","));) {
        /* A comma in a policy's options would be one between policies: a plus stands for it. */
        char *policies = checked(strdup(command->policies)), *others = policies;
        for (char *policy; (policy = strsep(&others, ","));) {
            for (char *plus; (plus = strchr(policy, '+'));)
                *plus = ',';
            run_sizes(command, workload_of(name), policy);
        }
        free(policies);
    }
    free(names);
}

static struct command parse(int argc, char **argv)
{
    struct command command = {
        .policies = "darts", .tasks = "1e4,1e5,1e6", .devices = "1,2,4,8", .workloads = "gemm2d,gemm3d,cholesky"};
    const bench_option options[] = {
        {"policies", "P,...", "a plus stands for a comma inside (default darts)", bench_take_text,
         .value = &command.policies},
        {"tasks", "N,...", "about so many (default 1e4,1e5,1e6)", bench_take_text, .value = &command.tasks},
        {"devices", "K,...", "how many (default 1,2,4,8)", bench_take_text, .value = &command.devices},
        {"workloads", "W,...", "of gemm2d, gemm3d and cholesky (default all)", bench_take_text,
         .value = &command.workloads},
        {"repeat", "R", "runs, of which the fastest counts", bench_take_number, &command.repeat, .low = 1, .high = 1000,
         .standard = 1},
        {"plain", .help = "measure the plain versions of the policies", .take = bench_take_yes,
         .value = &command.plain},
        {"json", .help = "print JSON", .take = bench_take_yes, .value = &command.json},
        {.name = NULL},
    };
    const bench_command line = {.usage =
                                    "Usage: sched_cost [OPTION]...\n"
                                    "Processor time and memory per task of scheduling policies, without execution.\n",
                                .options = options,
                                .notes = BENCH_EXIT_CODES,
                                .expected = "no arguments"};
    bench_parse(argc, argv, &line);
    return command;
}

int main(int argc, char **argv)
{
    struct command command = parse(argc, argv);
    run_list(&command);
    if (command.json)
        printf("\n]\n");
    return 0;
}
