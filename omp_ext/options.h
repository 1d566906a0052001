/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * All options of the library: those of each layer below, and its own. The command links this file, too, and nothing
 * else of omp_ext.
 */
#ifndef OD_OMP_EXT_OPTIONS_H
#define OD_OMP_EXT_OPTIONS_H

#include "memmgr/data/datum.h"
#include "memmgr/options.h"
#include "sched/options.h"

typedef enum od_coherence {
    OD_COHERENCE_AUTO,   /* keep copies where the depend clauses earn it */
    OD_COHERENCE_STRICT, /* copy in and out with each task, as libomptarget does */
    OD_COHERENCE_DEPEND, /* trust the depend clauses */
} od_coherence;

typedef enum od_device_clause {
    OD_DEVICE_CLAUSE_AUTO, /* the default device by its number is no choice as long as the program names no other */
    OD_DEVICE_CLAUSE_PIN,  /* device(n) constructs go to libomptarget as written */
    OD_DEVICE_CLAUSE_HINT, /* device(n) constructs belong to the virtual device too */
} od_device_clause;

/* Of kernels that use more than a device's memory. */
typedef enum od_oversize {
    OD_OVERSIZE_HOST, /* run in memory that no limit counts */
    OD_OVERSIZE_PAGE, /* run page by page within a device's limit, where all that they use is in parts */
} od_oversize;

/* Kernels stay whole, or are cut into as many slices as pays. */
enum { OD_SLICE_OFF = 0, OD_SLICE_AUTO = -1, OD_MOST_SLICES = 64 };
typedef struct od_slice_option {
    int count;  /* or OD_SLICE_… */
    bool early; /* the program does not wait for the end of each launch */
} od_slice_option;

typedef enum od_priority_mode {
    OD_PRIORITY_AUTO,   /* the priority clause; in programs without one, bottom levels */
    OD_PRIORITY_CLAUSE, /* the priority clause, 0 without one */
    OD_PRIORITY_NONE,   /* all tasks equal */
} od_priority_mode;

/* The first `count` devices (0: all), or those listed. */
typedef struct od_device_choice {
    uint32_t count;
    bool listed;
    bool none; /* CPU workers alone */
    int16_t number[OD_MAX_DEVICES]; /* OpenMP's; one that comes several times is divided into as many logical devices */
    int active;                     /* how many of them, as in od_engine_config */
} od_device_choice;

/* Host versions beside the devices. */
typedef struct od_cpu_choice {
    unsigned workers;   /* 0: none */
    unsigned cores;     /* of each; 0: as host versions have them anyhow */
    bool automatic;     /* as many as there are processors that would be idle, up to `workers` */
} od_cpu_choice;

typedef struct od_stats_choice {
    bool summary;              /* print it at the end */
    char file[OD_OPTION_PATH]; /* JSON, "" = none */
} od_stats_choice;

typedef enum od_check {
    OD_CHECK_OFF,
    OD_CHECK_STOP, /* the first finding ends the program */
    OD_CHECK_WARN, /* it is reported, once for each tile */
} od_check;

typedef struct od_debug {
    od_check check;
    double watchdog_s; /* seconds without progress, 0 = off */
    double jitter_s;   /* longest random delay added to a transfer, 0 = off */
} od_debug;

/* The values of all options. */
typedef struct od_options {
    od_sched_options sched;
    od_memory_options memory;
    od_log_level log;               /* OMPDARTS_LOG */
    od_device_choice devices;       /* OMPDARTS_DEVICES */
    od_cpu_choice cpu;              /* OMPDARTS_CPU */
    char cpu_exclude[OD_OPTION_PATH]; /* OMPDARTS_CPU_EXCLUDE: names separated by commas, "" = none */
    od_coherence coherence;         /* OMPDARTS_COHERENCE */
    od_device_clause device_clause; /* OMPDARTS_DEVICE_CLAUSE */
    od_oversize oversize;           /* OMPDARTS_OVERSIZE */
    od_priority_mode priority;      /* OMPDARTS_PRIORITY */
    od_slice_option slice;          /* OMPDARTS_SLICE */
    od_stats_choice stats;          /* OMPDARTS_STATS */
    char record[OD_OPTION_PATH];    /* OMPDARTS_RECORD: the run for the simulator, "" = none */
    char trace[OD_OPTION_PATH];     /* OMPDARTS_TRACE: the run to look at, "" = none */
    bool progress;                  /* OMPDARTS_PROGRESS */
    bool cache;                     /* OMPDARTS_CACHE: measurements of earlier runs */
    bool disable;                   /* OMPDARTS_DISABLE */
    od_debug debug;                 /* OMPDARTS_DEBUG */
} od_options;

/* All tables, in the order in which `ompdarts env` prints them. */
extern const od_option_spec *const od_all_options[];

/* Reads all OMPDARTS_ variables. On failure OD_EINVAL and a one-line message in `error` that names the variable, the
 * value and what is allowed. Names that no table has are logged as warnings. */
od_status od_options_parse(od_options *options, char *error, size_t error_size);

#endif
