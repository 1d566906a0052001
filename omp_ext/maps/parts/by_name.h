/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Parts of a task that names what it uses of an array by addresses: by each, the tile that begins there.
 *
 * What a kernel uses around such an address, its strides (memmgr/extent/strides.h), is learnt from page faults, per
 * kernel, argument and item. A tile is up to three data: the whole pages of its columns, and, where columns do not end
 * with pages, those that it shares with its neighbours before and behind.
 */
#ifndef OD_OMP_EXT_BY_NAME_H
#define OD_OMP_EXT_BY_NAME_H

#include "omp_ext/maps/parts/collect.h"

/* The task names places in the array, and nothing more of it; its tiles are not so small that many share a page. */
bool od_parts_are_named(od_region *region, const od_parts_named *named);
/* The region is in parts. OD_EDEVICE: these would be too many ranges; there are none then. Locked. */
od_status od_parts_by_name(od_engine *engine, od_parts *parts, const od_reference *reference,
                           const od_parts_named *named);

#endif
