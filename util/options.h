/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Options: one table with name, type, default, unit, allowed values and help.
 *
 * The table drives parsing, `ompdarts env`, the manual page and the warning
 * about unknown OMPDARTS_ names. options.c is the only code of the project that
 * reads the environment.
 */
#ifndef OD_UTIL_OPTIONS_H
#define OD_UTIL_OPTIONS_H

#include "util/log.h"
#include "util/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef enum od_coherence {
    OD_COHERENCE_AUTO,   /* keep copies where the depend clauses earn it */
    OD_COHERENCE_STRICT, /* copy in and out with each task, as libomptarget does */
    OD_COHERENCE_DEPEND, /* trust the depend clauses */
} od_coherence;

typedef enum od_device_clause {
    OD_DEVICE_CLAUSE_PIN,  /* device(n) constructs go to libomptarget as written */
    OD_DEVICE_CLAUSE_HINT, /* device(n) constructs belong to the virtual device too */
} od_device_clause;

typedef enum od_priority_mode {
    OD_PRIORITY_AUTO,   /* the priority clause; in programs without one, bottom levels */
    OD_PRIORITY_CLAUSE, /* the priority clause, 0 without one */
    OD_PRIORITY_NONE,   /* all tasks equal */
} od_priority_mode;

typedef enum od_check {
    OD_CHECK_OFF,
    OD_CHECK_STOP, /* "1": the first finding ends the program */
    OD_CHECK_WARN, /* it is told, once for each tile */
} od_check;

typedef enum od_backend_choice {
    OD_BACKEND_AUTO,      /* cuda where all devices are NVIDIA's, else omptarget */
    OD_BACKEND_OMPTARGET, /* blocking copies through the OpenMP API */
    OD_BACKEND_CUDA,      /* the CUDA driver */
} od_backend_choice;

enum { OD_MAX_LISTED = 62 };

/* The first `count` devices (0: all), or those listed. */
typedef struct od_device_choice {
    uint32_t count;
    bool listed;
    int16_t number[OD_MAX_LISTED]; /* OpenMP's; one that comes several times is divided into as many logical devices */
} od_device_choice;

#define OD_PIN_AUTO SIZE_MAX

/* The values of all options, filled by od_options_parse(). */
typedef struct od_options {
    char sched[1024];          /* OMPDARTS_SCHED: policy name, perhaps followed by a colon and its options */
    char evict[32];            /* OMPDARTS_EVICT: eviction rule, or "auto" */
    od_device_choice devices;  /* OMPDARTS_DEVICES */
    od_backend_choice backend; /* OMPDARTS_BACKEND */
    size_t pin;                /* OMPDARTS_PIN: bytes of host memory that may be pinned, or OD_PIN_AUTO; 0 = none */
    size_t mem_limit;          /* OMPDARTS_MEM_LIMIT: bytes per device, 0 = most of what is free */
    uint32_t task_buffer;      /* OMPDARTS_TASK_BUFFER: tasks per device */
    double lookahead_s;        /* OMPDARTS_LOOKAHEAD: seconds of work in the buffer of a device that loads nothing */
    int working;               /* OMPDARTS_WORKING: devices, 0 as the policy prefers, -1 chosen for any policy */
    od_coherence coherence;    /* OMPDARTS_COHERENCE */
    bool spill;                /* OMPDARTS_SPILL */
    od_device_clause device_clause; /* OMPDARTS_DEVICE_CLAUSE */
    od_priority_mode priority;      /* OMPDARTS_PRIORITY */
    double link_bandwidth;          /* OMPDARTS_LINK_BANDWIDTH: bytes/s, shared by all devices; 0 = not slowed */
    char stats[1024];               /* OMPDARTS_STATS: JSON file, "" = none */
    char trace[1024];               /* OMPDARTS_TRACE: the run to look at, "" = none */
    char record[1024];              /* OMPDARTS_RECORD: the run for the simulator, "" = none */
    bool summary;                   /* OMPDARTS_SUMMARY: print the summary at exit */
    bool progress;                  /* OMPDARTS_PROGRESS */
    bool cache;                     /* OMPDARTS_CACHE: measurements of earlier runs */
    uint64_t seed;                  /* OMPDARTS_SEED */
    od_log_level log;               /* OMPDARTS_LOG */
    bool disable;                   /* OMPDARTS_DISABLE */
    od_check check;                 /* OMPDARTS_CHECK */
    double watchdog_s;              /* OMPDARTS_WATCHDOG: seconds without progress, 0 = off */
    double jitter_s;                /* OMPDARTS_JITTER: longest random delay added to a transfer, 0 = off */
} od_options;

/* One row of the option table. */
typedef struct od_option_spec od_option_spec;
struct od_option_spec {
    const char *name;          /* "OMPDARTS_SCHED" */
    const char *type;          /* "name", "size", "integer", "number", "choice", "path", "flag" */
    const char *default_value; /* as a user would write it */
    const char *unit;          /* "bytes", "bytes/s", "s", "" */
    const char *allowed;       /* "auto|strict|depend" for a choice, else words: "a whole number >= 1" */
    const char *help;          /* one sentence */
    const char *long_option;   /* "sched" for `ompdarts run --sched` */

    /* For options.c: turns text into the value of the member at `member` of od_options. */
    od_status (*parse)(const od_option_spec *spec, const char *text, void *value);
    size_t member;
};

/* The table, `*count` rows, in the order in which `ompdarts env` prints it. */
const od_option_spec *od_option_table(size_t *count);

/* Parses all OMPDARTS_ variables from the environment into `options`.
 * On failure: OD_EINVAL and a one-line message in `error` that names the
 * variable, the value and what is allowed. Policy and eviction names are checked
 * here against the names that `known_policies` and `known_rules` list
 * (NULL-terminated arrays; NULL itself: not checked); what follows a policy's name and a colon, and the
 * policy `plugin`, are for od_policy_choose(). Unknown OMPDARTS_ names are
 * logged as warnings. An unwritable OMPDARTS_STATS or OMPDARTS_RECORD file is an error; a relative one is made absolute, so
 * that a program that changes its folder does not move it. An empty variable counts as unset. */
od_status od_options_parse(od_options *options, const char *const *known_policies, const char *const *known_rules,
                           char *error, size_t error_size);

/* Sizes: powers of ten for K, M, G, T and powers of
 * two for Ki, Mi, Gi, Ti; a bare number is bytes. A fraction (1.5G) and a trailing B are
 * allowed; parts of a byte are cut off. OD_EINVAL when malformed, negative or too large for size_t. */
od_status od_parse_size(const char *text, size_t *bytes);

/* Reads how many devices are to work: policy (0), auto (-1), all, or a number. OD_EINVAL: it is none of these. */
od_status od_parse_working(const char *text, int *count);

/* The value of environment variable `name`, or NULL: for the few names that are
 * not ours (OMP_TARGET_OFFLOAD); kept here so that only this file calls getenv. */
const char *od_environment(const char *name);

/* Like it, but NULL in a program that runs with other rights than its caller's (AT_SECURE: setuid, setgid, file capabilities):
 * for names of files, which would be written or loaded with these rights. Our own variables count as unset there, too. */
const char *od_environment_trusted(const char *name);

/* Sets environment variable `name` of this process to `value` where the user has not set it. */
void od_environment_default(const char *name, const char *value);

#endif
