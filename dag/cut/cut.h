/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The maximum topological cut: the most memory that any schedule on any number of processors can need (Marchal, Nagy,
 * Simon, Vivien, Parallel scheduling of DAGs under memory constraints, 2018).
 *
 * A state of a run is a set of *events*, starts and ends of tasks, with all events before them; data whose birth is in
 * the set and whose death is not are in memory. Each datum is so a gain at the event that makes it and a loss at the
 * one that frees it, and the heaviest state is a closure of maximum weight, which a maximum flow from gains to the
 * losses before them finds (Picard, 1976): the same optimum as the minimum flow above all edges' weights that is the
 * dual of the cut, with one arc for each precedence instead of one for each datum. What cannot flow is the weight; the
 * state is what can still be reached from there.
 *
 * A datum with several last readers, of which none precedes the others, makes this hard (a sum over products). It is
 * then either *held* until the end of the run, or counted for each of these readers until that one has read it: bounds
 * from above, which no schedule exceeds. `reached` is what really is in memory in the state that was found.
 *
 * More precedences can be added: the flow stays, and only what follows from them is searched.
 */
#ifndef OD_DAG_CUT_CUT_H
#define OD_DAG_CUT_CUT_H

#include "dag/cut/state.h"

typedef struct od_dag_arc {
    uint32_t to, next; /* of the same event; plus one, 0: none */
    int64_t room;      /* what may still flow */
} od_dag_arc;

typedef struct od_dag_cut {
    const od_dag *dag;
    od_dag_model model;
    bool split; /* tasks have two events, 2 t and 2 t + 1; else one, t */
    uint32_t nevents, narcs, arc_room;
    uint32_t *first;  /* by event: its arcs, plus one */
    od_dag_arc *arcs; /* in pairs, there and back */
    int64_t *weight;  /* by event: gain less loss; above 0: what has not flowed yet, below: what it still takes */
    uint32_t *level, *queue, *at; /* by event: of the search */
    const bool *held;             /* by datum, or NULL: none */
    uint32_t *birth;  /* by datum: the task whose start makes it, or OD_DAG_NONE: it is there from the beginning */
    uint32_t weighed; /* the datum that was looked at last, plus one */
    int64_t initial;  /* bytes before the first event */
    /* Results. */
    int64_t bound;       /* bytes: the maximum cut */
    int64_t reached;     /* bytes in memory in its state: the same where `exact` */
    bool exact;          /* no datum has several last readers, or several first ones that make it */
    od_dag_phase *phase; /* by task: the state */
} od_dag_cut;

/* `held`, by datum, is kept; NULL: no datum is. */
od_status od_dag_cut_make(const od_dag *dag, od_dag_model model, const bool *held, od_dag_cut *cut);
void od_dag_cut_free(od_dag_cut *cut);

/* `before` has ended before `after` starts. Then od_dag_cut_solve() again. */
od_status od_dag_cut_add(od_dag_cut *cut, uint32_t before, uint32_t after);
void od_dag_cut_solve(od_dag_cut *cut);

/* The best bound of a few, with the heaviest state that they found: done where it is exact at once. The cut can be
 * extended as above. `held` has room for all data. */
od_status od_dag_cut_best(const od_dag *dag, od_dag_model model, bool *held, od_dag_cut *cut);

#endif
