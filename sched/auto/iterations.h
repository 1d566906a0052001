/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Graphs that come again, as iterative programs submit them: with which settings each has been carried out fastest.
 *
 * A batch is recognised by its first tasks (sched/graph/pattern.h). From then on it has the settings that were best
 * the last times, and nothing is played for a part of it. When all of it is known the oracle looks for better ones; an
 * iteration tries them, and they stay only if it was in fact faster, and those after it are, too. What was a little
 * slower is tried once more, since data lay where others had left them. After a few that were not faster, no more are
 * tried. Once all settings have been gone through, it is a schedule of its own (schedule/schedule.h) that is improved
 * from one iteration to the next (schedule/improve.h), and tried where it is expected to be clearly faster. The first
 * iteration finds data elsewhere than the others do, and counts for none of this.
 */
#ifndef OD_SCHED_AUTO_ITERATIONS_H
#define OD_SCHED_AUTO_ITERATIONS_H

#include "sched/auto/candidates.h"
#include "sched/auto/schedule/schedule.h"
#include "sched/graph/pattern.h"

enum { OD_ITERATIONS_KNOWN = 8, OD_ITERATIONS_REFUTED = 3 };

/* Settings that were expected to be faster, and were not. */
typedef struct od_refuted {
    od_candidate settings;
    double seconds;  /* that they took */
    uint64_t rounds; /* before */
} od_refuted;

typedef struct od_iteration {
    uint64_t first, hash, tasks; /* of its pattern; hash 0: not known, it comes from an earlier run */
    uint64_t beginning;          /* of its shape */
    od_candidate best;
    od_candidate plain; /* the best that follow no schedule */
    double plain_seconds; /* with these; 0: not known */
    double seconds;       /* with the best, on the average of the last few times; 0: not known yet */
    double fastest;       /* with the best so far; likewise */
    bool disturbed;       /* other settings have left data elsewhere: the next time does not count if it is slower */
    unsigned times;       /* that it has had the best since they are */
    od_candidate former;  /* what was the best before them */
    double former_seconds; /* with these, likewise; 0: there are none */
    double chosen_seconds; /* with settings that were chosen as its tasks came, on the average; 0: not known */
    unsigned slower;      /* so many in a row took clearly longer than that; one by far counts twice */
    od_candidate next; /* expected to be faster */
    bool proposed;     /* there is a next one */
    bool tried_once;   /* it was slower, but not by far: it found data where others had left them */
    uint64_t rounds;   /* so far, but for the first one */
    unsigned nrefuted;
    od_refuted refuted[OD_ITERATIONS_REFUTED];
    unsigned position;        /* in the list of candidates: those before it have been played */
    unsigned nsearched;       /* how often settings have been looked for */
    bool searched;            /* they have all been gone through, or often enough */
    const od_schedule *draft; /* as far as it has been improved; NULL: there is none */
} od_iteration;

typedef struct od_iterations {
    od_iteration kept[OD_ITERATIONS_KNOWN]; /* the latest first */
    unsigned count;
} od_iterations;

/* One that an earlier run has left. */
od_iteration *od_iterations_add(od_iterations *all, const od_iteration *iteration);
/* The one that begins so; NULL: it is new. It stays where it is until another one is found or ends. */
od_iteration *od_iterations_find(od_iterations *all, const od_pattern *pattern);
/* A batch has ended. `seconds` that it took with the settings `used` from its beginning to its end; 0: others counted
 * in between. */
void od_iterations_end(od_iterations *all, const od_pattern *pattern, const od_candidate *used, double seconds);
/* A first batch took so many seconds with settings that were chosen on its way, as of a new one. */
void od_iteration_note_chosen(od_iteration *iteration, double seconds);
/* That was faster than the best settings from its beginning to its end. */
bool od_iteration_is_best_as_new(const od_iteration *iteration);
/* What it is to have this time. */
const od_candidate *od_iteration_settings(const od_iteration *iteration);
/* What came last, and not for the first time, is likely to come again: it has its settings before its first tasks show
 * that it does. NULL: there is none. */
const od_candidate *od_iterations_expected(const od_iterations *all);
/* Whether better ones may be looked for; false: enough have been refuted, or one is to be tried. */
bool od_iteration_is_open(const od_iteration *iteration);
/* It is not the best, and has not been refuted. */
bool od_iteration_may_try(const od_iteration *iteration, const od_candidate *candidate);
/* One that may be tried, for the next time. */
void od_iteration_propose(od_iteration *iteration, const od_candidate *candidate);

#endif
