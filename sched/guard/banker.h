/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The banker: no schedule of a task graph needs more memory than a bound for its guarded data, those that a task makes
 * and that die before the end.
 *
 * What is submitted has a step each, in the order of submission, which is an order that one processor could follow:
 * RespectOrder's (Marchal, Nagy, Simon, Vivien, Parallel scheduling of DAGs under memory constraints, 2018, section 4;
 * dag/serialize.h). A datum is born at a step and dies at a later one, or, as long as none is known, at none. Most
 * steps run in another order. So the guard keeps, for each step that has not ended, the memory that would be in use
 * there if from now on all went on in the order of submission: what is already in memory, and what is born until then,
 * less what has died. A datum may be made before its step where that exceeds the bound at no step in between: else its
 * task waits for the last such step, and for all before it. These are the fictitious precedences; they are chosen when
 * tasks are ready, not before, so that only those that are needed come into being. Since what is in memory can always
 * be followed by the rest in order, a bound that this order keeps is kept by every schedule, and nothing waits for ever
 * (Dijkstra's banker). A step never waits where all before it have ended, whatever the bound.
 *
 * Each operation takes O(log n) for n steps that have not ended. It knows neither tasks nor data of the engine.
 */
#ifndef OD_SCHED_GUARD_BANKER_H
#define OD_SCHED_GUARD_BANKER_H

#include "util/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct od_banker od_banker;

typedef uint64_t od_banker_step; /* numbered from 0 */

#define OD_BANKER_NO_STEP UINT64_MAX

/* A guarded datum, the caller's; zeroed before od_banker_born(). */
typedef struct od_banker_datum {
    int64_t bytes;
    od_banker_step birth, death; /* death: OD_BANKER_NO_STEP while none is known */
    bool born;                  /* the guard has it */
    bool made;                  /* in memory */
    size_t place;               /* the guard's */
} od_banker_datum;

/* `bound` in bytes. NULL: out of memory. */
od_banker *od_banker_create(int64_t bound);
void od_banker_destroy(od_banker *banker);
void od_banker_set_bound(od_banker *banker, int64_t bound);

/* The next step, of so many seconds. OD_BANKER_NO_STEP: out of memory. */
od_banker_step od_banker_submit(od_banker *banker, double seconds);
/* It has ended, or will never be. */
void od_banker_end(od_banker *banker, od_banker_step step);

/* The datum is made at that step at the latest, and stays in memory until od_banker_died() or a death is known. Keeps
 * the pointer until od_banker_died(). OD_ENOMEM: it is not guarded. */
od_status od_banker_born(od_banker *banker, od_banker_datum *datum, od_banker_step birth, int64_t bytes);
/* It will be freed at that step, which comes after its birth. */
void od_banker_dies(od_banker *banker, od_banker_datum *datum, od_banker_step death);
/* It is freed, or not to be guarded any more. */
void od_banker_died(od_banker *banker, od_banker_datum *datum);

/* Some data, made by one task and not made yet, may be made now, and are. False: not yet; *wait, unless NULL, is the
 * last step that the task must wait for. */
bool od_banker_make(od_banker *banker, od_banker_datum *const *data, uint32_t n, od_banker_step *wait);

/* They are made now, bound or not. */
void od_banker_make_anyway(od_banker *banker, od_banker_datum *const *data, uint32_t n);

/* The first step that has not ended. */
od_banker_step od_banker_front(const od_banker *banker);
/* Seconds of the steps up to this one that have not ended. */
double od_banker_seconds(const od_banker *banker, od_banker_step step);
/* Bytes that the rest needs in the order of submission; those that are in memory. */
int64_t od_banker_need(const od_banker *banker);
int64_t od_banker_in_memory(const od_banker *banker);

bool od_banker_is_valid(const od_banker *banker);

#endif
