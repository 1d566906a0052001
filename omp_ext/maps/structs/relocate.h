/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Pointers in device copies: written there before a kernel uses them. */
#ifndef OD_OMP_EXT_RELOCATE_H
#define OD_OMP_EXT_RELOCATE_H

#include "omp_ext/runtime/runtime.h"

/* What the task, which is running on device k, wants in words of this datum (access->relocations) is there afterwards.
 * Not locked. */
od_status od_relocate(const od_access *access, unsigned k);

#endif
