/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Which constructs belong to the virtual device. */
#ifndef OD_OMP_EXT_VIRTUAL_H
#define OD_OMP_EXT_VIRTUAL_H

#include "omp_ext/libomp/abi.h"

#include <stdbool.h>

/* True where a construct with this device number and map list is ours to place. Otherwise *device is resolved to the
 * number that libomptarget is to be called with. */
bool od_is_virtual(int64_t *device, const od_map_args *args);

/* The number of the virtual device; or that of the device whose addresses the calling thread is shown, which it is told
 * is the default one. */
bool od_is_virtual_number(int device);

/* True where a target task is captured after the process has begun to end: its construct is not carried out any
 * more. */
bool od_is_too_late(void);

/* A construct met by this thread: a host task that is being learnt is one that offloads; `suited`: in a way that lets
 * later instances run on a device worker. */
void od_note_offload(bool suited);

/* Likewise, with its map list: where the data lie in regions and depend items name them, later instances may be given a
 * reservation. */
void od_learn_offload(const od_map_args *args, bool suited);

#endif
