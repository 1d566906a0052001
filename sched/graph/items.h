/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The items of the known graph (sched/graph/known.h) and the numbers of items and tasks: for the graph alone. */
#ifndef OD_SCHED_GRAPH_ITEMS_H
#define OD_SCHED_GRAPH_ITEMS_H

#include "sched/graph/known.h"

/* False: out of memory. */
bool od_known_new_id(od_known_ids *ids, uint32_t *id);
void od_known_free_id(od_known_ids *ids, uint32_t id);

/* The item with this base address, a new one if need be; its user is to be counted. NULL: out of memory. */
od_known_item *od_known_get_item(od_known *known, uintptr_t base);
/* One user less: with the last one it goes. */
void od_known_drop_item(od_known *known, od_known_item *item);
void od_known_meet_datum(od_known *known, od_known_item *item, const od_datum *datum);

#endif
