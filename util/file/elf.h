/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Variables of an ELF file that is in memory: a device image. */
#ifndef OD_UTIL_FILE_ELF_H
#define OD_UTIL_FILE_ELF_H

#include <stdbool.h>
#include <stddef.h>

/* What the variable holds at first, *size bytes. NULL: the file has no such variable, or is no ELF file of 64 bits; or
 * all is zero and not in the file, then *size is set, too. */
const void *od_elf_variable(const void *file, size_t bytes, const char *name, size_t *size);
/* Whether the file has data of its own that its code can change, static variables of functions among them. Of files for
 * GPUs, in which device runtimes have some, this says no. */
bool od_elf_has_variables(const void *file, size_t bytes);

#endif
