/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Sets of devices that the topology makes different.
 *
 * Two sets are alike if their devices are as fast, have the same ways to the host, share as much of them with each
 * other, and have the same ways between each other: a renumbering of the devices then turns one into the other. Of each
 * size the devices with the fastest ways from the host come first, those that compute fastest, and the first ones, all
 * that a program has which uses so many: where all are different there are more kinds than can be listed. Others are
 * grown by one device from one of each kind of the sets before.
 */
#ifndef OD_SCHED_AUTO_SETS_H
#define OD_SCHED_AUTO_SETS_H

#include "memmgr/device/topology.h"

enum {
    OD_SETS_KINDS = 24,   /* of sets of one size, at most */
    OD_SETS_DEVICES = 61, /* among more none are looked for: it takes the fourth power of their number */
};

typedef struct od_device_sets {
    unsigned most;                       /* devices of the largest set */
    unsigned kinds;                      /* of each size at most */
    unsigned count[OD_SETS_DEVICES + 1]; /* by number of devices */
    od_placeset set[OD_SETS_DEVICES + 1][OD_SETS_KINDS];
} od_device_sets;

/* Of the devices `among`. */
void od_device_sets_find(const od_topology *topology, od_placeset among, od_device_sets *sets);
/* Of the devices `among` the last where `set` has the first, and so on: policies decide ties by number. */
od_placeset od_device_sets_mirror(od_placeset among, od_placeset set);
/* Its devices moved among all so that the first one is in place `first` of those. Empty: there are not so many. */
od_placeset od_device_sets_moved(od_placeset among, od_placeset set, unsigned first);
/* Those with one device more or less than `set`, one of each kind: at most OD_SETS_DEVICES. Returns how many. */
unsigned od_device_sets_near(const od_topology *topology, od_placeset among, od_placeset set, od_placeset *near);
/* Likewise those with another device in place of one of its own. */
unsigned od_device_sets_exchanged(const od_topology *topology, od_placeset among, od_placeset set, od_placeset *near);

#endif
