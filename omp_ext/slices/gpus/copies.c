/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* See copies.h. */
#include "omp_ext/slices/gpus/copies.h"

#include "omp_ext/libomp/league.h"
#include "omp_ext/libomp/real.h"
#include "omp_ext/process/fatal.h"
#include "omp_ext/process/memory.h"
#include "omp_ext/slices/gpus/apart.h"
#include "omp_ext/slices/gpus/merge.h"
#include "omp_ext/tasks/launch/launch.h"
#include "omp_ext/tasks/launch/queue.h"
#include "util/memory.h"
#include "util/thread.h"

#include <stdlib.h>
#include <string.h>

/* A slice, on a device of its own. */
typedef struct part {
    od_launch launch; /* of its own: the kernel may go on when it has been launched */
    unsigned k;
    int device;     /* OpenMP's number */
    void *variable; /* od_league_slice, there */
    void **memory;  /* of the copies, by access; NULL: the first slice uses the data themselves */
    void **at;      /* where its kernel finds its data */
    void *handle;   /* of its kernel, which is running; or NULL */
    bool started, failed;
} part;

typedef struct run {
    od_copies *copies;
    const od_launch *launch;
    const od_task *task;
    unsigned k;
    part *parts;   /* malloc'ed, as all below */
    char **before; /* of each access, as the kernel has found it */
    char *after;   /* as large as the largest */
    od_merge *merges;
} run;

static const od_datum *datum_of(const run *r, uint32_t i)
{
    return r->task->access[i].datum;
}

/* What a kernel writes to other data is lost. */
static bool is_written(const run *r, uint32_t i)
{
    return r->task->access[i].mode & OD_WRITE;
}

static bool copy_bytes(void *to, int to_device, const void *from, int from_device, size_t bytes)
{
    return !REAL(omp_target_memcpy)(to, from, bytes, 0, 0, to_device, from_device);
}

static int initial_device(void)
{
    return REAL(omp_get_initial_device)();
}

/* --- what they need --------------------------------------------------------- */

/* Parts of arrays are not in one place; of the others addresses may be anywhere. */
static bool holds_addresses(const run *r)
{
    bool any = false;
    od_runtime_lock();
    for (uint32_t i = 0; i < r->task->naccess && !any; i++)
        any = datum_of(r, i)->bound || datum_of(r, i)->window;
    od_runtime_unlock();
    return any;
}

static bool copy_launch(const run *r, part *p)
{
    od_kernel_call call = r->launch->call;
    call.apart = true;
    call.runner = NULL;
    if (od_launch_copy(&p->launch, &call))
        return false;
    memcpy(p->launch.access_of, r->launch->access_of, (size_t)call.map.count * sizeof *p->launch.access_of);
    return true;
}

static bool make_memory(const run *r, part *p)
{
    for (uint32_t i = 0; i < r->task->naccess; i++) {
        const od_datum *d = datum_of(r, i);
        char *memory = od_runtime_target_alloc(od_datum_occupies(d), p->device);
        if (!memory)
            return false;
        p->memory[i] = memory;
        p->at[i] = memory + od_datum_phase(d);
    }
    return true;
}

static void find_data(const run *r, part *p)
{
    od_runtime_lock();
    for (uint32_t i = 0; i < r->task->naccess; i++)
        p->at[i] = od_runtime_address(datum_of(r, i), p->k);
    od_runtime_unlock();
}

bool od_copies_may_be_on(unsigned k)
{
    od_engine *engine = od_runtime_lock();
    bool lost = od_placeset_has(od_engine_lost(engine), k);
    od_runtime_unlock();
    return !lost;
}

/* The device of slice `index`: from the one with the data on, those that answer. Where there are too few: that one. */
static unsigned find_device(const run *r, unsigned index)
{
    unsigned n = od_runtime_ndevices();
    for (unsigned step = 0; step < n; step++) {
        unsigned k = (r->k + step) % n;
        if (od_copies_may_be_on(k) && index-- == 0)
            return k;
    }
    return r->k;
}

/* False: there is no memory. */
static bool make_part(const run *r, unsigned index)
{
    part *p = &r->parts[index];
    p->k = find_device(r, index);
    p->device = od_runtime_device_number(p->k);
    p->variable = od_league_variable(r->launch->call.kernel, p->device);
    p->at = od_calloc(r->task->naccess + 1, sizeof *p->at);
    if ((index && p->k == r->k) || !p->variable || !p->at || !copy_launch(r, p))
        return false;
    if (!index) {
        find_data(r, p);
        return true;
    }
    p->memory = od_calloc(r->task->naccess + 1, sizeof *p->memory);
    return p->memory && make_memory(r, p);
}

/* The memory of a lost device is, too: libomptarget would end the process. */
static void free_part(const run *r, part *p)
{
    bool is_lost = p->failed && !od_copies_may_be_on(p->k);
    for (uint32_t i = 0; p->memory && i < r->task->naccess; i++)
        if (p->memory[i] && !is_lost)
            REAL(omp_target_free)(p->memory[i], p->device);
    p->launch.call.structs = NULL;
    od_launch_free(&p->launch);
    free(p->memory);
    free(p->at);
}

static bool make(run *r)
{
    size_t most = 0;
    uint32_t n = r->task->naccess;
    r->parts = od_calloc(r->copies->slices, sizeof *r->parts);
    r->before = od_calloc(n + 1, sizeof *r->before);
    r->merges = od_calloc(n + 1, sizeof *r->merges);
    bool made = r->parts && r->before && r->merges;
    for (uint32_t i = 0; made && i < n; i++) {
        const od_datum *d = datum_of(r, i);
        most = d->size > most ? d->size : most;
        made = (r->before[i] = od_malloc(d->size + 1)) != NULL;
    }
    r->after = od_malloc(most + 1);
    for (unsigned s = 0; made && s < r->copies->slices; s++)
        made = make_part(r, s);
    return made && r->after;
}

static void free_all(run *r)
{
    for (unsigned s = 0; r->parts && s < r->copies->slices; s++)
        free_part(r, &r->parts[s]);
    for (uint32_t i = 0; i < r->task->naccess; i++) {
        if (r->before)
            free(r->before[i]);
        if (r->merges)
            od_merge_free(&r->merges[i]);
    }
    free(r->parts);
    free(r->before);
    free(r->merges);
    free(r->after);
}

/* The data as they are, on the host and on all devices. */
static bool spread(const run *r)
{
    const part *first = r->parts;
    bool done = true;
    for (uint32_t i = 0; done && i < r->task->naccess; i++) {
        size_t bytes = datum_of(r, i)->size;
        done = copy_bytes(r->before[i], initial_device(), first->at[i], first->device, bytes);
        for (unsigned s = 1; done && s < r->copies->slices; s++)
            done = copy_bytes(r->parts[s].at[i], r->parts[s].device, first->at[i], first->device, bytes);
    }
    return done;
}

/* --- the slices --------------------------------------------------------------- */

/* Of each slice the first team. */
static unsigned first_team(const od_copies *copies, unsigned index)
{
    return (unsigned)((uint64_t)copies->teams * index / copies->slices);
}

static bool set_slice(const part *p, od_league_slice slice)
{
    return copy_bytes(p->variable, p->device, &slice, initial_device(), sizeof slice);
}

/* It is asked for until then. */
static bool is_running(part *p)
{
    if (!p->handle)
        return false;
    if (od_queue_enter_device(p->k)) {
        p->failed = true;
        p->handle = NULL; /* what is asked after an error would end the process */
        return false;
    }
    REAL(__tgt_target_nowait_query)(&p->handle);
    od_queue_leave_device(p->k);
    return p->handle;
}

/* From now on kernels run all of their teams again. False: the device does not do what it is told. */
static bool reset(const part *p, bool *excludes)
{
    od_league_slice slice = {0};
    bool answers = copy_bytes(&slice, initial_device(), p->variable, p->device, sizeof slice);
    *excludes |= slice.excludes;
    return set_slice(p, (od_league_slice){0}) && answers;
}

/* Waits for its end. */
static void finish(part *p, bool *excludes)
{
    enum { NAP_NS = 10 * 1000 };
    if (!p->started)
        return;
    p->started = false;
    while (is_running(p))
        od_thread_nap(NAP_NS);
    if (p->failed)
        od_runtime_probe((int)p->k);
    if (!od_copies_may_be_on(p->k) || reset(p, excludes))
        return;
    p->failed = true;
    od_runtime_probe((int)p->k);
    if (od_copies_may_be_on(p->k)) /* others would lack teams there */
        od_fatal("a device cannot be told to run whole kernels again");
}

/* Logical devices of one GPU have one variable: their slices run one after the other. */
static void start(const run *r, unsigned index, bool *excludes)
{
    part *p = &r->parts[index];
    const od_copies *copies = r->copies;
    unsigned first = first_team(copies, index), teams = first_team(copies, index + 1) - first;
    for (unsigned s = 0; s < index; s++)
        if (r->parts[s].device == p->device)
            finish(&r->parts[s], excludes);
    p->started = true;
    p->launch.call.teams = (int32_t)teams;
    p->launch.call.args.teams[0] = teams;
    if (copies->threads)
        p->launch.call.args.threads[0] = copies->threads;
    p->failed = !set_slice(p, (od_league_slice){.first_team = first, .teams = copies->teams}) ||
                od_launch_start_at(&p->launch, r->task->access, p->at, p->device, &p->handle);
}

static od_merged run_slices(const run *r)
{
    bool failed = false, excludes = false;
    if (!od_apart_begin())
        return OD_MERGED_BUSY;
    for (unsigned s = 0; s < r->copies->slices; s++)
        start(r, s, &excludes);
    for (unsigned s = 0; s < r->copies->slices; s++) {
        finish(&r->parts[s], &excludes);
        failed |= r->parts[s].failed;
    }
    od_apart_end();
    return failed ? OD_MERGED_NOT : excludes ? OD_MERGED_EXCLUDES : OD_MERGED;
}

/* --- what they have made of the data -------------------------------------------- */

/* Words that hold addresses of copies mean nothing elsewhere. */
static bool leads_to_copies(const run *r, const part *p, const od_merge *merge)
{
    bool leads = false;
    for (uint32_t i = 0; p->memory && i < r->task->naccess && !leads; i++) {
        uintptr_t begin = (uintptr_t)p->at[i];
        leads = od_merge_leads_to(merge, r->after, begin, begin + datum_of(r, i)->size);
    }
    return leads;
}

static od_merged merge_datum(const run *r, uint32_t i)
{
    const od_datum *d = datum_of(r, i);
    od_merge *merge = &r->merges[i];
    od_merged merged = OD_MERGED;
    if (!od_merge_begin(merge, d->base, d->size, r->before[i]))
        return OD_MERGED_LARGE;
    for (unsigned s = 0; s < r->copies->slices && merged == OD_MERGED; s++) {
        const part *p = &r->parts[s];
        if (!copy_bytes(r->after, initial_device(), p->at[i], p->device, d->size))
            merged = OD_MERGED_NOT;
        else if (leads_to_copies(r, p, merge))
            merged = OD_MERGED_POINTERS;
        else if (!od_merge_add(merge, s, r->after))
            merged = OD_MERGED_CLASHES;
    }
    return merged;
}

static od_merged merge_all(const run *r)
{
    od_merged merged = OD_MERGED;
    for (uint32_t i = 0; i < r->task->naccess && merged == OD_MERGED; i++)
        if (is_written(r, i))
            merged = merge_datum(r, i);
    return merged;
}

/* From the first byte that differs from what is there to the last one. */
static bool deliver_datum(const run *r, uint32_t i)
{
    const part *first = r->parts;
    const char *merged = r->merges[i].merged;
    size_t begin = 0, end = datum_of(r, i)->size;
    if (!copy_bytes(r->after, initial_device(), first->at[i], first->device, end))
        return false;
    while (begin < end && merged[begin] == r->after[begin])
        begin++;
    while (end > begin && merged[end - 1] == r->after[end - 1])
        end--;
    return begin == end ||
           copy_bytes((char *)first->at[i] + begin, first->device, merged + begin, initial_device(), end - begin);
}

static bool deliver(const run *r)
{
    bool done = true;
    for (uint32_t i = 0; done && i < r->task->naccess; i++)
        done = !is_written(r, i) || deliver_datum(r, i);
    return done;
}

/* --- the whole kernel -------------------------------------------------------------- */

static int run_whole(const run *r)
{
    return od_launch_run(r->launch, r->task->access, r->k, NULL);
}

/* On the data as they were. */
static int run_again(const run *r)
{
    const part *first = r->parts;
    for (uint32_t i = 0; i < r->task->naccess; i++)
        if (!copy_bytes(first->at[i], first->device, r->before[i], initial_device(), datum_of(r, i)->size))
            return 1;
    return run_whole(r);
}

static bool is_the_same(const run *r, bool *same)
{
    const part *first = r->parts;
    for (uint32_t i = 0; i < r->task->naccess; i++) {
        size_t bytes = datum_of(r, i)->size;
        if (!is_written(r, i))
            continue;
        if (!copy_bytes(r->after, initial_device(), first->at[i], first->device, bytes))
            return false;
        *same &= !memcmp(r->after, r->merges[i].merged, bytes);
    }
    return true;
}

static int try(const run *r)
{
    bool same = true;
    if (run_again(r) || !is_the_same(r, &same))
        return 1;
    r->copies->merged = same ? OD_MERGED_TRIAL : OD_MERGED_DIFFERS;
    return 0;
}

static int run_with(run *r)
{
    od_copies *copies = r->copies;
    copies->merged = holds_addresses(r) ? OD_MERGED_POINTERS : !make(r) || !spread(r) ? OD_MERGED_LARGE : run_slices(r);
    if (copies->merged == OD_MERGED_POINTERS || copies->merged == OD_MERGED_LARGE || copies->merged == OD_MERGED_BUSY)
        return run_whole(r);
    if (copies->merged == OD_MERGED)
        copies->merged = merge_all(r);
    if (copies->merged == OD_MERGED && copies->trial)
        return try(r);
    return copies->merged == OD_MERGED ? !deliver(r) : run_again(r);
}

int od_copies_run(od_runner *runner, const od_launch *launch, const od_task *task, unsigned k)
{
    od_copies *copies = (od_copies *)runner;
    if (copies->ran) /* elsewhere, where its device has failed */
        return od_launch_run(launch, task->access, k, NULL);
    run r = {.copies = copies, .launch = launch, .task = task, .k = k};
    copies->ran = true;
    int failed = run_with(&r);
    free_all(&r);
    return failed;
}
