/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A trace (docs/trace-format.md) read back, in arrays.
 */
#ifndef OD_TOOLS_REPORT_TRACE_TYPES_H
#define OD_TOOLS_REPORT_TRACE_TYPES_H

#include "sched/event.h"
#include "util/status.h"

enum { TRACE_HOST = -1, TRACE_SPILL = -2 }; /* places; devices are 0, 1, ... */

typedef struct trace_datum {
    uintptr_t address;
    uint64_t size;
} trace_datum;

enum { TRACE_NO_NAME = UINT32_MAX };

typedef struct trace_use {
    uint32_t datum;
    uint32_t variable; /* of trace_file.variables, or TRACE_NO_NAME */
    od_mode mode;
} trace_use;

typedef enum trace_depend_type {
    TRACE_IN,
    TRACE_OUT,
    TRACE_INOUT,
    TRACE_MUTEXINOUTSET,
    TRACE_INOUTSET,
    TRACE_ALL_MEMORY
} trace_depend_type;

typedef struct trace_depend { /* an item of a depend clause */
    uintptr_t address;
    trace_depend_type type;
} trace_depend;

/* Times are microseconds since the start of the run. */
typedef struct trace_task {
    uint64_t number;
    uint32_t name; /* of trace_file.names */
    int place;     /* where it ran */
    int32_t priority;
    bool failed;
    bool synchronous; /* its thread waited for it */
    double from_us, to_us;
    double created_us, ready_us, planned_us, buffered_us, committed_us; /* negative: never */
    double started_us, ended_us; /* with what comes before its code runs, and after */
    uint32_t first_use, nuses;                                          /* of trace_file.uses */
    uint32_t first_depend, ndepends;                                    /* of trace_file.depends */
} trace_task;

typedef enum trace_transfer_kind { TRACE_LOAD, TRACE_WRITE_BACK, TRACE_EVICT, TRACE_UPDATE } trace_transfer_kind;

typedef struct trace_transfer {
    trace_transfer_kind kind;
    int from, to;
    uint32_t datum;
    uint64_t bytes;
    bool demanded, reload, failed;
    double queued_us, from_us, to_us;
} trace_transfer;

typedef struct trace_stall {
    int place;
    od_stall_cause cause;
    double from_us, to_us;
} trace_stall;

enum { TRACE_NO_DATUM = UINT32_MAX };

typedef struct trace_choice { /* an eviction or a decision */
    int place;
    uint32_t datum;         /* TRACE_NO_DATUM: a decision about a task */
    od_evict_reason reason; /* of an eviction */
    double at_us;
} trace_choice;

typedef struct trace_level { /* memory in use */
    int place;
    double at_us;
    uint64_t bytes;
} trace_level;

typedef struct trace_idle { /* from now on so many devices work, the first, or these */
    double at_us, finish_s;
    uint64_t devices; /* bit k: device k; 0: the first */
    unsigned active; 
} trace_idle;

typedef struct trace_settings { /* tried by auto; seconds */
    char best[96], second[96];
    double best_s, present_s, second_s;    /* predicted; 0: not known */
    double half_predicted_s, half_taken_s; /* until half of the tasks were done; 0: they are not yet */
    double at_us;                          /* when that was */
    unsigned choices;                      /* with this one */
    bool adopted, second_at_least;         /* that one is a lower bound */
    uint64_t tasks, tried;
} trace_settings;

typedef struct trace_kernel { /* that might have run in slices */
    char name[128];
    char reason[128];       /* why its last launch was whole, after "it"; empty: it was not */
    uint64_t sliced, whole; /* launches */
    uint64_t early;         /* of those in slices: slices of it began before the launch before had ended */
    unsigned slices;        /* of the last one in slices */
} trace_kernel;

typedef struct trace_footprint { /* what a kernel uses around an argument's names is not known */
    char name[128];
    unsigned argument; /* from 1 on */
    bool is_all;       /* it uses all of the array; else it is still being learnt */
} trace_footprint;

typedef struct trace_fault { /* of a page of it; for how long a kernel waited */
    uint32_t datum;
    double us;
} trace_fault;

typedef struct trace_waiting { /* tasks created and not ready */
    double at_us;
    uint64_t tasks;
} trace_waiting;

typedef struct trace_map { /* of a data construct */
    uintptr_t address;
    uint64_t size;
    char type[8]; /* "to", ... "release" */
    uint32_t variable;
} trace_map;

typedef struct trace_construct {
    char name[16];
    uint32_t source; /* of trace_file.variables, or TRACE_NO_NAME */
    double from_us, to_us;
    uint32_t first_map, nmaps;
} trace_construct;

typedef struct trace_rank { /* of a job, whose device it is */
    unsigned number;
    char host[64];
} trace_rank;

typedef struct trace_file {
    char path[1024];
    char version[32], program[128], policy[128], eviction[32];
    char command[640], host[128]; /* empty: unknown */
    uint64_t date;                /* seconds since 1970; 0: unknown */
    unsigned processors;          /* that the devices share; 0: they have their own */
    unsigned active;              /* devices, from the start on, because the user says so; 0: all, or it is chosen */
    uint64_t seed;
    uint64_t memory; /* bytes of each device */
    unsigned ndevices;
    char (*device)[128]; /* names */
    trace_rank *rank;    /* by device; NULL: all are of one */
    bool cut;            /* the end is missing */
    double end_us;       /* of the last event */

    char **names;
    char **sources; /* of each name: "file:line", or NULL */
    char **variables; /* as the program wrote them, and places in its sources */
    trace_datum *data;
    trace_use *uses;
    trace_depend *depends;
    trace_construct *constructs;
    trace_map *maps;
    trace_task *tasks;
    trace_transfer *transfers;
    trace_stall *stalls;
    trace_choice *evictions, *drops, *decisions;
    trace_level *levels;
    trace_waiting *waiting;
    trace_idle *idles;
    trace_kernel *kernels;
    trace_settings settings; /* the last; tried 0: none */
    size_t nnames, nsources, ndata, nuses, ntasks, ntransfers, nstalls, nevictions, ndrops, ndecisions, nlevels,
        nwaiting, nidles, nkernels;
    trace_fault *faults;
    trace_footprint *footprints;
    size_t nfaults, nfootprints;
    size_t nvariables, nconstructs, nmaps, ndepends;
} trace_file;

#endif
