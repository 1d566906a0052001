/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Windows in managed memory: one address for the host and all GPUs, at which the driver brings each what it touches.
 * So kernels may touch what they like, and what the engine takes for copies are prefetches. What no task is about to
 * write is advised as read mostly: devices get copies of it beside the host's, which the driver drops where it lacks
 * room. What one writes moves.
 */
#include "memmgr/device/cuda/cuda.h"

#include "util/log.h"

static bool has_concurrent_access(const od_cuda_device *d)
{
    int value = 0;
    return !d->cuda->cu.device_attribute(&value, OD_CU_HAS_CONCURRENT_MANAGED, d->gpu) && value;
}

bool od_managed_is_possible(const od_cuda *cuda)
{
    for (unsigned k = 0; k < cuda->ndevices; k++)
        if (!has_concurrent_access(&cuda->device[k]))
            return false;
    return true;
}

static od_status take_shared(void *state, size_t bytes, void **memory)
{
    od_cuda_device *d = od_cuda_enter_any(state);
    od_cu_address address = 0;
    if (!d)
        return OD_EDEVICE;
    od_status status = od_cuda_check(d, d->cuda->cu.managed_alloc(&address, bytes, OD_CU_ATTACH_GLOBAL),
                                     "taking managed memory for an array");
    od_cuda_leave(d);
    *memory = (void *)(uintptr_t)address;
    return status;
}

static void give_shared(void *state, void *memory)
{
    od_cuda_device *d = od_cuda_enter_any(state);
    if (!d)
        return;
    od_cuda_check(d, d->cuda->cu.free((od_cu_address)(uintptr_t)memory), "giving the managed memory of an array back");
    od_cuda_leave(d);
}

const od_window_ops od_cuda_managed_windows = {.share = take_shared, .unshare = give_shared};

static od_cu_result advise(const od_cuda_device *d, const od_copy *c)
{
    int advice = c->for_writing ? OD_CU_NOT_READ_MOSTLY : OD_CU_READ_MOSTLY;
    return d->cuda->cu.managed_advise((od_cu_address)(uintptr_t)c->to_address, c->bytes, advice, d->gpu);
}

od_status od_managed_start(od_cuda_device *d, const od_copy *c, od_cu_stream stream)
{
    od_cu_device to = c->to == OD_HOST ? OD_CU_ON_HOST : d->gpu;
    od_cu_result result = c->to == OD_HOST ? OD_CU_SUCCESS : advise(d, c);
    if (!result)
        result = d->cuda->cu.managed_prefetch((od_cu_address)(uintptr_t)c->to_address, c->bytes, to, stream);
    return od_cuda_check(d, result, "prefetching part of an array");
}
