/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* See sets.h. */
#include "sched/auto/sets.h"

#include <string.h>

/* --- what devices have, as numbers ----------------------------------------------------------- */

static uint64_t mix(uint64_t hash, uint64_t value)
{
    hash = (31 * hash + value) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 29;
}

static uint64_t mix_double(uint64_t hash, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return mix(hash, bits);
}

/* Its own limits and those of its links, whose order does not matter. */
static uint64_t of_way(const od_topology *t, const od_way *way)
{
    uint64_t links = 0;
    for (uint32_t i = 0; i < way->nlinks; i++)
        links += mix_double(1, t->capacity[t->on_way[way->first + i]]);
    return mix(mix_double(mix_double(2, way->latency), way->bandwidth), links);
}

/* The links that both use. */
static uint64_t of_shared(const od_topology *t, const od_way *a, const od_way *b)
{
    uint64_t links = 0;
    for (uint32_t i = 0; i < a->nlinks; i++)
        for (uint32_t j = 0; j < b->nlinks; j++)
            if (t->on_way[a->first + i] == t->on_way[b->first + j])
                links += mix_double(3, t->capacity[t->on_way[a->first + i]]);
    return links;
}

static uint64_t of_device(const od_topology *t, int k)
{
    const od_way *in = od_topology_way(t, OD_HOST, k), *out = od_topology_way(t, k, OD_HOST);
    uint64_t hash = mix(mix(of_way(t, in), of_way(t, out)), of_shared(t, in, out));
    for (unsigned c = 0; c < t->slowness.classes; c++)
        hash = mix_double(hash, t->slowness.times[c][k]);
    return hash;
}

/* From a device to another one. */
static uint64_t of_pair(const od_topology *t, int a, int b)
{
    const od_way *in = od_topology_way(t, OD_HOST, a), *out = od_topology_way(t, a, OD_HOST);
    const od_way *to = od_topology_way(t, a, b), *from = od_topology_way(t, b, a);
    uint64_t hash =
        mix(of_shared(t, in, od_topology_way(t, OD_HOST, b)), of_shared(t, out, od_topology_way(t, b, OD_HOST)));
    hash = mix(mix(hash, of_way(t, to)), of_way(t, from));
    return mix(mix(hash, of_shared(t, to, in)), of_shared(t, from, in));
}

static uint64_t of_set(const od_topology *t, od_placeset set)
{
    uint64_t sum = 0;
    for (od_placeset_walk at = od_placeset_begin(set); od_placeset_next(&at);) {
        int a = (int)at.place;
        uint64_t pairs = 0;
        for (od_placeset_walk other = od_placeset_begin(od_placeset_without(set, a)); od_placeset_next(&other);)
            pairs += of_pair(t, a, (int)other.place);
        sum += mix(of_device(t, a), pairs);
    }
    return sum;
}

/* --- sets ------------------------------------------------------------------------------------ */

/* Of several kinds: one of each. */
struct list {
    od_placeset *set;
    uint64_t kind[OD_SETS_DEVICES]; /* of each */
    unsigned count, most;
};

_Static_assert(OD_SETS_KINDS <= OD_SETS_DEVICES, "a list has room");

/* Unless there is one like it, or as many as may be. */
static void add(const od_topology *t, struct list *list, od_placeset set)
{
    if (list->count == list->most)
        return;
    uint64_t kind = of_set(t, set);
    for (unsigned i = 0; i < list->count; i++)
        if (list->kind[i] == kind)
            return;
    list->kind[list->count] = kind;
    list->set[list->count++] = set;
}

static double load_rate(const od_topology *t, unsigned k)
{
    return od_topology_alone(t, OD_HOST, (int)k);
}

static double compute_rate(const od_topology *t, unsigned k)
{
    return 1 / od_slowness_of(&t->slowness, OD_SPEED_GENERAL, k);
}

static double none(const od_topology *t, unsigned k)
{
    (void)t;
    (void)k;
    return 1;
}

/* The devices of `smaller` and that of the others whose rate is highest, of equals the first. */
static od_placeset with_fastest(const od_topology *t, od_placeset among, od_placeset smaller,
                                double (*rate)(const od_topology *, unsigned))
{
    od_placeset_walk at = od_placeset_begin(od_placeset_minus(among, smaller));
    unsigned best = OD_MAX_DEVICES;
    while (od_placeset_next(&at))
        if (best == OD_MAX_DEVICES || rate(t, at.place) > rate(t, best))
            best = at.place;
    return od_placeset_with(smaller, best);
}

void od_device_sets_find(const od_topology *t, od_placeset among, od_device_sets *sets)
{
    static double (*const rates[])(const od_topology *, unsigned) = {load_rate, compute_rate, none};
    enum { FEW = 16, LESS = 6, RATES = sizeof rates / sizeof *rates }; /* devices, and kinds of sets of more */
    unsigned n = od_placeset_count(among);
    *sets =
        (od_device_sets){.most = n <= OD_SETS_DEVICES ? n : 0, .kinds = n <= FEW ? OD_SETS_KINDS : LESS, .count[0] = 1};
    od_placeset fastest[RATES] = {OD_NO_PLACES};
    for (unsigned size = 1; size <= sets->most; size++) {
        struct list list = {.set = sets->set[size], .most = sets->kinds};
        for (unsigned r = 0; r < RATES; r++)
            add(t, &list, fastest[r] = with_fastest(t, among, fastest[r], rates[r]));
        for (unsigned i = 0; i < sets->count[size - 1]; i++) {
            od_placeset smaller = sets->set[size - 1][i];
            for (od_placeset_walk at = od_placeset_begin(od_placeset_minus(among, smaller)); od_placeset_next(&at);)
                add(t, &list, od_placeset_with(smaller, at.place));
        }
        sets->count[size] = list.count;
    }
}

/* All devices in their order. */
struct places {
    unsigned device[OD_MAX_DEVICES], n;
    bool taken[OD_MAX_DEVICES]; /* into the set */
};

static void find_places(od_placeset among, od_placeset set, struct places *places)
{
    *places = (struct places){.n = 0};
    for (od_placeset_walk at = od_placeset_begin(among); od_placeset_next(&at); places->n++) {
        places->device[places->n] = at.place;
        places->taken[places->n] = od_placeset_has(set, at.place);
    }
}

od_placeset od_device_sets_mirror(od_placeset among, od_placeset set)
{
    od_placeset mirrored = OD_NO_PLACES;
    struct places places;
    find_places(among, set, &places);
    for (unsigned i = 0; i < places.n; i++)
        if (places.taken[i])
            od_placeset_add(&mirrored, places.device[places.n - 1 - i]);
    return mirrored;
}

od_placeset od_device_sets_moved(od_placeset among, od_placeset set, unsigned first)
{
    od_placeset moved = OD_NO_PLACES;
    struct places places;
    unsigned before = 0;
    find_places(among, set, &places);
    while (before < places.n && !places.taken[before])
        before++;
    for (unsigned i = before; i < places.n; i++) {
        if (places.taken[i] && i - before + first >= places.n)
            return OD_NO_PLACES;
        if (places.taken[i])
            od_placeset_add(&moved, places.device[i - before + first]);
    }
    return moved;
}

unsigned od_device_sets_near(const od_topology *t, od_placeset among, od_placeset set, od_placeset *near)
{
    struct list list = {.set = near, .most = OD_SETS_DEVICES};
    if (od_placeset_count(among) > OD_SETS_DEVICES)
        return 0;
    for (od_placeset_walk at = od_placeset_begin(among); od_placeset_next(&at);) {
        od_placeset other =
            od_placeset_has(set, at.place) ? od_placeset_without(set, at.place) : od_placeset_with(set, at.place);
        if (!od_placeset_is_empty(other))
            add(t, &list, other);
    }
    return list.count;
}

unsigned od_device_sets_exchanged(const od_topology *t, od_placeset among, od_placeset set, od_placeset *near)
{
    struct list list = {.set = near, .most = OD_SETS_DEVICES};
    od_placeset others = od_placeset_minus(among, set);
    if (od_placeset_count(among) > OD_SETS_DEVICES)
        return 0;
    for (od_placeset_walk out = od_placeset_begin(set); od_placeset_next(&out);)
        for (od_placeset_walk in = od_placeset_begin(others); od_placeset_next(&in);)
            add(t, &list, od_placeset_with(od_placeset_without(set, out.place), in.place));
    return list.count;
}
