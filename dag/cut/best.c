/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Data with several last readers: three bounds, of which the lowest counts. All are counted for each reader; all are
 * held; each as it was counted too high by less in the states of these two.
 */
#include "dag/cut/cut.h"

#include <stdlib.h>
#include <string.h>

/* By datum: how many last readers it has, and how many of them have not freed it in a state. */
typedef struct tally {
    const od_dag_cut *cut;
    uint32_t *unread, *readers;
} tally;

static void count_reader(void *arg, uint32_t d, uint32_t reader)
{
    tally *t = arg;
    od_dag_phase phase = t->cut->phase[reader];
    bool freed = phase == OD_DAG_ENDED || (phase == OD_DAG_RUNNING && t->cut->model == OD_DAG_REPLACE);
    t->readers[d]++;
    t->unread[d] += !freed;
}

static od_status tally_state(const od_dag_cut *cut, uint32_t *unread, uint32_t *readers)
{
    tally t = {cut, unread, readers};
    memset(unread, 0, (size_t)cut->dag->ndata * sizeof *unread);
    memset(readers, 0, (size_t)cut->dag->ndata * sizeof *readers);
    return od_dag_last_readers(cut->dag, count_reader, &t);
}

/* From the states of the cut that counts readers and of that which holds. */
static od_status choose(const od_dag_cut *counted, const od_dag_cut *holding, bool *held)
{
    size_t room = (size_t)counted->dag->ndata + 1;
    uint32_t *unread = malloc(2 * room * sizeof *unread), *readers = malloc(room * sizeof *readers);
    od_status status = unread && readers ? tally_state(counted, unread, readers) : OD_ENOMEM;
    if (!status)
        status = tally_state(holding, unread + room, readers);
    for (uint32_t d = 0; !status && d < counted->dag->ndata; d++) {
        uint32_t too_often = unread[d] > 1 ? unread[d] - 1 : 0, too_long = unread[room + d] == 0;
        held[d] = readers[d] > 1 && too_often > too_long;
    }
    free(unread);
    free(readers);
    return status;
}

static od_status try_held(const od_dag *dag, od_dag_model model, const bool *held, od_dag_cut *cut)
{
    od_status status = od_dag_cut_make(dag, model, held, cut);
    if (!status)
        od_dag_cut_solve(cut);
    return status;
}

/* Keeps the lower bound of the two, with the heavier state. */
static void keep_better(od_dag_cut *best, od_dag_cut *other)
{
    bool heavier = other->reached > best->reached;
    od_dag_phase *phase = heavier ? other->phase : best->phase;
    int64_t reached = heavier ? other->reached : best->reached;
    if (other->bound < best->bound) {
        od_dag_cut swap = *best;
        *best = *other;
        *other = swap;
    }
    if (best->phase != phase) {
        other->phase = best->phase;
        best->phase = phase;
    }
    best->reached = reached;
    od_dag_cut_free(other);
}

static void hold_shared(void *arg, uint32_t d, uint32_t reader)
{
    (void)reader;
    uint8_t *seen = arg;
    if (seen[d] < 2)
        seen[d]++;
}

static od_status mark_shared(const od_dag *dag, bool *held)
{
    uint8_t *seen = calloc((size_t)dag->ndata + 1, 1);
    od_status status = seen ? od_dag_last_readers(dag, hold_shared, seen) : OD_ENOMEM;
    for (uint32_t d = 0; !status && d < dag->ndata; d++)
        held[d] = seen[d] > 1;
    free(seen);
    return status;
}

od_status od_dag_cut_best(const od_dag *dag, od_dag_model model, bool *held, od_dag_cut *cut)
{
    od_dag_cut holding = {0}, mixed = {0};
    memset(held, 0, dag->ndata * sizeof *held);
    od_status status = try_held(dag, model, NULL, cut);
    if (status || cut->exact)
        return status;
    status = mark_shared(dag, held);
    if (!status)
        status = try_held(dag, model, held, &holding);
    if (!status)
        status = choose(cut, &holding, held);
    if (!status)
        status = try_held(dag, model, held, &mixed);
    if (!status) {
        keep_better(cut, &holding);
        keep_better(cut, &mixed);
    } else {
        od_dag_cut_free(&holding);
        od_dag_cut_free(cut);
    }
    return status;
}
