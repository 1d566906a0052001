/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A little memory of each device that is kept for others in the process. Pools take what is free but for some headroom,
 * which other processes may take later. Where libomptarget or cuBLAS then gets nothing, it gets this.
 */
#include "memmgr/device/cuda/cuda.h"

#include "util/log.h"

static size_t part_of(size_t total)
{
    size_t part = total / OD_RESERVE_PART;
    return part < OD_RESERVE ? part : OD_RESERVE;
}

void od_reserve_take(od_cuda_device *d)
{
    const od_cu_driver *cu = &d->cuda->cu;
    size_t free_bytes, total;
    if (cu->memory_info(&free_bytes, &total))
        return;
    size_t bytes = part_of(total);
    bool is_little = bytes <= free_bytes / OD_RESERVE_LEAVES;
    if (!is_little || cu->alloc(&d->reserve, bytes))
        d->reserve = 0;
}

bool od_reserve_give(od_cuda_device *d)
{
    pthread_mutex_lock(&d->lock);
    od_cu_address reserve = d->reserve;
    d->reserve = 0;
    pthread_mutex_unlock(&d->lock);
    if (!reserve || od_cuda_check(d, d->cuda->cu.free(reserve), "giving memory to others"))
        return false;
    od_log(OD_LOG_INFO, "cuda", "device %u: its memory is short, others get what was kept for them", d->k);
    return true;
}

bool od_reserve_spare(od_cuda_device *d)
{
    if (od_cuda_enter(d))
        return false;
    bool given = od_reserve_give(d);
    od_cuda_leave(d);
    return given;
}

size_t od_reserve_lack(od_cuda_device *d)
{
    size_t free_bytes, total;
    if (d->cuda->cu.memory_info(&free_bytes, &total) || free_bytes >= part_of(total) / 2)
        return 0;
    return od_reserve_give(d) ? 0 : part_of(total) - free_bytes;
}
