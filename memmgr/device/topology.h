/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The topology of a machine, as plain data: links, which of them the way from each place to each other one uses, and
 * how fast its devices are beside each other.
 *
 * A link is what transfers share: a bus, one direction of it, a switch's port, a cable between two GPUs. A bus of both
 * directions is one link on the ways in and out, a full-duplex one is two; in a tree a way uses several. Transfers that
 * use a link at once get equal parts of it, less those that another link limits more (max-min fairness).
 *
 * Drivers make it (sim/platform.c from a platform file); engines and sched/oracle read it.
 */
#ifndef OD_MEMMGR_DEVICE_TOPOLOGY_H
#define OD_MEMMGR_DEVICE_TOPOLOGY_H

#include "memmgr/data/datum.h"
#include "memmgr/device/slowness.h"
#include "util/status.h"

/* What one transfer sees of a way. */
typedef struct od_link {
    double bandwidth; /* bytes/s */
    double latency;   /* s */
} od_link;

typedef struct od_way {
    double latency;   /* seconds */
    double bandwidth; /* bytes/s of one transfer by what it shares with none; infinite: its links limit it. 0: no way */
    uint32_t first, nlinks; /* in od_topology.on_way */
} od_way;

/* Devices whose way from the host leads over a link, and to it. */
typedef struct od_link_users {
    od_placeset loads, stores;
} od_link_users;

typedef struct od_topology {
    unsigned ndevices;
    unsigned nnodes;               /* 1 unless it is set, like the next */
    unsigned node[OD_MAX_DEVICES]; /* by device, below nnodes */
    bool by_latency;  /* parts of a link that transfers share are inverse to the latencies of their ways, as in
                       * SimGrid's model CM02; else they are equal */
    bool turns;       /* one transfer at a time, first come, first served */
    double *capacity; /* by link: bytes/s */
    od_link_users *users; /* by link */
    uint32_t nlinks, links_room, users_room;
    od_way *way;      /* by row (from) and column (to), the host last */
    uint32_t *on_way; /* links */
    uint32_t non_way, on_way_room;
    od_slowness slowness; /* 1 unless it is set */
} od_topology;

/* Of so many devices, without links and ways. NULL: out of memory. */
od_topology *od_topology_create(unsigned ndevices);
/* NULL: out of memory. */
od_topology *od_topology_copy(const od_topology *topology);
void od_topology_destroy(od_topology *topology);
/* The number of the new link, or UINT32_MAX: out of memory. */
uint32_t od_topology_add_link(od_topology *topology, double bandwidth);
/* The way between two places, one of them perhaps OD_HOST. OD_ENOMEM: there is none then. */
od_status od_topology_set_way(od_topology *topology, int from, int to, od_link own, const uint32_t *links,
                              uint32_t nlinks);

/* Places from OD_SPILL on are the host. */
const od_way *od_topology_way(const od_topology *topology, int from, int to);
/* Latency and bandwidth of the way, each link on it shared with all of the first devices whose way from or to the host
 * uses it; bandwidth 0: there is none. */
od_link od_topology_link(const od_topology *topology, int from, int to, unsigned ndevices);
/* The same with the devices of a set. */
od_link od_topology_link_among(const od_topology *topology, int from, int to, od_placeset devices);
/* That of all ways between the first n devices and the host, which comes last: by row (from) and column (to). */
void od_topology_links_among(const od_topology *topology, unsigned n, od_placeset devices, od_link *links);
/* Bytes/s that one copy gets of the way, alone; 0: there is none. */
double od_topology_alone(const od_topology *topology, int from, int to);
/* Bandwidth from the host into the first devices together, all ways used at once, bytes/s. */
double od_topology_inbound(const od_topology *topology, unsigned ndevices);
/* To how many of the others among `devices` that are on its node one can send at once without slowing a copy down, at
 * least 1. */
unsigned od_topology_fan(const od_topology *topology, unsigned from, od_placeset devices);

/* How many loads from others among `devices`, on other nodes, a device's node takes at once, so that each but one is as
 * fast as alone. */
unsigned od_topology_card_loads(const od_topology *topology, unsigned to, od_placeset devices);

#endif
