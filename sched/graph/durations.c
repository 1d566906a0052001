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

/* OD_DURATIONS_KINDS: it has no kind, or there are too many. */
static uint32_t place_of(od_durations *d, const void *kind)
{
    uint32_t i = kind ? od_durations_find(d, kind) : OD_DURATIONS_KINDS;
    if (i == OD_DURATIONS_KINDS)
        return i;
    d->nkinds += i == d->nkinds;
    d->kind[i] = kind;
    return i;
}

void od_durations_note(od_durations *d, const void *kind, double seconds)
{
    uint32_t i = place_of(d, kind);
    if (i < OD_DURATIONS_KINDS)
        d->seconds[i] = seconds;
}

void od_durations_set_guessed(od_durations *d, const void *kind, bool guessed)
{
    uint32_t i = place_of(d, kind);
    if (i < OD_DURATIONS_KINDS)
        d->guessed[i] = guessed;
}

bool od_durations_has_guess(const od_durations *d)
{
    uint32_t i = 0;
    while (i < d->nkinds && !d->guessed[i])
        i++;
    return i < d->nkinds;
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
    uint32_t i = place_of(d, kind);
    if (i < OD_DURATIONS_KINDS)
        d->host_seconds[i] = host_seconds;
}

double od_durations_host(const od_durations *d, const void *kind)
{
    uint32_t i = od_durations_find(d, kind);
    return i < d->nkinds ? d->host_seconds[i] : 0;
}
