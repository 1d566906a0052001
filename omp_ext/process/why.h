/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Why libomptarget has no device for the program's device code, or will not be able to use the one it has. */
#ifndef OD_OMP_EXT_WHY_H
#define OD_OMP_EXT_WHY_H

#include <stddef.h>

/* Half a sentence, or nothing where the reason is not known. */
void od_why_no_device(char *why, size_t size);
/* Likewise why the driver will not load the program's device code; nothing: it will, or there is no driver. */
void od_why_not_loaded(char *why, size_t size);

#endif
