/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Which node each datum is assigned to, that is, where the tasks run that write it (owner computes).
 *
 * Data of the known tasks (sched/graph/known.h), ready or only submitted, are assigned together (sched/phase/owners.h):
 * so that little goes over the network cards, each version of a datum once to each node whose tasks read it, while in
 * each part of the run all nodes have as much to do as they are fast. Again when as many tasks have been submitted as
 * there were then; a datum that is on another node then may move, which costs a copy.
 */
#ifndef OD_SCHED_POLICY_NODES_ASSIGN_H
#define OD_SCHED_POLICY_NODES_ASSIGN_H

#include "sched/policy.h"

#define OD_NO_NODE UINT32_MAX

typedef struct od_assign {
    const od_policy_env *env; /* the policy's */
    unsigned nnodes;
    const unsigned *node_of;  /* by device */
    double card;              /* bytes/s between two nodes */
    uint32_t *node;           /* by id of a datum: its node plus one, 0: none */
    uint32_t ndata;           /* room */
    bool plans;               /* in the background */
    uint64_t planned, wanted; /* tasks that had been submitted at the last plan, and that are to be before the next */
} od_assign;

void od_assign_init(od_assign *assign, const od_policy_env *env, unsigned nnodes, const unsigned *node_of, double card);
void od_assign_free(od_assign *assign);

/* What the task writes, the last of it; NULL: it writes nothing. */
const od_datum *od_assign_main(const od_task *task);
/* The node of a datum; OD_NO_NODE: it has none. */
uint32_t od_assign_node(const od_assign *assign, const od_datum *datum);
/* OD_ENOMEM: it is as before. */
od_status od_assign_set(od_assign *assign, const od_datum *datum, unsigned node);
void od_assign_forget(od_assign *assign, const od_datum *datum);
/* Assigns the data of all known tasks if enough of them are new. */
void od_assign_plan(od_assign *assign);

#endif
