/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Why libomptarget has no device for the program's device code. */
#ifndef OD_OMP_EXT_WHY_H
#define OD_OMP_EXT_WHY_H

#include <stddef.h>

/* Half a sentence, or nothing where the reason is not known. */
void od_why_no_device(char *why, size_t size);

#endif
