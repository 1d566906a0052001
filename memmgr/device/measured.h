/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A topology from measurements: what each way reaches alone, and what pairs of them reach at once.
 *
 * Two ways that together reach clearly less than both alone share a link. Ways in that share one with each other are a
 * group, with one link in; likewise ways out; where in and out of a device share one, both directions of its group are
 * the same link. If all groups together reach less than their links, one more link is above them. A copy between
 * devices uses the links of its ends if it holds up what its target loads from the host.
 */
#ifndef OD_MEMMGR_DEVICE_MEASURED_H
#define OD_MEMMGR_DEVICE_MEASURED_H

#include "memmgr/device/topology.h"

/* Of n devices; sums of what runs at once, bytes/s, 0: not known. Arrays have OD_MAX_DEVICES columns. */
typedef struct od_rates {
    unsigned ndevices;
    od_link alone[OD_MAX_DEVICES + 1][OD_MAX_DEVICES + 1]; /* from, to, the host is number n; bandwidth 0: no way */
    double in[OD_MAX_DEVICES][OD_MAX_DEVICES];             /* loads of two devices; on the diagonal load and store */
    double out[OD_MAX_DEVICES][OD_MAX_DEVICES];            /* stores of two devices */
    double peer[OD_MAX_DEVICES][OD_MAX_DEVICES];           /* from, to: the copy, and a load of its target */
    double all_in, all_out;                                /* loads, or stores, of all devices */
} od_rates;

/* NULL: out of memory. */
od_topology *od_topology_measured(const od_rates *rates);
/* All ways are one bus of so many bytes/s, one transfer at a time. NULL: out of memory. */
od_topology *od_topology_bus(unsigned ndevices, double bandwidth);

/* Whether the way is ten times slower than the median of its kind: from the host, to the host, or between devices. */
bool od_rates_are_odd(const od_rates *rates, unsigned from, unsigned to);

#endif
