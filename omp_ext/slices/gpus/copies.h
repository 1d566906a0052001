/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A GPU's kernel in slices, on copies of its data.
 *
 * Nothing shows what a GPU's kernel writes while it runs. So each slice but the first has copies of all of the kernel's
 * data on its own device, and what each has changed is merged. Words that two slices have changed are none that slices
 * can be trusted with: the kernel has atomic operations or the like on them, so it runs whole on the data as they were.
 * Teams do not wait for each other, and what one writes no other one reads without a race: so slices may see data as
 * they were before. To be sure of programs with races the first launches, and then fewer and fewer, are compared with
 * the whole kernel bit by bit.
 */
#ifndef OD_OMP_EXT_SLICES_COPIES_H
#define OD_OMP_EXT_SLICES_COPIES_H

#include "omp_ext/runtime/work.h"

typedef enum od_merged {
    OD_MERGED,          /* the data are what the slices have made of them */
    OD_MERGED_TRIAL,    /* what the whole kernel has made of them, and slices did the same */
    OD_MERGED_DIFFERS,  /* likewise, but slices did something else */
    OD_MERGED_CLASHES,  /* likewise: slices have changed the same words */
    OD_MERGED_EXCLUDES, /* likewise: teams exclude each other by critical sections or locks */
    OD_MERGED_BUSY,     /* likewise: other kernels were under way */
    OD_MERGED_LARGE,    /* likewise: there was no memory for copies */
    OD_MERGED_POINTERS, /* likewise: its data hold device addresses */
    OD_MERGED_NOT,      /* likewise: a slice could not run */
} od_merged;

/* A launch that is to be in slices. run() is the runner's. */
typedef struct od_copies {
    od_runner runner;
    unsigned slices, teams; /* teams of all slices together, of which each has some */
    unsigned threads;       /* of each team; 0: as libomptarget likes */
    bool trial;
    od_merged merged; /* afterwards */
    bool ran;         /* likewise: a device has been found for it */
} od_copies;

/* Device k is not lost. */
bool od_copies_may_be_on(unsigned k);
int od_copies_run(od_runner *runner, const od_launch *launch, const od_task *task, unsigned k);

#endif
