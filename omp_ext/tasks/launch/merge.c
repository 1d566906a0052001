/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What a copy has become goes to where it was made from. See launch.h. */
#include "omp_ext/tasks/launch/launch.h"

#include "omp_ext/libomp/real.h"
#include "omp_ext/process/fatal.h"

void od_launch_copy_bytes(void *to, int to_device, const void *from, int from_device, size_t bytes)
{
    if (REAL(omp_target_memcpy)(to, from, bytes, 0, 0, to_device, from_device))
        od_fatal("a copy between devices has failed");
}

od_span od_launch_next_change(const char *before, const char *after, od_span range)
{
    while (range.begin < range.end && before[range.begin] == after[range.begin])
        range.begin++;
    uintptr_t end = range.begin;
    while (end < range.end && before[end] != after[end])
        end++;
    return (od_span){range.begin, end};
}

void od_launch_merge(char *to, int device, const char *before, const char *after, size_t bytes)
{
    const int host = REAL(omp_get_initial_device)();
    for (size_t i = 0; device == host && i < bytes; i++)
        if (before[i] != after[i])
            to[i] = after[i];
    if (device == host)
        return;
    od_span changed = od_launch_next_change(before, after, (od_span){0, bytes});
    for (; changed.begin < bytes; changed = od_launch_next_change(before, after, (od_span){changed.end, bytes}))
        od_launch_copy_bytes(to + changed.begin, device, after + changed.begin, host, changed.end - changed.begin);
}
