/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The scheduler's options. */
#ifndef OD_SCHED_OPTIONS_H
#define OD_SCHED_OPTIONS_H

#include "sched/policy.h"
#include "sched/settings.h"
#include "sched/split/split.h"
#include "util/options.h"

typedef struct od_sched_choice {
    char text[1024]; /* as the user wrote it: the policy's name, perhaps followed by a colon and its options */
    od_policy_choice policy;
} od_sched_choice;

typedef struct od_split_option {
    char text[32]; /* as the user wrote it */
    od_split_choice choice;
} od_split_option;

/* When results go home that no known task will use again. */
typedef enum od_write_back { OD_WRITE_BACK_EARLY, OD_WRITE_BACK_LATE } od_write_back;

typedef struct od_sched_options {
    od_sched_choice sched; /* OMPDARTS_SCHED */
    char evict[32];        /* OMPDARTS_EVICT: eviction rule, or "auto" */
    od_split_option split; /* OMPDARTS_SPLIT */
    uint32_t buffer;       /* OMPDARTS_BUFFER: tasks per device */
    int64_t guard;         /* OMPDARTS_GUARD: as in od_engine_config */
    od_write_back write_back; /* OMPDARTS_WRITE_BACK */
    od_recompute recompute;   /* OMPDARTS_RECOMPUTE */
    uint64_t seed;         /* OMPDARTS_SEED */
} od_sched_options;

extern const od_option_spec od_sched_option_rows[];

enum { OD_MOST_BUFFER = 1000000 };

/* Divides WHICH[:ACTIVE], or `auto` for all:auto: `which` gets the text before the colon, *active how many are to be
 * active, as in od_engine_config; it stays as it is where the text says nothing of it. */
od_status od_parse_active(const char *text, char *which, size_t size, int *active);
/* What od_parse_active() allows for ACTIVE. */
#define OD_TEXT_AS_IT_IS(text) #text
#define OD_TEXT_OF(number) OD_TEXT_AS_IT_IS(number)
#define OD_MAX_DEVICES_TEXT OD_TEXT_OF(OMPDARTS_MAX_DEVICES)

#define OD_ACTIVE_ALLOWED "policy, auto, all, or a whole number from 1 to " OD_MAX_DEVICES_TEXT

/* Reads off, auto, or a size, as in od_engine_config. */
od_status od_parse_guard(const char *text, int64_t *guard);
#define OD_GUARD_ALLOWED "off, auto, or a size such as 8Gi"

/* Reads N or N:W: so many CPU workers, of so many cores each (1). */
od_status od_parse_workers(const char *text, unsigned *workers, unsigned *cores);

/* Checks a name of OMPDARTS_EVICT; `cause` says what there is. */
od_status od_evict_check(const char *text, char *cause, size_t size);
/* od_policy_choose(), which also answers a policy with an eviction rule. */
od_status od_sched_choose(const char *text, od_policy_choice *choice, char *cause, size_t size);

#endif
