/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What an engine knows, as a problem for the oracle: known tasks, what devices have been given, and what is where. */
#ifndef OD_SCHED_ENGINE_COPY_H
#define OD_SCHED_ENGINE_COPY_H

#include "sched/oracle/problem.h"

typedef struct od_engine_copy {
    od_play_problem problem; /* of the arrays below */
    od_play_task *tasks;
    od_play_access *accesses;
    od_play_datum *data;
    uint32_t *after, *resident, *nresident;
    bool *loading;
    uint32_t *given;
    od_topology *topology;
} od_engine_copy;

/* Of the tasks that are known, those that were submitted first, at most `most`. Needs the known graph: a policy with a
 * chooser, or one that wants it. Data and order of tasks that are not ready are predictions; priorities are bottom
 * levels. Nothing in it is the engine's. OD_ENOMEM, OD_EDEVICE (all are lost): there is
 * none, nothing is to be freed. */
od_status od_engine_copy_make(od_engine *engine, uint64_t most, od_engine_copy *copy);
void od_engine_copy_free(od_engine_copy *copy);

#endif
