/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Which devices may complete a task first; see earliest.h. */
#include "sched/policy/earliest.h"

#include <math.h>

static bool is_free_before(const void *owner, uint32_t a, uint32_t b)
{
    const od_earliest *earliest = owner;
    double x = earliest->free_at[a], y = earliest->free_at[b];
    return x < y || (x <= y && a < b);
}

/* --- classes ------------------------------------------------------------- */

/* Without a word about links no device is like another. */
static unsigned group_of(const od_policy_env *env, unsigned k)
{
    return env->alike ? env->alike->group[k] : k;
}

static unsigned sort_of(const od_policy_env *env, unsigned k)
{
    return env->alike ? env->alike->sort[env->alike->group[k]] : k;
}

static bool are_equally_fast(const od_policy_env *env, unsigned j, unsigned k)
{
    bool equal = true;
    for (unsigned c = 0; env->slowness && equal && c < env->slowness->classes; c++)
        equal = env->slowness->times[c][j] >= env->slowness->times[c][k] &&
                env->slowness->times[c][j] <= env->slowness->times[c][k];
    return equal;
}

typedef unsigned likeness(const od_policy_env *env, unsigned k);

/* The class of those before k that are like it, or a new one. */
static unsigned find_class(od_earliest *earliest, od_earliest_classes *classes, unsigned k, likeness *like)
{
    const od_policy_env *env = earliest->env;
    unsigned c = classes->count; /* neighbours are often alike */
    while (c > 0 &&
           (like(env, classes->member[c - 1]) != like(env, k) || !are_equally_fast(env, classes->member[c - 1], k)))
        c--;
    if (c > 0)
        return c - 1;
    classes->member[classes->count] = k;
    od_heap_init(&classes->order[classes->count], is_free_before, earliest);
    return classes->count++;
}

static od_status divide(od_earliest *earliest, od_earliest_classes *classes, likeness *like)
{
    unsigned n = earliest->env->ndevices;
    for (unsigned k = 0; k < n; k++)
        classes->of[k] = find_class(earliest, classes, k, like);
    for (unsigned c = 0; c < classes->count; c++)
        if (od_heap_reserve(&classes->order[c], n))
            return OD_ENOMEM;
    return OD_OK;
}

static void list_groups(od_earliest *earliest)
{
    const od_earliest_classes *groups = &earliest->groups;
    for (unsigned g = 0; g < earliest->env->ndevices; g++)
        earliest->first[g] = OD_NOWHERE;
    for (unsigned c = 0; c < groups->count; c++) {
        unsigned g = group_of(earliest->env, groups->member[c]);
        earliest->next[c] = earliest->first[g];
        earliest->first[g] = (int)c;
    }
}

od_status od_earliest_init(od_earliest *earliest, const od_policy_env *env)
{
    od_earliest_free(earliest);
    earliest->env = env;
    earliest->changes = env->slowness ? env->slowness->changes : 0;
    for (unsigned k = 0; k < env->ndevices; k++)
        earliest->free_at[k] = (double)INFINITY;
    if (divide(earliest, &earliest->groups, group_of) || divide(earliest, &earliest->sorts, sort_of)) {
        od_earliest_free(earliest);
        return OD_ENOMEM;
    }
    earliest->one_group_each = earliest->groups.count == earliest->sorts.count;
    list_groups(earliest);
    return OD_OK;
}

static void free_classes(od_earliest_classes *classes)
{
    for (unsigned c = 0; c < classes->count; c++)
        od_heap_free(&classes->order[c]);
    classes->count = 0;
}

void od_earliest_free(od_earliest *earliest)
{
    free_classes(&earliest->groups);
    free_classes(&earliest->sorts);
}

bool od_earliest_is_outdated(const od_earliest *earliest)
{
    const od_slowness *slowness = earliest->env->slowness;
    return slowness && slowness->changes != earliest->changes;
}

/* --- devices ------------------------------------------------------------- */

static void put_in_order(od_earliest_classes *classes, unsigned k, double before, double now)
{
    od_heap *order = &classes->order[classes->of[k]];
    bool listed = od_heap_contains(order, k);
    if (isinf(now) && listed)
        od_heap_remove(order, k);
    else if (!isinf(now) && !listed)
        od_heap_push(order, k);
    else if (listed && now < before)
        od_heap_raised(order, k);
    else if (listed)
        od_heap_lowered(order, k);
}

void od_earliest_set(od_earliest *earliest, unsigned k, double seconds)
{
    double before = earliest->free_at[k];
    earliest->free_at[k] = seconds;
    put_in_order(&earliest->sorts, k, before, seconds);
    if (!earliest->one_group_each)
        put_in_order(&earliest->groups, k, before, seconds);
}

static void add_first(od_placeset *devices, const od_heap *order)
{
    uint32_t k = od_heap_first(order);
    if (k != OD_HEAP_NONE)
        od_placeset_add(devices, k);
}

od_placeset od_earliest_candidates(const od_earliest *earliest, od_placeset sources)
{
    od_placeset candidates = OD_NO_PLACES;
    for (unsigned c = 0; c < earliest->sorts.count; c++)
        add_first(&candidates, &earliest->sorts.order[c]);
    if (earliest->one_group_each)
        return candidates;
    for (od_placeset_walk at = od_placeset_begin(sources); od_placeset_next(&at);) {
        int c = earliest->first[group_of(earliest->env, at.place)];
        for (; c != OD_NOWHERE; c = earliest->next[c])
            add_first(&candidates, &earliest->groups.order[c]);
    }
    return candidates;
}

/* --- checks -------------------------------------------------------------- */

static bool are_valid(const od_earliest *earliest, const od_earliest_classes *classes)
{
    uint32_t listed = 0, may = 0;
    for (unsigned c = 0; c < classes->count; c++) {
        listed += classes->order[c].count;
        if (!od_heap_is_valid(&classes->order[c]))
            return false;
    }
    for (unsigned k = 0; k < earliest->env->ndevices; k++) {
        bool free = !isinf(earliest->free_at[k]);
        may += free;
        if (od_heap_contains(&classes->order[classes->of[k]], k) != free)
            return false;
    }
    return listed == may;
}

bool od_earliest_is_valid(const od_earliest *earliest)
{
    return are_valid(earliest, &earliest->sorts) &&
           (earliest->one_group_each || are_valid(earliest, &earliest->groups));
}
