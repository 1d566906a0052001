/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#ifndef OD_OMP_EXT_FATAL_H
#define OD_OMP_EXT_FATAL_H

/* The program cannot go on with right results: says so, and aborts. */
_Noreturn void od_fatal(const char *message);

/* The program has been configured in a way that is not possible: says so, and ends it before any work starts, with exit
 * code 2. */
_Noreturn void od_refuse(const char *message);

#endif
