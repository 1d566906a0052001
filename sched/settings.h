/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* All that decides what runs where and when. */
#ifndef OD_SCHED_SETTINGS_H
#define OD_SCHED_SETTINGS_H

#include "sched/evict.h"

/* Evicted contents that a task could make again are dropped: never, where that is estimated to be faster than to write
 * them back, or wherever it is possible. */
typedef enum od_recompute { OD_RECOMPUTE_OFF, OD_RECOMPUTE_AUTO, OD_RECOMPUTE_ALWAYS } od_recompute;

typedef struct od_settings {
    od_policy_choice policy;
    const od_evict_ops *evict;
    unsigned buffer; /* tasks per task buffer (OMPDARTS_BUFFER) */
    int active;      /* devices, the others are idle; OD_ACTIVE_AS_POLICY or OD_ACTIVE_CHOSEN (sched/phase/active.h) */
    bool devices_only; /* CPU workers take nothing that a device can run */
    od_placeset devices; /* those that are active, the others are idle; empty: as `active` says */
} od_settings;

#endif
