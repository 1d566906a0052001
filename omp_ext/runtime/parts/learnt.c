/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * What page faults have shown of kernels, per argument: whether they write to it, and their footprints: what they touch
 * around the addresses by which their tasks name it (memmgr/window/footprint.h). Kernels that find no room in the table
 * are taken for what they say for ever. Under the lock.
 */
#include "omp_ext/runtime/internal.h"

#include "util/container/array.h"
#include "util/log.h"
#include "util/memory.h"

#include <stdlib.h>

enum {
    KERNELS = 256,
    ARGUMENTS = 32,
    NAMES = 4, /* of one argument, which have footprints of their own */
    TRIES = 8,
    MOST_FAULTS = 64,
    MOST_TOUCHED = 1 << 16, /* pages that are looked at to learn a footprint */
};

typedef struct known {
    const void *kernel;
    unsigned faults[ARGUMENTS];
    uint64_t writes;                     /* bit i: it has written to argument i */
    od_footprint (*footprints)[NAMES];   /* per argument; malloc'ed with the first */
} known;

static known *table; /* by hash; malloc'ed at the first fault */

static known *find(const void *kernel, bool add)
{
    uintptr_t hash = (uintptr_t)kernel >> 4;
    if (!table && add)
        table = od_calloc(KERNELS, sizeof *table);
    for (unsigned i = 0; table && i < TRIES; i++) {
        known *at = &table[(hash + i) % KERNELS];
        if (!at->kernel && add)
            at->kernel = kernel;
        if (at->kernel == kernel)
            return at;
    }
    return NULL;
}

/* --- how a task names what it uses ------------------------------------------------- */

typedef struct name {
    uintptr_t address;
    int32_t argument;
    uint32_t number; /* of the argument's names */
} name;

struct od_touched {
    const void *kernel;
    name *names; /* malloc'ed */
    uint32_t nnames, names_room;
    uintptr_t *pages; /* malloc'ed: an address in each, the one that was touched first */
    uint32_t npages, pages_room;
};

void od_runtime_free_touched(od_touched *touched)
{
    if (!touched)
        return;
    free(touched->names);
    free(touched->pages);
    free(touched);
}

static uint32_t count_names(const od_touched *touched, int32_t argument)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < touched->nnames; i++)
        n += touched->names[i].argument == argument;
    return n;
}

static void add_name(od_launch *launch, int32_t argument, uintptr_t address, uint32_t number)
{
    od_touched *touched = launch->touched;
    if (od_array_reserve(&touched->names, &touched->names_room, (uint64_t)touched->nnames + 1, sizeof *touched->names))
        touched->names[touched->nnames++] = (name){address, argument, number};
}

od_footprint od_runtime_footprint(od_launch *launch, const od_window *window, int32_t argument, uintptr_t address)
{
    if (!launch->touched)
        launch->touched = od_calloc(1, sizeof *launch->touched);
    if (!launch->touched)
        return (od_footprint){0};
    launch->touched->kernel = launch->call.kernel;
    uint32_t number = count_names(launch->touched, argument);
    add_name(launch, argument, address, number);
    const known *at = argument < ARGUMENTS && number < NAMES ? find(launch->call.kernel, false) : NULL;
    const od_footprint *own = at && at->footprints ? &at->footprints[argument][number] : NULL;
    return own && own->count ? *own : window->footprint;
}

/* --- a kernel runs --------------------------------------------------------------------- */

static void note(const void *kernel, unsigned argument, bool named, bool write)
{
    known *at = find(kernel, true);
    if (!at)
        return;
    if (write)
        at->writes |= UINT64_C(1) << argument;
    if (!named && ++at->faults[argument] == MOST_FAULTS)
        od_log(OD_LOG_INFO, "runtime",
               "region %p touches more of its argument %u than depend clauses name: it uses all of it from now on",
               kernel, argument + 1);
}

static void touch(od_touched *touched, uintptr_t address)
{
    if (touched->npages < MOST_TOUCHED &&
        od_array_reserve(&touched->pages, &touched->pages_room, (uint64_t)touched->npages + 1, sizeof *touched->pages))
        touched->pages[touched->npages++] = address;
}

void od_runtime_note_fault(const od_task *task, const od_window *window, uintptr_t address, bool write)
{
    const od_job *job = task->user;
    const od_launch *launch = &job->launch;
    for (int32_t i = 0; i < launch->call.map.count && i < ARGUMENTS; i++) {
        if (launch->access_of[i] < 0 || task->access[launch->access_of[i]].datum->window != window)
            continue;
        bool named = launch->touched && count_names(launch->touched, i);
        note(launch->call.kernel, (unsigned)i, named, write);
        if (named)
            touch(launch->touched, address);
    }
}

/* --- it has ended ------------------------------------------------------------------------ */

typedef struct lesson {
    const od_task *task;
    const od_window *window;
    od_touched *touched;
    uintptr_t *all; /* addresses in all pages that it has used of the window; malloc'ed */
    uint32_t count, room;
    od_page_run *runs; /* malloc'ed */
    uint32_t nruns;
} lesson;

static void add_page(lesson *l, uintptr_t address)
{
    if (l->count < MOST_TOUCHED && od_array_reserve(&l->all, &l->room, (uint64_t)l->count + 1, sizeof *l->all))
        l->all[l->count++] = address;
}

static void add_part(lesson *l, const od_datum *d)
{
    od_extent extent = od_datum_extent(d);
    for (uint32_t i = 0, n = od_extent_count(extent); i < n; i++) {
        od_piece piece = od_extent_piece(extent, i);
        uintptr_t end = piece.begin + piece.size;
        for (uintptr_t at = piece.begin; at < end; at = od_window_page_begin(at) + od_window_page())
            add_page(l, at);
    }
}

static void make_runs(lesson *l)
{
    for (uint32_t i = 0; i < l->touched->npages; i++)
        if (od_window_contains(l->window, l->touched->pages[i], 1))
            add_page(l, l->touched->pages[i]);
    for (uint32_t i = 0; i < l->task->naccess; i++)
        if (l->task->access[i].datum->window == l->window)
            add_part(l, l->task->access[i].datum);
    for (uint32_t i = 0; i < l->touched->nnames; i++)
        if (od_window_contains(l->window, l->touched->names[i].address, 1))
            add_page(l, l->touched->names[i].address);
    l->runs = od_malloc(((size_t)l->count + 1) * sizeof *l->runs);
    l->nruns = l->runs ? od_page_runs_make(l->all, l->count, l->runs) : 0;
}

static void keep(od_window *window, const name *n, const void *kernel, const od_footprint *found)
{
    known *at = n->argument < ARGUMENTS && n->number < NAMES ? find(kernel, true) : NULL;
    if (at && !at->footprints)
        at->footprints = od_calloc(ARGUMENTS, sizeof *at->footprints);
    if (!at || !at->footprints || od_footprints_are_equal(&at->footprints[n->argument][n->number], found))
        return;
    at->footprints[n->argument][n->number] = *found;
    window->footprint = *found;
    od_log(OD_LOG_INFO, "runtime",
           "region %p touches, of what item %u in its argument %d names, %u ranges of %zu bytes, %zu bytes apart", kernel,
           n->number + 1, n->argument + 1, found->count, found->before + found->length, found->stride);
}

static void learn_names(const lesson *l, od_window *window)
{
    const od_touched *touched = l->touched;
    uintptr_t *names = od_malloc(((size_t)touched->nnames + 1) * sizeof *names);
    for (uint32_t i = 0; names && i < touched->nnames; i++)
        names[i] = touched->names[i].address;
    const od_named_runs all = {l->runs, l->nruns, names, touched->nnames};
    for (uint32_t i = 0; names && i < touched->nnames; i++) {
        if (!od_window_contains(window, names[i], 1))
            continue;
        od_footprint found = od_footprint_infer(&all, i);
        if (found.count)
            keep(window, &touched->names[i], touched->kernel, &found);
    }
    free(names);
}

static void learn_of(const od_task *task, od_window *window, od_touched *touched)
{
    lesson l = {.task = task, .window = window, .touched = touched};
    make_runs(&l);
    learn_names(&l, window);
    free(l.all);
    free(l.runs);
}

static bool is_first_in(const od_task *task, uint32_t i)
{
    for (uint32_t j = 0; j < i; j++)
        if (task->access[j].datum->window == task->access[i].datum->window)
            return false;
    return true;
}

void od_runtime_learn(const od_task *task)
{
    enum { FEW = 4 }; /* faults from which nothing is learnt: a page at an edge */
    const od_job *job = task->user;
    od_touched *touched = job->launch.touched;
    if (!touched || touched->npages < FEW)
        return;
    for (uint32_t i = 0; i < task->naccess; i++)
        if (task->access[i].datum->window && is_first_in(task, i))
            learn_of(task, task->access[i].datum->window, touched);
    touched->npages = 0;
}

/* --- what has been found out ----------------------------------------------------------- */

bool od_runtime_names_its_parts(const void *kernel, int32_t argument)
{
    const known *at = argument < ARGUMENTS ? find(kernel, false) : NULL;
    return !at || at->faults[argument] < MOST_FAULTS;
}

bool od_runtime_may_only_read(const void *kernel, int32_t argument)
{
    const known *at = argument < ARGUMENTS ? find(kernel, false) : NULL;
    return argument < ARGUMENTS && (!at || !(at->writes >> argument & 1));
}
