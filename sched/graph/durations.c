/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Durations by kind of task; see durations.h. */
#include "sched/graph/durations.h"

#include <stddef.h>

uint32_t od_durations_find(const od_durations *d, const void *kind)
{
    uint32_t i = 0;
    while (i < d->nkinds && d->kind[i] != kind)
        i++;
    return i;
}

void od_durations_note(od_durations *d, const void *kind, double seconds)
{
    uint32_t i = od_durations_find(d, kind);
    if (!kind || i == OD_DURATIONS_KINDS)
        return;
    d->nkinds += i == d->nkinds;
    d->kind[i] = kind;
    d->seconds[i] = seconds;
}
