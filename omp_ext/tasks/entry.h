/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * What has been learnt about each piece of compiled code, by its address.
 *
 * For a kernel (key: its host entry and footprint), and for the compiled task around it (key: its code): its cost. For
 * a host task (key: its entry) also: whether it offloads from inside, and which of its depend items name data of which
 * size, so that the next instance can be scheduled before it runs. The table has its own lock; costs, weights and
 * depend items are used under the runtime's lock.
 */
#ifndef OD_OMP_EXT_ENTRY_H
#define OD_OMP_EXT_ENTRY_H

#include "memmgr/device/slowness.h"
#include "omp_ext/libomp/abi.h"
#include "sched/graph/cost.h"
#include "sched/task.h"

#include "util/lock.h"
#include <stdatomic.h>

enum { OD_MAX_LEARNT_DEPENDS = 16, OD_ENTRY_EXACT = 4096 };

typedef enum od_entry_kind {
    OD_ENTRY_UNKNOWN,  /* not seen yet */
    OD_ENTRY_HOST,     /* has run without offloading */
    OD_ENTRY_OFFLOADS, /* a target task, or a host task whose offloaded data all lie in regions: they can be reserved */
    OD_ENTRY_IN_PLACE, /* a host task that offloads in other ways */
} od_entry_kind;

typedef enum od_answer { OD_NOT_ASKED, OD_NO, OD_YES } od_answer;

typedef struct od_learnt_depend {
    size_t size; /* bytes of the data at its base address; 0: names no data */
    od_mode mode;
} od_learnt_depend;

struct od_entry {
    const void *code;
    size_t footprint;           /* bytes; 0 for host tasks */
    const od_ident *source;     /* of a kernel: where it is in the source; NULL: not known */
    int32_t number;             /* od_entry_numbered() finds it by this, if positive */
    od_cost cost;               /* of its runs on devices */
    od_cost host;               /* of its host version's, on workers */
    _Atomic od_answer excluded; /* from CPU workers, by name or since it reduces (omp_ext/runtime/cpu/cpu.h) */
    double weight;              /* od_entry_weight() */
    unsigned speed_class;       /* of a compiled task, once it has one: omp_ext/services/machine/speeds.h */
    bool has_speed_class;
    _Atomic od_entry_kind kind;
    _Atomic od_answer reduces; /* od_images_kernel_reduces() */
    atomic_uint looked;        /* runs that have been looked through for device addresses (launch/stored.h) */
    atomic_bool stores;        /* one has stored some */
    atomic_bool has_depends;   /* its tasks are submitted with depend clauses */
    atomic_bool has_none;      /* or without any */
    atomic_bool branches;      /* a run has offloaded that went unrecorded; or, of a target task, has not */
    od_learnt_depend depend[OD_MAX_LEARNT_DEPENDS];
    bool profile_read;          /* earlier runs have been looked at */
    bool is_data_construct;     /* omp_ext/tasks/constructs.h; under the runtime's lock */
    struct od_slicing *slicing; /* of a kernel: omp_ext/slices/slices.h; malloc'ed, under the runtime's lock; or NULL */
    uint64_t news;              /* runs of this run */
    bool closed;                /* its library has been: to be used again for other code */
    struct od_source *text;     /* omp_ext/services/source.h */
    struct od_entry *next;
};
typedef struct od_entry od_entry;

/* The entry for this key, made at the first call. After OD_ENTRY_EXACT entries, further footprints of which the first
 * four binary digits are the same have one, with the largest of these. NULL: out of memory. */
od_entry *od_entry_get(const void *code, size_t footprint);
od_entry *od_entry_numbered(int32_t number);
/* Without footprint, as for each task: the calling thread's last ones are found at once. */
od_entry *od_entry_of_task(const void *code);
/* A run on a device has taken so many seconds. */
void od_entry_record(od_entry *entry, double seconds);
/* What an earlier run has measured, in seconds; before the first run of this one. */
void od_entry_profile(od_entry *entry, uint64_t runs, double mean, double deviation);
/* Calls visit for every entry, under the table's lock: it must not ask for entries. */
void od_entry_visit(void (*visit)(const od_entry *entry, void *arg), void *arg);
/* The library around this address is about to be closed: what has been learnt about its code is forgotten. Entries stay
 * valid: jobs may still point to them. */
void od_entry_forget_library(const void *inside);
/* On a device or the host, in this run or, on a device, in an earlier one: what is predicted is no guess. */
bool od_entry_has_run(const od_entry *entry);
/* Predicted seconds; before the first run, the mean over all code. */
double od_entry_duration(const od_entry *entry);
/* Likewise, but a power of two that changes only where the duration has changed by more than that: tasks of one kind
 * weigh the same, though their predictions differ from moment to moment. */
double od_entry_weight(const od_entry *entry);
/* Calls visit for the table's lock: around a fork. */
void od_entry_locks(void (*visit)(od_lock *lock));

#endif
