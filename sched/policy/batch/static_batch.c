/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* From tasks to plain arrays; see static_batch.h. */
#include "sched/policy/batch/static_batch.h"
#include "util/memory.h"

#include <stdlib.h>

/* A task and the numbers of its data. */
struct od_static_key {
    od_task *task;
    const uint32_t *number;
    uint32_t count;
    uint32_t arrival;
};

#define MAX_NS 1e12 /* the sum over ten million tasks fits 64 bits */

uint64_t od_static_duration_ns(const od_task *task)
{
    double ns = task->duration * 1e9;
    if (!(ns >= 1))
        return 1;
    return (uint64_t)(ns < MAX_NS ? ns : MAX_NS);
}

static uint64_t bytes_of(const od_datum *datum)
{
    return datum->size ? datum->size : 1;
}

/* Lists the data of all tasks, in order of their first use, and counts the users of each. */
static void list_data(od_static_batch *b, uint32_t *index)
{
    for (uint32_t t = 0; t < b->batch.ntasks; t++) {
        for (uint32_t i = 0; i < b->tasks[t]->naccess; i++) {
            od_datum *datum = b->tasks[t]->access[i].datum;
            if (!index[datum->id]) {
                b->data[b->batch.ndata++] = datum;
                b->users[b->batch.ndata - 1] = 0;
                index[datum->id] = b->batch.ndata;
            }
            b->users[index[datum->id] - 1]++;
        }
    }
}

static uint64_t own_bytes(const od_static_batch *b, const od_task *task, const uint32_t *index)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < task->naccess; i++) {
        const od_datum *datum = task->access[i].datum;
        bytes += b->users[index[datum->id] - 1] == 1 ? bytes_of(datum) : 0;
    }
    return bytes;
}

/* Drops the data that are left out from the list; `index` of these becomes 0. */
static void leave_out(od_static_batch *b, uint32_t *index)
{
    uint64_t reserved = 0, most_own = 0;
    uint32_t kept = 0;
    for (uint32_t t = 0; t < b->batch.ntasks; t++) {
        uint64_t own = own_bytes(b, b->tasks[t], index);
        most_own = own > most_own ? own : most_own;
    }
    for (uint32_t d = 0; d < b->batch.ndata; d++) {
        od_datum *datum = b->data[d];
        uint32_t users = b->users[d];
        bool hub = users == b->batch.ntasks || users > OD_BATCH_HUB;
        if (users > 1 && hub)
            reserved += bytes_of(datum);
        index[datum->id] = users > 1 && !hub ? kept + 1 : 0;
        if (index[datum->id]) {
            b->data[kept] = datum;
            b->size[kept++] = bytes_of(datum);
        }
    }
    b->batch.ndata = kept;
    reserved += 2 * most_own;
    b->memory = reserved < b->memory / 2 ? b->memory - reserved : b->memory / 2;
}

static int compare_keys(const void *a, const void *b)
{
    const struct od_static_key *s = a, *t = b;
    uint32_t count = s->count < t->count ? s->count : t->count;
    for (uint32_t i = 0; i < count; i++) {
        if (s->number[i] != t->number[i])
            return s->number[i] < t->number[i] ? -1 : 1;
    }
    if (s->count != t->count)
        return s->count < t->count ? -1 : 1;
    return (s->arrival > t->arrival) - (s->arrival < t->arrival);
}

static void make_keys(od_static_batch *b, const uint32_t *index)
{
    uint32_t *number = b->number;
    for (uint32_t t = 0; t < b->batch.ntasks; t++) {
        const od_task *task = b->tasks[t];
        b->key[t] = (struct od_static_key){b->tasks[t], number, 0, t};
        for (uint32_t i = 0; i < task->naccess; i++) {
            if (index[task->access[i].datum->id])
                number[b->key[t].count++] = index[task->access[i].datum->id] - 1;
        }
        number += b->key[t].count;
    }
}

static void fill(od_static_batch *b)
{
    uint32_t nuses = 0;
    for (uint32_t t = 0; t < b->batch.ntasks; t++) {
        const struct od_static_key *key = &b->key[t];
        b->tasks[t] = key->task;
        b->duration[t] = (double)od_static_duration_ns(key->task) * 1e-9;
        b->first[t] = nuses;
        for (uint32_t i = 0; i < key->count; i++)
            b->datum[nuses++] = key->number[i];
    }
    b->first[b->batch.ntasks] = nuses;
}

static od_status allocate(od_static_batch *b, size_t ntasks, size_t nuses)
{
    b->tasks = od_malloc((ntasks + 1) * sizeof *b->tasks);
    b->first = od_malloc((ntasks + 1) * sizeof *b->first);
    b->duration = od_malloc((ntasks + 1) * sizeof *b->duration);
    b->data = od_malloc((nuses + 1) * sizeof *b->data);
    b->users = od_malloc((nuses + 1) * sizeof *b->users);
    b->number = od_malloc((nuses + 1) * sizeof *b->number);
    b->key = od_malloc((ntasks + 1) * sizeof *b->key);
    b->size = od_malloc((nuses + 1) * sizeof *b->size);
    b->datum = od_malloc((nuses + 1) * sizeof *b->datum);
    bool all = b->tasks && b->first && b->duration && b->data && b->users && b->size && b->datum;
    return all && b->number && b->key ? OD_OK : OD_ENOMEM;
}

od_status od_static_batch_create(const od_list *tasks, uint32_t ntasks, uint64_t memory, bool sort, uint32_t *index,
                                 od_static_batch *b)
{
    *b = (od_static_batch){.memory = memory};
    size_t nuses = 0;
    uint32_t count = 0;
    od_list_each(it, tasks) {
        if (count++ == ntasks)
            break;
        nuses += od_container_of(it, od_task, link)->naccess;
    }
    od_status status = allocate(b, ntasks, nuses);
    if (status)
        return status;
    od_list_each(it, tasks) {
        if (b->batch.ntasks == ntasks)
            break;
        b->tasks[b->batch.ntasks++] = od_container_of(it, od_task, link);
    }
    list_data(b, index);
    leave_out(b, index);
    make_keys(b, index);
    for (uint32_t d = 0; d < b->batch.ndata; d++)
        index[b->data[d]->id] = 0;
    if (sort)
        qsort(b->key, b->batch.ntasks, sizeof *b->key, compare_keys);
    fill(b);
    b->batch.first = b->first;
    b->batch.datum = b->datum;
    b->batch.size = b->size;
    b->batch.duration = b->duration;
    return OD_OK;
}

void od_static_batch_free(od_static_batch *b)
{
    free(b->tasks);
    free(b->first);
    free(b->duration);
    free(b->data);
    free(b->users);
    free(b->number);
    free(b->key);
    free(b->size);
    free(b->datum);
}
