/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What a copy has become goes to where it was made from. See launch.h. */
#include "omp_ext/tasks/launch/launch.h"

#include "omp_ext/libomp/real.h"
#include "omp_ext/process/fatal.h"
#include "omp_ext/remote/remote.h"

static const char copy_failed[] = "a copy between devices has failed";

void od_launch_copy_bytes(void *to, int to_device, const void *from, int from_device, size_t bytes)
{
    if (REAL(omp_target_memcpy)(to, from, bytes, 0, 0, to_device, from_device))
        od_fatal(copy_failed);
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

/* To another rank it takes long, but many may be on their way. */
static void write_change(od_remote_writes *writes, int device, char *to, const char *from, size_t bytes)
{
    if (od_remote_is(device))
        od_remote_write(writes, device, to, from, bytes);
    else
        od_launch_copy_bytes(to, device, from, REAL(omp_get_initial_device)(), bytes);
}

void od_launch_merge(char *to, int device, const char *before, const char *after, size_t bytes)
{
    const int host = REAL(omp_get_initial_device)();
    od_remote_writes writes = {0};
    for (size_t i = 0; device == host && i < bytes; i++)
        if (before[i] != after[i])
            to[i] = after[i];
    if (device == host)
        return;
    od_span changed = od_launch_next_change(before, after, (od_span){0, bytes});
    for (; changed.begin < bytes; changed = od_launch_next_change(before, after, (od_span){changed.end, bytes}))
        write_change(&writes, device, to + changed.begin, after + changed.begin, changed.end - changed.begin);
    if (!od_remote_end_writes(&writes))
        od_fatal(copy_failed);
}
