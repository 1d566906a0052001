/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The candidates for what one device does next, and the best of them; see phase.h. */
#include "sched/phase/impl.h"
#include "util/container/array.h"
#include "util/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    MANY_TASKS = 20000, /* then ends are not looked at, and only so many roles are tried, those that promise most: */
    FEW_ROLES = 3,
    SMALL = 2000, /* tasks: all roles are tried even for rough plans */
    LARGE = 1024, /* tasks: then what was the best phase the last time is tried alone, so many times: */
    OFTEN = 15,
    KEPT = 8, /* candidates */
    SLACKS = 7,
    REACHES = 5,
    SIZES = SLACKS * REACHES,
};

/* Shares of memory that H leaves to streams, and of what it is to reach. */
static const double slacks[SLACKS] = {0.04, 0.08, 0.12, 0.18, 0.25, 0.35, 0.5};
static const double reaches[REACHES] = {1, 0.75, 0.5, 0.35, 0.25};

/* A role with its H. */
struct grown {
    int role;
    od_phase_growth growth;
    uint32_t size[SIZES]; /* how many items of H are tried */
    unsigned of[SIZES];   /* for which slack and reach these are */
    unsigned nsizes;
    unsigned safe; /* the one that leaves most to streams */
};

/* A candidate, ordered. */
struct candidate {
    od_phase_result result;
    unsigned number; /* the lower one counts of two that are worth the same */
    uint64_t hash;   /* of what had been chosen */
    bool *there;     /* by item: on the device at its end */
};

/* What has been ordered: roles that differ by name choose the same again. */
struct judged {
    uint64_t hash;
    double worth; /* less than that, or as much */
};

struct plan {
    od_phase_graph g;
    struct grown grown[OD_PHASE_ROLES];
    unsigned ngrown;
    od_phase_choice choice;
    od_phase_device *device;
    od_phase_grower *grower;
    struct candidate kept[KEPT + 1]; /* the best first; the last is the one that is tried */
    unsigned nkept, most;            /* at most so many are kept */
    struct judged *judged;           /* a list */
    uint32_t njudged, room;          /* more without memory are not noted */
    bool rough;                      /* a few sizes of H are enough */
    bool looks;                      /* near the end, to the end */
};

/* --- candidates ------------------------------------------------------------------------ */

static double worth(const od_phase_result *result)
{
    if (result->ntasks == 0)
        return -1;
    double transfers = result->loads + result->stores;
    return transfers > 0 ? result->seconds / transfers : (double)INFINITY;
}

/* Roles may differ by name alone: these are the same, as far as can be seen. */
static bool are_alike(const od_phase_result *a, const od_phase_result *b)
{
    return a->ntasks == b->ntasks && fabs(worth(a) - worth(b)) <= 1e-6 * worth(b);
}

static bool is_better(const struct candidate *a, const struct candidate *b)
{
    double x = worth(&a->result), y = worth(&b->result);
    if (x == y || are_alike(&a->result, &b->result))
        return a->number < b->number;
    return x > y;
}

static bool is_kept(const struct plan *w, const struct candidate *tried)
{
    for (unsigned i = 0; i < w->nkept; i++)
        if (are_alike(&w->kept[i].result, &tried->result) && w->kept[i].number < tried->number)
            return true;
    return false;
}

/* Worth what the candidate of this number must have to be kept. */
static double least_worth(const struct plan *w, unsigned number)
{
    static const double alike = 1 - 2e-6;
    if (w->nkept < w->most)
        return 0;
    const struct candidate *last = &w->kept[w->nkept - 1];
    return number < last->number ? alike * worth(&last->result) : worth(&last->result);
}

/* True where it cannot be worth that: not even if nothing were loaded twice. A phase that ends early may load less. */
static bool is_hopeless(const struct plan *w, double least)
{
    static const double rounding = 1 + 1e-9;
    return w->choice.seconds <= od_phase_limit(w->g.p) && rounding * w->choice.seconds <= least * w->choice.transfers;
}

/* True where the same has been ordered before, and nothing new comes of doing that again. */
static bool is_judged(struct plan *w, int role, unsigned number, uint64_t hash)
{
    static const double clearly = 1 - 1e-5;
    for (unsigned i = 0; i < w->nkept; i++) {
        struct candidate *kept = &w->kept[i];
        if (kept->hash != hash || (kept->number > number && w->most > 1))
            continue;
        if (kept->number > number) {
            kept->number = number;
            kept->result.role = role;
        }
        return true;
    }
    for (uint32_t i = 0; w->nkept == w->most && i < w->njudged; i++)
        if (w->judged[i].hash == hash)
            return w->judged[i].worth < clearly * worth(&w->kept[w->nkept - 1].result);
    return false;
}

static void judge(struct plan *w, uint64_t hash, double worth)
{
    if (od_array_reserve(&w->judged, &w->room, (uint64_t)w->njudged + 1, sizeof *w->judged))
        w->judged[w->njudged++] = (struct judged){hash, worth};
}

/* Orders what has been chosen, and keeps it if it is one of the best. */
static void try_candidate(struct plan *w, int role, unsigned number)
{
    struct candidate tried = w->kept[KEPT];
    double least = least_worth(w, number);
    if (is_hopeless(w, least))
        return;
    uint64_t hash = od_phase_hash_choice(w->g.p, &w->choice);
    if (is_judged(w, role, number, hash))
        return;
    od_phase_stream(w->device, &w->choice, least, &tried.result, tried.there);
    judge(w, hash, tried.result.ntasks ? worth(&tried.result) : least);
    tried.result.role = role;
    tried.number = number;
    tried.hash = hash;
    w->kept[KEPT] = tried;
    if (is_kept(w, &tried))
        return;
    unsigned at = w->nkept;
    while (at > 0 && is_better(&tried, &w->kept[at - 1]))
        at--;
    if (at == w->most)
        return;
    if (w->nkept < w->most)
        w->nkept++;
    w->kept[KEPT] = w->kept[w->nkept - 1];
    for (unsigned i = w->nkept - 1; i > at; i--)
        w->kept[i] = w->kept[i - 1];
    w->kept[at] = tried;
}

/* True where one device is to do all; sums are rounded. */
static bool is_for_all(const od_phase_problem *p)
{
    return p->share >= od_phase_total_seconds(p) * (1 - 1e-6);
}

/* How many items of H are tried for the slack and the reach of this number. */
static uint32_t items_of(const struct plan *w, const od_phase_growth *growth, unsigned of)
{
    const od_phase_problem *p = w->g.p;
    double bytes = p->memory * (1 - slacks[of % SLACKS]), seconds = reaches[of / SLACKS] * od_phase_reach(p);
    return od_phase_items_within(growth, bytes, seconds);
}

/* The sizes of H to try, each once. */
static void list_sizes(const struct plan *w, struct grown *grown)
{
    enum { FEW_SLACKS = 3, FEW_REACHES = 2 }; /* for rough plans one of so many */
    const od_phase_problem *p = w->g.p;
    unsigned nreaches = p->first_successor[p->ntasks] || is_for_all(p) ? 1 : REACHES;
    grown->nsizes = 0;
    for (unsigned i = 0; grown->growth.nitems && i < SLACKS * nreaches; i++) {
        bool again = w->rough && (i % SLACKS % FEW_SLACKS || i / SLACKS % FEW_REACHES);
        uint32_t n = again ? 0 : items_of(w, &grown->growth, i);
        for (unsigned j = 0; j < grown->nsizes; j++)
            again |= grown->size[j] == n;
        if (!again) {
            grown->of[grown->nsizes] = i;
            grown->size[grown->nsizes++] = n;
        }
        if (i < SLACKS)
            grown->safe = grown->nsizes - 1;
    }
}

/* True where all tasks that can be chosen are too few for what those of this beginning of H transfer. */
static bool promises_little(const struct plan *w, const od_phase_growth *growth, uint32_t n, unsigned number)
{
    static const double rounding = 1 + 2e-9;
    return growth->task && rounding * growth->possible <= od_phase_limit(w->g.p) &&
           rounding * growth->possible <= least_worth(w, number) * growth->loads[n - 1];
}

static void try_size(struct plan *w, unsigned r, unsigned i)
{
    const struct grown *grown = &w->grown[r];
    if (promises_little(w, &grown->growth, grown->size[i], r * SIZES + i))
        return;
    od_phase_choose(&w->g, &grown->growth, grown->size[i], &w->choice);
    try_candidate(w, grown->role, r * SIZES + i);
}

static void try_sizes(struct plan *w, unsigned r, bool all)
{
    for (unsigned i = 0; i < w->grown[r].nsizes; i++)
        if (all || i != w->grown[r].safe)
            try_size(w, r, i);
}

/* Where only the best candidate counts the role comes first of which one candidate is the best: most of the others
 * can be given up early then. */
static void try_grown(struct plan *w)
{
    bool in_turn = w->most > 1;
    for (unsigned r = 0; !in_turn && r < w->ngrown; r++)
        if (w->grown[r].nsizes)
            try_size(w, r, w->grown[r].safe);
    unsigned first = !in_turn && w->nkept ? w->kept[0].number / SIZES : 0;
    if (w->ngrown)
        try_sizes(w, first, in_turn);
    for (unsigned r = 0; r < w->ngrown; r++)
        if (r != first)
            try_sizes(w, r, in_turn);
}

/* All tasks, with nothing that is to stay; none if it takes more than so many seconds of transfers. */
static void order_all(struct plan *w, double most, struct candidate *candidate)
{
    od_phase_choose_all(w->g.p, &w->choice);
    candidate->result.role = OD_PHASE_NOTHING;
    od_phase_stream(w->device, &w->choice, od_phase_total_seconds(w->g.p) / most, &candidate->result, candidate->there);
}

static void try_all_grown(struct plan *w)
{
    w->nkept = w->njudged = 0;
    try_grown(w);
    if (w->nkept && w->kept[0].result.ntasks)
        return;
    w->nkept = 1;
    order_all(w, (double)INFINITY, &w->kept[0]);
}

/* --- growing ------------------------------------------------------------------------------ */

/* Puts H of the role behind the others. */
static od_status grow(struct plan *w, int role, double limit)
{
    struct grown *grown = &w->grown[w->ngrown];
    grown->role = role;
    return od_phase_grow(w->grower, role, limit, &grown->growth);
}

/* What growing alone promises: task time for each second of transfers, at best. */
static double promise_of(const od_phase_growth *growth)
{
    double promise = 0;
    for (uint32_t i = 0; i < growth->nitems; i++)
        promise = fmax(promise, growth->seconds[i] / fmax(growth->loads[i], 1e-12));
    return promise;
}

/* Moves the roles that promise most to the front; of those that promise the same the one that is listed first. */
static od_status sort_roles(struct plan *w, od_phase_role *roles, unsigned n)
{
    double promises[OD_PHASE_ROLES];
    od_status status = OD_OK;
    for (unsigned i = 0; !status && i < n; i++) {
        od_phase_role role = roles[i];
        status = grow(w, role.role, w->g.p->memory);
        double promise = status ? 0 : promise_of(&w->grown[w->ngrown].growth);
        unsigned at = i;
        for (; at > 0 && promise > promises[at - 1] * (1 + 1e-9); at--) {
            roles[at] = roles[at - 1];
            promises[at] = promises[at - 1];
        }
        roles[at] = role;
        promises[at] = promise;
    }
    return status;
}

/* Grows H of a role, to be tried. */
static od_status add_role(struct plan *w, int role)
{
    od_status status = grow(w, role, w->g.p->memory * (1 - slacks[0]));
    if (!status)
        od_phase_look_around(&w->g, &w->grown[w->ngrown].growth, &w->choice);
    return status;
}

static od_status try_roles(struct plan *w, od_phase_role *roles, unsigned n)
{
    od_status status = OD_OK;
    n = od_phase_drop_same_roles(w->g.p, roles, n);
    for (unsigned i = 0; !status && i < n; i++) {
        status = add_role(w, roles[i].role);
        if (!status)
            list_sizes(w, &w->grown[w->ngrown++]);
    }
    if (!status)
        try_all_grown(w);
    return status;
}

/* Of many tasks what was the best phase the last time, if it is so good, and at most so long, compared with then. Else
 * there is none. */
static od_status try_habit(struct plan *w, od_phase_habit *habit, double about, double most)
{
    od_phase_result *result = &w->kept[0].result;
    const od_phase_growth *growth = &w->grown[w->ngrown].growth;
    if (!habit->left || w->g.p->ntasks < LARGE)
        return OD_OK;
    habit->left--;
    if (add_role(w, habit->role))
        return OD_ENOMEM;
    if (!growth->nitems)
        return OD_OK;
    od_phase_choose(&w->g, growth, items_of(w, growth, habit->of), &w->choice);
    od_phase_stream(w->device, &w->choice, about * habit->worth, result, w->kept[0].there);
    result->role = habit->role;
    if (result->seconds > most * habit->seconds)
        result->ntasks = 0;
    return OD_OK;
}

static void learn(const struct plan *w, od_phase_habit *habit)
{
    const struct candidate *best = &w->kept[0];
    *habit = (od_phase_habit){0};
    if (best->result.role != OD_PHASE_NOTHING && w->g.p->ntasks >= LARGE)
        *habit = (od_phase_habit){best->result.role, w->grown[best->number / SIZES].of[best->number % SIZES],
                                  worth(&best->result), best->result.seconds, OFTEN};
}

/* All roles, or those that promise most; none for one task alone. */
static od_status try_all(struct plan *w)
{
    static const double about = 0.95, longer = 1.5; /* others may wait for what is in it */
    od_phase_habit none = {0}, *habit = w->g.p->habit && !w->looks ? w->g.p->habit : &none;
    od_phase_role roles[OD_PHASE_ROLES];
    od_status status = try_habit(w, habit, about, longer);
    if (status || w->kept[0].result.ntasks)
        return status;
    unsigned n = w->g.p->ntasks > 1 ? od_phase_list_roles(w->g.p, roles) : 0;
    if (w->g.p->ntasks >= MANY_TASKS && n > FEW_ROLES) {
        status = sort_roles(w, roles, n);
        n = FEW_ROLES;
    }
    if (!status)
        status = try_roles(w, roles, n);
    learn(w, habit);
    return status;
}

static bool allocate(struct plan *w)
{
    const od_phase_problem *p = w->g.p;
    uint32_t nt = p->ntasks + 1, ni = p->nitems + 1;
    bool ok = true;
    for (unsigned i = 0; i <= KEPT; i++) {
        if (i > 0 && i < KEPT && !w->looks)
            continue;
        w->kept[i].result.order = od_malloc(nt * sizeof *w->kept[i].result.order);
        w->kept[i].there = od_calloc(ni, 1);
        ok &= w->kept[i].result.order && w->kept[i].there;
    }
    if (!ok || !od_phase_make_choice(p, &w->choice) || !od_phase_make_graph(&w->g))
        return false;
    w->device = od_phase_make_device(&w->g);
    return w->device && (w->grower = od_phase_make_grower(&w->g));
}

static void release(struct plan *w)
{
    od_phase_free_graph(&w->g);
    for (unsigned i = 0; i < OD_PHASE_ROLES; i++)
        od_phase_free_growth(&w->grown[i].growth);
    od_phase_free_choice(&w->choice);
    od_phase_free_device(w->device);
    od_phase_free_grower(w->grower);
    free(w->judged);
    for (unsigned i = 0; i <= KEPT; i++) {
        free(w->kept[i].result.order);
        free(w->kept[i].there);
    }
}

/* --- what is left ----------------------------------------------------------------------- */

/* One phase after the other, until all is done. */
struct roll {
    int role;                /* of the phase before them, or OD_PHASE_NOTHING */
    bool *gone;              /* by task of the whole: it is done */
    bool *there;             /* where all are phases of one device: what it has; else NULL */
    double share;            /* seconds of tasks of each */
    double most, most_loads; /* seconds of transfers of all, and of loads, with which it ends */
    double transfers, loads; /* seconds so far */
    double longest;          /* seconds of a phase */
    od_phase_habit habit;
};

/* Where all that is left takes too much even if nothing is loaded twice, that is what it takes. */
static bool ends_there(struct roll *roll, const od_phase_problem *p, od_phase_choice *choice)
{
    static const double rounding = 1 + 1e-9;
    double loads = 0;
    if (isinf(roll->most) && isinf(roll->most_loads))
        return false;
    od_phase_choose_all(p, choice);
    for (uint32_t i = 0; i < p->nitems; i++)
        loads += choice->used[i] ? od_phase_cost(p, i) : 0;
    if (roll->transfers + choice->transfers <= roll->most && roll->loads + loads <= rounding * roll->most_loads)
        return false;
    roll->transfers += choice->transfers;
    roll->loads += loads;
    return true;
}

/* The next phase of what is left, without trying many roles: the one that is given, and the most usual ones. */
static od_status plan_part(struct roll *roll, const od_phase_rest *r, bool *any)
{
    static const double about = 0.9;
    struct plan w = {.g = {.p = &r->p}, .most = 1, .rough = r->p.ntasks >= MANY_TASKS};
    od_phase_role roles[OD_PHASE_ROLES];
    unsigned n =
        r->p.ntasks < SMALL ? od_phase_list_roles(&r->p, roles) : od_phase_usual_roles(&r->p, roll->role, roles);
    od_status status = allocate(&w) ? OD_OK : OD_ENOMEM;
    const od_phase_result *phase = &w.kept[0].result;
    bool ends = !status && ends_there(roll, &r->p, &w.choice);
    if (!status && !ends)
        status = try_habit(&w, &roll->habit, about, (double)INFINITY);
    if (!status && !ends && !phase->ntasks) {
        status = try_roles(&w, roles, n);
        learn(&w, &roll->habit);
    }
    *any = phase->ntasks;
    roll->transfers += phase->loads + phase->stores;
    roll->loads += phase->loads;
    roll->longest = fmax(roll->longest, phase->seconds);
    for (uint32_t i = 0; !status && i < phase->ntasks; i++)
        roll->gone[r->origin[phase->order[i]]] = true;
    if (!status && *any && roll->there)
        memcpy(roll->there, w.kept[0].there, r->p.nitems);
    release(&w);
    return status;
}

/* Until all that is not gone is done, or transfers or loads take more than they may. */
static od_status roll_out(const od_phase_problem *problem, struct roll *roll)
{
    od_status status = OD_OK;
    for (bool any = true; any && !status && roll->transfers <= roll->most && roll->loads <= roll->most_loads;) {
        od_phase_rest rest;
        status = od_phase_make_rest(&rest, problem, roll->gone) ? OD_OK : OD_ENOMEM;
        rest.p.share = roll->share;
        rest.p.resident = roll->there ? roll->there : rest.p.resident;
        any = rest.p.ntasks;
        if (!status && any)
            status = plan_part(roll, &rest, &any);
        od_phase_free_rest(&rest);
    }
    return status;
}

/* True where the last estimate, which was for a larger share, is about right for this one: memory limits the phases. */
static bool is_known(const od_phase_memo *memo, double share)
{
    static const double rounding = 1 - 2e-6;
    return memo && memo->longest > 0 && memo->longest < rounding * share;
}

od_status od_phase_estimate(const od_phase_problem *problem, unsigned devices, double most, double *loads)
{
    struct roll roll = {.role = OD_PHASE_NOTHING,
                        .gone = od_calloc(problem->ntasks + (size_t)1, 1),
                        .share = od_phase_total_seconds(problem) / devices,
                        .most = (double)INFINITY,
                        .most_loads = most};
    bool known = is_known(problem->memo, roll.share);
    od_status status = roll.gone ? OD_OK : OD_ENOMEM;
    if (!status && !known)
        status = roll_out(problem, &roll);
    *loads = known ? problem->memo->loads : roll.loads;
    if (!status && !known && problem->memo && roll.loads <= most)
        *problem->memo = (od_phase_memo){roll.loads, roll.longest};
    free(roll.gone);
    return status;
}

/* --- the best ---------------------------------------------------------------------------- */

/* Transfers of the candidate and, roughly, of all that is left after it; where that is more than `most`, a part of
 * them that is. */
static od_status look_to_the_end(const od_phase_problem *p, struct candidate *candidate, double most, double *transfers)
{
    const od_phase_result *result = &candidate->result;
    struct roll roll = {.role = result->role,
                        .gone = od_calloc(p->ntasks + (size_t)1, 1),
                        .there = candidate->there,
                        .share = p->share,
                        .most = most,
                        .most_loads = (double)INFINITY,
                        .transfers = result->loads + result->stores};
    for (uint32_t i = 0; roll.gone && i < result->ntasks; i++)
        roll.gone[result->order[i]] = true;
    od_status status = roll.gone ? roll_out(p, &roll) : OD_ENOMEM;
    *transfers = roll.transfers;
    free(roll.gone);
    return status;
}

/* Looking there takes time, which it must be worth. */
static bool may_look_to_the_end(const od_phase_problem *p)
{
    static const double cost = 3e-5 /* seconds per task */, most = 0.05;
    return p->ntasks < MANY_TASKS && is_for_all(p) && cost * p->ntasks <= most * od_phase_total_seconds(p);
}

/* A few phases before the end it matters what a phase leaves over. */
static bool is_near_the_end(const struct plan *w)
{
    static const double phases = 4;
    const od_phase_problem *p = w->g.p;
    return w->looks && od_phase_total_seconds(p) <= phases * w->kept[0].result.seconds &&
           w->kept[0].result.ntasks < p->ntasks;
}

/* Of the best candidates, and all tasks with nothing that stays. */
static od_status choose_to_the_end(struct plan *w, unsigned *best)
{
    double least = (double)INFINITY, transfers;
    od_status status = OD_OK;
    w->most = KEPT;
    try_all_grown(w);
    for (unsigned i = 0; !status && i < w->nkept; i++) {
        status = look_to_the_end(w->g.p, &w->kept[i], least, &transfers);
        if (!status && transfers < least * (1 - 1e-9)) {
            least = transfers;
            *best = i;
        }
    }
    order_all(w, least, &w->kept[KEPT]);
    if (w->kept[KEPT].result.ntasks && w->kept[KEPT].result.loads + w->kept[KEPT].result.stores < least)
        *best = KEPT;
    return status;
}

od_status od_phase_plan(const od_phase_problem *problem, od_phase_result *result)
{
    struct plan w = {.g = {.p = problem}, .most = 1, .looks = may_look_to_the_end(problem)};
    unsigned best = 0;
    od_status status = allocate(&w) ? try_all(&w) : OD_ENOMEM;
    if (!status && is_near_the_end(&w))
        status = choose_to_the_end(&w, &best);
    if (!status) {
        uint32_t *order = result->order;
        *result = w.kept[best].result;
        memcpy(order, result->order, result->ntasks * sizeof *order);
        result->order = order;
    }
    release(&w);
    return status;
}
