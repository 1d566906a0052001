/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * What stays on the device: a set of items of one role is grown, see phase.h.
 *
 * A task counts for its item of the role once everything that it depends on belongs to the phase, or is done, or
 * counts for the same item. For each candidate are kept: the time of the tasks that count, the loads of partners that
 * it would need anew, and a hash of these partners, so that candidates which need the same ones are found: groups.
 */
#include "sched/phase/impl.h"

#include "util/container/array.h"
#include "util/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* That an item is a partner of a candidate. */
struct pair {
    uint32_t candidate;
    uint32_t next; /* of the same partner, plus one */
};

/* Any item. */
struct candidate {
    double gain;          /* seconds of its tasks that count */
    double level;         /* of the most urgent of them */
    double need;          /* seconds of new partners */
    uint64_t hash;        /* of them */
    uint32_t first_task;  /* that counts, plus one: by task.next_task */
    uint32_t next_member; /* of its group, plus one */
    uint32_t first_pair;  /* in which it is the partner, plus one */
    bool is_held, is_partner, is_dirty, is_listed;
};

struct group {
    uint64_t hash;
    double need;          /* seconds of the partners that all members need */
    uint32_t first, last; /* candidates, by candidate.next_member, plus one */
    double worth, level;  /* as found last; the level of its first member */
};

/* Of the hash table of groups. */
struct slot {
    uint32_t stamp; /* others than the last one: it is empty */
    uint32_t group;
};

struct od_phase_grower {
    const od_phase_graph *g;
    int role;
    uint32_t *unsat;             /* by task: what it still waits for */
    uint32_t *next_task;         /* by task: the next of the same candidate that counts, plus one */
    struct candidate *candidate; /* by item */
    struct pair *pair;
    uint32_t npairs, room;
    uint32_t *listed; /* items that are or were candidates */
    uint32_t nlisted;
    struct group *group; /* in the order of their first members */
    uint32_t ngroups;
    struct slot *slot; /* a hash table of them */
    uint32_t nslots, stamp;
    uint32_t *stack; /* tasks that have come to belong */
    uint32_t nstack;
    uint32_t *chain; /* tasks about to count */
    struct group **order; /* those that are worth something */
    bool has_changed;     /* what a candidate is worth, since the groups were made */
    double seconds, loads, bytes;
    od_phase_growth *out;
};

static uint64_t hash_of(uint32_t item)
{
    uint64_t x = item + UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

/* --- counting ------------------------------------------------------------------- */

static bool add_pair(od_phase_grower *w, uint32_t partner, uint32_t candidate)
{
    enum { LOOK_BACK = 3 };
    uint32_t at = w->candidate[partner].first_pair;
    for (unsigned i = 0; at && i < LOOK_BACK; i++, at = w->pair[at - 1].next)
        if (w->pair[at - 1].candidate == candidate)
            return true;
    if (!od_array_reserve(&w->pair, &w->room, (uint64_t)w->npairs + 1, sizeof *w->pair))
        return false;
    w->pair[w->npairs] = (struct pair){candidate, w->candidate[partner].first_pair};
    w->candidate[partner].first_pair = ++w->npairs;
    struct candidate *c = &w->candidate[candidate];
    c->need += od_phase_cost(w->g->p, partner);
    c->hash += hash_of(partner);
    return true;
}

/* The item is on the device or will be: it needs no new load. */
static void leave_pairs(od_phase_grower *w, uint32_t partner)
{
    for (uint32_t at = w->candidate[partner].first_pair; at; at = w->pair[at - 1].next) {
        struct candidate *c = &w->candidate[w->pair[at - 1].candidate];
        c->need -= od_phase_cost(w->g->p, partner);
        c->hash -= hash_of(partner);
        w->has_changed |= !w->candidate[w->pair[at - 1].candidate].is_held;
    }
    w->candidate[partner].first_pair = 0;
}

static bool is_there(const od_phase_grower *w, uint32_t item)
{
    return w->candidate[item].is_held || w->candidate[item].is_partner;
}

static void take_partner(od_phase_grower *w, uint32_t item)
{
    if (is_there(w, item))
        return;
    w->candidate[item].is_partner = true;
    w->has_changed |= w->candidate[item].is_listed;
    w->loads += od_phase_cost(w->g->p, item);
    leave_pairs(w, item);
}

/* The task belongs to the phase. */
static void join(od_phase_grower *w, uint32_t task)
{
    const od_phase_problem *p = w->g->p;
    for (uint32_t u = p->first_use[task]; u < p->first_use[task + 1]; u++) {
        take_partner(w, p->use[u]);
        if (p->writes[u] && !w->candidate[p->use[u]].is_dirty)
            w->loads += p->load[p->use[u]]; /* it has to go back */
        w->candidate[p->use[u]].is_dirty |= p->writes[u];
    }
    w->seconds += p->seconds[task];
    w->out->joined[task] = w->out->nitems;
    w->out->member[w->out->nmembers++] = task;
    w->stack[w->nstack++] = task;
}

/* The task counts for its item. */
static bool count(od_phase_grower *w, uint32_t task)
{
    const od_phase_problem *p = w->g->p;
    uint32_t item = od_phase_item_of(p, task, w->role);
    struct candidate *c = &w->candidate[item];
    if (w->candidate[item].is_held) {
        join(w, task);
        return true;
    }
    if (!w->candidate[item].is_listed)
        w->listed[w->nlisted++] = item;
    w->candidate[item].is_listed = w->has_changed = true;
    c->gain += p->seconds[task];
    c->level = fmax(c->level, w->g->level[task]);
    w->next_task[task] = c->first_task;
    c->first_task = task + 1;
    bool ok = true;
    for (uint32_t u = p->first_use[task]; ok && u < p->first_use[task + 1]; u++)
        if (p->use[u] != item && !is_there(w, p->use[u]))
            ok = add_pair(w, p->use[u], item);
    return ok;
}

/* The task counts, and with it all that wait for nothing else than tasks of the same item. Those wait for tasks
 * before them: a task is looked at after all that it depends on. */
static bool count_chain(od_phase_grower *w, uint32_t first)
{
    const od_phase_problem *p = w->g->p;
    uint32_t left = 0;
    w->chain[left++] = first;
    while (left) {
        uint32_t task = w->chain[--left], item = od_phase_item_of(p, task, w->role);
        if (!count(w, task))
            return false;
        for (uint32_t s = p->first_successor[task]; s < p->first_successor[task + 1]; s++) {
            uint32_t after = p->successor[s];
            if (od_phase_item_of(p, after, w->role) == item && --w->unsat[after] == 0)
                w->chain[left++] = after;
        }
    }
    return true;
}

/* What follows from tasks that have come to belong, until nothing more does. */
static bool settle(od_phase_grower *w)
{
    const od_phase_problem *p = w->g->p;
    while (w->nstack) {
        uint32_t task = w->stack[--w->nstack], item = od_phase_item_of(p, task, w->role);
        for (uint32_t s = p->first_successor[task]; s < p->first_successor[task + 1]; s++) {
            uint32_t after = p->successor[s], other = od_phase_item_of(p, after, w->role);
            if (other != OD_NO_ITEM && other != item && --w->unsat[after] == 0 && !count_chain(w, after))
                return false;
        }
    }
    return true;
}

/* --- groups -------------------------------------------------------------------------- */

/* The group with this hash, perhaps a new one without members. */
static struct group *find_group(od_phase_grower *w, uint64_t hash, double need)
{
    uint32_t at = (uint32_t)(hash >> 20) & (w->nslots - 1);
    while (w->slot[at].stamp == w->stamp && w->group[w->slot[at].group].hash != hash)
        at = (at + 1) & (w->nslots - 1);
    struct slot *slot = &w->slot[at];
    if (slot->stamp != w->stamp) {
        *slot = (struct slot){.stamp = w->stamp, .group = w->ngroups++};
        w->group[slot->group] = (struct group){.hash = hash, .need = need};
    }
    return &w->group[slot->group];
}

static double own_load(const od_phase_grower *w, uint32_t item)
{
    return w->candidate[item].is_partner ? 0 : od_phase_cost(w->g->p, item);
}

static void enter_group(od_phase_grower *w, uint32_t item)
{
    const struct candidate *c = &w->candidate[item];
    struct group *group = find_group(w, c->hash, c->need);
    w->candidate[item].next_member = 0;
    if (group->last)
        w->candidate[group->last - 1].next_member = item + 1;
    else
        group->first = item + 1;
    group->last = item + 1;
}

/* Of task time per second of loads; what needs no loads is the best. */
static double worth(double gain, double loads)
{
    return loads > 0 ? gain / loads : (double)INFINITY;
}

/* The gain and loads of as many members as there is room for. */
static double worth_of(const od_phase_grower *w, const struct group *group, double room)
{
    const od_phase_problem *p = w->g->p;
    double gain = 0, own = 0, bytes = 0;
    for (uint32_t i = group->first; i; i = w->candidate[i - 1].next_member) {
        uint32_t item = i - 1;
        if (bytes + p->size[item] > room)
            break;
        bytes += p->size[item];
        gain += w->candidate[item].gain;
        own += own_load(w, item);
    }
    return gain > 0 ? worth(gain, fmax(group->need, 0) + own) : 0;
}

/* The candidates as groups. */
static void make_groups(od_phase_grower *w)
{
    uint32_t kept = 0;
    w->stamp++;
    w->ngroups = 0;
    for (uint32_t i = 0; i < w->nlisted; i++) {
        uint32_t item = w->listed[i];
        if (w->candidate[item].is_held)
            continue;
        w->listed[kept++] = item;
        if (w->candidate[item].gain > 0)
            enter_group(w, item);
    }
    w->nlisted = kept;
    w->has_changed = false;
}

/* To 29 binary digits, the even one of two that are as near: numbers that differ by rounding alone are the same. */
static double rounded(double value)
{
    enum { DROPPED = 24 };
    static const uint64_t low = (UINT64_C(1) << DROPPED) - 1;
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    bits = (bits + low / 2 + (bits >> DROPPED & 1)) & ~low;
    memcpy(&value, &bits, sizeof bits);
    return value;
}

static int best_first(const void *a, const void *b)
{
    const struct group *x = *(struct group *const *)a, *y = *(struct group *const *)b;
    if (x->worth != y->worth)
        return x->worth > y->worth ? -1 : 1;
    if (x->level != y->level)
        return x->level > y->level ? -1 : 1;
    return (x > y) - (x < y);
}

/* Lists the groups that are worth something, the best one first. Returns their number. */
static uint32_t list_groups(od_phase_grower *w, double room)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < w->ngroups; i++) {
        struct group *group = &w->group[i];
        group->worth = rounded(worth_of(w, group, room));
        group->level = w->candidate[group->first - 1].level;
        if (group->worth <= 0)
            continue;
        w->order[count++] = group;
        if (best_first(&w->order[count - 1], &w->order[0]) < 0) {
            w->order[count - 1] = w->order[0];
            w->order[0] = group;
        }
    }
    return count;
}

/* --- growing ------------------------------------------------------------------------------ */

static bool hold(od_phase_grower *w, uint32_t item)
{
    const od_phase_problem *p = w->g->p;
    w->loads += own_load(w, item);
    w->bytes += p->size[item];
    w->candidate[item].is_held = true;
    w->candidate[item].is_partner = false;
    leave_pairs(w, item);
    w->out->item[w->out->nitems++] = item;
    for (uint32_t t = w->candidate[item].first_task; t; t = w->next_task[t - 1])
        join(w, t - 1);
    bool ok = settle(w);
    w->out->bytes[w->out->nitems - 1] = w->bytes;
    w->out->seconds[w->out->nitems - 1] = w->seconds;
    w->out->loads[w->out->nitems - 1] = w->loads;
    return ok;
}

/* The item with the most task time for each second of loads, all partners included; the first one among equals.
 * False: none fits. */
static bool seed(od_phase_grower *w, double limit, uint32_t *best)
{
    double most = 0;
    bool found = false;
    for (uint32_t i = 0; i < w->nlisted; i++) {
        uint32_t item = w->listed[i];
        double value = worth(w->candidate[item].gain, w->candidate[item].need + od_phase_cost(w->g->p, item));
        if (w->g->p->size[item] <= limit && (!found || value > most * (1 + 1e-9))) {
            *best = item;
            most = value;
            found = true;
        }
    }
    return found;
}

/* Members, as long as there is room for them. `fits`: all of them are held. */
static bool hold_group(od_phase_grower *w, const struct group *group, double limit, bool *fits)
{
    const od_phase_problem *p = w->g->p;
    for (uint32_t i = group->first, next; i && w->seconds < od_phase_reach(p); i = next) {
        next = w->candidate[i - 1].next_member;
        *fits &= w->bytes + p->size[i - 1] <= limit;
        if (w->bytes + p->size[i - 1] <= limit && !hold(w, i - 1))
            return false;
    }
    return true;
}

/* The best group, and the next ones as long as all are as they were found. Of very many candidates some more: to make
 * the groups anew takes as long as there are candidates. */
static bool hold_groups(od_phase_grower *w, double limit)
{
    enum { SHARE_SHIFT = 20 };
    uint32_t held = w->out->nitems, share = (uint32_t)((uint64_t)w->nlisted * w->nlisted >> SHARE_SHIFT);
    uint32_t count = list_groups(w, limit - w->bytes);
    bool fits = true;
    for (uint32_t i = 0; i < count && fits && (!w->has_changed || w->out->nitems - held < share); i++) {
        if (i == 1)
            qsort(w->order + 1, count - 1, sizeof *w->order, best_first);
        if (!hold_group(w, w->order[i], limit, &fits))
            return false;
    }
    return true;
}

static bool grow(od_phase_grower *w, double limit)
{
    const od_phase_problem *p = w->g->p;
    uint32_t first = OD_NO_ITEM;
    memcpy(w->unsat, w->g->indegree, p->ntasks * sizeof *w->unsat);
    for (uint32_t i = 0; i < w->g->nroots; i++)
        if (od_phase_item_of(p, w->g->root[i], w->role) != OD_NO_ITEM && !count_chain(w, w->g->root[i]))
            return false;
    if (!seed(w, limit, &first))
        return true;
    if (!hold(w, first))
        return false;
    while (w->seconds < od_phase_reach(p)) {
        uint32_t held = w->out->nitems;
        make_groups(w);
        if (!hold_groups(w, limit))
            return false;
        if (w->out->nitems == held)
            break;
    }
    return true;
}

static uint32_t power_above(uint32_t n)
{
    uint32_t power = 16;
    while (power < 2 * n)
        power *= 2;
    return power;
}

/* All arrays in one piece, those of doubles first. */
static bool allocate_growth(const od_phase_problem *p, od_phase_growth *growth)
{
    size_t nt = p->ntasks + (size_t)1, ni = p->nitems + (size_t)1;
    if (growth->bytes)
        return true;
    growth->bytes = od_malloc(ni * (3 * sizeof *growth->bytes + sizeof *growth->item) +
                              nt * (sizeof *growth->joined + sizeof *growth->member));
    if (!growth->bytes)
        return false;
    growth->seconds = growth->bytes + ni;
    growth->loads = growth->seconds + ni;
    growth->item = (uint32_t *)(growth->loads + ni);
    growth->joined = growth->item + ni;
    growth->member = growth->joined + nt;
    return true;
}

void od_phase_free_growth(od_phase_growth *growth)
{
    free(growth->bytes);
    free(growth->task);
}

void od_phase_free_grower(od_phase_grower *w)
{
    if (!w)
        return;
    free(w->unsat);
    free(w->next_task);
    free(w->stack);
    free(w->candidate);
    free(w->pair);
    free(w->listed);
    free(w->group);
    free(w->order);
    free(w->slot);
    free(w);
}

od_phase_grower *od_phase_make_grower(const od_phase_graph *g)
{
    uint32_t nt = g->p->ntasks + 1, ni = g->p->nitems + 1;
    od_phase_grower *w = od_calloc(1, sizeof *w);
    if (!w)
        return NULL;
    w->g = g;
    w->nslots = power_above(g->p->nitems);
    w->unsat = od_malloc(nt * sizeof *w->unsat);
    w->next_task = od_malloc(nt * sizeof *w->next_task);
    w->stack = od_malloc(2 * (size_t)nt * sizeof *w->stack);
    w->candidate = od_malloc(ni * sizeof *w->candidate);
    w->listed = od_malloc(ni * sizeof *w->listed);
    w->group = od_malloc(ni * sizeof *w->group);
    w->order = od_malloc(ni * sizeof *w->order);
    w->slot = od_calloc(w->nslots, sizeof *w->slot);
    if (!w->unsat || !w->next_task || !w->stack || !w->candidate || !w->listed || !w->group || !w->order || !w->slot) {
        od_phase_free_grower(w);
        return NULL;
    }
    w->chain = w->stack + nt;
    return w;
}

od_status od_phase_grow(od_phase_grower *w, int role, double limit, od_phase_growth *growth)
{
    const od_phase_problem *p = w->g->p;
    if (!allocate_growth(p, growth))
        return OD_ENOMEM;
    w->role = role;
    w->out = growth;
    w->npairs = w->nlisted = w->nstack = 0;
    w->seconds = w->loads = w->bytes = 0;
    w->has_changed = false;
    memset(w->candidate, 0, p->nitems * sizeof *w->candidate);
    growth->nitems = growth->nmembers = 0;
    memset(growth->joined, 0, p->ntasks * sizeof *growth->joined);
    return grow(w, limit) ? OD_OK : OD_ENOMEM;
}

/* --- beginnings of it ------------------------------------------------------------------- */

/* How many of the grown items are enough for so many seconds of tasks, or all. */
static uint32_t items_for(const od_phase_growth *growth, double seconds)
{
    uint32_t n = 1;
    while (n < growth->nitems && growth->seconds[n - 1] < seconds)
        n++;
    return n;
}

uint32_t od_phase_items_within(const od_phase_growth *growth, double bytes, double seconds)
{
    uint32_t n = growth->nitems, enough = items_for(growth, seconds);
    while (n > 1 && growth->bytes[n - 1] > bytes)
        n--;
    if (n >= enough && seconds < (double)INFINITY)
        return enough;
    uint32_t best = n;
    for (uint32_t i = n; i > 1 && growth->bytes[i - 1] >= bytes / 2; i--)
        if (growth->seconds[i - 1] * growth->loads[best - 1] > growth->seconds[best - 1] * growth->loads[i - 1])
            best = i;
    return best;
}
