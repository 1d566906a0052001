/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Slices of leagues on GPUs.
 *
 * A device runtime with patches/llvm-19/0012 has a variable in each image that says which teams of which league its
 * kernels run. libomptarget finds variables of images by the table that comes with them: so a library whose images all
 * have it is registered with a copy of its table that has one entry more, of which the program knows nothing.
 */
#ifndef OD_OMP_EXT_LEAGUE_H
#define OD_OMP_EXT_LEAGUE_H

#include "omp_ext/libomp/abi.h"

#include "util/lock.h"
#include <stdbool.h>
#include <stdint.h>

#define OD_LEAGUE_VARIABLE "__omp_rtl_league_slice"

typedef struct od_league_slice { /* LeagueSliceTy */
    uint32_t first_team;
    uint32_t teams;    /* of the whole league; 0: kernels run all of them */
    uint32_t excludes; /* written there: teams have entered critical sections, or taken locks */
} od_league_slice;

/* What libomptarget is to be given instead of the library's table; the same where its images do not have the variable.
 * Out of memory: likewise. */
od_bin_desc *od_league_add(od_bin_desc *desc);
/* What it has been given; freed with od_league_free() when it has been taken away from there. */
od_bin_desc *od_league_remove(od_bin_desc *desc);
void od_league_free(od_bin_desc *given, const od_bin_desc *desc);

/* The program's device code asks libomp for nothing: it is a GPU's. */
bool od_league_is_on_gpus(void);
/* The kernel's images have the variable. */
bool od_league_may_be_sliced(const void *kernel);
/* Its address on OpenMP's device. NULL: it is not there. */
void *od_league_variable(const void *kernel, int device);

/* For a fork. */
void od_league_locks(void (*visit)(od_lock *lock));

#endif
