/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * CPU workers alone: the program has no device, or is to use none. The program's memory is all there is, as without the
 * library: data constructs do nothing, synchronous target regions run where they are met, and target tasks run as host
 * versions on CPU workers, in the policy's order. The engine has one device, which is lost from the beginning.
 */
#ifndef OD_OMP_EXT_CPU_ALONE_H
#define OD_OMP_EXT_CPU_ALONE_H

#include "memmgr/device/backend.h"

#include <stdbool.h>

bool od_cpu_are_alone(void);
/* From now on they are. Before the start of anything else. */
void od_cpu_be_alone(void);
/* The back-end of a device that is lost: no byte is ever there. */
void od_cpu_alone_open(od_backend *backend);

#endif
