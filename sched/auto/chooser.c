/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* See chooser.h. */
#include "sched/auto/chooser.h"

#include "sched/auto/budget.h"
#include "sched/auto/iterations.h"
#include "sched/auto/remember.h"
#include "sched/auto/trial.h"
#include "util/log.h"
#include "util/memory.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FEWEST_TASKS = 16, FEWEST_BY_DEVICE = 4, FEWEST_AWAITED = 1, MOST_TASKS = 200000 };

struct chooser {
    od_engine *e;
    od_settings given;    /* as the user wants them */
    od_candidate current; /* as they are */
    od_candidate plain;   /* the last ones that followed no schedule */
    od_candidate next;    /* to be adopted as soon as that is possible */
    bool pending;
    bool under_way;
    bool again;        /* what is known is to be played again, though it has not grown */
    bool listed;       /* all candidates have been, then: what is near the present settings is left */
    unsigned longer;   /* choices in a row that had no time for all settings: the next one has twice as much */
    bool stops;        /* it chooses no more: out of memory, or no device is left */
    od_placeset lost;  /* devices, when the last choice was begun */
    uint64_t known;    /* tasks then */
    uint64_t done;     /* tasks that were done then */
    uint64_t begun_ns; /* when that was */
    od_durations played; /* by kind, then */
    uint64_t look_at;    /* when so many tasks are done: whether those are still right */
    double halfway;    /* seconds from then on, predicted, until half of them are; 0: it has been looked at */
    uint64_t retry_ns; /* not before */
    od_budget budget;
    od_choices choices;
    od_iterations iterations;
    od_iterations beginnings; /* graphs when they came for the first time in this process */
    od_schedule *schedules; /* that some settings follow */
    unsigned nschedules;    /* so far */
    struct batch {
        uint64_t number;
        uint64_t begun_ns;
        od_iteration *iteration; /* NULL: not recognised */
        bool looked;             /* whether it is one that comes again */
        bool first;              /* in another process: data will be where they were this time */
        bool changed;            /* other settings have been adopted, after its beginning */
        bool tried;              /* better settings have been looked for */
        uint64_t submitted;      /* tasks of it, when the last choice was begun */
        unsigned position;       /* in the list of candidates, where there was no more time */
        od_candidate settings;   /* that count since most of it was left */
    } batch;
};

/* A trial under way. */
struct choice {
    od_background job;
    struct chooser *c;
    od_trial *trial;
    uint64_t most_ns;
    uint64_t batch; /* that it is about */
};

/* --- a choice ------------------------------------------------------------------------------- */

/* They differ in nothing but the lookahead: what the policy has planned stays. */
static bool only_looks_ahead(const od_candidate *a, const od_candidate *b)
{
    od_candidate same = *a;
    same.settings.policy.ahead = b->settings.policy.ahead;
    return od_candidate_is_same(&same, b);
}

static void adopt(struct chooser *c)
{
    od_status status = OD_OK;
    if (only_looks_ahead(&c->current, &c->next))
        od_engine_look_ahead(c->e, c->next.settings.policy.ahead);
    else
        status = od_engine_adopt(c->e, &c->next.settings);
    c->pending = status == OD_EBUSY;
    if (status)
        return;
    c->current = c->next;
    if (!od_schedule_of(&c->current.settings))
        c->plain = c->current;
    c->batch.changed = true;
}

/* It is of no use for what comes. */
static void leave_schedule(struct chooser *c)
{
    if (!od_schedule_of(&c->current.settings))
        return;
    c->next = c->batch.settings = c->plain;
    adopt(c);
}

/* --- schedules -------------------------------------------------------------------------------- */

static bool is_followed(const od_candidate *candidate, const od_schedule *s)
{
    return od_schedule_of(&candidate->settings) == s;
}

static bool is_one_of(const od_iterations *all, const od_schedule *s)
{
    bool used = false;
    for (const od_iteration *it = all->kept; !used && it < all->kept + all->count; it++) {
        used = it->draft == s || is_followed(&it->best, s) || is_followed(&it->next, s) || is_followed(&it->former, s);
        for (unsigned i = 0; !used && i < it->nrefuted; i++)
            used = is_followed(&it->refuted[i].settings, s);
    }
    return used;
}

static bool is_used(const struct chooser *c, const od_schedule *s)
{
    bool used = is_followed(&c->current, s) || is_followed(&c->next, s) || is_followed(&c->batch.settings, s);
    return used || is_one_of(&c->iterations, s) || is_one_of(&c->beginnings, s);
}

/* No trial is under way. */
static void free_unused(struct chooser *c)
{
    for (od_schedule **link = &c->schedules; *link;) {
        od_schedule *s = *link;
        if (is_used(c, s)) {
            link = &s->next;
            continue;
        }
        *link = s->next;
        free(s);
    }
}

static void keep_schedule(struct chooser *c, od_trial *trial)
{
    od_schedule *s = trial->improved;
    if (!s)
        return;
    trial->improved = NULL;
    s->next = c->schedules;
    c->schedules = s;
    c->nschedules++;
    c->batch.iteration->draft = s;
}

/* Of the seconds under present settings those under others may take: clearly less, once devices follow a plan, or while
 * more tasks are to come, and far less as long as durations are guesses, where little may turn out to be nothing. */
static double worth_factor(const struct chooser *c, double passed)
{
    static const double less = 0.9999, clearly = 0.98, far = 0.9;
    if (od_durations_has_guess(&c->played))
        return far;
    return c->done || passed > 0 || !od_engine_is_awaited(c->e) ? clearly : less;
}

/* What has passed while it was looked for may be of no use to it. */
static bool is_worth_it(const struct chooser *c, const od_trial *trial)
{
    double passed = (double)(od_engine_clock(c->e) - c->begun_ns) * 1e-9;
    const od_prediction *now = trial->present, *best = trial->best;
    return best != now && (!now || passed + best->seconds < worth_factor(c, passed) * now->seconds);
}

static void note(struct chooser *c, const od_trial *trial, bool adopted)
{
    c->choices.count++;
    od_choice *choice = od_choices_last(&c->choices);
    *choice = (od_choice){.ns = od_engine_clock(c->e),
                          .adopted = adopted,
                          .tasks = trial->work.ntasks,
                          .tried = trial->ntried,
                          .present = od_prediction_outlook(trial->present),
                          .best = od_prediction_outlook(trial->best),
                          .second = od_prediction_outlook(od_trial_second(trial)),
                          .half_predicted = trial->best->halfway};
    od_log(OD_LOG_INFO, "auto", "%u settings played for %llu tasks: %s %.6f s, %s %.6f s", choice->tried,
           (unsigned long long)choice->tasks, choice->present.name, choice->present.seconds, choice->best.name,
           choice->best.seconds);
    od_engine_chosen(c->e, choice);
}

/* It is expected to be faster than what is now, or than what that took in fact. */
static void propose(struct chooser *c, const od_trial *trial)
{
    static const double clearly = 0.98;
    od_iteration *it = c->batch.iteration;
    const od_prediction *next = trial->next;
    double passed = (double)(c->begun_ns - c->batch.begun_ns) * 1e-9;
    bool to_the_end = it->seconds > 0 && trial->submitted >= it->tasks && !trial->is_part;
    if (next && next->again < trial->present_again &&
        (next->again < clearly * trial->present_again || (to_the_end && passed + next->again < clearly * it->seconds)))
        od_iteration_propose(it, &next->candidate);
}

static void learn(struct chooser *c, od_trial *trial)
{
    enum { OFTEN = 3 };
    od_iteration *it = c->batch.iteration;
    it->position = trial->position;
    if (it->seconds > 0) /* else what it took cannot be compared with what others are predicted to take */
        it->searched |= !trial->over || (!it->position && ++it->nsearched >= OFTEN);
    keep_schedule(c, trial);
    propose(c, trial);
}

static void take(struct chooser *c, od_trial *trial)
{
    bool adopted = is_worth_it(c, trial) && !c->batch.iteration;
    c->halfway = trial->is_part ? 0 : trial->best->halfway;
    note(c, trial, adopted);
    if (c->batch.iteration)
        learn(c, trial);
    if (!adopted)
        return;
    c->next = trial->best->candidate;
    if (c->known >= od_engine_pattern(c->e)->tasks / 2)
        c->batch.settings = c->next;
    adopt(c);
}

static void end_choice(od_background *job, bool carried_out)
{
    struct choice *choice = od_container_of(job, struct choice, job);
    struct chooser *c = choice->c;
    c->under_way = false;
    c->choices.processor_ns += choice->trial->cost_ns;
    od_budget_note_plays(&c->budget, choice->trial);
    if (carried_out && choice->trial->best && choice->batch == od_engine_pattern(c->e)->batch)
        take(c, choice->trial);
    bool ended = carried_out && !choice->trial->over;
    c->again |= !ended;
    c->listed = !ended && (c->listed || choice->trial->listed);
    c->longer = ended ? 0 : c->longer + 1;
    if (!ended && choice->batch == c->batch.number) { /* another time, from where it had to end */
        c->batch.tried = false;
        c->batch.position = choice->trial->position;
    }
    od_trial_destroy(choice->trial);
    free(choice);
    free_unused(c);
}

static void run_choice(od_background *job)
{
    struct choice *choice = od_container_of(job, struct choice, job);
    od_trial_run(choice->trial, choice->most_ns, &job->hurry);
}

static struct choice *make_choice(struct chooser *c, uint64_t tasks, bool is_part, double allowed)
{
    struct choice *choice = od_calloc(1, sizeof *choice);
    uint64_t begun_ns = od_engine_processor_ns(c->e, true);
    od_trial *trial = choice ? od_trial_create(c->e, tasks, &c->given, &c->current) : NULL;
    if (!trial) {
        free(choice);
        return NULL;
    }
    uint64_t cost_ns = od_engine_processor_ns(c->e, true) - begun_ns;
    od_budget_note_copy(&c->budget, tasks, cost_ns);
    c->choices.processor_ns += cost_ns;
    allowed = fmax(allowed - (double)cost_ns, 0);
    trial->position = c->batch.iteration ? c->batch.iteration->position : c->batch.position;
    trial->is_part = is_part;
    trial->only_near = c->listed && !c->batch.iteration;
    if (c->batch.iteration) {
        trial->comes_again = true;
        trial->iteration = *c->batch.iteration;
        trial->plays_next = !c->batch.first && 8 * tasks >= 7 * c->batch.iteration->tasks; /* nearly all is known */
        trial->confirms = trial->plays_next && allowed >= od_budget_cost(&c->budget, tasks, 2 * OD_BUDGET_SOME);
        trial->only_schedule = c->batch.iteration->searched;
        trial->submitted = od_engine_pattern(c->e)->tasks;
        trial->improves = trial->submitted >= c->batch.iteration->tasks && !is_part;
        trial->draft = c->batch.iteration->draft;
        trial->schedules = c->nschedules;
    }
    *choice = (struct choice){.job = {.run = run_choice, .done = end_choice},
                              .c = c,
                              .trial = trial,
                              .batch = c->batch.number,
                              .most_ns = isfinite(allowed) ? (uint64_t)allowed : UINT64_MAX};
    return choice;
}

/* --- when ------------------------------------------------------------------------------------ */

/* Half of what was known has taken clearly longer or shorter than predicted. */
static bool was_wrong(struct chooser *c, uint64_t done, uint64_t now_ns)
{
    static const double clearly = 0.15;
    if (c->halfway <= 0 || done - c->done < c->known / 2)
        return false;
    double seconds = (double)(now_ns - c->begun_ns) * 1e-9, ratio = seconds / c->halfway;
    od_log(OD_LOG_INFO, "auto", "half of %llu tasks took %.6f s, predicted were %.6f s%s", (unsigned long long)c->known,
           seconds, c->halfway, fabs(ratio - 1) > clearly ? "; the rest is played again" : "");
    c->halfway = 0;
    od_choice *choice = od_choices_last(&c->choices);
    choice->half_taken = seconds;
    od_engine_chosen(c->e, choice);
    return fabs(ratio - 1) > clearly;
}

/* Kinds of tasks take clearly longer or shorter than when they were played: those of a program's first run are guesses
 * until some have run. */
static bool guessed_wrong(struct chooser *c, uint64_t done)
{
    static const double clearly = 1.5;
    if (done < c->look_at)
        return false;
    c->look_at = 2 * done;
    return od_durations_differ(&c->played, od_engine_durations(c->e), clearly);
}

/* All of an iteration is known, and better settings may be found. */
static bool is_due_again(const struct chooser *c, uint64_t known)
{
    enum { MANY = 1000 }; /* tasks, of a graph of which never all is known at once */
    const od_iteration *it = c->batch.iteration;
    bool whole = od_engine_pattern(c->e)->tasks >= it->tasks && known >= it->tasks / 2;
    return !c->batch.tried && od_iteration_is_open(it) && (whole || known >= MANY);
}

/* With all settings, since what is to be done is not what they were played for. */
static void start_over(struct chooser *c)
{
    c->again = true;
    c->listed = false;
    c->longer = 0;
}

/* What was best with a device that is lost need not be. */
static void forget_iterations(struct chooser *c)
{
    c->iterations.count = c->beginnings.count = 0;
    c->batch.iteration = NULL;
    start_over(c);
    leave_schedule(c);
}

/* Known tasks that say something about those to come: more than devices are given at once. */
static uint64_t fewest(const struct chooser *c)
{
    uint64_t many = FEWEST_BY_DEVICE * (uint64_t)od_engine_devices(c->e);
    return od_engine_is_awaited(c->e) ? FEWEST_AWAITED : many > FEWEST_TASKS ? many : FEWEST_TASKS;
}

/* More tasks are known than there were. While the program waits no others come. */
static bool has_grown(const struct chooser *c, uint64_t known)
{
    uint64_t more = od_engine_pattern(c->e)->tasks - c->batch.submitted;
    return known >= 2 * c->known || (od_engine_is_awaited(c->e) && more > 0 && 8 * more >= known);
}

/* There is enough for a choice, and a reason. */
static bool is_due(struct chooser *c, const od_engine_stats *stats, uint64_t now_ns)
{
    uint64_t known = stats->waiting + stats->unfinished;
    if (!od_placeset_equal(od_engine_lost(c->e), c->lost))
        forget_iterations(c);
    if (!c->batch.looked || od_engine_is_vague(c->e))
        return false;
    if (c->batch.iteration)
        return known >= FEWEST_TASKS && known <= MOST_TASKS && is_due_again(c, known);
    if (known < c->known / 4)
        c->known = known; /* another batch may come */
    if (was_wrong(c, stats->tasks, now_ns) || guessed_wrong(c, stats->tasks) || has_grown(c, known))
        start_over(c);
    return known >= fewest(c) && known <= MOST_TASKS && c->again;
}

static void begin_choice(struct chooser *c, const od_engine_stats *stats, uint64_t now_ns)
{
    static const uint64_t later = 1000000; /* ns */
    uint64_t known = stats->waiting + stats->unfinished;
    double allowed = od_budget_left(&c->budget, now_ns, c->choices.processor_ns);
    uint64_t tasks = od_budget_window(&c->budget, known, allowed);
    unsigned fewest_plays = c->longer ? OD_BUDGET_SOME : 2; /* of what is now, and one more; then more at once */
    if (allowed < od_budget_cost(&c->budget, tasks, fewest_plays)) {
        c->retry_ns = now_ns + later;
        return;
    }
    if (!c->batch.iteration) /* what is for the next one has time */
        allowed = od_budget_soon(&c->budget, tasks, allowed, c->longer);
    struct choice *choice = make_choice(c, tasks, tasks < known, allowed);
    c->stops = !choice;
    if (c->stops)
        return;
    c->again = false;
    c->batch.tried = true;
    c->lost = od_engine_lost(c->e);
    c->known = known;
    c->batch.submitted = od_engine_pattern(c->e)->tasks;
    c->done = stats->tasks;
    c->played = *od_engine_durations(c->e);
    c->begun_ns = now_ns;
    c->halfway = 0;
    c->under_way = true;
    od_engine_in_background(c->e, &choice->job, known);
}

/* --- iterations ------------------------------------------------------------------------------ */

/* As an earlier run has left it; NULL: none has. */
static od_iteration *recall(struct chooser *c, od_iterations *all, const od_pattern *pattern)
{
    od_iteration it;
    if (!od_iteration_recall(c->e, pattern, all == &c->beginnings, &c->given, &c->plain, &c->schedules, &c->nschedules,
                             &it))
        return NULL;
    bool lost = od_placeset_intersect(od_placeset_union(it.best.settings.devices, it.next.settings.devices),
                                      od_engine_lost(c->e));
    return lost ? NULL : od_iterations_add(all, &it);
}

static void turn_to(struct chooser *c, const od_candidate *settings)
{
    c->next = *settings;
    if (!od_candidate_is_same(&c->next, &c->current))
        adopt(c);
}

/* It has its settings from the beginning. */
static void recognise(struct chooser *c, const od_pattern *pattern)
{
    od_iteration *it = od_iterations_find(&c->iterations, pattern);
    c->batch.first = !it;
    if (!it)
        it = recall(c, &c->beginnings, pattern);
    if (it && od_iteration_is_best_as_new(it))
        it = NULL;
    c->batch.looked = true;
    c->batch.iteration = it;
    if (!it) {
        leave_schedule(c);
        return;
    }
    turn_to(c, od_iteration_settings(it));
    c->batch.settings = c->next;
    c->batch.changed = c->pending;
}

static void follow(struct chooser *c, uint64_t now_ns)
{
    const od_pattern *pattern = od_engine_pattern(c->e);
    bool is_new = pattern->batch != c->batch.number || !c->batch.begun_ns;
    const od_candidate *expected = is_new ? od_iterations_expected(&c->iterations) : NULL;
    if (expected)
        turn_to(c, expected);
    if (is_new)
        c->batch = (struct batch){.number = pattern->batch, .begun_ns = now_ns + !now_ns, .settings = c->current};
    if (c->batch.looked || c->under_way)
        return;
    if (pattern->tasks >= OD_PATTERN_FIRST) {
        recognise(c, pattern);
    } else if (od_engine_is_awaited(c->e)) { /* too few to come again as a pattern */
        c->batch.looked = true;
        leave_schedule(c);
    }
}

/* Others like it find data where it did: it counts. */
static void end_first(struct chooser *c, const od_pattern *pattern, double seconds)
{
    double unchanged = c->batch.changed ? 0 : seconds;
    od_iterations_end(&c->beginnings, pattern, &c->batch.settings, unchanged);
    od_iteration *it = od_iterations_find(&c->beginnings, pattern);
    if (it->seconds <= 0)
        it->seconds = unchanged;
    if (c->batch.changed && !c->batch.iteration)
        od_iteration_note_chosen(it, seconds);
}

static void end_batch(void *chooser)
{
    struct chooser *c = chooser;
    const od_pattern *pattern = od_engine_pattern(c->e);
    uint64_t now_ns = od_engine_clock(c->e);
    bool whole = pattern->batch == c->batch.number && c->batch.begun_ns;
    if (pattern->tasks < OD_PATTERN_FIRST || !whole || now_ns <= c->batch.begun_ns)
        return;
    double seconds = (double)(now_ns - c->batch.begun_ns) * 1e-9;
    bool first = !od_iterations_find(&c->iterations, pattern);
    if (first)
        end_first(c, pattern, seconds);
    if (!first || !recall(c, &c->iterations, pattern))
        od_iterations_end(&c->iterations, pattern, &c->batch.settings, c->batch.changed ? 0 : seconds);
}

static void keep_all(const struct chooser *c, const od_iterations *all)
{
    for (const od_iteration *it = all->kept; it < all->kept + all->count; it++)
        if (it->rounds || all == &c->beginnings)
            od_iteration_keep(c->e, it, all == &c->beginnings);
}

static void keep(const void *chooser)
{
    const struct chooser *c = chooser;
    keep_all(c, &c->beginnings);
    keep_all(c, &c->iterations);
}

/* --- what an engine calls ---------------------------------------------------------------------- */

static void consider(void *chooser)
{
    struct chooser *c = chooser;
    od_engine_stats stats;
    uint64_t now_ns = od_engine_clock(c->e);
    if (c->pending)
        adopt(c);
    if (c->pending || c->under_way || c->stops)
        return;
    follow(c, now_ns);
    od_engine_stats_get(c->e, &stats);
    if (now_ns >= c->retry_ns && is_due(c, &stats, now_ns))
        begin_choice(c, &stats, now_ns);
}

/* --- making and unmaking --------------------------------------------------------------------- */

static void *create(void *engine)
{
    enum { FEW = 4 };
    struct chooser *c = od_calloc(1, sizeof *c);
    if (!c)
        return NULL;
    c->e = engine;
    c->look_at = FEW;
    od_engine_settings(c->e, &c->given);
    od_budget_init(&c->budget, c->e);
    c->current = od_candidates_first(false, &c->given);
    c->next = od_candidates_first(od_engine_is_uneven(c->e), &c->given);
    c->current.settings.policy.ahead = c->given.policy.ahead; /* of `auto` itself */
    c->pending = !od_candidate_is_same(&c->current, &c->next);
    c->plain = c->next;
    return c;
}

static void destroy(void *chooser)
{
    struct chooser *c = chooser;
    for (od_schedule *next; c->schedules; c->schedules = next) {
        next = c->schedules->next;
        free(c->schedules);
    }
    free(c);
}

static const od_choices *choices(const void *chooser)
{
    return &((const struct chooser *)chooser)->choices;
}

const od_chooser_ops od_auto_chooser = {create, destroy, consider, end_batch, choices, keep};
