/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Scheduling time per task: what a policy and an eviction rule cost, without an engine.
 *
 * All tasks of a tiled matrix product are ready at once: `2d` (a block row and a block column
 * per task) or `3d` (three tiles per task). Each of K devices holds a quarter of the data. The
 * devices take turns: one pop, the loads and evictions that it implies, start, done. The time includes
 * this small model of the devices.
 *
 *     sched_speed [POLICY [RULE [DEVICES]]]       (default: darts luf 4)
 */
#include "sched/evict.h"
#include "sched/policy.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

struct device {
    od_list resident; /* od_replica.lru */
    od_list buffer;   /* always empty: a task runs as soon as it is popped */
    uint32_t room;    /* data that still fit */
};

struct load {
    unsigned ndevices;
    uint32_t ndata, ntasks;
    od_datum **data;
    od_task *tasks;
    struct device device[OD_MAX_DEVICES];
    uint64_t loads;
};

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static double unit_transfer(void *engine, const od_datum *datum, unsigned k)
{
    (void)engine;
    (void)k;
    return (double)datum->size * 1e-3;
}

static void *checked(void *memory)
{
    if (!memory) {
        fprintf(stderr, "sched_speed: out of memory\n");
        exit(1);
    }
    return memory;
}

static void make_data(struct load *load, uint32_t ndata)
{
    load->ndata = ndata;
    load->data = checked(calloc(ndata, sizeof *load->data));
    for (uint32_t d = 0; d < ndata; d++) {
        od_datum *datum = checked(calloc(1, sizeof *datum + load->ndevices * sizeof datum->replica[0]));
        *datum = (od_datum){.id = d, .size = 1, .valid = OD_BIT(OD_HOST), .home = OD_NOWHERE};
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

static void make_task(struct load *load, uint32_t i, uint32_t naccess, const uint32_t *reads)
{
    od_access *access = checked(calloc(naccess, sizeof *access));
    for (uint32_t a = 0; a < naccess; a++)
        access[a] = (od_access){.datum = load->data[reads[a]], .mode = OD_READ};
    load->tasks[i] = (od_task){
        .id = i, .place = OD_NOWHERE, .bound = OD_NOWHERE, .duration = 1e-3, .naccess = naccess, .access = access};
}

static void make_product_2d(struct load *load, uint32_t n)
{
    make_data(load, 2 * n);
    load->ntasks = n * n;
    load->tasks = checked(calloc(load->ntasks, sizeof *load->tasks));
    for (uint32_t i = 0; i < load->ntasks; i++)
        make_task(load, i, 2, (uint32_t[]){i / n, n + i % n});
}

static void make_product_3d(struct load *load, uint32_t n)
{
    make_data(load, 3 * n * n);
    load->ntasks = n * n * n;
    load->tasks = checked(calloc(load->ntasks, sizeof *load->tasks));
    for (uint32_t t = 0; t < load->ntasks; t++) {
        uint32_t i = t / (n * n), j = t / n % n, l = t % n;
        make_task(load, t, 3, (uint32_t[]){i * n + l, n * n + l * n + j, 2 * n * n + i * n + j});
    }
}

static void make_room(struct load *load, const od_evict_ops *rule, const od_policy_ops *policy, void *state,
                      const od_task *task)
{
    unsigned k = (unsigned)task->place;
    struct device *device = &load->device[k];
    od_evict_query query = {.k = k,
                            .resident = &device->resident,
                            .buffer = &device->buffer,
                            .head = task,
                            .policy = policy,
                            .policy_state = state};
    od_replica *replica = rule->victim(&query);
    od_list_remove(&device->resident, &replica->lru);
    replica->state = OD_ABSENT;
    device->room++;
    policy->evicted(state, replica->datum, k);
}

static void run_task(struct load *load, const od_evict_ops *rule, const od_policy_ops *policy, void *state,
                     od_task *task)
{
    unsigned k = (unsigned)task->place;
    struct device *device = &load->device[k];
    for (uint32_t a = 0; a < task->naccess; a++)
        task->access[a].datum->replica[k].buffered_uses++;
    for (uint32_t a = 0; a < task->naccess; a++) {
        od_replica *replica = &task->access[a].datum->replica[k];
        if (replica->state == OD_PRESENT) {
            od_list_remove(&device->resident, &replica->lru);
        } else {
            if (device->room == 0)
                make_room(load, rule, policy, state, task);
            device->room--;
            load->loads++;
            replica->state = OD_PRESENT;
            policy->incoming(state, replica->datum, k);
        }
        od_list_push_back(&device->resident, &replica->lru);
    }
    for (uint32_t a = 0; a < task->naccess; a++)
        task->access[a].datum->replica[k].buffered_uses--;
    if (policy->started)
        policy->started(state, task, k);
    if (policy->done)
        policy->done(state, task, k);
}

static uint32_t run_all(struct load *load, const od_evict_ops *rule, const od_policy_ops *policy, void *state)
{
    uint32_t done = 0;
    for (bool any = true; any;) {
        any = false;
        for (unsigned k = 0; k < load->ndevices; k++) {
            od_task *task = policy->pop(state, k);
            if (!task)
                continue;
            task->place = (int)k;
            run_task(load, rule, policy, state, task);
            any = true;
            done++;
        }
    }
    return done;
}

static void measure(const char *kind, struct load *load, const od_policy_ops *policy, const od_evict_ops *rule)
{
    void *state;
    od_policy_env env = {.ndevices = load->ndevices, .seed = 1, .transfer_time = unit_transfer};
    if (policy->create(&env, &state)) {
        fprintf(stderr, "sched_speed: out of memory\n");
        exit(1);
    }
    double start = seconds();
    for (uint32_t i = 0; i < load->ntasks; i++) {
        if (policy->ready(state, &load->tasks[i])) {
            fprintf(stderr, "sched_speed: out of memory\n");
            exit(1);
        }
    }
    double arrived = seconds();
    uint32_t done = run_all(load, rule, policy, state);
    double end = seconds();
    policy->destroy(state);
    double per_task = 1e9 / load->ntasks;
    printf("%s  %9u tasks  %7u data  arrival %6.0f  pop to done %6.0f  total %6.0f ns/task  %.3f loads/task\n", kind,
           done, load->ndata, (arrived - start) * per_task, (end - arrived) * per_task, (end - start) * per_task,
           (double)load->loads / load->ntasks);
    fflush(stdout);
}

static void release(struct load *load)
{
    for (uint32_t i = 0; i < load->ntasks; i++)
        free(load->tasks[i].access);
    for (uint32_t d = 0; d < load->ndata; d++)
        free(load->data[d]);
    free(load->tasks);
    free(load->data);
}

int main(int argc, char **argv)
{
    const od_policy_ops *policy = od_policy_find(argc > 1 ? argv[1] : "darts");
    const od_evict_ops *rule = od_evict_find(argc > 2 ? argv[2] : "luf");
    long ndevices = argc > 3 ? strtol(argv[3], NULL, 10) : 4;
    if (!policy || !rule || ndevices < 1 || ndevices > OD_MAX_DEVICES) {
        fprintf(stderr, "usage: sched_speed [POLICY [RULE [DEVICES]]]\n");
        return 2;
    }
    const uint32_t sizes_2d[] = {100, 316, 1000}, sizes_3d[] = {22, 46, 100};
    for (int i = 0; i < 3; i++) {
        struct load load = {.ndevices = (unsigned)ndevices};
        make_product_2d(&load, sizes_2d[i]);
        measure("2d", &load, policy, rule);
        release(&load);
    }
    for (int i = 0; i < 3; i++) {
        struct load load = {.ndevices = (unsigned)ndevices};
        make_product_3d(&load, sizes_3d[i]);
        measure("3d", &load, policy, rule);
        release(&load);
    }
    return 0;
}
