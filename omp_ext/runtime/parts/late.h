/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Page faults while slices of two launches run (order.h). Under the lock. */
#ifndef OD_OMP_EXT_RUNTIME_LATE_H
#define OD_OMP_EXT_RUNTIME_LATE_H

#include "omp_ext/runtime/parts/order.h"

/* A kernel on device k, or outside, has a fault. OD_EBUSY: it has to wait; OD_OK. Ends the program where slices of the
 * launch after have come too early. */
od_status od_late_check(const od_window *window, uintptr_t host, unsigned k, bool write);
/* What its task reads has been opened to be written, all of it. */
void od_late_note_opened(const od_datum *part, unsigned k);

#endif
