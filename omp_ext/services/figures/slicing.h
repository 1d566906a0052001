/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The kernels that might have run in slices (OMPDARTS_SLICE), for those who tell of them. */
#ifndef OD_OMP_EXT_SLICING_FIGURES_H
#define OD_OMP_EXT_SLICING_FIGURES_H

#include "sched/report/report.h"

enum { OD_SLICING_MOST = 256 };

/* Those that were launched, in the order of their names; returns how many there are. */
unsigned od_slicing_figures(od_report_slicing kernels[OD_SLICING_MOST]);

#endif
