/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Data constructs on our data. They open and close regions: no transfer, no allocation. A close writes back what is
 * mapped `from`; an update copies its section. The list has been made simple
 * (omp_ext/maps/structs/structs.h), and what is not ours in it is marked (omp_ext/maps/foreign.h).
 */
#ifndef OD_OMP_EXT_REGIONS_H
#define OD_OMP_EXT_REGIONS_H

#include "omp_ext/maps/refuse.h"
#include "omp_ext/maps/structs/structs.h"

/* What is wrong with a construct's expanded list, for longer than the time of kernels under way. */
od_refusal od_regions_find_refused(od_naming naming, const od_map_args *args);
void od_data_begin(const od_map_args *args, const od_structs *structs);
/* Likewise for the time of a construct whose thread waits for it: the host writes nothing meanwhile, so its contents
 * are not kept apart. */
void od_data_hold(const od_map_args *args);
void od_data_end(const od_map_args *args);
void od_data_update(const od_map_args *args);

#endif
