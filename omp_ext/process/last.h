/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A program whose main thread calls pthread_exit() ends with its last thread, as by exit(0). The library's threads must
 * not keep it alive.
 */
#ifndef OD_OMP_EXT_LAST_H
#define OD_OMP_EXT_LAST_H

#include <stdbool.h>

/* True where the main thread has ended and all other threads are the library's. A few system calls. */
bool od_only_we_are_left(void);

#endif
