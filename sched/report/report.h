/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The figures of a run: the summary for people and the JSON file for programs.
 *
 * A driver (the runtime, the simulator) fills an od_report from the engine's statistics
 * when the run ends; both outputs show the same numbers. The JSON schema is docs/stats-schema.md.
 */
#ifndef OD_SCHED_REPORT_REPORT_H
#define OD_SCHED_REPORT_REPORT_H

#include "sched/engine/engine.h"

#include <stdio.h>

enum { OD_REPORT_SCHEMA_VERSION = 1 };

typedef struct od_report_device {
    const char *name; /* what the user knows it by, borrowed */
    od_device_stats stats;
    const char *host; /* name of its rank's, borrowed; used where there are several ranks */
} od_report_device;

/* The devices of one rank of a job (docs/cluster.md). */
typedef struct od_report_rank {
    unsigned rank;
    const char *host; /* its name, borrowed */
    unsigned ndevices;
    od_device_stats sum; /* as od_report_totals() */
} od_report_rank;

/* A kernel that might have run in slices (OMPDARTS_SLICE). */
typedef struct od_report_slicing {
    const char *name;    /* what the user knows it by, borrowed */
    uint64_t sliced;     /* launches in slices */
    uint64_t early;      /* of these, those that began before the launch before had ended */
    uint64_t whole;      /* launches in one piece */
    unsigned slices;     /* of the last one in slices; 0: there was none */
    const char *reason;  /* why its last launch was whole, borrowed; NULL: it was not */
} od_report_slicing;

/* Whether it is known what of an array a kernel uses, around an address by which its tasks name it. */
typedef enum od_footprint_state {
    OD_FOOTPRINT_LEARNT,
    OD_FOOTPRINT_LEARNING, /* so far what its page faults bring */
    OD_FOOTPRINT_ALL,      /* nothing could be learnt: it uses all of the array */
    OD_FOOTPRINT_STATES
} od_footprint_state;
const char *od_footprint_state_name(od_footprint_state state);

typedef struct od_report_footprint {
    const char *name;  /* the kernel's, borrowed */
    unsigned argument; /* from 1 on */
    od_footprint_state state;
} od_report_footprint;

typedef struct od_report {
    const char *program; /* names, borrowed */
    const char *policy;
    const char *evict;  /* the rule in use, never "auto" */
    uint64_t seed;
    double wall_s; /* from the first to the last event of the run, seconds */
    od_engine_stats engine;
    const od_choices *choices; /* of settings, borrowed; NULL: nothing chose */
    uint64_t habits;     /* constructs that named the default device and were scheduled all the same */
    uint64_t not_sliced; /* kernels that the program waited for one by one, and that OMPDARTS_SLICE might cut */
    unsigned processors; /* that host devices share with the program; 0: devices compute by themselves */
    unsigned nkernels;
    const od_report_slicing *kernels; /* nkernels, borrowed */
    unsigned nfootprints;
    const od_report_footprint *footprints; /* nfootprints, borrowed */
    unsigned ndevices;
    const od_report_device *devices; /* ndevices, borrowed */
} od_report;

/* Adds a device's figures to the sum; peak_bytes and limit_bytes become the larger ones. */
void od_report_add(od_device_stats *sum, const od_device_stats *d);

/* Sums over all devices; peak_bytes and limit_bytes are the largest of any device. */
od_device_stats od_report_totals(const od_report *report);

/* Likewise over the devices of each rank, in the order of their numbers. Returns how many ranks there are; 0: all
 * devices are of one. */
unsigned od_report_ranks(const od_report *report, od_report_rank ranks[OD_MAX_DEVICES]);

/* Bytes that devices have received from others of their own rank. */
uint64_t od_report_own_bytes(const od_device_stats *stats);

/* Share of the run during which devices computed, 0 to 1, of the sum over so many of them. */
double od_report_busy(const od_report *report, const od_device_stats *sum, unsigned ndevices);

/* Nanoseconds spent in scheduling callbacks per completed task; 0 without tasks. */
double od_report_sched_ns_per_task(const od_report *report);

/* Nanoseconds in which a device had a task whose code did not run: it was about to begin, or had ended and was not
 * known to. */
uint64_t od_report_start_ns(const od_device_stats *stats);

/* Nanoseconds of the run in which no task had been given to a device. */
uint64_t od_report_idle_ns(const od_report *report, const od_device_stats *stats);

/* Share of the transfer time during which the device computed, 0 to 1; 0 without transfers. */
double od_report_overlap(const od_device_stats *stats);

/* A table with one line per device, and one for the host where tasks ran there; the devices of several ranks are
 * grouped under a line for each rank. MB are 10^6 bytes; the times of a device are the run's together. */
void od_report_print(const od_report *report, FILE *file);

/* Writes the JSON file: under another name first, then renamed, so that nobody sees half a file; what is
 * not a plain file (/dev/stdout) is written in place. OD_EIO with errno set, or OD_ENOMEM; also logged. */
od_status od_report_write_json(const od_report *report, const char *path);

#endif
