/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Devices by how many tasks they have: the one with the fewest of any set of them is found without looking at each.
 *
 * There is a set of devices for each small number of tasks. A change costs the same whatever the number of devices, a
 * look at most one intersection of sets for each number of tasks that occurs.
 */
#ifndef OD_SCHED_ENGINE_DEVICES_HUNGRY_H
#define OD_SCHED_ENGINE_DEVICES_HUNGRY_H

#include "memmgr/data/placeset.h"

enum { OD_HUNGRY_LEVELS = 64, OD_NOT_HUNGRY = -1 };

/* Zeroed: no device is in it. */
typedef struct od_hungry {
    uint64_t levels;                     /* bit l: there are devices on that level */
    od_placeset level[OD_HUNGRY_LEVELS]; /* those with so many tasks; on the last one, with as many or more */
    int tasks[OD_MAX_DEVICES];           /* plus one; 0: it is not in it */
} od_hungry;

/* The device has another number of tasks now; OD_NOT_HUNGRY: it goes. */
void od_hungry_change(od_hungry *hungry, unsigned k, int tasks);
/* The device of these with the fewest tasks, of equals the first; OD_NOWHERE: there is none. */
int od_hungry_least(const od_hungry *hungry, od_placeset among);
bool od_hungry_is_valid(const od_hungry *hungry);

/* OD_NOT_HUNGRY: it is not in it. */
static inline int od_hungry_tasks(const od_hungry *hungry, unsigned k)
{
    return hungry->tasks[k] - 1;
}

/* The device has so many tasks now, perhaps as many as before. */
static inline void od_hungry_set(od_hungry *hungry, unsigned k, int tasks)
{
    if (tasks != od_hungry_tasks(hungry, k))
        od_hungry_change(hungry, k, tasks);
}

#endif
