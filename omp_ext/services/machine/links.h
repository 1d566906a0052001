/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The machine's links: measured at the first run on a machine, each way alone and pairs of them at once, and kept with
 * the other measurements (OMPDARTS_CACHE).
 */
#ifndef OD_OMP_EXT_LINKS_H
#define OD_OMP_EXT_LINKS_H

#include "memmgr/device/backend.h"
#include "memmgr/device/topology.h"

/* Before anything else uses the back-end, whose pools are there. A link that is slowed on purpose is not measured; what
 * is not measured is taken for a PCIe link of each device. NULL: out of memory. */
od_topology *od_links_find(od_backend *backend, bool measure);

#endif
