/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * auto: whichever rule is predicted to end first. Now and then what is left is played under each candidate, and the
 * best is followed from then on: by the driver, where it can and that takes little enough; otherwise as a bag (bag.h),
 * as if nothing waited for anything. A driver's play also says whether to split a task that the rule would run.
 *
 * Of more tasks than a driver may play hardly one waits for another, and what keeps all units busy is best: lp is
 * followed until there are fewer. (A bag would be misled there: it knows neither transfers nor where data are.)
 *
 * The first candidate is both local views at once: a task is split where devices starve (starve.c), otherwise where
 * idle cores take work off devices (gaspp.c).
 */
#include "sched/split/bag.h"
#include "sched/split/gaspp.h"
#include "sched/split/starve.h"
#include "util/memory.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Plays of the driver, each with as many tasks as are left: at most 1 % of the processor time of all units until the
 * end, of which the oracle takes so much per task. And so many tasks in all, which take the simulator half a minute. */
static const double part = 0.01, play_s = 5e-6, most_played = 20000;
static const double bag_every_s = 0.1; /* of which bags take less than 1 %: 0.4 ms for 4 kinds and 3 levels */
enum { MOST_CHOICES = 100, MOST_CANDIDATES = 5 + OD_SPLIT_LEVELS };

struct automatic {
    const od_split_view *view;
    od_split_choice candidate[MOST_CANDIDATES];
    od_split_bag *bag[MOST_CANDIDATES];
    unsigned ncandidates;
    const od_split_ops *ops; /* that is followed */
    void *rule;
    bool is_play;       /* it is being played: nothing is chosen */
    bool splits_next;   /* whatever the rule says */
    double played;      /* tasks, in all plays so far */
    double end_s;       /* predicted by the plays so far; infinite: there was none */
    double next_work_s; /* rules are played again when so much is left */
    double next_task_s; /* a task likewise */
    double next_s;      /* bags are, at this time */
};

/* --- both ------------------------------------------------------------------------------ */

struct both {
    const od_split_view *view;
    od_gaspp *gaspp;
};

static void both_destroy(void *state)
{
    struct both *both = state;
    od_gaspp_destroy(both->gaspp);
    free(both);
}

static od_status both_create(const od_split_view *view, unsigned level, void **state, char *error, size_t size)
{
    (void)level;
    struct both *both = od_calloc(1, sizeof *both);
    od_gaspp *gaspp = od_gaspp_create(view);
    if (!both || !gaspp) {
        od_gaspp_destroy(gaspp);
        free(both);
        snprintf(error, size, "out of memory");
        return OD_ENOMEM;
    }
    *both = (struct both){view, gaspp};
    *state = both;
    return OD_OK;
}

static bool both_holds(void *state)
{
    (void)state;
    return true;
}

static od_split_answer both_decide(void *state, od_split_task *task)
{
    struct both *both = state;
    return od_split_starves(both->view, task) ? OD_SPLIT_SPLIT : od_gaspp_decide(both->gaspp, task);
}

static const od_split_ops both_ops = {
    .create = both_create, .destroy = both_destroy, .holds = both_holds, .decide = both_decide};

/* --- the choice --------------------------------------------------------------------------- */

/* From its beginning, as it is played. */
static bool follow(struct automatic *a, const od_split_choice *c)
{
    char error[256];
    void *rule;
    if (c->ops->create(a->view, c->level, &rule, error, sizeof error))
        return false;
    if (a->ops)
        a->ops->destroy(a->rule);
    a->ops = c->ops;
    a->rule = rule;
    return true;
}

/* Tasks that may still be played, in plays of rules or of single tasks: half of all. */
static double allowance(const struct automatic *a)
{
    const od_split_view *v = a->view;
    double end_s = isinf(a->end_s) ? v->work_s / fmax(v->ndevices, 1) : a->end_s;
    return fmin(part * end_s * (v->ndevices + v->cpus) / play_s, most_played) - a->played;
}

/* The first choice among all rules must be allowed. */
static bool plays(const struct automatic *a)
{
    return a->view->play && (!isinf(a->end_s) || a->ncandidates * od_split_waiting(a->view) <= allowance(a));
}

/* The work that is left when so many plays come again: as often as is allowed, where tasks become fewer. */
static double next_after(const struct automatic *a, double plays)
{
    double tasks = plays * od_split_waiting(a->view), work_s = fmax(a->view->work_s, 0);
    return work_s - work_s / fmin(fmax(tasks > 0 ? allowance(a) / tasks : 0, 1), MOST_CHOICES);
}

/* True: this is the play. False, too: it would end later than what has been predicted so far, or is not allowed. */
static bool play(struct automatic *a, bool *better)
{
    double tasks = od_split_waiting(a->view), end_s;
    *better = false;
    if (tasks > allowance(a))
        return false;
    a->is_play = true;
    if (a->view->play(a->view->driver, a->end_s, &end_s))
        return true;
    a->is_play = false;
    a->played += tasks;
    *better = end_s < a->end_s;
    a->end_s = fmin(a->end_s, end_s);
    return false;
}

static void play_rules(struct automatic *a)
{
    const od_split_choice *best = NULL;
    if (a->view->work_s > a->next_work_s)
        return;
    a->next_work_s = next_after(a, a->ncandidates);
    for (unsigned c = 0; c < a->ncandidates; c++) {
        bool better;
        if (play(a, &better)) {
            follow(a, &a->candidate[c]);
            return;
        }
        if (better)
            best = &a->candidate[c];
    }
    if (best)
        follow(a, best);
}

/* Is it to be split, whatever the rule says? */
static void play_task(struct automatic *a, const od_split_task *task)
{
    bool better;
    if (a->is_play || !plays(a) || task->level > 0 || a->view->work_s > a->next_task_s)
        return;
    a->next_task_s = next_after(a, 1);
    a->splits_next = play(a, &better) || better;
}

/* More than the driver may ever play under each rule. */
static bool has_too_many(const struct automatic *a)
{
    return a->view->play && a->ncandidates * od_split_waiting(a->view) > most_played;
}

/* Without GLPK: what is followed already. */
static void follow_lp(struct automatic *a)
{
    const od_split_ops *lp = od_split_find("lp");
    for (unsigned c = 0; c < a->ncandidates && a->ops != lp; c++)
        if (a->candidate[c].ops == lp)
            follow(a, &a->candidate[c]);
}

static void play_bags(struct automatic *a)
{
    static const double better = 0.99;
    unsigned best = 0;
    if (a->view->now < a->next_s)
        return;
    double least_s = od_split_bag_play(a->bag[0], a->view) * better;
    for (unsigned c = 1; c < a->ncandidates && least_s > 0; c++) {
        double seconds = od_split_bag_play(a->bag[c], a->view);
        if (seconds > 0 && seconds < least_s) {
            least_s = seconds;
            best = c;
        }
    }
    if (a->candidate[best].ops != a->ops)
        follow(a, &a->candidate[best]);
    a->next_s = a->view->now + bag_every_s;
}

static void choose(struct automatic *a)
{
    if (a->is_play)
        return;
    if (plays(a))
        play_rules(a);
    else if (has_too_many(a))
        follow_lp(a);
    else
        play_bags(a);
}

/* --- the rule ------------------------------------------------------------------------------ */

static void destroy(void *state)
{
    struct automatic *a = state;
    if (a->ops)
        a->ops->destroy(a->rule);
    for (unsigned c = 0; c < a->ncandidates; c++)
        od_split_bag_destroy(a->bag[c]);
    free(a);
}

/* What cannot be made (lp without GLPK) is none. */
static bool add_candidate(struct automatic *a, const od_split_ops *ops, unsigned level)
{
    od_split_choice choice = {ops, level};
    if (!follow(a, &choice))
        return false;
    a->candidate[a->ncandidates] = choice;
    a->bag[a->ncandidates] = od_split_bag_create(a->view, &choice);
    bool added = a->bag[a->ncandidates];
    a->ncandidates += added;
    return added;
}

static od_status create(const od_split_view *view, unsigned level, void **state, char *error, size_t size)
{
    (void)level;
    struct automatic *a = od_calloc(1, sizeof *a);
    if (a)
        *a = (struct automatic){
            .view = view, .end_s = (double)INFINITY, .next_work_s = (double)INFINITY, .next_task_s = (double)INFINITY};
    if (!a || !add_candidate(a, &both_ops, 0)) {
        free(a);
        snprintf(error, size, "out of memory");
        return OD_ENOMEM;
    }
    add_candidate(a, od_split_find("never"), 0);
    add_candidate(a, od_split_find("lp"), 0);
    if (view->play) { /* in a bag they are as the first one */
        add_candidate(a, od_split_find("gaspp"), 0);
        add_candidate(a, od_split_find("starve"), 0);
    }
    for (unsigned l = 1; l < view->nlevels && view->play; l++)
        add_candidate(a, od_split_find("level"), l);
    follow(a, &a->candidate[0]);
    *state = a;
    return OD_OK;
}

static bool holds(void *state)
{
    struct automatic *a = state;
    choose(a);
    return a->ops->holds && a->ops->holds(a->rule);
}

static od_split_answer decide(void *state, od_split_task *task)
{
    struct automatic *a = state;
    choose(a);
    play_task(a, task);
    bool splits = a->splits_next;
    a->splits_next = false;
    return splits ? OD_SPLIT_SPLIT : a->ops->decide(a->rule, task);
}

static bool on_host(void *state, const od_split_task *task)
{
    const struct automatic *a = state;
    return a->ops->on_host && a->ops->on_host(a->rule, task);
}

static const od_split_ops automatic = {.interface_version = OD_SPLIT_INTERFACE,
                                       .name = "auto",
                                       .description = "as the rule that is predicted to end first",
                                       .create = create,
                                       .destroy = destroy,
                                       .holds = holds,
                                       .decide = decide,
                                       .on_host = on_host};
OD_REGISTER_SPLIT(automatic);
