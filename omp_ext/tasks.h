/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Host accesses that depend items announce. */
#ifndef OD_OMP_EXT_TASKS_H
#define OD_OMP_EXT_TASKS_H

#include "omp_ext/abi.h"

#include <stdbool.h>

/* Makes the data outside regions that the items name current on the host; with `write`, what they name as out or
 * inout is forgotten on the devices, because the host is about to write it, or has. Blocks. */
void od_tasks_host_access(const od_depend *depends, int32_t ndepends, bool write);

#endif
