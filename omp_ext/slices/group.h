/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The slices of one launch: making them, and what becomes of them. */
#ifndef OD_OMP_EXT_SLICES_GROUP_H
#define OD_OMP_EXT_SLICES_GROUP_H

#include "omp_ext/maps/parts/by_share.h"
#include "omp_ext/runtime/parts/order.h"
#include "omp_ext/slices/kernels.h"
#include "omp_ext/slices/variables.h"
#include "omp_ext/tasks/job.h"

typedef struct od_group_slice {
    const struct od_group *group;
    od_slice slice;
    od_turn turn;
    od_job *job; /* NULL: it has ended */
    od_uses uses;
    uint64_t number; /* in the recording of the run */
    od_access *used; /* nused, malloc'ed: what its task names, for od_group_excludes() */
    uint32_t nused;
    int device; /* that it is for, or OD_NOWHERE */
    bool submitted, ended;
} od_group_slice;

typedef struct od_group {
    uint64_t launch; /* number, in the program's order */
    od_slicing *slicing;
    const void *kernel;
    void (*note_ended)(struct od_group *group);
    od_parts_slice parts;
    bool is_first;  /* nothing was known of its slices */
    bool surprises; /* some that have ended used pages that none had been seen to use */
    bool early;     /* some have begun before the launch before had ended */
    bool done;      /* all have ended */
    bool unwaited;  /* nobody waits for that: od_group_end() at once (early.c) */
    unsigned left;
    uint64_t start_ns, end_ns;
    uint64_t trip_count;
    od_variables variables;
    const void *array[OD_TOUCHED_ARGUMENTS]; /* by argument: a name for it; NULL: it is none in parts */
    od_group_slice of[];
} od_group;

/* All slices of the launch, whose data come held; `note_ended` is called, locked, after the end of each. NULL: others
 * use the arrays in other parts just now. */
od_group *od_group_make(const od_kernel_call *call, od_slicing *s, od_parts_slice parts,
                        void (*note_ended)(od_group *group));
/* Slice i goes to the engine. Locked. */
void od_group_submit(od_engine *engine, od_group *group, unsigned i);
/* What slice i uses is what the other launch's slice j uses, too, and one of them writes it. Locked; false where a
 * prediction is wrong. */
bool od_group_excludes(const od_group *group, unsigned i, const od_group *other, unsigned j);
/* The recording says that the program has waited for it. Locked, once. */
void od_group_record_wait(const od_group *group);
/* All slices have ended: what that has shown is noted, and the group is gone. Locked. */
void od_group_end(od_group *group);

#endif
