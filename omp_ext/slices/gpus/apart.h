/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Slices of a GPU's kernel, and all other kernels: which teams a kernel runs is said by a variable of its image on the
 * device, so while it says something nothing else runs. */
#ifndef OD_OMP_EXT_SLICES_APART_H
#define OD_OMP_EXT_SLICES_APART_H

#include <stdbool.h>

/* From now on no other kernel begins. False: some are under way, or in slices already. */
bool od_apart_begin(void);
void od_apart_end(void);
/* A kernel begins; it may have to wait for the end of slices. It has ended. */
void od_apart_enter(void);
void od_apart_leave(void);

#endif
