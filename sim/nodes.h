/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Machines of several equal nodes: a platform once more for each of them, and a network between.
 *
 * Each node has one network card, full duplex, and perhaps all cards share a switch. The program and its data are on
 * node 0. A copy between nodes takes the way from its device to its node's host, both cards, and the way from the other
 * host to the other device, in one go; one of node 0's host begins, or ends, at the card. Devices are numbered through:
 * those of node i begin with i times a node's number.
 */
#ifndef OD_SIM_NODES_H
#define OD_SIM_NODES_H

#include <simgrid/host.h>
#include <stdbool.h>
#include <stdio.h>

#define SIM_NETWORK_ALLOWED                                                                                            \
    "NIC[:SWITCH[:LATENCY]]: GB/s of each node's card, of all of them (0: no limit), microseconds"

enum { SIM_MOST_NODES = 1024 };

typedef struct sim_nodes {
    unsigned count;
    double card;    /* bytes/s in each direction */
    double shared;  /* bytes/s of the switch; 0: it limits nothing */
    double latency; /* seconds, besides that of the ways inside the nodes */
} sim_nodes;

/* One node; networks are of 50 GB/s and 2 us. */
extern const sim_nodes sim_one_node;

/* One that is loaded. */
typedef struct sim_node_model {
    sg_host_t memory;
    const sg_host_t *device;
    unsigned ndevices;
    bool peer; /* copies between devices */
} sim_node_model;

/* The SimGrid platform of such nodes. */
void sim_nodes_write(const sim_node_model *node, const sim_nodes *nodes, FILE *file);

#endif
