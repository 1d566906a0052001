/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * What tasks of each kind take, as far as the scheduler knows.
 *
 * A program may submit all its tasks before the first one has run. What was predicted then is little more than a
 * guess, and another one from task to task. So before anything is planned, the known tasks get what the latest ready
 * task of their kind was predicted to take, or what is known of it since one has run (od_known_predict).
 */
#ifndef OD_SCHED_GRAPH_DURATIONS_H
#define OD_SCHED_GRAPH_DURATIONS_H

#include <stdbool.h>
#include <stdint.h>

enum { OD_DURATIONS_KINDS = 64 }; /* tasks of kinds beyond these keep what was predicted when they were submitted */

typedef struct od_durations {
    const void *kind[OD_DURATIONS_KINDS];
    double seconds[OD_DURATIONS_KINDS];
    double host_seconds[OD_DURATIONS_KINDS]; /* on a CPU worker, as in od_task; 0: nothing has been noted */
    bool guessed[OD_DURATIONS_KINDS];        /* no task of the kind has ever run */
    uint32_t nkinds;
} od_durations;

/* A task of this kind is ready, or has run: this prediction is newer than those of others of its kind. */
void od_durations_note(od_durations *durations, const void *kind, double seconds);
/* What is predicted of this kind is a guess, or no longer. */
void od_durations_set_guessed(od_durations *durations, const void *kind, bool guessed);
bool od_durations_has_guess(const od_durations *durations);
/* Of a kind of `then` another time than `times` that long, or that short, is noted now. */
bool od_durations_differ(const od_durations *then, const od_durations *now, double times);
/* Likewise, on a CPU worker. */
void od_durations_note_host(od_durations *durations, const void *kind, double host_seconds);
double od_durations_host(const od_durations *durations, const void *kind);
/* Place of the kind, or nkinds: nothing has been noted. */
uint32_t od_durations_find(const od_durations *durations, const void *kind);

#endif
