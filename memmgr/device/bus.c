/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The shared bus is one number: when it will be free. First come, first served.
 */
#include "memmgr/device/bus.h"

#include "util/clock.h"
#include "util/lock.h"

int od_bus_init(od_bus *bus, double bandwidth)
{
    bus->free_at_ns = 0;
    bus->bandwidth = bandwidth;
    return od_lock_init(&bus->lock, OD_LOCK_BUS);
}

void od_bus_destroy(od_bus *bus)
{
    od_lock_destroy(&bus->lock);
}

uint64_t od_bus_reserve(od_bus *bus, uint64_t now_ns, size_t bytes)
{
    uint64_t occupied_ns = (uint64_t)((double)bytes * (double)OD_NS_PER_S / bus->bandwidth);

    od_lock_take(&bus->lock);
    uint64_t start_ns = now_ns > bus->free_at_ns ? now_ns : bus->free_at_ns;
    uint64_t end_ns = start_ns + occupied_ns;
    bus->free_at_ns = end_ns;
    od_lock_give(&bus->lock);
    return end_ns;
}
