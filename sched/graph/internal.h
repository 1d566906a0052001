/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Within the known graph (sched/graph/known.h): numbers, items and their uses, and what tasks are expected to use. */
#ifndef OD_SCHED_GRAPH_INTERNAL_H
#define OD_SCHED_GRAPH_INTERNAL_H

#include "sched/graph/known.h"

/* False: out of memory. */
bool od_known_new_id(od_known_ids *ids, uint32_t *id);
void od_known_free_id(od_known_ids *ids, uint32_t id);

/* The item with this base address, a new one if need be; its user is to be counted. NULL: out of memory. */
od_known_item *od_known_get_item(od_known *known, uintptr_t base);
/* One user less: with the last one it goes. */
void od_known_drop_item(od_known *known, od_known_item *item);
void od_known_meet_datum(od_known *known, od_known_item *item, const od_datum *datum);

/* Among those of its item, for its user's place. */
void od_known_list_use(od_known_use *use);
void od_known_unlist_use(od_known_use *use);
/* What the task uses are its depend items again, in no list. */
void od_known_clear_prediction(od_known *known, od_known_task *task);
/* The task's access to the datum with this base, or NULL; `i`: where it is looked for first. */
const od_access *od_known_find_access(const od_task *task, uintptr_t base, uint32_t i);

/* An open task that is not ready uses what those like it have used, if that is known. */
void od_known_expect(od_known *known, od_known_task *task);
void od_known_expect_no_more(od_known *known, od_known_task *task);
/* The submitted task is ready, as `task`: true where it uses the data that were predicted, whatever the order. What is
 * predicted wrongly is predicted anew for those like it. */
bool od_known_compare(od_known *known, od_known_task *submitted, const od_task *task);

#endif
