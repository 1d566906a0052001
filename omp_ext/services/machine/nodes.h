/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The topology of several nodes, from measurements of each. The program runs on one of them, the home node, whose
 * devices its bytes reach without a nodes. Every other node has a link of its own in each direction, and the home node
 * another one, which all bytes between it and others share. A copy between two nodes uses the links of both.
 */
#ifndef OD_OMP_EXT_NODES_H
#define OD_OMP_EXT_NODES_H

#include "memmgr/device/topology.h"

/* Sums of what runs at once, bytes/s; 0: not known, then it is what one reaches alone. */
typedef struct od_node_rates {
    unsigned rank; /* the first one there */
    bool is_home;
    od_link in, out;        /* one of its devices and the program's memory */
    double all_in, all_out; /* all of its devices and that */
    od_link within;         /* two of its devices */
} od_node_rates;

typedef struct od_nodes {
    unsigned ndevices, nnodes;
    unsigned node[OD_MAX_DEVICES]; /* of each device */
    od_node_rates of[OD_MAX_DEVICES];
    od_link between;              /* devices of two nodes */
    double others_in, others_out; /* one device of each node but the home node */
} od_nodes;

/* NULL: out of memory. */
od_topology *od_topology_nodes(const od_nodes *nodes);

#endif
