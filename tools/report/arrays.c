/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* See arrays.h. A trace says what comes to a device, by loads and by tasks that run there, and what of arrays ends. */
#include "tools/report/arrays.h"

#include <stdlib.h>
#include <string.h>

enum { NO_ARRAY = UINT32_MAX, NO_DATUM = UINT32_MAX };

/* --- which there are ---------------------------------------------------------------- */

static bool enters(const trace_map *map)
{
    return strcmp(map->type, "release") != 0 && strcmp(map->type, "delete") != 0;
}

static int by_address(const void *a, const void *b)
{
    const trace_datum *first = &((const run_array *)a)->all, *second = &((const run_array *)b)->all;
    if (first->address != second->address)
        return first->address < second->address ? -1 : 1;
    return (first->size < second->size) - (first->size > second->size);
}

/* All that constructs enter, each once; of what overlaps the first, and longest. */
static od_status find_entered(const trace_file *t, run_arrays *arrays)
{
    size_t n = 0, kept = 0;
    arrays->at = calloc(t->nmaps + 1, sizeof *arrays->at);
    if (!arrays->at)
        return OD_ENOMEM;
    for (size_t i = 0; i < t->nmaps; i++)
        if (enters(&t->maps[i]) && t->maps[i].size)
            arrays->at[n++] =
                (run_array){.all = {t->maps[i].address, t->maps[i].size}, .variable = t->maps[i].variable};
    if (n)
        qsort(arrays->at, n, sizeof *arrays->at, by_address);
    for (size_t i = 0; i < n; i++) {
        const trace_datum *last = kept ? &arrays->at[kept - 1].all : NULL;
        if (!last || arrays->at[i].all.address - last->address >= last->size)
            arrays->at[kept++] = arrays->at[i];
    }
    arrays->count = kept;
    return OD_OK;
}

/* The array that the range lies in, or NO_ARRAY. */
static uint32_t array_of(const run_arrays *arrays, const trace_datum *d)
{
    size_t low = 0, high = arrays->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (arrays->at[middle].all.address <= d->address)
            low = middle + 1;
        else
            high = middle;
    }
    const trace_datum *all = low ? &arrays->at[low - 1].all : NULL;
    return all && d->address - all->address < all->size ? (uint32_t)low - 1 : NO_ARRAY;
}

/* --- what happened to parts ----------------------------------------------------------- */

typedef struct change {
    double at_us;
    size_t order; /* of those at one time */
    uint32_t datum;
    unsigned k; /* a device, which */
    bool holds; /* it from then on, or not */
} change;

typedef struct changes {
    change *at;
    size_t count;
} changes;

static void add(changes *all, double at_us, uint32_t datum, int place, bool holds)
{
    if (place < 0)
        return;
    all->at[all->count] = (change){at_us, all->count, datum, (unsigned)place, holds};
    all->count++;
}

static int by_time(const void *a, const void *b)
{
    const change *first = a, *second = b;
    if (first->at_us != second->at_us)
        return first->at_us < second->at_us ? -1 : 1;
    return (first->order > second->order) - (first->order < second->order);
}

static void add_tasks(const trace_file *t, changes *all)
{
    for (size_t i = 0; i < t->ntasks; i++)
        for (uint32_t u = 0; u < t->tasks[i].nuses; u++)
            add(all, t->tasks[i].started_us, t->uses[t->tasks[i].first_use + u].datum, t->tasks[i].place, true);
}

static od_status find_changes(const trace_file *t, changes *all)
{
    all->at = malloc((t->ntransfers + t->nuses + t->ndrops + 1) * sizeof *all->at);
    if (!all->at)
        return OD_ENOMEM;
    for (size_t i = 0; i < t->ntransfers; i++)
        if (t->transfers[i].kind == TRACE_LOAD && !t->transfers[i].failed)
            add(all, t->transfers[i].to_us, t->transfers[i].datum, t->transfers[i].to, true);
    add_tasks(t, all);
    for (size_t i = 0; i < t->ndrops; i++)
        add(all, t->drops[i].at_us, t->drops[i].datum, t->drops[i].place, false);
    if (all->count)
        qsort(all->at, all->count, sizeof *all->at, by_time);
    return OD_OK;
}

/* --- how much devices hold --------------------------------------------------------------- */

typedef struct holding {
    const trace_file *trace;
    run_arrays *arrays;
    uint32_t *array_of; /* by datum */
    uint32_t *whole_of; /* by array: the datum that is all of it, or NO_DATUM */
    bool *is_known;     /* by datum: it is a part of its array */
    bool *is_held;      /* by datum and device */
    uint64_t *bytes;    /* now, by array and device */
    double *since_us;   /* when that changed, likewise */
} holding;

static void account(holding *h, uint32_t array, unsigned k, double at_us)
{
    size_t i = array * (size_t)h->trace->ndevices + k;
    h->arrays->at[array].mean[k] += (double)h->bytes[i] * (at_us - h->since_us[i]);
    h->since_us[i] = at_us;
}

static void hold(holding *h, uint32_t datum, unsigned k, double at_us, bool holds)
{
    uint32_t array = h->array_of[datum];
    bool *is_held = &h->is_held[datum * (size_t)h->trace->ndevices + k];
    if (*is_held == holds)
        return;
    *is_held = holds;
    account(h, array, k, at_us);
    uint64_t *bytes = &h->bytes[array * (size_t)h->trace->ndevices + k], *most = &h->arrays->at[array].most[k];
    *bytes = holds ? *bytes + h->trace->data[datum].size : *bytes - h->trace->data[datum].size;
    *most = *bytes > *most ? *bytes : *most;
}

/* Where a part of an array is used the array is one datum no more, on any device; no event says so. */
static void divide(holding *h, uint32_t array, double at_us)
{
    for (unsigned k = 0; k < h->trace->ndevices; k++)
        hold(h, h->whole_of[array], k, at_us, false);
}

static void happen(holding *h, const change *c)
{
    uint32_t array = h->array_of[c->datum];
    if (array == NO_ARRAY)
        return;
    if (c->holds && h->whole_of[array] != NO_DATUM && h->whole_of[array] != c->datum)
        divide(h, array, c->at_us);
    hold(h, c->datum, c->k, c->at_us, c->holds);
    if (c->holds && !h->is_known[c->datum]) {
        h->is_known[c->datum] = true;
        h->arrays->at[array].parts++;
    }
}

/* Until now they were sums over time. */
static void end(holding *h, double makespan_us)
{
    for (uint32_t a = 0; a < h->arrays->count; a++)
        for (unsigned k = 0; k < h->trace->ndevices; k++) {
            account(h, a, k, h->trace->end_us);
            h->arrays->at[a].mean[k] /= makespan_us > 0 ? makespan_us : 1;
        }
}

static void count_faults(holding *h)
{
    for (size_t i = 0; i < h->trace->nfaults; i++) {
        const trace_fault *fault = &h->trace->faults[i];
        uint32_t array = h->array_of[fault->datum];
        if (array == NO_ARRAY)
            continue;
        h->arrays->at[array].faults++;
        h->arrays->at[array].fault_us += fault->us;
    }
}

static void find_data(holding *h)
{
    const trace_file *t = h->trace;
    for (uint32_t a = 0; a < h->arrays->count; a++)
        h->whole_of[a] = NO_DATUM;
    for (uint32_t d = 0; d < t->ndata; d++) {
        uint32_t array = h->array_of[d] = array_of(h->arrays, &t->data[d]);
        if (array != NO_ARRAY && t->data[d].size == h->arrays->at[array].all.size)
            h->whole_of[array] = d;
    }
}

static od_status follow(holding *h, const changes *all, double makespan_us)
{
    const trace_file *t = h->trace;
    size_t n = t->ndevices;
    h->array_of = malloc((t->ndata + 1) * sizeof *h->array_of);
    h->whole_of = malloc((h->arrays->count + 1) * sizeof *h->whole_of);
    h->is_known = calloc(t->ndata + 1, sizeof *h->is_known);
    h->is_held = calloc(t->ndata * n + 1, sizeof *h->is_held);
    h->bytes = calloc(h->arrays->count * n + 1, sizeof *h->bytes);
    h->since_us = calloc(h->arrays->count * n + 1, sizeof *h->since_us);
    if (!h->array_of || !h->whole_of || !h->is_known || !h->is_held || !h->bytes || !h->since_us)
        return OD_ENOMEM;
    find_data(h);
    for (size_t i = 0; i < all->count; i++)
        happen(h, &all->at[i]);
    end(h, makespan_us);
    count_faults(h);
    return OD_OK;
}

static void free_holding(holding *h)
{
    free(h->array_of);
    free(h->whole_of);
    free(h->is_known);
    free(h->is_held);
    free(h->bytes);
    free(h->since_us);
}

/* --- all together --------------------------------------------------------------------------- */

static od_status make_room(const trace_file *t, run_arrays *arrays)
{
    for (size_t i = 0; i < arrays->count; i++) {
        arrays->at[i].most = calloc(t->ndevices, sizeof *arrays->at[i].most);
        arrays->at[i].mean = calloc(t->ndevices, sizeof *arrays->at[i].mean);
        if (!arrays->at[i].most || !arrays->at[i].mean)
            return OD_ENOMEM;
    }
    return OD_OK;
}

static int by_size(const void *a, const void *b)
{
    uint64_t first = ((const run_array *)a)->all.size, second = ((const run_array *)b)->all.size;
    return first == second ? by_address(a, b) : first < second ? 1 : -1;
}

/* Those of which nobody used a part go. The largest come first. */
static void keep_divided(run_arrays *arrays)
{
    size_t kept = 0;
    for (size_t i = 0; i < arrays->count; i++) {
        run_array a = arrays->at[i];
        if (a.parts > 1 || a.faults) {
            arrays->at[kept++] = a;
        } else {
            free(a.most);
            free(a.mean);
        }
    }
    arrays->count = kept;
    if (kept)
        qsort(arrays->at, kept, sizeof *arrays->at, by_size);
}

od_status run_find_arrays(const trace_file *t, double makespan_us, run_arrays *arrays)
{
    changes all = {0};
    holding h = {.trace = t, .arrays = arrays};
    *arrays = (run_arrays){0};
    od_status status = find_entered(t, arrays);
    if (!status)
        status = make_room(t, arrays);
    if (!status)
        status = find_changes(t, &all);
    if (!status)
        status = follow(&h, &all, makespan_us);
    free_holding(&h);
    free(all.at);
    if (status)
        run_arrays_free(arrays);
    else
        keep_divided(arrays);
    return status;
}

void run_arrays_free(run_arrays *arrays)
{
    for (size_t i = 0; i < arrays->count; i++) {
        free(arrays->at[i].most);
        free(arrays->at[i].mean);
    }
    free(arrays->at);
    *arrays = (run_arrays){0};
}
