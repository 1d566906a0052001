/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * What a trial (trial.h) has played so far, and one more.
 *
 * A play ends as soon as it cannot be better than the best so far; what is known of it then is a lower bound. What
 * would be the same as a play before, since only the lookahead is another one and makes no difference, is not played.
 * When the trial has had its processor time, it ends too, in the middle of a play.
 */
#ifndef OD_SCHED_AUTO_TRIES_H
#define OD_SCHED_AUTO_TRIES_H

#include "sched/auto/candidates.h"
#include "sched/auto/iterations.h"
#include "sched/auto/schedule/rounds.h"
#include "sched/engine/copy.h"
#include "sched/phase/findings.h"

enum { OD_TRIAL_MOST = 32768, OD_TRIAL_CLIMBS = 256 /* two for each climb */ };

typedef struct od_prediction {
    od_candidate candidate;
    double seconds; /* until all is done */
    double halfway; /* until half of the tasks are; not known of a lower bound */
    bool at_least;  /* `seconds` is a lower bound */
    double limit;   /* seconds: it was known then that it takes longer, and played no further; 0: not known */
    od_ahead_range same_ahead; /* with these lookaheads all is the same */
    double again;   /* seconds on the average of a few times in succession, where all comes again; 0: not played */
} od_prediction;

typedef struct od_trial {
    const od_engine *engine; /* its clock of processor time, which needs no lock */
    od_engine_copy copy;
    od_settings given;
    od_work work;
    od_findings findings;
    uint64_t end_ns;          /* by that clock */
    const atomic_bool *hurry; /* somebody waits for the thread */
    bool over;                /* either has come */
    uint64_t cost_ns;         /* that it has taken of it */
    od_candidate now;
    double least;                        /* seconds that all takes, even where devices compute without a break */
    const od_prediction *present, *best; /* of `now`, and of all; NULL: it could not be played, none was to its end */
    const od_prediction *leader;         /* the best with CPU workers, or without, as they are tried now */
    double slack;   /* plays may take so many times as long as the leader's before they end; 0: as long */
    const od_prediction *climbed[OD_TRIAL_CLIMBS]; /* where local search on sets of devices began and ended */
    unsigned nclimbed;
    bool only_near; /* set by the caller: candidates have been played before, what is near `now` is left */
    bool listed;    /* all candidates have been played */
    /* Of a graph that comes again; set by the caller. */
    bool comes_again;
    bool plays_next;           /* its next time; else what is left of this one */
    bool confirms;             /* and a few times in succession: there is time for it */
    od_iteration iteration;    /* as it is then */
    bool improves;             /* a schedule is looked for */
    bool only_schedule;        /* nothing else is: settings have been gone through */
    unsigned position;         /* in the list of candidates, to begin with; afterwards: to go on with */
    const od_schedule *draft;  /* to begin with; NULL: as the best settings carry it out */
    unsigned schedules;        /* so many there have been */
    od_schedule *improved;     /* better than the draft; the caller may take it; NULL: none was found */
    od_rounds rounds;          /* its next time */
    const od_prediction *next; /* the best of those that may be tried; NULL: none was found */
    double present_again;      /* as od_prediction.again, with the settings of now; infinite: not known */
    /* The caller's, of when the trial was made. */
    uint64_t submitted; /* tasks of the batch */
    bool is_part;       /* more are known than are played */
    unsigned nplays;
    unsigned ntried;
    uint64_t hash[OD_TRIAL_MOST]; /* of what has been tried; here and below nothing is set behind that */
    od_prediction tried[OD_TRIAL_MOST];
} od_trial;

/* Its time has come to an end. */
bool od_trial_is_over(od_trial *trial);
/* That, or nothing that is worth its play can be found any more. */
bool od_trial_is_enough(const od_trial *trial);
/* And there is room for what is near the best; where no time is set, it is not to take for ever. */
bool od_trial_has_room(const od_trial *trial);
/* Seconds of the leader; infinite: there is none. */
double od_trial_least(const od_trial *trial);
/* Of the problem, or with `rounds` the next of these. A schedule is one of the graph, of which the problem may be a
 * part. */
od_status od_trial_play(od_trial *trial, od_rounds *rounds, const od_settings *settings, double limit,
                        od_play_result *result);
/* One more. NULL: it has been tried, time is over, or the settings cannot run it. */
const od_prediction *od_trial_try(od_trial *trial, const od_candidate *candidate);
/* As many as are worth it. True: some are better than all before. */
bool od_trial_try_some(od_trial *trial, const od_candidate *candidates, unsigned count);

#endif
