/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * LIBOMPTARGET_INFO: what libomptarget prints of constructs. Those that it does not get, or gets with other
 * arguments than the program's, are printed here instead, in its words: with bit 0 each construct with its arguments,
 * which libomptarget then prints for no construct any more; with bits 1 and 3 what data constructs map, without
 * device addresses, which a region does not have. Kernels and copies (bits 4 and 5) are printed by libomptarget.
 * Its tables (bits 2 and 6) have the mappings of constructs that pass through.
 */
#ifndef OD_OMP_EXT_INFO_H
#define OD_OMP_EXT_INFO_H

#include "omp_ext/libomp/abi.h"
#include "omp_ext/services/service.h"

#include <stdbool.h>

typedef enum od_info_construct { OD_INFO_BEGIN, OD_INFO_END, OD_INFO_UPDATE, OD_INFO_KERNEL } od_info_construct;

extern const od_service od_info_service;

/* Before the service starts: libomptarget does not tell of constructs, which are not the program's; or does again. */
void od_info_silence(bool silent);

extern bool od_info_wanted __attribute__((visibility("hidden"))); /* set when the runtime starts: any of these bits */

void od_info_write(od_info_construct what, const od_ident *ident, int64_t device, const od_map_args *args);

/* A construct of the program's; device -1: the virtual one. */
static inline void od_info_print(od_info_construct what, const od_ident *ident, int64_t device, const od_map_args *args)
{
    if (od_info_wanted)
        od_info_write(what, ident, device, args);
}

/* An address that is to be shown, and has none on the device. */
void od_info_print_absent(const od_map_args *args, int32_t i);

void od_info_write_mappings(od_info_construct what, const od_map_args *args);

/* What a data construct maps: of one that begins when it has, of one that ends before. */
static inline void od_info_print_mappings(od_info_construct what, const od_map_args *args)
{
    if (od_info_wanted && what != OD_INFO_UPDATE)
        od_info_write_mappings(what, args);
}

#endif
