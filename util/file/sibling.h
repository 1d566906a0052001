/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Files that the programs of one script write over each other. */
#ifndef OD_UTIL_FILE_SIBLING_H
#define OD_UTIL_FILE_SIBLING_H

#include <stdbool.h>

/* The plain file was written while the process that started this one ran, and that process was started with the same
 * value of the environment's `variable`, which says where to write: so by this process's parent, or by another program
 * that it started. Where /proc does not tell: false. */
bool od_file_is_of_sibling(const char *path, const char *variable);

#endif
