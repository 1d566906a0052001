/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* See set_search.h. */
#include "sched/auto/set_search.h"

#include "sched/auto/sets.h"

static const od_prediction *best_on(const od_trial *t, od_placeset set)
{
    const od_prediction *best = NULL;
    for (const od_prediction *p = t->tried; p < t->tried + t->ntried; p++)
        if (!p->at_least && p->candidate.settings.devices_only == t->given.devices_only &&
            od_placeset_equal(p->candidate.settings.devices, set) && (!best || p->seconds < best->seconds))
            best = p;
    return best;
}

/* From the best on these devices, though others lead, to what is near it, as if there were no other devices: a program
 * that had only these would find it. */
static void climb_on(od_trial *t, od_placeset set)
{
    od_candidate candidates[OD_CANDIDATES_MAX];
    const od_prediction *leader = t->leader, *best = best_on(t, set);
    if (!best || best == leader)
        return;
    t->leader = best;
    for (bool better = true; better && od_trial_has_room(t);) {
        unsigned count = od_candidates_ahead(candidates, OD_CANDIDATES_MAX, &t->leader->candidate, &t->work);
        better = od_trial_try_some(t, candidates, count);
        count = od_candidates_alike(candidates, OD_CANDIDATES_MAX, &t->leader->candidate, &t->work);
        better |= od_trial_try_some(t, candidates, count);
    }
    if (t->leader->seconds >= leader->seconds)
        t->leader = leader;
}

/* So many of the candidates for it. */
static void try_set(od_trial *t, od_placeset set, unsigned count)
{
    static const double nearly = 1.1;
    od_candidate candidate;
    t->slack = nearly;
    for (unsigned c = 0; c < count && od_trial_has_room(t); c++)
        if (od_candidates_on_set(c, set, &t->work, &candidate))
            od_trial_try(t, &candidate);
    t->slack = 0;
    climb_on(t, set);
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

/* Every policy on fewer and fewer of these devices, on a set of each kind. Those kinds come first that each number of
 * devices has: the fastest ones, on which they are tried with other lookaheads and buffers, too. */
static void try_sets_among(od_trial *t, od_placeset among)
{
    enum { FASTEST = 2 };
    od_device_sets sets;
    od_device_sets_find(t->work.topology, among, &sets);
    for (unsigned i = 0; i < sets.kinds; i++)
        for (unsigned n = sets.most; n > 0; n--)
            for (unsigned mirrored = 0; i < sets.count[n] && mirrored < 2 && od_trial_has_room(t); mirrored++)
                try_set(t, mirrored ? od_device_sets_mirror(among, sets.set[n][i]) : sets.set[n][i],
                        i < FASTEST ? OD_CANDIDATES_ON_SET : OD_CANDIDATES_POLICIES);
}

/* Likewise on those sets that a program would try that had only the first of the devices. */
static void try_sets_of_fewer(od_trial *t)
{
    od_placeset all = od_candidates_devices(&t->work), first = OD_NO_PLACES, fewer[OD_MAX_DEVICES];
    unsigned n = 0;
    for (od_placeset_walk at = od_placeset_begin(all); od_placeset_next(&at);) {
        fewer[n++] = first;
        od_placeset_add(&first, at.place);
    }
    while (n-- > 2 && od_trial_has_room(t))
        try_sets_among(t, fewer[n]);
}

bool od_set_search(od_trial *t)
{
    const od_prediction *best = t->leader;
    try_sets_among(t, od_candidates_devices(&t->work));
    try_moved(t);
    try_sets_of_fewer(t);
    return t->leader != best;
}
