/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* See set_search.h. */
#include "sched/auto/set_search.h"

#include "sched/auto/sets.h"

/* --- on one set ------------------------------------------------------------------------------ */

/* On these devices, with CPU workers or without as now. */
static const od_prediction *best_on(const od_trial *t, od_placeset set)
{
    const od_prediction *best = NULL;
    for (const od_prediction *p = t->tried; p < t->tried + t->ntried; p++)
        if (!p->at_least && p->candidate.settings.devices_only == t->given.devices_only &&
            od_placeset_equal(p->candidate.settings.devices, set) && (!best || p->seconds < best->seconds))
            best = p;
    return best;
}

/* The first `count` of the candidates for it. */
static void try_set(od_trial *t, od_placeset set, unsigned count)
{
    static const double nearly = 1.1;
    od_candidate candidate;
    t->slack = nearly;
    for (unsigned c = 0; c < count && od_trial_has_room(t); c++)
        if (od_candidates_on_set(c, set, &t->work, &candidate))
            od_trial_try(t, &candidate);
    t->slack = 0;
}

/* --- from one set to the next ---------------------------------------------------------------- */

static bool try_near_sets(od_trial *t, od_placeset among, od_near_sets *find)
{
    od_candidate candidates[OD_CANDIDATES_MAX];
    unsigned count = od_candidates_on_near_sets(candidates, &t->leader->candidate, among, &t->work, find);
    return od_trial_has_room(t) && od_trial_try_some(t, candidates, count);
}

/* From there, though others lead, to what is near it, as if there were no devices but those `among`: a program that had
 * only these would find it. Returns where it ends. */
static const od_prediction *climb(od_trial *t, const od_prediction *start, od_placeset among)
{
    od_candidate candidates[OD_CANDIDATES_MAX];
    const od_prediction *leader = t->leader;
    t->leader = start;
    for (bool better = true; better && od_trial_has_room(t);) {
        unsigned count = od_candidates_ahead(candidates, OD_CANDIDATES_MAX, &t->leader->candidate, &t->work);
        better = od_trial_try_some(t, candidates, count);
        count = od_candidates_alike(candidates, OD_CANDIDATES_MAX, &t->leader->candidate, &t->work);
        better |= od_trial_try_some(t, candidates, count);
        better =
            better || try_near_sets(t, among, od_device_sets_near) || try_near_sets(t, among, od_device_sets_exchanged);
    }
    const od_prediction *end = t->leader;
    if (end->seconds >= leader->seconds)
        t->leader = leader;
    return end;
}

/* From its set, or from one where all takes the same time: as a rule devices that it has more have nothing to do. */
static bool was_climbed_from(const od_trial *t, const od_prediction *p)
{
    unsigned i = 0;
    while (i < t->nclimbed && t->climbed[i]->seconds != p->seconds &&
           !od_placeset_equal(t->climbed[i]->candidate.settings.devices, p->candidate.settings.devices))
        i++;
    return i < t->nclimbed;
}

static bool is_among(const od_trial *t, const od_prediction *p, od_placeset among)
{
    const od_settings *s = &p->candidate.settings;
    return s->devices_only == t->given.devices_only && !od_placeset_is_empty(s->devices) &&
           od_placeset_is_empty(od_placeset_minus(s->devices, among));
}

/* NULL: all that are left are by far slower than the best. */
static const od_prediction *most_promising(const od_trial *t, od_placeset among)
{
    static const double by_far = 1.25;
    const od_prediction *best = NULL;
    double least = by_far * od_trial_least(t);
    for (const od_prediction *p = t->tried; p < t->tried + t->ntried; p++)
        if (!p->at_least && p->seconds < least && is_among(t, p, among) && !was_climbed_from(t, p)) {
            best = p;
            least = p->seconds;
        }
    return best;
}

/* Of the sets among these devices that have been tried the best, one by one: with all candidates, then from the best of
 * those to what is near. */
static void climb_on_sets(od_trial *t, od_placeset among, unsigned count)
{
    const od_prediction *start = NULL;
    for (; count > 0 && t->nclimbed < OD_TRIAL_CLIMBS && od_trial_has_room(t); count--) {
        if (!(start = most_promising(t, among)))
            return;
        t->climbed[t->nclimbed++] = start;
        od_placeset set = start->candidate.settings.devices;
        try_set(t, set, OD_CANDIDATES_ON_SET);
        t->climbed[t->nclimbed++] = climb(t, best_on(t, set), among);
    }
}

/* --- sets to begin with ---------------------------------------------------------------------- */

/* The set without one of its devices, that without which all ends first; with what is best on the whole set. Empty:
 * whichever is left out, it takes by far longer than the best. */
static od_placeset best_without_one(od_trial *t, od_placeset set)
{
    static const double by_far = 2;
    od_candidate candidates[OD_CANDIDATES_MAX];
    const od_prediction *best = best_on(t, set);
    od_candidate whole = best ? best->candidate : t->leader->candidate;
    whole.settings.devices = set;
    unsigned count = od_candidates_on_near_sets(candidates, &whole, set, &t->work, od_device_sets_near);
    t->slack = by_far;
    for (unsigned i = 0; i < count && od_trial_has_room(t); i++)
        od_trial_try(t, &candidates[i]);
    t->slack = 0;
    best = NULL;
    for (unsigned i = 0; i < count; i++) {
        const od_prediction *p = best_on(t, candidates[i].settings.devices);
        best = p && (!best || p->seconds < best->seconds) ? p : best;
    }
    return best ? best->candidate.settings.devices : OD_NO_PLACES;
}

/* On all of these devices, then without that which slows the others most, or speeds them up least, and so on: sets that
 * are no better lead to some that are. */
static void leave_out(od_trial *t, od_placeset among)
{
    for (od_placeset set = among; !od_placeset_is_empty(set) && od_trial_has_room(t); set = best_without_one(t, set))
        try_set(t, set, OD_CANDIDATES_FAST);
}

/* On fewer and fewer of these devices, sets of some kinds. */
static void try_kinds(od_trial *t, od_placeset among, unsigned first, unsigned end)
{
    od_device_sets sets;
    od_device_sets_find(t->work.topology, among, &sets);
    for (unsigned i = first; i < sets.kinds && i < end; i++)
        for (unsigned n = sets.most; n > 0; n--)
            for (unsigned mirrored = 0; i < sets.count[n] && mirrored < 2 && od_trial_has_room(t); mirrored++)
                try_set(t, mirrored ? od_device_sets_mirror(among, sets.set[n][i]) : sets.set[n][i],
                        OD_CANDIDATES_FAST);
}

/* --- the search ------------------------------------------------------------------------------ */

enum { FASTEST = 3 }; /* kinds that each number of devices has, from which the others are grown (sets.h) */

static void search_first(od_trial *t, od_placeset among, unsigned climbs)
{
    leave_out(t, among);
    try_kinds(t, among, 0, FASTEST);
    climb_on_sets(t, among, climbs);
}

static void search_others(od_trial *t, od_placeset among, unsigned climbs)
{
    try_kinds(t, among, FASTEST, OD_SETS_KINDS);
    climb_on_sets(t, among, climbs);
}

/* As a program does it that has all but the last of the devices, or the last two, and so on. */
static void search_of_fewer(od_trial *t, void (*search)(od_trial *, od_placeset, unsigned), unsigned climbs)
{
    od_placeset among = od_candidates_devices(&t->work), fewer[OD_MAX_DEVICES], first = OD_NO_PLACES;
    unsigned n = 0;
    for (od_placeset_walk at = od_placeset_begin(among); od_placeset_next(&at);) {
        fewer[n++] = first;
        od_placeset_add(&first, at.place);
    }
    while (n-- > 2 && od_trial_has_room(t))
        search(t, fewer[n], climbs);
}

/* Policies decide ties by number, so devices that are alike in all else are not the same to them. */
static void try_moved(od_trial *t)
{
    od_candidate candidates[OD_CANDIDATES_MAX];
    unsigned count = od_candidates_ahead(candidates, OD_CANDIDATES_MAX, &t->leader->candidate, &t->work);
    od_placeset set = t->leader->candidate.settings.devices, among = od_candidates_devices(&t->work), moved;
    for (unsigned first = 0; !od_placeset_is_empty(moved = od_device_sets_moved(among, set, first)); first++)
        for (unsigned i = 0; i < count && od_trial_has_room(t); i++) {
            candidates[i].settings.devices = moved;
            od_candidate_name(&candidates[i]);
            od_trial_try(t, &candidates[i]);
        }
}

bool od_set_search(od_trial *t)
{
    enum { MANY = 8, FEW = 2 };
    const od_prediction *best = t->leader;
    od_placeset all = od_candidates_devices(&t->work);
    search_first(t, all, MANY);
    try_moved(t);
    search_of_fewer(t, search_first, FEW);
    search_others(t, all, MANY);
    search_of_fewer(t, search_others, FEW);
    return t->leader != best;
}
