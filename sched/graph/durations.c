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

/* NULL: it has no kind, or there are too many. */
static double *place_in(od_durations *d, double *seconds, const void *kind)
{
    uint32_t i = od_durations_find(d, kind);
    if (!kind || i == OD_DURATIONS_KINDS)
        return NULL;
    d->nkinds += i == d->nkinds;
    d->kind[i] = kind;
    return &seconds[i];
}

void od_durations_note(od_durations *d, const void *kind, double seconds)
{
    double *noted = place_in(d, d->seconds, kind);
    if (noted)
        *noted = seconds;
}

bool od_durations_differ(const od_durations *then, const od_durations *now, double times)
{
    for (uint32_t i = 0; i < then->nkinds; i++) {
        double before = then->seconds[i], after = now->seconds[i]; /* kinds keep their places */
        if (before > 0 && (after > times * before || before > times * after))
            return true;
    }
    return false;
}

void od_durations_note_host(od_durations *d, const void *kind, double host_seconds)
{
    double *noted = place_in(d, d->host_seconds, kind);
    if (noted)
        *noted = host_seconds;
}

double od_durations_host(const od_durations *d, const void *kind)
{
    uint32_t i = od_durations_find(d, kind);
    return i < d->nkinds ? d->host_seconds[i] : 0;
}
