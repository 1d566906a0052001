/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Machines for the simulator: a SimGrid platform file and a table of kernel times.
 *
 * The platform has a host `ram`, where all data begin, and devices `gpu0`, `gpu1`, ... with routes from and to it and,
 * where peer copies are possible, between each other. Properties of `ram`:
 *   kernels  file with kernel times, beside the platform file
 *   peak     GFlop/s of a device
 *   peer     yes or no: device-to-device copies
 *   turns    yes or no (default): one transfer at a time, first come, first served, as
 * OMPDARTS_BACKEND=omptarget:link=RATE does
 *   slots    tasks that run at once on a device (default 1): the cores that share one memory
 * and, where CPU workers can run tasks beside the devices:
 *   cores         of the host
 *   core-kernels  file with their kernel times, beside the platform file
 *   core-peak     GFlop/s of a core
 *
 * Kernels take the time in the table on a host gpuK of speed 1Gf, and half of it on one of 2Gf. A device that is faster
 * or slower at some has the property
 *   times  words KERNEL:TIMES: such a kernel takes so many times as long there as the device's speed says
 *
 * Kernel times: lines "NAME TILE SECONDS # where it comes from"; of cores "NAME TILE SECONDS [CORES]", of a worker of
 * so many (1). For a tile size that is not there the time is scaled from the nearest one by the number of operations,
 * (TILE / nearest)^3; for a number of cores that is not there, likewise from the nearest one, as if each core more
 * brought as much as those before.
 */
#ifndef OD_SIM_PLATFORM_H
#define OD_SIM_PLATFORM_H

#include "memmgr/device/topology.h"
#include "sim/nodes.h"
#include "util/status.h"

#include <simgrid/host.h>

typedef struct sim_kernel_time {
    char name[64];
    uint32_t tile;
    double seconds;
    uint32_t cores; /* that work on it together; of devices 1 */
} sim_kernel_time;

typedef struct sim_times {
    sim_kernel_time *items;
    size_t count;
} sim_times;

typedef struct sim_platform {
    char name[64];
    unsigned ndevices;
    unsigned total;  /* devices, of which this program can hold the first OD_MAX_DEVICES */
    sim_nodes nodes; /* as many devices in each */
    unsigned slots;
    bool peer;
    bool turns;  /* one transfer at a time, first come, first served */
    double peak; /* flop/s of a device */
    unsigned cores;    /* of the host; 0: they take no tasks */
    double core_peak; /* flop/s of one */
    sg_host_t memory;
    sg_host_t device[OD_MAX_DEVICES];
    sim_times times, core_times;
    od_topology *topology; /* of all devices */
    char kernel[OD_SPEED_CLASSES][64]; /* that a device is faster or slower at, by speed class */
} sim_platform;

/* Loads NAME (of the platforms that come with ompdarts) or a file, as many times as there are nodes. Once per process:
 * SimGrid has one platform. OD_EINVAL with one line in `error`: SimGrid's own, where the file is no platform to it. */
od_status sim_platform_load(const char *name, const sim_nodes *nodes, sim_platform *platform, char *error, size_t size);
void sim_platform_free(sim_platform *platform);

/* The names that come with ompdarts, sorted, up to NULL. */
const char *const *sim_platform_names(void);

/* Latency and bandwidth of the way between two places, each link on it shared with all of the first devices whose way
 * from or to the host uses it; bandwidth 0: there is none. */
od_link sim_platform_link(const sim_platform *platform, int from, int to, unsigned ndevices);
/* Bandwidth from the host into the first devices together, all ways used at once, bytes/s. */
double sim_platform_inbound(const sim_platform *platform, unsigned ndevices);
/* What the first devices compute at once at most, in devices for which kernel times are as they stand. */
double sim_platform_speed(const sim_platform *platform, unsigned ndevices);
/* Time of one call, or 0: the table has no such kernel. */
double sim_platform_seconds(const sim_platform *platform, const char *kernel, uint32_t tile);
/* Of its tasks. */
unsigned sim_platform_speed_class(const sim_platform *platform, const char *kernel);
/* Likewise on so many cores of the host together. */
double sim_platform_core_seconds(const sim_platform *platform, const char *kernel, uint32_t tile, unsigned cores);

/* The node of a place. */
unsigned sim_platform_node(const sim_platform *platform, int place);
sg_host_t sim_platform_place(const sim_platform *platform, int place);

#endif
