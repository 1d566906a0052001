/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* See iterations.h. */
#include "sched/auto/iterations.h"

#include <string.h>

/* After what was not faster so many times as many rounds have to pass before something new is tried. */
enum { PATIENCE = 5 };

od_iteration *od_iterations_find(od_iterations *all, const od_pattern *pattern)
{
    for (unsigned i = 0; i < all->count; i++) {
        od_iteration found = all->kept[i];
        if (found.first != pattern->first)
            continue;
        memmove(all->kept + 1, all->kept, i * sizeof found);
        all->kept[0] = found;
        return &all->kept[0];
    }
    return NULL;
}

od_iteration *od_iterations_add(od_iterations *all, const od_iteration *iteration)
{
    unsigned more = all->count < OD_ITERATIONS_KNOWN;
    memmove(all->kept + 1, all->kept, (all->count - !more) * sizeof *all->kept);
    all->kept[0] = *iteration;
    all->count += more;
    return &all->kept[0];
}

static od_iteration new_one(const od_pattern *pattern, const od_candidate *settings)
{
    return (od_iteration){.first = pattern->first,
                          .hash = pattern->hash,
                          .tasks = pattern->tasks,
                          .beginning = pattern->shape_first,
                          .best = *settings,
                          .plain = *settings};
}

static void refute(od_iteration *it, const od_candidate *settings, double seconds)
{
    if (it->nrefuted < OD_ITERATIONS_REFUTED)
        it->refuted[it->nrefuted++] = (od_refuted){*settings, seconds, it->rounds};
}

static void take_best(od_iteration *it, const od_candidate *best, double seconds)
{
    it->best = *best;
    it->seconds = it->fastest = seconds;
    it->times = 1;
    it->slower = 0;
    it->disturbed = true;
    if (!od_schedule_of(&best->settings)) {
        it->plain = *best;
        it->plain_seconds = seconds;
    }
}

static const double clearly = 1.05, by_far = 1.15;

/* What was expected to be faster has been tried. */
static void judge(od_iteration *it, double seconds)
{
    it->disturbed = true;
    bool once_more = !it->tried_once && seconds >= it->seconds && seconds < by_far * it->seconds;
    it->tried_once = it->proposed = once_more;
    if (once_more)
        return;
    if (seconds >= it->seconds) {
        refute(it, &it->next, seconds);
        return;
    }
    it->former = it->best;
    it->former_seconds = it->seconds;
    take_best(it, &it->next, seconds);
    it->disturbed = false;
}

/* The first time found data where others had left them: what is no faster from then on gives way again. */
static void go_back(od_iteration *it)
{
    refute(it, &it->best, it->seconds);
    take_best(it, &it->former, it->former_seconds);
    it->former_seconds = 0;
}

/* What was faster than what there was at its time was given up for less: the average of that has grown since. */
static void revive(od_iteration *it)
{
    static const double clearly_less = 0.99;
    od_refuted *fastest = it->refuted, best = {.settings = it->best, .seconds = it->seconds};
    for (od_refuted *r = it->refuted; r < it->refuted + it->nrefuted; r++)
        fastest = r->seconds < fastest->seconds ? r : fastest;
    if (!it->nrefuted || fastest->seconds >= clearly_less * it->seconds)
        return;
    best.rounds = fastest->rounds;
    take_best(it, &fastest->settings, fastest->seconds);
    it->former_seconds = 0;
    *fastest = best;
}

enum { SLOWER = 2 }; /* once may be chance */

static bool has_slowed(const od_iteration *it)
{
    return it->slower >= SLOWER;
}

/* Each iteration finds data where the one before has left them, so the same settings may take longer and longer. Then
 * others are tried at once, before what was faster once comes back, and looked for among all. */
static void note_best(od_iteration *it, double seconds)
{
    enum { FEW = 4 };
    bool counts = !it->disturbed || seconds < it->seconds;
    it->disturbed = false;
    if (!counts)
        return;
    it->times++;
    it->seconds += (seconds - it->seconds) / (it->times < FEW ? it->times : FEW);
    if (it->fastest <= 0 || seconds < it->fastest)
        it->fastest = seconds;
    if (seconds > by_far * it->fastest)
        it->slower = SLOWER;
    else
        it->slower = seconds > clearly * it->fastest ? it->slower + 1 : 0;
    it->searched &= !has_slowed(it);
    if (it->former_seconds > 0 && it->seconds > it->former_seconds)
        go_back(it);
    else if (it->times > 1 && !(it->proposed && has_slowed(it)))
        revive(it);
}

void od_iterations_end(od_iterations *all, const od_pattern *pattern, const od_candidate *used, double seconds)
{
    od_iteration *it = od_iterations_find(all, pattern);
    if (!it) {
        od_iteration one = new_one(pattern, used);
        od_iterations_add(all, &one);
        return;
    }
    it->hash = it->hash ? it->hash : pattern->hash;
    if (it->hash != pattern->hash || it->tasks != pattern->tasks) { /* another graph that begins so */
        *it = new_one(pattern, &it->plain);
        return;
    }
    it->rounds++;
    if (seconds <= 0)
        return;
    if (od_candidate_is_same(used, &it->plain))
        it->plain_seconds = seconds;
    if (od_candidate_is_same(used, &it->best))
        note_best(it, seconds);
    else if (it->proposed && it->seconds > 0 && od_candidate_is_same(used, &it->next))
        judge(it, seconds);
}

void od_iteration_note_chosen(od_iteration *it, double seconds)
{
    it->chosen_seconds = it->chosen_seconds > 0 ? (it->chosen_seconds + seconds) / 2 : seconds;
}

bool od_iteration_is_best_as_new(const od_iteration *it)
{
    return it->chosen_seconds > 0 && it->seconds > it->chosen_seconds;
}

const od_candidate *od_iteration_settings(const od_iteration *it)
{
    bool tries = it->proposed && it->seconds > 0;
    for (unsigned i = 0; i < it->nrefuted && !has_slowed(it); i++)
        tries = tries && it->rounds >= PATIENCE * it->refuted[i].rounds;
    return tries ? &it->next : &it->best;
}

const od_candidate *od_iterations_expected(const od_iterations *all)
{
    return all->count && all->kept[0].rounds ? od_iteration_settings(&all->kept[0]) : NULL;
}

bool od_iteration_is_open(const od_iteration *it)
{
    return !it->proposed && it->nrefuted < OD_ITERATIONS_REFUTED;
}

bool od_iteration_may_try(const od_iteration *it, const od_candidate *candidate)
{
    for (unsigned i = 0; i < it->nrefuted; i++)
        if (od_candidate_is_same(&it->refuted[i].settings, candidate))
            return false;
    return !od_candidate_is_same(candidate, &it->best);
}

void od_iteration_propose(od_iteration *it, const od_candidate *candidate)
{
    if (!od_iteration_is_open(it))
        return;
    it->next = *candidate;
    it->proposed = true;
    it->tried_once = false;
}
