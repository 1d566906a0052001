/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Dinic's algorithm, from all gains at once. */
#include "dag/cut/cut.h"

#include "util/container/array.h"

#include <stdlib.h>
#include <string.h>

#define ENDLESS INT64_MAX

static uint32_t start_of(const od_dag_cut *cut, uint32_t task)
{
    return cut->split ? 2 * task : task;
}

static uint32_t end_of(const od_dag_cut *cut, uint32_t task)
{
    return cut->split ? 2 * task + 1 : task;
}

/* --- making --------------------------------------------------------------------------------- */

static bool add_arc(od_dag_cut *cut, uint32_t from, uint32_t to, int64_t room)
{
    if (!od_array_reserve(&cut->arcs, &cut->arc_room, (uint64_t)cut->narcs + 1, sizeof *cut->arcs))
        return false;
    cut->arcs[cut->narcs] = (od_dag_arc){to, cut->first[from], room};
    cut->first[from] = ++cut->narcs;
    return true;
}

/* What flows goes from an event to those before it. */
static bool add_precedence(od_dag_cut *cut, uint32_t before, uint32_t after)
{
    return add_arc(cut, after, before, ENDLESS) && add_arc(cut, before, after, 0);
}

od_status od_dag_cut_add(od_dag_cut *cut, uint32_t before, uint32_t after)
{
    return add_precedence(cut, end_of(cut, before), start_of(cut, after)) ? OD_OK : OD_ENOMEM;
}

/* A lazy datum is made by its first reader, unless there are several. */
static void find_birth(void *arg, uint32_t d, uint32_t reader)
{
    od_dag_cut *cut = arg;
    if (!cut->dag->data[d].lazy)
        return;
    cut->birth[d] = cut->weighed == d + 1 ? OD_DAG_NONE : reader;
    cut->exact &= cut->weighed != d + 1;
    cut->weighed = d + 1;
}

static void weigh_birth(od_dag_cut *cut, uint32_t d)
{
    if (cut->birth[d] != OD_DAG_NONE)
        cut->weight[start_of(cut, cut->birth[d])] += cut->dag->data[d].bytes;
    else
        cut->initial += cut->dag->data[d].bytes;
}

/* Once for each last reader: the datum is there, for this one, until it has been read. */
static void weigh_reader(void *arg, uint32_t d, uint32_t reader)
{
    od_dag_cut *cut = arg;
    const od_dag_datum *datum = &cut->dag->data[d];
    bool first = cut->weighed != d + 1, held = cut->held && cut->held[d];
    cut->weighed = d + 1;
    cut->exact &= first;
    if (first || !held)
        weigh_birth(cut, d);
    if (!held)
        cut->weight[cut->model == OD_DAG_RESIDENT ? end_of(cut, reader) : start_of(cut, reader)] -= datum->bytes;
}

static void weigh_results(od_dag_cut *cut)
{
    for (uint32_t d = 0; d < cut->dag->ndata; d++) {
        const od_dag_datum *datum = &cut->dag->data[d];
        if (!datum->nreaders && !datum->lazy)
            weigh_birth(cut, d);
    }
    for (uint32_t t = 0; t < cut->dag->ntasks && cut->split; t++) {
        cut->weight[start_of(cut, t)] += cut->dag->tasks[t].bytes;
        cut->weight[end_of(cut, t)] -= cut->dag->tasks[t].bytes;
    }
}

static bool add_precedences(od_dag_cut *cut)
{
    const od_dag *dag = cut->dag;
    bool fine = true;
    for (uint32_t t = 0; t < dag->ntasks && fine; t++) {
        if (cut->split)
            fine = add_precedence(cut, start_of(cut, t), end_of(cut, t));
        for (uint32_t i = dag->after.first[t]; i < dag->after.first[t + 1] && fine; i++)
            fine = add_precedence(cut, end_of(cut, t), start_of(cut, dag->after.items[i]));
    }
    return fine;
}

static bool weigh(od_dag_cut *cut)
{
    for (uint32_t d = 0; d < cut->dag->ndata; d++)
        cut->birth[d] = cut->dag->data[d].producer;
    bool fine = od_dag_first_readers(cut->dag, find_birth, cut) == OD_OK;
    cut->weighed = 0;
    fine = fine && od_dag_last_readers(cut->dag, weigh_reader, cut) == OD_OK;
    if (fine)
        weigh_results(cut);
    return fine;
}

static bool needs_memory_to_run(const od_dag *dag)
{
    for (uint32_t t = 0; t < dag->ntasks; t++)
        if (dag->tasks[t].bytes)
            return true;
    return false;
}

od_status od_dag_cut_make(const od_dag *dag, od_dag_model model, const bool *held, od_dag_cut *cut)
{
    size_t room;
    *cut = (od_dag_cut){.dag = dag, .model = model, .held = held, .exact = true};
    cut->split = model == OD_DAG_RESIDENT || needs_memory_to_run(dag);
    cut->nevents = cut->split ? 2 * dag->ntasks : dag->ntasks;
    room = (size_t)cut->nevents + 1;
    cut->first = calloc(room, sizeof *cut->first);
    cut->weight = calloc(room, sizeof *cut->weight);
    cut->level = calloc(room, sizeof *cut->level);
    cut->queue = malloc(room * sizeof *cut->queue);
    cut->at = malloc(room * sizeof *cut->at);
    cut->phase = calloc((size_t)dag->ntasks + 1, sizeof *cut->phase);
    cut->birth = malloc(((size_t)dag->ndata + 1) * sizeof *cut->birth);
    bool fine = cut->first && cut->weight && cut->level && cut->queue && cut->at && cut->phase && cut->birth &&
                add_precedences(cut) && weigh(cut);
    if (!fine)
        od_dag_cut_free(cut);
    return fine ? OD_OK : OD_ENOMEM;
}

void od_dag_cut_free(od_dag_cut *cut)
{
    free(cut->first);
    free(cut->arcs);
    free(cut->weight);
    free(cut->level);
    free(cut->queue);
    free(cut->at);
    free(cut->phase);
    free(cut->birth);
    *cut = (od_dag_cut){0};
}

/* --- the flow ------------------------------------------------------------------------------------- */

/* Distances from all events that still have something to send, plus one; 0: not reached. With `whole`, all that can be
 * reached; else no further than the first events that take something. True: there are such. */
static bool search(od_dag_cut *cut, bool whole)
{
    uint32_t count = 0, limit = UINT32_MAX;
    memset(cut->level, 0, (size_t)cut->nevents * sizeof *cut->level);
    for (uint32_t v = 0; v < cut->nevents; v++)
        if (cut->weight[v] > 0) {
            cut->level[v] = 1;
            cut->queue[count++] = v;
        }
    for (uint32_t i = 0; i < count && cut->level[cut->queue[i]] < limit; i++) {
        uint32_t v = cut->queue[i];
        for (uint32_t a = cut->first[v]; a; a = cut->arcs[a - 1].next) {
            const od_dag_arc *arc = &cut->arcs[a - 1];
            if (!arc->room || cut->level[arc->to])
                continue;
            cut->level[arc->to] = cut->level[v] + 1;
            cut->queue[count++] = arc->to;
            if (cut->weight[arc->to] < 0 && !whole)
                limit = cut->level[arc->to];
        }
    }
    return limit < UINT32_MAX;
}

static void push(od_dag_cut *cut, uint32_t a, int64_t amount)
{
    if (cut->arcs[a].room != ENDLESS)
        cut->arcs[a].room -= amount;
    if (cut->arcs[a ^ 1].room != ENDLESS)
        cut->arcs[a ^ 1].room += amount;
}

/* Sends along the path in `queue` (arcs), from `source` to `sink`, as much as goes. Returns how much of the path
 * remains: up to its first full arc. */
static uint32_t send(od_dag_cut *cut, uint32_t source, uint32_t sink, uint32_t length)
{
    int64_t amount = cut->weight[source] < -cut->weight[sink] ? cut->weight[source] : -cut->weight[sink];
    uint32_t rest = length;
    for (uint32_t i = 0; i < length; i++)
        amount = cut->arcs[cut->queue[i]].room < amount ? cut->arcs[cut->queue[i]].room : amount;
    for (uint32_t i = length; i > 0; i--) {
        push(cut, cut->queue[i - 1], amount);
        if (!cut->arcs[cut->queue[i - 1]].room)
            rest = i - 1;
    }
    cut->weight[source] -= amount;
    cut->weight[sink] += amount;
    return rest;
}

/* The next arc of `v` one level further, or 0; cut->at[v] moves on. */
static uint32_t next_arc(od_dag_cut *cut, uint32_t v)
{
    for (uint32_t a = cut->at[v]; a; a = cut->at[v] = cut->arcs[a - 1].next)
        if (cut->arcs[a - 1].room && cut->level[cut->arcs[a - 1].to] == cut->level[v] + 1)
            return a;
    return 0;
}

/* All that `source` can send along shortest paths. */
static void send_from(od_dag_cut *cut, uint32_t source)
{
    uint32_t length = 0, v = source;
    while (cut->weight[source] > 0) {
        uint32_t a;
        if (cut->weight[v] < 0) {
            length = send(cut, source, v, length);
            v = length ? cut->arcs[cut->queue[length - 1]].to : source;
        } else if ((a = next_arc(cut, v))) {
            cut->queue[length++] = a - 1;
            v = cut->arcs[a - 1].to;
        } else if (length) {
            uint32_t back = cut->arcs[cut->queue[--length] ^ 1].to;
            cut->at[back] = cut->arcs[cut->at[back] - 1].next;
            v = back;
        } else {
            return;
        }
    }
}

static void read_state(od_dag_cut *cut)
{
    cut->bound = cut->initial;
    for (uint32_t v = 0; v < cut->nevents; v++)
        cut->bound += cut->weight[v] > 0 ? cut->weight[v] : 0;
    for (uint32_t t = 0; t < cut->dag->ntasks; t++)
        cut->phase[t] = cut->level[end_of(cut, t)]     ? OD_DAG_ENDED
                        : cut->level[start_of(cut, t)] ? OD_DAG_RUNNING
                                                       : OD_DAG_WAITING;
    cut->reached = od_dag_state_bytes(cut->dag, cut->model, cut->phase);
}

void od_dag_cut_solve(od_dag_cut *cut)
{
    while (search(cut, false)) {
        memcpy(cut->at, cut->first, (size_t)cut->nevents * sizeof *cut->at);
        for (uint32_t v = 0; v < cut->nevents; v++)
            if (cut->weight[v] > 0)
                send_from(cut, v);
    }
    search(cut, true);
    read_state(cut);
}
