/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* See candidates.h. */
#include "sched/auto/candidates.h"

#include "sched/auto/sets.h"
#include "sched/phase/active.h"
#include "util/container/hash.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { ALL = OD_MAX_DEVICES, SLOW = 4000 }; /* tasks that slow policies can plan for */

/* Plans like stationary where there is one device, or no task waits for another. */
static const char owners[] = "stationary:owners";
/* Where there are several. */
static const char nodes[] = "nodes", stealing[] = "nodes:steal=2";

/* The first ones are tried where time is short: one of each kind of policies, those first that most often are clearly
 * better than all before them for what their plays take (plans of stationary take as long as several plays). */
static const struct kind {
    const char *policy, *rule;
    uint64_t ahead; /* as in od_policy_choice */
    int active;
    bool slow;
} kinds[] = {
    {"darts", "luf", 0, 0, false},
    {nodes, "luf", 0, 0, false},
    {stealing, "luf", 0, 0, false},
    {"dmdar", "luf", 12, 0, false},
    {"dmdas:bus", "luf", 12, 0, false},
    {"dmdas", "luf", 0, 0, false},
    {"ap", "luf", 3, 0, false},
    {"dmdas:bus=3", "luf", 0, 0, false},
    {"stationary", "belady", 12, ALL, false},
    {"darts", "luf", 0, OD_ACTIVE_CHOSEN, false},
    {"darts", "luf", 12, 0, false},
    {"dmdar", "luf", 0, 0, false},
    {"stationary", "belady", 12, 0, false},
    {"dmdas", "luf", 12, 0, false},
    {"lws", "luf", 12, 0, false},
    {owners, "belady", 0, ALL, false},
    {"dmdas", "lru", 0, 0, false},
    {"darts", "luf", 3, 0, false},
    {"stationary", "belady", 3, ALL, false},
    {"stationary", "belady", 0, 0, false},
    {"stationary", "belady", 0, ALL, false},
    {"dmdas:bus", "luf", 0, 0, false},
    {"dmdas:bus", "luf", 0, OD_ACTIVE_CHOSEN, false},
    {"dmdas", "lru", 12, 0, false},
    {"dmdar:bus", "luf", 0, 0, false},
    {"dmdas", "luf", 48, 0, false}, /* where loads take long beside kernels */
    {"darts", "luf", 48, 0, false},
    {"lws", "lru", 0, 0, false},
    {"lws", "luf", 0, 0, false},
    {"mhfp", "belady", 0, 0, true},
    {"mhfp", "belady", 0, OD_ACTIVE_CHOSEN, true},
    {"hfp", "belady", 0, 0, true},
    {"eager", "lru", 0, 0, false},
    {"dmda", "lru", 0, 0, false},
    {"mst", "belady", 0, 0, true},
    {"rcm", "belady", 0, 0, true},
};

bool od_candidates_may_set_rule(const od_settings *given)
{
    return given->evict == od_evict_find(given->policy.ops->default_evict);
}

/* ", all devices", ", 2 devices", ", devices 0 2"; nothing where the policy decides. */
static void name_active(const od_settings *s, char *text, size_t size)
{
    size_t length = 0;
    *text = '\0';
    if (!od_placeset_is_empty(s->devices))
        length = (size_t)snprintf(text, size, ", devices");
    else if (s->active == OD_ACTIVE_CHOSEN)
        snprintf(text, size, ", as many devices as load fastest");
    else if (s->active >= ALL)
        snprintf(text, size, ", all devices");
    else if (s->active > 0)
        snprintf(text, size, ", %d devices", s->active);
    od_placeset_walk at = od_placeset_begin(s->devices);
    while (length < size && od_placeset_next(&at))
        length += (size_t)snprintf(text + length, size - length, " %u", at.place);
}

void od_candidate_name(od_candidate *c)
{
    const od_settings *s = &c->settings;
    const char *cpus = s->devices_only ? ", no CPU workers" : "";
    char ahead[40] = "", active[64];
    if (s->policy.ahead)
        snprintf(ahead, sizeof ahead, ", %" PRIu64 " ahead", s->policy.ahead);
    name_active(s, active, sizeof active);
    snprintf(c->name, sizeof c->name, "%s+%s, buffer %u%s%s%s", c->policy, s->evict->name, s->buffer, ahead, active,
             cpus);
}

/* Its name is no sign: a long one is cut off. */
bool od_candidate_is_alike(const od_candidate *a, const od_candidate *b)
{
    const od_settings *x = &a->settings, *y = &b->settings;
    return strcmp(a->policy, b->policy) == 0 && x->evict == y->evict && x->buffer == y->buffer &&
           x->active == y->active && od_placeset_equal(x->devices, y->devices) && x->devices_only == y->devices_only;
}

bool od_candidate_is_same(const od_candidate *a, const od_candidate *b)
{
    return od_candidate_is_alike(a, b) && a->settings.policy.ahead == b->settings.policy.ahead;
}

uint64_t od_candidate_hash(const od_candidate *c)
{
    const od_settings *s = &c->settings;
    uint64_t numbers[] = {s->buffer, (uint64_t)s->active, s->devices_only};
    uint64_t hash = od_hash(OD_HASH_START, c->policy, strlen(c->policy));
    hash = od_hash(hash, s->evict->name, strlen(s->evict->name));
    hash = od_hash(hash, numbers, sizeof numbers);
    return od_hash(hash, &s->devices, sizeof s->devices);
}

static bool is_another(const char *policy, const od_work *work)
{
    if (policy == nodes || policy == stealing)
        return work->topology && work->topology->nnodes > 1;
    return policy != owners || (work->ndevices > 1 && work->depends);
}

/* False: this one is not to be tried. */
static bool complete(const struct kind *kind, const od_work *work, od_candidate *c)
{
    char error[256];
    const od_settings *given = work->given;
    c->settings = *given;
    c->policy = kind->policy;
    if ((kind->slow && work->ntasks > SLOW) || (work->ndevices == 1 && kind->active) ||
        (given->active > 0 && kind->active) || (given->policy.ahead && kind->ahead) ||
        !is_another(kind->policy, work) ||
        od_policy_choose(kind->policy, &c->settings.policy, error, sizeof error))
        return false;
    if (od_candidates_may_set_rule(given))
        c->settings.evict = od_evict_find(kind->rule);
    c->settings.policy.ahead = given->policy.ahead ? given->policy.ahead : kind->ahead;
    if (given->active <= 0)
        c->settings.active = kind->active;
    od_candidate_name(c);
    return c->settings.evict != NULL;
}

od_candidate od_candidates_first(bool uneven, const od_settings *given)
{
    char error[256];
    od_candidate c = {.settings = *given, .policy = uneven ? "dmdas" : "darts"};
    od_policy_choose(c.policy, &c.settings.policy, error, sizeof error);
    if (given->policy.ahead)
        c.settings.policy.ahead = given->policy.ahead;
    od_candidate_name(&c);
    return c;
}

unsigned od_candidates(od_candidate *candidates, unsigned most, const od_work *work)
{
    unsigned count = 0;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds && count < most; i++)
        count += complete(&kinds[i], work, &candidates[count]);
    return count;
}

/* Another policy and rule: `own` with the lookahead and buffer that suit it, else all like the best. */
static void liken(od_candidate *c, const od_settings *best, bool own)
{
    bool chosen = best->active == OD_ACTIVE_AS_POLICY && best->policy.ops->chooses_active;
    c->settings.active = chosen ? OD_ACTIVE_CHOSEN : best->active;
    c->settings.devices = best->devices;
    if (!own) {
        c->settings.policy.ahead = best->policy.ahead;
        c->settings.buffer = best->buffer;
    }
    od_candidate_name(c);
}

unsigned od_candidates_alike(od_candidate *candidates, unsigned most, const od_candidate *best, const od_work *work)
{
    unsigned count = 0;
    for (int own = 1; own >= 0; own--)
        for (size_t i = 0; i < sizeof kinds / sizeof *kinds && count < most; i++)
            if (complete(&kinds[i], work, &candidates[count]))
                liken(&candidates[count++], &best->settings, own);
    return count;
}

enum { POLICIES = OD_CANDIDATES_POLICIES };

static const char *const policies[POLICIES][2] = {
    {"darts", "luf"},         {"dmdas", "luf"},   {"dmdas", "lru"},       {"dmdas:bus", "luf"},   {"dmdar", "luf"},
    {"stationary", "belady"}, {"lws", "luf"},     {"darts:alg12", "luf"}, {"dmdas:bus=3", "luf"}, {"dmdar", "lru"},
    {"lws", "lru"},           {"ap", "luf"},      {"dmdar:bus", "luf"},   {"eager", "lru"},       {"ap", "lru"},
    {"eager", "luf"},         {owners, "belady"}, {"dmda", "lru"},        {"mhfp", "belady"},     {"hfp", "belady"},
    {"mst", "belady"},        {"rcm", "belady"}};

const char *od_candidates_policy(const char *name)
{
    for (size_t i = 0; i < POLICIES; i++)
        if (strcmp(policies[i][0], name) == 0)
            return policies[i][0];
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i].policy, name) == 0)
            return kinds[i].policy;
    return NULL;
}

/* As the first candidates say it. */
static int all_or_chosen(const od_settings *s, bool all)
{
    int other = all ? ALL : OD_ACTIVE_CHOSEN;
    return all == s->policy.ops->chooses_active ? other : OD_ACTIVE_AS_POLICY;
}

bool od_candidates_of_grid(unsigned number, const od_candidate *best, const od_work *work, od_candidate *candidate)
{
    enum { ACTIVE = 3 };
    static const uint64_t ahead[] = {0, 3, 12, 1, 36};
    unsigned i = number / ACTIVE % POLICIES;
    struct kind kind = {.ahead = ahead[number / ACTIVE / POLICIES], .slow = i >= OD_CANDIDATES_FAST};
    kind.policy = policies[i][0];
    kind.rule = policies[i][1];
    if (!complete(&kind, work, candidate))
        return false;
    if (number % ACTIVE == 0)
        liken(candidate, &best->settings, true);
    else if (work->ndevices == 1 || work->given->active > 0)
        return false;
    else
        candidate->settings.active = all_or_chosen(&candidate->settings, number % ACTIVE == 1);
    od_candidate_name(candidate);
    return true;
}

bool od_candidates_on_set(unsigned number, od_placeset devices, const od_work *work, od_candidate *candidate)
{
    static const struct variant {
        unsigned more, buffer; /* tasks in the buffer: so many more than given, or so many if not 0 */
        uint64_t ahead;
    } variants[] = {{.more = 0},   {.more = 1},   {.more = 5},   {.ahead = 1}, {.buffer = 1, .ahead = 1},
                    {.buffer = 1}, {.ahead = 12}, {.ahead = 36}, {.ahead = 3}};
    _Static_assert(sizeof variants / sizeof *variants * POLICIES == OD_CANDIDATES_ON_SET, "each is tried");
    const struct variant *v = &variants[number / POLICIES];
    unsigned i = number % POLICIES;
    struct kind kind = {
        .policy = policies[i][0], .rule = policies[i][1], .ahead = v->ahead, .slow = i >= OD_CANDIDATES_FAST};
    if (work->given->active > 0 || !complete(&kind, work, candidate))
        return false;
    candidate->settings.buffer = v->buffer ? v->buffer : candidate->settings.buffer + v->more;
    candidate->settings.devices = devices;
    candidate->settings.active = (int)od_placeset_count(devices);
    od_candidate_name(candidate);
    return true;
}

/* One that differs in one thing. */
static void add(od_candidate *candidates, unsigned most, unsigned *count, const od_candidate *c)
{
    if (*count == most)
        return;
    candidates[*count] = *c;
    od_candidate_name(&candidates[(*count)++]);
}

od_placeset od_candidates_devices(const od_work *work)
{
    unsigned n = work->ndevices < OD_MAX_DEVICES ? work->ndevices : OD_MAX_DEVICES;
    return od_placeset_minus(od_placeset_below(n), work->lost);
}

/* All devices, and of fewer and fewer one set of each kind. */
static unsigned add_sets(od_candidate *candidates, unsigned most, const od_candidate *best, const od_work *work)
{
    od_device_sets sets;
    od_candidate c = *best;
    unsigned count = 0;
    c.settings.devices = OD_NO_PLACES;
    c.settings.active = ALL;
    add(candidates, most, &count, &c);
    c.settings.active = OD_ACTIVE_CHOSEN;
    add(candidates, most, &count, &c);
    od_device_sets_find(work->topology, od_candidates_devices(work), &sets);
    unsigned fewer = sets.most ? sets.most - 1 : 0;
    for (unsigned k = fewer - fewer / 4; k > 0; k -= 1 + (k - 1) / 4)
        for (unsigned i = 0; i < sets.count[k]; i++) {
            c.settings.devices = sets.set[k][i];
            c.settings.active = (int)k;
            add(candidates, most, &count, &c);
        }
    return count;
}

unsigned od_candidates_on_near_sets(od_candidate *candidates, const od_candidate *best, od_placeset among,
                                    const od_work *work, od_near_sets *find)
{
    od_placeset near[OD_SETS_DEVICES];
    od_placeset set = od_placeset_intersection(best->settings.devices, among);
    od_candidate c = *best;
    unsigned count = 0;
    if (work->given->active > 0)
        return 0;
    unsigned sets = find(work->topology, among, od_placeset_is_empty(set) ? among : set, near);
    for (unsigned i = 0; i < sets; i++) {
        c.settings.devices = near[i];
        c.settings.active = (int)od_placeset_count(near[i]);
        add(candidates, OD_CANDIDATES_MAX, &count, &c);
    }
    return count;
}

static const uint64_t lookaheads[] = {0, 1, 2, 4, 6, 9, 16, 24, 40, 64};
static const unsigned buffers[] = {1, 2, 4, 5, 8};
enum { LOOKAHEADS = sizeof lookaheads / sizeof *lookaheads, BUFFERS = sizeof buffers / sizeof *buffers };

unsigned od_candidates_near(od_candidate *candidates, unsigned most, const od_candidate *best, const od_work *work)
{
    bool open = work->given->active <= 0 && work->ndevices > 1;
    unsigned count = open ? add_sets(candidates, most, best, work) : 0;
    for (size_t i = 0; !work->given->policy.ahead && i < LOOKAHEADS; i++) {
        od_candidate c = *best;
        c.settings.policy.ahead = lookaheads[i];
        add(candidates, most, &count, &c);
    }
    for (size_t i = 0; i < BUFFERS; i++) {
        od_candidate c = *best;
        c.settings.buffer = buffers[i];
        if (buffers[i] != best->settings.buffer)
            add(candidates, most, &count, &c);
    }
    return count;
}

unsigned od_candidates_ahead(od_candidate *candidates, unsigned most, const od_candidate *best, const od_work *work)
{
    unsigned count = 0;
    for (size_t i = 0; !work->given->policy.ahead && i < LOOKAHEADS * (BUFFERS + 1); i++) {
        size_t other = i / LOOKAHEADS; /* task buffer; 0: its own */
        od_candidate c = *best;
        c.settings.policy.ahead = lookaheads[i % LOOKAHEADS];
        if (other)
            c.settings.buffer = buffers[other - 1];
        if (!other || c.settings.buffer != best->settings.buffer)
            add(candidates, most, &count, &c);
    }
    return count;
}
