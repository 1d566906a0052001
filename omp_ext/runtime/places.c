/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Devices: by OpenMP's numbers and ours, by addresses; and what has been configured. */
#include "omp_ext/runtime/internal.h"

#include "omp_ext/libomp/real.h"
#include "omp_ext/remote/numbers.h"
#include "util/log.h"

od_backend *od_runtime_backend(void)
{
    return &od_runtime.backend;
}

unsigned od_runtime_ndevices(void)
{
    return od_runtime.devices.count;
}

int od_runtime_device_number(unsigned k)
{
    return od_runtime.devices.number[k];
}

int od_runtime_device_index(int n)
{
    for (unsigned k = 0; k < od_runtime.backend.ndevices; k++)
        if (od_runtime.devices.number[k] == n)
            return (int)k;
    return OD_NOWHERE;
}

int od_runtime_kernel_threads(void)
{
    return od_workers_place() == OD_HOST && od_runtime.options.cpu.workers ? (int)od_runtime.options.cpu.cores
                                                                           : od_runtime.kernel_threads;
}

int od_runtime_virtual_number(void)
{
    return od_runtime.virtual_number;
}

int od_runtime_default_device(void)
{
    return od_remote_is_on() ? 0 : od_runtime_device_index(od_runtime.virtual_number);
}

static _Atomic uint64_t habits;

void od_runtime_note_habit(void)
{
    atomic_fetch_add_explicit(&habits, 1, memory_order_relaxed);
}

int od_runtime_pool_of(uintptr_t address)
{
    for (unsigned k = 0; k < od_runtime.backend.ndevices; k++)
        if (address - (uintptr_t)od_runtime.backend.pool_address[k] <
            od_backend_pool_bytes(&od_runtime.backend, k))
            return (int)k;
    return OD_NOWHERE;
}

void *od_runtime_address(const od_datum *datum, unsigned k)
{
    if (datum->window)
        return od_window_kernel(datum->window, k, datum->base);
    return (char *)od_runtime.backend.pool_address[k] + datum->replica[k].offset;
}

const od_options *od_runtime_options(void)
{
    return &od_runtime.options;
}

/* Those of host devices are the program's. */
static unsigned shared_processors(void)
{
    return od_devices_are_in_process() ? (unsigned)REAL(omp_get_num_procs)() : 0;
}

od_run od_runtime_run(void)
{
    return (od_run){.options = &od_runtime.options,
                    .devices = &od_runtime.devices,
                    .backend = &od_runtime.backend,
                    .engine = od_runtime.engine,
                    .start_ns = od_runtime.start_ns,
                    .habits = atomic_load(&habits),
                    .processors = shared_processors(),
                    .inherited = od_runtime.inherited};
}

const char od_single_device_text[] =
    "the program has declare target variables, or static ones in kernels, of which each device has its own: only one "
    "device is used";

/* A library may bring the first ones when more devices are already in use. */
void od_runtime_single_device(void)
{
    if (!od_runtime.single_device && od_runtime_started() && !od_devices_are_one(&od_runtime.devices))
        od_log(OD_LOG_WARNING, "runtime", "%s from now on", od_single_device_text);
    od_runtime.single_device = true;
}

int od_runtime_required_device(void)
{
    if (!od_runtime.single_device || od_devices_are_one(&od_runtime.devices))
        return OD_NOWHERE;
    int k = od_runtime_device_index(od_runtime.virtual_number);
    return k == OD_NOWHERE ? 0 : k;
}
