/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * See path.h. Tasks are looked at in the order of readiness: of two that depend on each other the earlier one comes
 * first. For each address the longest chains that end with its last writer, and with a reader since, are enough.
 */
#include "tools/report/path.h"

#include <stdlib.h>

#define NOBODY SIZE_MAX

typedef struct item { /* an address of depend clauses; tasks that end the longest chains */
    uintptr_t address;
    size_t written;  /* by the last writer, or those of the last inoutset */
    size_t read;     /* by readers since */
    size_t before;   /* in an inoutset: before its members */
    bool set, taken; /* its last writers are an inoutset; the slot is in use */
} item;

typedef struct finder {
    const trace_file *trace;
    item *items;       /* a hash table; [size] is omp_all_memory */
    size_t size;       /* a power of two */
    double *length_us; /* by task: of the longest chain that ends with it */
    size_t *before;    /* by task: in that chain */
} finder;

static item *find_item(const finder *f, uintptr_t address)
{
    size_t at = (address * UINT64_C(0x9e3779b97f4a7c15)) >> 20 & (f->size - 1);
    while (f->items[at].taken && f->items[at].address != address)
        at = (at + 1) & (f->size - 1);
    if (!f->items[at].taken)
        f->items[at] = (item){address, NOBODY, NOBODY, NOBODY, false, true};
    return &f->items[at];
}

static size_t longer(const finder *f, size_t a, size_t b)
{
    if (a == NOBODY || b == NOBODY)
        return a == NOBODY ? b : a;
    return f->length_us[b] > f->length_us[a] ? b : a;
}

static size_t predecessor(const finder *f, const item *it, trace_depend_type type)
{
    if (type == TRACE_IN)
        return it->written;
    if (type == TRACE_INOUTSET && it->set && it->read == NOBODY)
        return it->before;
    return longer(f, it->written, it->read);
}

static void use_item(const finder *f, item *it, trace_depend_type type, size_t task)
{
    if (type == TRACE_IN) {
        it->read = longer(f, it->read, task);
        return;
    }
    bool joins = type == TRACE_INOUTSET && it->set && it->read == NOBODY;
    it->before = joins ? it->before : longer(f, it->written, it->read);
    it->written = joins ? longer(f, it->written, task) : task;
    it->read = NOBODY;
    it->set = type == TRACE_INOUTSET;
}

/* Tasks of different parents may name one address and have no order. */
static bool came_before(const trace_file *t, size_t first, size_t second)
{
    static const double rounding_us = .002;
    return t->tasks[first].to_us <= t->tasks[second].from_us + rounding_us;
}

/* Every task with a depend clause also reads, or writes, omp_all_memory. */
static void extend(finder *f, size_t task)
{
    const trace_task *what = &f->trace->tasks[task];
    const trace_depend *depends = &f->trace->depends[what->first_depend];
    item *all = &f->items[f->size];
    trace_depend_type whole = TRACE_IN;
    for (uint32_t i = 0; i < what->ndepends; i++)
        whole = depends[i].type == TRACE_ALL_MEMORY ? TRACE_INOUT : whole;
    size_t best = predecessor(f, all, whole);
    for (uint32_t i = 0; i < what->ndepends; i++)
        best = longer(f, best, predecessor(f, find_item(f, depends[i].address), depends[i].type));
    if (best != NOBODY && !came_before(f->trace, best, task))
        best = NOBODY;
    f->before[task] = best;
    f->length_us[task] = what->to_us - what->from_us + (best == NOBODY ? 0 : f->length_us[best]);
    use_item(f, all, whole, task);
    for (uint32_t i = 0; i < what->ndepends; i++)
        use_item(f, find_item(f, depends[i].address), depends[i].type, task);
}

typedef struct turn {
    uint64_t number;
    size_t task;
} turn;

static int by_number(const void *a, const void *b)
{
    const turn *first = a, *second = b;
    return (first->number > second->number) - (first->number < second->number);
}

static size_t find_end(finder *f, turn *turns)
{
    const trace_file *t = f->trace;
    size_t n = 0, end = NOBODY;
    for (size_t i = 0; i < t->ntasks; i++)
        if (!t->tasks[i].failed && t->tasks[i].ndepends)
            turns[n++] = (turn){t->tasks[i].number, i};
    if (n)
        qsort(turns, n, sizeof *turns, by_number);
    for (size_t i = 0; i < n; i++) {
        extend(f, turns[i].task);
        end = longer(f, end, turns[i].task);
    }
    return end;
}

static od_status keep(const finder *f, size_t end, run_path *path)
{
    for (size_t task = end; task != NOBODY; task = f->before[task])
        path->n++;
    path->tasks = malloc((path->n + 1) * sizeof *path->tasks);
    if (!path->tasks)
        return OD_ENOMEM;
    path->work_us = end == NOBODY ? 0 : f->length_us[end];
    for (size_t i = path->n, task = end; i-- > 0; task = f->before[task])
        path->tasks[i] = task;
    return OD_OK;
}

od_status run_find_path(const trace_file *t, run_path *path)
{
    finder f = {.trace = t, .size = 16};
    while (f.size < 2 * t->ndepends)
        f.size *= 2;
    f.items = calloc(f.size + 1, sizeof *f.items);
    f.length_us = malloc((t->ntasks + 1) * sizeof *f.length_us);
    f.before = malloc((t->ntasks + 1) * sizeof *f.before);
    turn *turns = malloc((t->ntasks + 1) * sizeof *turns);
    od_status status = OD_ENOMEM;
    *path = (run_path){0};
    if (f.items && f.length_us && f.before && turns) {
        f.items[f.size] = (item){0, NOBODY, NOBODY, NOBODY, false, true};
        status = keep(&f, find_end(&f, turns), path);
    }
    free(f.items);
    free(f.length_us);
    free(f.before);
    free(turns);
    return status;
}

void run_path_free(run_path *path)
{
    free(path->tasks);
    *path = (run_path){0};
}
