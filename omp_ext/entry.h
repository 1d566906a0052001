/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * What has been learnt about each piece of compiled code, by its address.
 *
 * For a kernel (key: its host entry and footprint): the mean duration. For a host task (key: its
 * entry): whether it offloads from inside, and which of its depend items name data of which size, so that
 * the next instance can be scheduled before it runs. The table has a lock of its own; durations and depend items are
 * used under the runtime's lock.
 */
#ifndef OD_OMP_EXT_ENTRY_H
#define OD_OMP_EXT_ENTRY_H

#include "sched/task.h"

#include <stdatomic.h>

enum { OD_MAX_LEARNT_DEPENDS = 16 };

typedef enum od_entry_kind {
    OD_ENTRY_UNKNOWN,  /* not seen yet */
    OD_ENTRY_HOST,     /* has run without offloading */
    OD_ENTRY_OFFLOADS, /* a target task, or a host task that only works on addresses shown by use_device_ptr */
    OD_ENTRY_IN_PLACE, /* a host task that offloads in other ways: what it does between cannot be seen */
} od_entry_kind;

typedef struct od_learnt_depend {
    size_t size; /* bytes of the data at its base address; 0: names no data */
    od_mode mode;
} od_learnt_depend;

struct od_entry {
    const void *code;
    size_t footprint; /* bytes; 0 for host tasks */
    int32_t number;   /* od_entry_numbered() finds it by this, if positive */
    double duration;  /* mean, seconds */
    uint64_t runs;
    _Atomic od_entry_kind kind;
    atomic_bool has_depends; /* its tasks are submitted with depend clauses */
    od_learnt_depend depend[OD_MAX_LEARNT_DEPENDS];
    struct od_entry *next;
};
typedef struct od_entry od_entry;

/* The entry for this key, made at the first call. NULL: out of memory. */
od_entry *od_entry_get(const void *code, size_t footprint);
od_entry *od_entry_numbered(int32_t number);
void od_entry_record(od_entry *entry, double seconds);
/* Predicted seconds; before the first run, the mean over all code. */
double od_entry_duration(const od_entry *entry);

#endif
