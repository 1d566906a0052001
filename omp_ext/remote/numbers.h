/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* OpenMP's numbers of devices of other ranks, which libomptarget does not know. */
#ifndef OD_OMP_EXT_REMOTE_NUMBERS_H
#define OD_OMP_EXT_REMOTE_NUMBERS_H

#include <stdbool.h>
#include <stdint.h>

enum { OD_REMOTE_FIRST = 1 << 20 };

static inline bool od_remote_is(int64_t device)
{
    return device >= OD_REMOTE_FIRST;
}

/* All of our devices are such. */
bool od_remote_is_on(void);
void od_remote_set_on(void); /* before other threads ask */

/* This process is a rank that serves: the library is off, and target regions that run here are rank 0's. */
bool od_remote_serves(void);
void od_remote_set_serving(void); /* likewise */

#endif
