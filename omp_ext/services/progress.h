/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* OMPDARTS_PROGRESS: how far the program is, on standard error, by a thread of its own. */
#ifndef OD_OMP_EXT_PROGRESS_H
#define OD_OMP_EXT_PROGRESS_H

#include <stdint.h>

/* `start_ns`: of the run. */
void od_progress_start(uint64_t start_ns);
/* Nothing is shown any more, and the line is gone from the terminal. */
void od_progress_end(void);

#endif
