/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* See alone.h. */
#include "omp_ext/runtime/cpu/alone.h"

#include "omp_ext/runtime/internal.h"

enum { NO_DEVICE = -1000 }; /* no number of OpenMP's */

static bool alone; /* written before other threads can look */

bool od_cpu_are_alone(void)
{
    return alone;
}

void od_cpu_be_alone(void)
{
    alone = true;
    od_runtime.virtual_number = NO_DEVICE;
    od_runtime.devices = (od_devices){.count = 0, .number = {NO_DEVICE}};
}

static od_status alloc(void *state, unsigned k, size_t bytes, void **address)
{
    (void)state, (void)k, (void)bytes;
    *address = NULL;
    return OD_OK;
}

static void give_back(void *state, unsigned k, void *address)
{
    (void)state, (void)k, (void)address;
}

static od_status copy(void *state, int to, void *to_address, int from, const void *from_address, size_t bytes)
{
    (void)state, (void)to, (void)to_address, (void)from, (void)from_address, (void)bytes;
    return OD_EDEVICE;
}

static void destroy(void *state)
{
    (void)state;
}

static const od_backend_ops ops = {.interface_version = OD_BACKEND_INTERFACE,
                                   .name = "none",
                                   .description = "a device that is lost",
                                   .alloc = alloc,
                                   .free = give_back,
                                   .copy = copy,
                                   .destroy = destroy};

void od_cpu_alone_open(od_backend *backend)
{
    static const size_t enough = (size_t)1 << 46; /* bytes: no task is too large */
    *backend = (od_backend){.ops = &ops};
    od_backend_take_pools(backend, 1, enough);
}
