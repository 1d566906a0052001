/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Model of a shared bus: one copy at a time, at a fixed bandwidth.
 *
 * Pure accounting on the caller's clock: each copy reserves the time that it would
 * occupy the bus, after all copies before it. Who then sleeps until the end of its
 * reservation sees the bus's delay. Thread-safe.
 */
#ifndef OD_MEMMGR_DEVICE_BUS_H
#define OD_MEMMGR_DEVICE_BUS_H

#include "util/lock.h"
#include <stddef.h>
#include <stdint.h>

typedef struct od_bus {
    od_lock lock;         /* protects free_at_ns */
    uint64_t free_at_ns;  /* end of the last reservation */
    double bandwidth;     /* bytes/s, above 0 */
} od_bus;

/* Returns 0, or an error number. */
int od_bus_init(od_bus *bus, double bandwidth);
void od_bus_destroy(od_bus *bus);

/* Reserves the bus for `bytes` from `now_ns` on; returns when the last byte has passed. */
uint64_t od_bus_reserve(od_bus *bus, uint64_t now_ns, size_t bytes);

#endif
