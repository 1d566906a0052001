/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Devices that are alike by their links, so that who looks for the best place for something need not look at each.
 *
 *   group   devices that get data equally fast from each place outside the group, and from each other: those behind one
 *           switch, or of one node
 *   sort    groups whose devices get data equally fast from each place outside these groups: all nodes, but for the one
 *           that has the program's memory
 */
#ifndef OD_SCHED_ALIKE_H
#define OD_SCHED_ALIKE_H

#include "memmgr/device/topology.h"

typedef struct od_alike {
    unsigned ngroups, nsorts;
    unsigned group[OD_MAX_DEVICES]; /* by device */
    unsigned sort[OD_MAX_DEVICES];  /* by group */
} od_alike;

/* From links between places by row (from) and column (to), n devices and the host last. Each device is compared with
 * the first one of a group alone: where links differ by direction two of a group may not be quite alike. */
void od_alike_find(od_alike *alike, const od_link *links, unsigned n);

#endif
