/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Transfers in virtual time, over the links of a topology.
 *
 * A transfer waits for the latency of its way; then its bytes flow, at a rate that all flows which share a link with it
 * decide: the tightest link is divided among its flows, what these leave of the others is divided among the rest, and
 * so on (max-min fairness; Bertsekas and Gallager, Data Networks, 6.5.2). Parts are equal, or as od_topology.by_latency
 * says. Numbers are rounded as by SimGrid: a last bit decides which of two transfers ends first.
 */
#ifndef OD_SCHED_ORACLE_NETWORK_H
#define OD_SCHED_ORACLE_NETWORK_H

#include "memmgr/device/topology.h"

typedef struct od_flow {
    const od_way *way;
    const uint32_t *link; /* those of its way */
    uint32_t nlinks;
    uint32_t owner; /* the caller's */
    double latency; /* seconds that are left of it */
    double penalty; /* by which its part of a link is divided */
    double weight;  /* parts that it wants: the inverse */
    double most;    /* a part that its way allows */
    double left;    /* bytes */
    double rate;    /* bytes/s; 0 while latency is left */
} od_flow;

typedef struct od_network {
    const od_topology *topology;
    od_flow *flow; /* in the order in which they began */
    uint32_t nflows;
    bool stale; /* rates are to be worked out again; the rest is for that */
    uint32_t *waiting, nwaiting; /* flows whose rate is not known */
    double *left;                /* by link: bytes/s that are not given */
    double *wanted;              /* by link: parts, of flows whose rate is not known */
    double *part;                /* by link: bytes/s that one of them gets; infinite: there is none */
    uint32_t *used, nused;       /* links on their ways */
} od_network;

/* At most so many transfers at once. OD_ENOMEM: nothing is to be freed. */
od_status od_network_init(od_network *network, const od_topology *topology, uint32_t most);
void od_network_free(od_network *network);

/* Begins a transfer, from or to places from OD_SPILL on: the host. */
void od_network_start(od_network *network, int from, int to, double bytes, uint32_t owner);
/* Seconds until a latency or a transfer ends, if nothing begins before; infinite: none is under way. */
double od_network_next(od_network *network);
/* So much time passes, at most od_network_next(). Owners of transfers that end then are written to `ended`, first those
 * that began first; returns how many. */
uint32_t od_network_pass(od_network *network, double seconds, uint32_t *ended);

#endif
