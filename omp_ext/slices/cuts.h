/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* How arrays were cut for slices the last time that they were in a region: programs map the same ones again and again.
 * Under the lock. */
#ifndef OD_OMP_EXT_SLICES_CUTS_H
#define OD_OMP_EXT_SLICES_CUTS_H

#include "memmgr/window/cut.h"

/* As remembered, or one cell for each share. NULL: out of memory. The caller frees it. */
od_cut *od_cuts_recall(const od_shares *shares);
void od_cuts_remember(const od_cut *cut);

#endif
