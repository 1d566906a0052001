/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Device addresses shown to the program: use_device_ptr, use_device_addr, omp_get_mapped_ptr. The data are bound to one
 * device until the construct ends. Inside a job that has a device the job's own data are already there: they are only
 * shown.
 */
#ifndef OD_OMP_EXT_SHOWN_H
#define OD_OMP_EXT_SHOWN_H

#include "omp_ext/libomp/abi.h"

#include <stdbool.h>

/* True where the construct has such a clause, on data of ours. */
bool od_shows_addresses(const od_map_args *args);
/* Brings the data to a device, where they are bound, and writes their addresses there into the list. Blocks. */
void od_show_addresses(const od_map_args *args);
/* The end of the innermost construct in which this thread was shown addresses. */
void od_hide_addresses(const od_map_args *args);

/* True where a job's own data serve the construct: nothing is opened or closed. Only for constructs that show
 * addresses: others promise the host something. */
bool od_shows_own_data(const od_map_args *args);
/* Inside a job: its own data are on its device. */
void od_show_own_addresses(const od_map_args *args);
/* The construct that ends has shown them: true also where the body goes on without its reservation. */
bool od_has_shown_own(const od_map_args *args);
void od_hide_own_addresses(void);

/* The address on our device k of what a region holds, which stays there as one datum until it closes. If it fits on no
 * device (*on_device is false), where its contents are in host memory: in the spill area or the program's. Blocks. */
void *od_region_address(const void *address, int k, bool *on_device);

#endif
