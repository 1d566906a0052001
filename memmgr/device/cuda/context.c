/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Contexts and errors. */
#include "memmgr/device/cuda/cuda.h"

od_status od_cuda_check(od_cuda_device *d, od_cu_result result, const char *doing)
{
    if (!result)
        return OD_OK;
    if (od_cu_is_sticky(result) && atomic_exchange(&d->lost, true))
        return OD_EDEVICE; /* it has been said */
    return od_cu_check(&d->cuda->cu, result, doing, d->k);
}

od_status od_cuda_enter(od_cuda_device *d)
{
    return od_cuda_check(d, d->cuda->cu.context_push(d->context), "entering its context");
}

void od_cuda_leave(od_cuda_device *d)
{
    od_cu_context context;
    od_cuda_check(d, d->cuda->cu.context_pop(&context), "leaving its context");
}

void od_cuda_calm(od_cuda_device *d, od_cu_stream stream)
{
    od_status status = od_cuda_enter(d); /* what has failed may have been just that */
    if (!status) {
        status = od_cuda_check(d, d->cuda->cu.stream_synchronize(stream), "waiting after a failure");
        od_cuda_leave(d);
    }
    if (status)
        atomic_store(&d->lost, true);
}

od_cuda_device *od_cuda_enter_any(od_cuda *cuda)
{
    for (unsigned k = 0; k < cuda->ndevices; k++)
        if (cuda->device[k].context && !atomic_load(&cuda->device[k].lost) && !od_cuda_enter(&cuda->device[k]))
            return &cuda->device[k];
    return NULL;
}
