/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * What became of each datum that a construct maps, from a trace: how it came to the device, and why it left. A copy
 * belongs to the task that uses it next, or for what happens to it later to the one that has used it last.
 */
#ifndef OD_TOOLS_MAP_ACCOUNT_H
#define OD_TOOLS_MAP_ACCOUNT_H

#include "tools/report/trace/trace_file.h"

typedef enum map_came {
    MAP_FIRST,          /* moved, for the first time */
    MAP_AFTER_EVICTION, /* moved again, because it had to leave */
    MAP_AFTER_WRITE,    /* moved again, because another place has written it */
    MAP_AFTER_RETURN,   /* moved again, because it had gone back to the host */
    MAP_PRESENT,        /* a copy was there */
    MAP_EMPTY,          /* there was nothing to copy: the task only writes it, or nothing had been written */
    MAP_ON_HOST,        /* the host version ran */
    MAP_CAME
} map_came;

typedef enum map_left {
    MAP_KEPT,     /* until it was used again, or to the end */
    MAP_RETURNED, /* written back: the program might have looked at it */
    MAP_EVICTED_FOR_TASK,
    MAP_EVICTED_FOR_PREFETCH,
    MAP_EVICTED_TO_COMPACT,
    MAP_EVICTED_TO_SHRINK,
    MAP_OVERWRITTEN, /* elsewhere */
    MAP_LEFT
} map_left;

typedef struct map_use_fate { /* of a task's use */
    map_came came;
    map_left left;
    int from;                            /* the place that it was moved from */
    uint64_t moved_bytes, written_bytes; /* to the device; from there to the host or the spill area */
} map_use_fate;

typedef struct map_fate { /* of an entry of a data construct: copies that were made for it */
    uint64_t saved_bytes;  /* of the program's memory, to the spill area */
    uint64_t home_bytes;   /* from devices to the program's memory */
    uint64_t spill_bytes;  /* from the spill area to the program's memory */
    uint64_t device_bytes; /* to devices */
} map_fate;

typedef struct map_account {
    map_use_fate *uses; /* as trace_file.uses */
    map_fate *maps;     /* as trace_file.maps */
} map_account;

/* OD_ENOMEM */
od_status map_account_make(const trace_file *trace, map_account *account);
void map_account_free(map_account *account);

#endif
