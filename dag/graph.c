/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "dag/graph.h"

#include "util/container/array.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const od_dag_model_names[] = {[OD_DAG_RESIDENT] = "resident", [OD_DAG_REPLACE] = "replace", NULL};

/* --- adding ------------------------------------------------------------------------------- */

static bool keep_name(od_dag *dag, const char *name, size_t *offset)
{
    size_t length = strlen(name) + 1, wanted = dag->names_length + length;
    if (wanted > dag->names_room) {
        char *more = realloc(dag->names, 2 * wanted);
        if (!more)
            return false;
        dag->names = more;
        dag->names_room = 2 * wanted;
    }
    memcpy(dag->names + dag->names_length, name, length);
    *offset = dag->names_length;
    dag->names_length = wanted;
    return true;
}

uint32_t od_dag_add_task(od_dag *dag, const char *name, double seconds, int64_t bytes)
{
    od_dag_task task = {.seconds = seconds, .bytes = bytes};
    if (dag->ntasks == OD_DAG_MOST_TASKS || !keep_name(dag, name, &task.name) ||
        !od_array_reserve(&dag->tasks, &dag->task_room, (uint64_t)dag->ntasks + 1, sizeof *dag->tasks))
        return OD_DAG_NONE;
    dag->tasks[dag->ntasks] = task;
    return dag->ntasks++;
}

uint32_t od_dag_add_datum(od_dag *dag, int64_t bytes, uint32_t producer, bool lazy)
{
    if (!od_array_reserve(&dag->data, &dag->datum_room, (uint64_t)dag->ndata + 1, sizeof *dag->data))
        return OD_DAG_NONE;
    dag->data[dag->ndata] = (od_dag_datum){bytes, producer, dag->nreaders, 0, lazy && producer == OD_DAG_NONE};
    return dag->ndata++;
}

uint32_t od_dag_add_reader(od_dag *dag, uint32_t task)
{
    if (!od_array_reserve(&dag->readers, &dag->reader_room, (uint64_t)dag->nreaders + 1, sizeof *dag->readers))
        return OD_DAG_NONE;
    dag->data[dag->ndata - 1].nreaders++;
    dag->readers[dag->nreaders] = task;
    return dag->nreaders++;
}

uint32_t od_dag_add_order(od_dag *dag, uint32_t before, uint32_t after)
{
    if (!od_array_reserve(&dag->orders, &dag->order_room, (uint64_t)dag->norders + 1, sizeof *dag->orders))
        return OD_DAG_NONE;
    dag->orders[dag->norders] = (od_dag_order){before, after};
    return dag->norders++;
}

/* --- lists ---------------------------------------------------------------------------------- */

static void free_lists(od_dag_lists *lists)
{
    free(lists->first);
    free(lists->items);
    *lists = (od_dag_lists){0};
}

static void free_all_lists(od_dag *dag)
{
    free_lists(&dag->before);
    free_lists(&dag->after);
    free_lists(&dag->inputs);
    free_lists(&dag->outputs);
    free(dag->sorted);
    dag->sorted = NULL;
}

void od_dag_free(od_dag *dag)
{
    free_all_lists(dag);
    free(dag->tasks);
    free(dag->data);
    free(dag->readers);
    free(dag->orders);
    free(dag->names);
    *dag = (od_dag){0};
}

/* What is to be listed: a visitor calls `put` for each pair of a task and an item. */
typedef void (*put_pair)(void *arg, uint32_t task, uint32_t item);
typedef void (*visit_pairs)(const od_dag *dag, put_pair put, void *arg);

static void visit_inputs(const od_dag *dag, put_pair put, void *arg)
{
    for (uint32_t d = 0; d < dag->ndata; d++)
        for (uint32_t i = 0; i < dag->data[d].nreaders; i++)
            put(arg, dag->readers[dag->data[d].first_reader + i], d);
}

static void visit_outputs(const od_dag *dag, put_pair put, void *arg)
{
    for (uint32_t d = 0; d < dag->ndata; d++)
        if (dag->data[d].producer != OD_DAG_NONE)
            put(arg, dag->data[d].producer, d);
}

static void visit_after(const od_dag *dag, put_pair put, void *arg)
{
    for (uint32_t d = 0; d < dag->ndata; d++)
        for (uint32_t i = 0; i < dag->data[d].nreaders && dag->data[d].producer != OD_DAG_NONE; i++)
            put(arg, dag->data[d].producer, dag->readers[dag->data[d].first_reader + i]);
    for (uint32_t i = 0; i < dag->norders; i++)
        put(arg, dag->orders[i].before, dag->orders[i].after);
}

static void visit_before(const od_dag *dag, put_pair put, void *arg)
{
    for (uint32_t t = 0; t < dag->ntasks; t++)
        for (uint32_t i = dag->after.first[t]; i < dag->after.first[t + 1]; i++)
            put(arg, dag->after.items[i], t);
}

static void count_pair(void *arg, uint32_t task, uint32_t item)
{
    (void)item;
    ((od_dag_lists *)arg)->first[task + 1]++;
}

/* first[t] moves on to where the list of t ends. */
static void list_pair(void *arg, uint32_t task, uint32_t item)
{
    od_dag_lists *lists = arg;
    lists->items[lists->first[task]++] = item;
}

static bool make_lists(const od_dag *dag, od_dag_lists *lists, visit_pairs visit)
{
    uint32_t n = dag->ntasks;
    lists->first = calloc((size_t)n + 2, sizeof *lists->first);
    if (!lists->first)
        return false;
    visit(dag, count_pair, lists);
    for (uint32_t t = 0; t < n; t++)
        lists->first[t + 1] += lists->first[t];
    lists->items = malloc(((size_t)lists->first[n] + 1) * sizeof *lists->items);
    if (!lists->items)
        return false;
    visit(dag, list_pair, lists);
    memmove(lists->first + 1, lists->first, (size_t)n * sizeof *lists->first);
    lists->first[0] = 0;
    return true;
}

/* Each item of a list once. */
static bool without_copies(const od_dag *dag, od_dag_lists *lists)
{
    uint32_t *seen = calloc((size_t)dag->ntasks + 1, sizeof *seen), kept = 0; /* by item: the list, plus one */
    if (!seen)
        return false;
    for (uint32_t t = 0; t < dag->ntasks; t++) {
        uint32_t begin = lists->first[t], end = lists->first[t + 1];
        lists->first[t] = kept;
        for (uint32_t i = begin; i < end; i++)
            if (seen[lists->items[i]] != t + 1) {
                seen[lists->items[i]] = t + 1;
                lists->items[kept++] = lists->items[i];
            }
    }
    lists->first[dag->ntasks] = kept;
    free(seen);
    return true;
}

/* --- order and cycles ----------------------------------------------------------------------------- */

/* Kahn's algorithm. `waiting`: by task, how many before it are not sorted yet. Returns how many tasks are. */
static uint32_t sort_tasks(od_dag *dag, uint32_t *waiting)
{
    uint32_t count = 0;
    for (uint32_t t = 0; t < dag->ntasks; t++) {
        waiting[t] = od_dag_count(&dag->before, t);
        if (!waiting[t])
            dag->sorted[count++] = t;
    }
    for (uint32_t i = 0; i < count; i++) {
        uint32_t t = dag->sorted[i];
        for (uint32_t k = dag->after.first[t]; k < dag->after.first[t + 1]; k++)
            if (--waiting[dag->after.items[k]] == 0)
                dag->sorted[count++] = dag->after.items[k];
    }
    return count;
}

static uint32_t unsorted_before(const od_dag *dag, const uint32_t *waiting, uint32_t t)
{
    uint32_t i = dag->before.first[t];
    while (!waiting[dag->before.items[i]])
        i++;
    return dag->before.items[i];
}

/* Each task that could not be sorted has another one before it: going backwards ends in a cycle. */
static void name_cycle(const od_dag *dag, uint32_t *waiting, char *error, size_t size)
{
    enum { MOST_NAMES = 8 };
    uint32_t t = 0, length = 0, cycle[MOST_NAMES];
    while (!waiting[t])
        t++;
    for (uint32_t i = 0; i < dag->ntasks; i++)
        t = unsorted_before(dag, waiting, t);
    uint32_t at = t;
    do {
        cycle[length++ % MOST_NAMES] = at;
        at = unsorted_before(dag, waiting, at);
    } while (at != t);
    int written = snprintf(error, size, "a cycle of %u task%s: ", length, length == 1 ? "" : "s");
    uint32_t shown = length < MOST_NAMES ? length : MOST_NAMES;
    if (length > shown)
        written += snprintf(error + written, size - (size_t)written, "… -> ");
    for (uint32_t i = shown; i > 0 && (size_t)written < size; i--)
        written += snprintf(error + written, size - (size_t)written, "%.40s -> ",
                            od_dag_name(dag, cycle[(length - shown + i - 1) % MOST_NAMES]));
    if ((size_t)written < size)
        snprintf(error + written, size - (size_t)written, "%.40s",
                 length > shown ? "…" : od_dag_name(dag, cycle[shown - 1]));
}

static bool fits(const od_dag *dag)
{
    int64_t left = OD_DAG_MOST_BYTES;
    for (uint32_t t = 0; t < dag->ntasks && left >= 0; t++)
        left -= dag->tasks[t].bytes < left ? dag->tasks[t].bytes : left + 1;
    for (uint32_t d = 0; d < dag->ndata && left >= 0; d++)
        for (uint32_t i = 0; i < (dag->data[d].nreaders ? dag->data[d].nreaders : 1) && left >= 0; i++)
            left -=
                dag->data[d].bytes < left ? dag->data[d].bytes : left + 1; /* the cut may count it for each reader */
    return left >= 0;
}

od_status od_dag_finish(od_dag *dag, char *error, size_t size)
{
    free_all_lists(dag);
    if (!fits(dag)) {
        snprintf(error, size, "more than %lld bytes in all", (long long)OD_DAG_MOST_BYTES);
        return OD_EINVAL;
    }
    uint32_t *waiting = malloc(((size_t)dag->ntasks + 1) * sizeof *waiting);
    dag->sorted = malloc(((size_t)dag->ntasks + 1) * sizeof *dag->sorted);
    bool fine = waiting && dag->sorted && make_lists(dag, &dag->inputs, visit_inputs) &&
                make_lists(dag, &dag->outputs, visit_outputs) && make_lists(dag, &dag->after, visit_after) &&
                without_copies(dag, &dag->after) && make_lists(dag, &dag->before, visit_before);
    od_status status = fine ? OD_OK : OD_ENOMEM;
    if (fine && sort_tasks(dag, waiting) < dag->ntasks) {
        name_cycle(dag, waiting, error, size);
        status = OD_EINVAL;
    }
    free(waiting);
    return status;
}

/* --- paths ------------------------------------------------------------------------------------------ */

double od_dag_critical_path(const od_dag *dag, double *top, double *bottom)
{
    double longest = 0, *own = bottom ? NULL : calloc((size_t)dag->ntasks + 1, sizeof *own);
    double *down = bottom ? bottom : own;
    for (uint32_t i = 0; i < dag->ntasks && top; i++) {
        uint32_t t = dag->sorted[i];
        top[t] = 0;
        for (uint32_t k = dag->before.first[t]; k < dag->before.first[t + 1]; k++)
            top[t] = fmax(top[t], top[dag->before.items[k]] + dag->tasks[dag->before.items[k]].seconds);
    }
    for (uint32_t i = dag->ntasks; i > 0 && down; i--) {
        uint32_t t = dag->sorted[i - 1];
        down[t] = 0;
        for (uint32_t k = dag->after.first[t]; k < dag->after.first[t + 1]; k++)
            down[t] = fmax(down[t], down[dag->after.items[k]]);
        down[t] += dag->tasks[t].seconds;
        longest = fmax(longest, down[t]);
    }
    free(own);
    return longest;
}

double od_dag_work(const od_dag *dag)
{
    double work = 0;
    for (uint32_t t = 0; t < dag->ntasks; t++)
        work += dag->tasks[t].seconds;
    return work;
}
