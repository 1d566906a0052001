/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Devices by how many tasks they have; see hungry.h. */
#include "sched/engine/devices/hungry.h"

static unsigned level_of(int tasks)
{
    return tasks < OD_HUNGRY_LEVELS ? (unsigned)tasks : OD_HUNGRY_LEVELS - 1;
}

void od_hungry_change(od_hungry *hungry, unsigned k, int tasks)
{
    int before = od_hungry_tasks(hungry, k);
    hungry->tasks[k] = tasks + 1;
    if (before != OD_NOT_HUNGRY) {
        unsigned l = level_of(before);
        od_placeset_remove(&hungry->level[l], k);
        if (od_placeset_is_empty(hungry->level[l]))
            hungry->levels &= ~(UINT64_C(1) << l);
    }
    if (tasks != OD_NOT_HUNGRY) {
        unsigned l = level_of(tasks);
        od_placeset_add(&hungry->level[l], k);
        hungry->levels |= UINT64_C(1) << l;
    }
}

static int least_of_many(const od_hungry *hungry, od_placeset devices)
{
    int best = OD_NOWHERE;
    for (od_placeset_walk at = od_placeset_begin(devices); od_placeset_next(&at);)
        if (best == OD_NOWHERE || hungry->tasks[at.place] < hungry->tasks[best])
            best = (int)at.place;
    return best;
}

int od_hungry_least(const od_hungry *hungry, od_placeset among)
{
    for (uint64_t left = hungry->levels; left; left &= left - 1) {
        unsigned l = (unsigned)__builtin_ctzll(left);
        od_placeset devices = od_placeset_intersection(hungry->level[l], among);
        if (l == OD_HUNGRY_LEVELS - 1)
            return least_of_many(hungry, devices);
        if (!od_placeset_is_empty(devices))
            return (int)od_placeset_first(devices);
    }
    return OD_NOWHERE;
}

bool od_hungry_is_valid(const od_hungry *hungry)
{
    for (unsigned l = 0; l < OD_HUNGRY_LEVELS; l++)
        if ((hungry->levels >> l & 1) == od_placeset_is_empty(hungry->level[l]))
            return false;
    for (unsigned k = 0; k < OD_MAX_DEVICES; k++) {
        int tasks = od_hungry_tasks(hungry, k);
        for (unsigned l = 0; l < OD_HUNGRY_LEVELS; l++)
            if (od_placeset_has(hungry->level[l], k) != (tasks != OD_NOT_HUNGRY && level_of(tasks) == l))
                return false;
    }
    return true;
}
