/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* OMPDARTS_PROGRESS: the progress of the program, on standard error, by a separate thread. */
#ifndef OD_OMP_EXT_PROGRESS_H
#define OD_OMP_EXT_PROGRESS_H

#include "omp_ext/services/service.h"

extern const od_service od_progress_service;

/* Nothing is shown any more, and the line is gone from the terminal. */
void od_progress_end(void);

#endif
