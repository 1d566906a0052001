/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What was to be learnt of kernels from their page faults, for those who tell of it. */
#ifndef OD_OMP_EXT_FOOTPRINTS_H
#define OD_OMP_EXT_FOOTPRINTS_H

#include "sched/report/report.h"

enum { OD_FOOTPRINTS_MOST = 256 };

/* In the order of their names, then of their arguments; returns how many there are. Under the runtime's lock. */
unsigned od_footprints_find(od_report_footprint footprints[OD_FOOTPRINTS_MOST]);

#endif
