/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A device for each item that is written; see owners.h. */
#include "sched/phase/owners.h"

#include "memmgr/data/datum.h"
#include "sched/phase/findings.h"
#include "sched/phase/impl.h"
#include "sched/phase/lattice.h"
#include "util/memory.h"
#include "util/random.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PARTS = 8 }; /* of the run, in each of which all devices are to be busy */

/* A vertex is an item that tasks write; a net is a version of an item, its pins the vertices of its readers and of the
 * task that made it. */
struct owners {
    const od_phase_graph *g;
    unsigned n;
    bool mixed;                     /* some devices are better or worse at some tasks than at others */
    uint32_t *vertex;               /* by item; OD_NO_OWNER: nobody writes it */
    uint32_t *home;                 /* by task: the vertex that it writes */
    uint32_t nvertices, nnets, npins;
    uint32_t *first_pin, *pin;      /* by net */
    double *cost;                   /* by net: seconds of the shared way for each further device */
    uint32_t *first_net, *net;      /* by vertex */
    uint32_t *count;                /* by net and device: pins there */
    double (*work)[PARTS];          /* by vertex: seconds */
    double *times;                  /* by vertex and device: that its work takes there, on the average of its tasks */
    double (*load)[PARTS];          /* by device: seconds there of what it owns */
    double (*off)[PARTS];           /* by device: its imbalance as it is */
    double share[PARTS];            /* seconds for which all devices would be busy together */
    uint32_t *owner;                /* by vertex */
    uint32_t *given;                /* by vertex: where it is now, or OD_NO_OWNER */
    double *way;                    /* by vertex: seconds of the shared way for its load */
    uint64_t random;
};

/* --- tasks and what they write ----------------------------------------------------------------- */

/* The last item that the task writes. */
static uint32_t main_item(const od_phase_problem *p, uint32_t task)
{
    for (uint32_t u = p->first_use[task + 1]; u-- > p->first_use[task];)
        if (p->writes[u])
            return p->use[u];
    return OD_NO_ITEM;
}

static void find_vertices(struct owners *o, const od_owners_problem *problem)
{
    const od_phase_problem *p = o->g->p;
    memset(o->vertex, 0xff, (p->nitems + 1) * sizeof *o->vertex);
    for (uint32_t t = 0; t < p->ntasks; t++) {
        uint32_t item = main_item(p, t);
        if (item != OD_NO_ITEM && o->vertex[item] == OD_NO_OWNER) {
            o->given[o->nvertices] = problem->given ? problem->given[item] : OD_NO_OWNER;
            o->way[o->nvertices] = p->load[item] * problem->share_of_load;
            o->vertex[item] = o->nvertices++;
        }
        o->home[t] = item == OD_NO_ITEM ? OD_NO_OWNER : o->vertex[item];
    }
}

/* --- which versions who reads -------------------------------------------------------------------- */

static bool writes_item(const od_phase_problem *p, uint32_t task, uint32_t item)
{
    for (uint32_t u = p->first_use[task]; u < p->first_use[task + 1]; u++)
        if (p->use[u] == item && p->writes[u])
            return true;
    return false;
}

static void add_pin(struct owners *o, uint32_t *last_net, uint32_t vertex)
{
    if (vertex == OD_NO_OWNER || last_net[vertex] == o->nnets + 1)
        return;
    last_net[vertex] = o->nnets + 1;
    o->pin[o->npins++] = vertex;
}

/* A version with one pin never moves. */
static void end_net(struct owners *o, uint32_t *last_net, double cost)
{
    if (o->npins - o->first_pin[o->nnets] < 2 || cost <= 0) {
        while (o->npins > o->first_pin[o->nnets])
            last_net[o->pin[--o->npins]] = 0;
        return;
    }
    o->cost[o->nnets++] = cost;
    o->first_pin[o->nnets] = o->npins;
}

static void find_nets(struct owners *o, uint32_t *last_net, double share_of_load)
{
    const od_phase_problem *p = o->g->p;
    for (uint32_t item = 0; item < p->nitems; item++) {
        double cost = p->load[item] * share_of_load;
        bool exists = !p->fresh[item];
        for (uint32_t i = o->g->first_user[item]; i < o->g->first_user[item + 1]; i++) {
            uint32_t task = o->g->user[i];
            if (exists)
                add_pin(o, last_net, o->home[task]);
            if (!writes_item(p, task, item))
                continue;
            end_net(o, last_net, cost);
            add_pin(o, last_net, o->home[task]);
            exists = true;
        }
        end_net(o, last_net, cost);
    }
}

static void list_nets(struct owners *o)
{
    for (uint32_t i = 0; i < o->npins; i++)
        o->first_net[o->pin[i] + 2]++;
    for (uint32_t v = 2; v < o->nvertices + 2; v++)
        o->first_net[v] += o->first_net[v - 1];
    for (uint32_t net = 0; net < o->nnets; net++)
        for (uint32_t i = o->first_pin[net]; i < o->first_pin[net + 1]; i++)
            o->net[o->first_net[o->pin[i] + 1]++] = net;
}

/* --- work ------------------------------------------------------------------------------------ */

struct ranked {
    double level;
    uint32_t task;
};

static int first_first(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    return x->level != y->level ? (x->level < y->level) - (x->level > y->level)
                                : (x->task > y->task) - (x->task < y->task);
}

static double slowness_of(const od_owners_problem *problem, unsigned speed_class, unsigned k)
{
    return problem->slowness ? od_slowness_of(problem->slowness, speed_class, problem->which[k]) : 1;
}

/* Where all classes are alike each device gets what it is fast at by speed. */
static double seconds_of_general(const struct owners *o, const od_owners_problem *problem, double work)
{
    double speed = 0;
    for (unsigned k = 0; k < o->n; k++)
        speed += 1 / slowness_of(problem, OD_SPEED_GENERAL, k);
    return work / speed;
}

static unsigned cheapest(const struct owners *o, const od_owners_problem *problem, unsigned speed_class,
                         const double *price)
{
    unsigned best = 0;
    for (unsigned k = 1; k < o->n; k++)
        if (price[k] * slowness_of(problem, speed_class, k) < price[best] * slowness_of(problem, speed_class, best))
            best = k;
    return best;
}

/* Else as the linear program says that divides the classes among the devices. Its dual gives a second of each device a
 * price, all together 1; what the work costs at least is then a lower bound. Prices rise where work is cheapest
 * (multiplicative weights). */
static double seconds_of_classes(const struct owners *o, const od_owners_problem *problem, double (*part_of)[PARTS],
                                 unsigned part)
{
    enum { ROUNDS = 256 };
    double price[OD_MAX_DEVICES], best = 0;
    for (unsigned k = 0; k < o->n; k++)
        price[k] = 1.0 / o->n;
    for (unsigned i = 0; i < ROUNDS; i++) {
        double load[OD_MAX_DEVICES] = {0}, cost = 0, all = 0, sum = 0;
        for (unsigned c = 0; c < OD_SPEED_CLASSES; c++) {
            unsigned k = part_of[c][part] > 0 ? cheapest(o, problem, c, price) : 0;
            double seconds = part_of[c][part] * slowness_of(problem, c, k);
            load[k] += seconds;
            cost += seconds * price[k];
            all += seconds;
        }
        best = fmax(best, cost);
        for (unsigned k = 0; k < o->n && all > 0; k++)
            sum += price[k] *= exp(load[k] / all / sqrt(i + 1.0));
        for (unsigned k = 0; k < o->n && all > 0; k++)
            price[k] /= sum;
    }
    return best;
}

static void find_shares(struct owners *o, const od_owners_problem *problem, double (*part_of)[PARTS])
{
    for (unsigned part = 0; part < PARTS; part++)
        o->share[part] = o->mixed ? seconds_of_classes(o, problem, part_of, part)
                                  : seconds_of_general(o, problem, part_of[OD_SPEED_GENERAL][part]);
}

/* From what its tasks take more than predicted: where that is nothing it is exactly once. */
static void find_times(struct owners *o, const od_owners_problem *problem)
{
    const od_phase_problem *p = o->g->p;
    for (uint32_t t = 0; t < p->ntasks; t++)
        for (unsigned k = 0; k < o->n && o->home[t] != OD_NO_OWNER; k++)
            o->times[(size_t)o->home[t] * o->n + k] +=
                p->seconds[t] * (slowness_of(problem, od_phase_speed_class(p, t), k) - 1);
    for (uint32_t v = 0; v < o->nvertices; v++) {
        double work = 0;
        for (unsigned part = 0; part < PARTS; part++)
            work += o->work[v][part];
        for (unsigned k = 0; k < o->n; k++) {
            double *times = &o->times[(size_t)v * o->n + k];
            *times = work > 0 ? 1 + *times / work : 1;
        }
    }
}

/* The parts take equally long; tasks far from the end of the graph are in the first. */
static void measure_work(struct owners *o, const od_owners_problem *problem, struct ranked *ranked)
{
    const od_phase_problem *p = o->g->p;
    double total = 0, before = 0, part_of[OD_SPEED_CLASSES][PARTS] = {{0}};
    for (uint32_t t = 0; t < p->ntasks; t++) {
        ranked[t] = (struct ranked){o->g->level[t], t};
        total += p->seconds[t];
    }
    qsort(ranked, p->ntasks, sizeof *ranked, first_first);
    for (uint32_t i = 0; i < p->ntasks; i++) {
        uint32_t t = ranked[i].task;
        unsigned part = (unsigned)fmin(PARTS - 1, PARTS * before / total);
        before += p->seconds[t];
        if (o->home[t] == OD_NO_OWNER)
            continue;
        o->work[o->home[t]][part] += p->seconds[t];
        part_of[o->mixed ? od_phase_speed_class(p, t) : OD_SPEED_GENERAL][part] += p->seconds[t];
    }
    find_shares(o, problem, part_of);
    find_times(o, problem);
}

/* --- moves ------------------------------------------------------------------------------------- */

/* What a device costs whose work is not its share: seconds. */
static double imbalance(const struct owners *o, unsigned k, unsigned part, double more)
{
    static const double weight = 2;
    double share = o->share[part], off = o->load[k][part] + more - share;
    return share > 0 ? weight * off * off / share : 0;
}

static double work_on(const struct owners *o, uint32_t v, unsigned part, unsigned k)
{
    return o->work[v][part] * o->times[(size_t)v * o->n + k];
}

static double change_of_balance(const struct owners *o, uint32_t v, unsigned from, unsigned to)
{
    double change = 0;
    for (unsigned part = 0; part < PARTS; part++) {
        if (o->work[v][part] > 0)
            change += imbalance(o, from, part, -work_on(o, v, part, from)) - o->off[from][part] +
                      imbalance(o, to, part, work_on(o, v, part, to)) - o->off[to][part];
    }
    return change;
}

static double change_of_loads(const struct owners *o, uint32_t v, unsigned from, unsigned to)
{
    double change = o->way[v] * ((o->given[v] == from) - (int)(o->given[v] == to));
    for (uint32_t i = o->first_net[v]; i < o->first_net[v + 1]; i++) {
        const uint32_t *count = &o->count[(size_t)o->net[i] * o->n];
        change += o->cost[o->net[i]] * ((count[to] == 0) - (count[from] == 1));
    }
    return change;
}

static void add_work(struct owners *o, uint32_t v, unsigned k, double sign)
{
    for (unsigned part = 0; part < PARTS; part++) {
        if (o->work[v][part] <= 0)
            continue;
        o->load[k][part] += sign * work_on(o, v, part, k);
        o->off[k][part] = imbalance(o, k, part, 0);
    }
}

static void give(struct owners *o, uint32_t v, unsigned k)
{
    o->owner[v] = k;
    for (uint32_t i = o->first_net[v]; i < o->first_net[v + 1]; i++)
        o->count[(size_t)o->net[i] * o->n + k]++;
    add_work(o, v, k, +1);
}

static void move(struct owners *o, uint32_t v, unsigned k)
{
    unsigned from = o->owner[v];
    for (uint32_t i = o->first_net[v]; i < o->first_net[v + 1]; i++)
        o->count[(size_t)o->net[i] * o->n + from]--;
    add_work(o, v, from, -1);
    give(o, v, k);
}

/* A move that costs `change` seconds more is made with probability exp(-change / heat). */
static bool accepts(struct owners *o, double change, double heat)
{
    return change <= 0 || od_random_fraction(&o->random) < exp(-change / heat);
}

/* A device that owns another pin of one of the vertex's versions, or any. */
static unsigned other_device(struct owners *o, uint32_t v, bool nearby)
{
    uint32_t nnets = o->first_net[v + 1] - o->first_net[v];
    if (!nearby || !nnets) {
        unsigned to = od_random_below(&o->random, o->n - 1);
        return to + (to >= o->owner[v]);
    }
    uint32_t net = o->net[o->first_net[v] + od_random_below(&o->random, nnets)];
    uint32_t first = o->first_pin[net];
    return o->owner[o->pin[first + od_random_below(&o->random, o->first_pin[net + 1] - first)]];
}

/* Simulated annealing. */
static void anneal(struct owners *o, unsigned effort, double hottest, bool nearby)
{
    static const double coldest = 0.02; /* like `hottest`, in mean costs of a version */
    enum { OFTEN = 64 };                /* moves at one heat */
    double mean = 0, heat = 0, steps = (double)effort * o->g->p->ntasks, step = 0;
    for (uint32_t net = 0; net < o->nnets; net++)
        mean += o->cost[net] / o->nnets;
    for (uint32_t i = 0; step < steps; i++) {
        if (i % OFTEN == 0)
            heat = mean * hottest * pow(coldest / hottest, step / steps);
        uint32_t v = (uint32_t)(od_random_next(&o->random) % o->nvertices);
        unsigned from = o->owner[v], to = other_device(o, v, nearby);
        if (to != from && accepts(o, change_of_loads(o, v, from, to) + change_of_balance(o, v, from, to), heat))
            move(o, v, to);
        step += o->first_net[v + 1] - o->first_net[v] + PARTS;
    }
}

/* --- where it begins ------------------------------------------------------------------------- */

/* Nothing has an owner. */
static void clear(struct owners *o)
{
    memset(o->count, 0, (size_t)o->nnets * o->n * sizeof *o->count);
    memset(o->load, 0, o->n * sizeof *o->load);
    for (unsigned k = 0; k < o->n; k++)
        for (unsigned part = 0; part < PARTS; part++)
            o->off[k][part] = imbalance(o, k, part, 0);
}

static void begin_in_turn(struct owners *o)
{
    clear(o);
    for (uint32_t v = 0; v < o->nvertices; v++)
        give(o, v, o->given[v] == OD_NO_OWNER ? v % o->n : o->given[v]);
}

static void begin_with(struct owners *o, const uint32_t *owner)
{
    clear(o);
    for (uint32_t v = 0; v < o->nvertices; v++)
        give(o, v, owner[v]);
}

/* Block-cyclically over a grid of so many rows; what has no coordinates where it costs least beside the others. */
static void begin_on_grid(struct owners *o, const od_lattice *lattice, unsigned rows)
{
    unsigned columns = o->n / rows;
    clear(o);
    for (int lacks = 0; lacks < 2; lacks++)
        for (uint32_t item = 0; item < o->g->p->nitems; item++) {
            uint32_t v = o->vertex[item], row = lattice->row[item];
            if (v == OD_NO_OWNER || (row == OD_NO_LINE) != lacks)
                continue;
            give(o, v, lacks ? 0 : row % rows * columns + lattice->column[item] % columns);
            unsigned best = 0;
            double least = 0;
            for (unsigned k = 1; lacks && k < o->n; k++) {
                double change = change_of_loads(o, v, 0, k) + change_of_balance(o, v, 0, k);
                best = change < least ? k : best;
                least = fmin(change, least);
            }
            if (best)
                move(o, v, best);
        }
}

/* What is to be small: seconds. */
static double costs(const struct owners *o)
{
    double seconds = 0;
    for (uint32_t net = 0; net < o->nnets; net++) {
        double others = -1;
        for (unsigned k = 0; k < o->n; k++)
            others += o->count[(size_t)net * o->n + k] > 0;
        seconds += others * o->cost[net];
    }
    for (uint32_t v = 0; v < o->nvertices; v++)
        seconds += o->given[v] != OD_NO_OWNER && o->given[v] != o->owner[v] ? o->way[v] : 0;
    for (unsigned k = 0; k < o->n; k++)
        for (unsigned part = 0; part < PARTS; part++)
            seconds += imbalance(o, k, part, 0);
    return seconds;
}

static void keep_if_better(const struct owners *o, uint32_t *best, double *least)
{
    double seconds = costs(o);
    if (seconds >= *least)
        return;
    *least = seconds;
    memcpy(best, o->owner, o->nvertices * sizeof *best);
}

/* From the best grid, hardly heated, and from owners in turn. */
static od_status anneal_from_grids(struct owners *o, unsigned effort)
{
    static const double warm = 0.5, hot = 2;
    od_lattice lattice;
    uint32_t *best = od_malloc((o->nvertices + (size_t)1) * sizeof *best);
    double least = (double)INFINITY;
    od_status status = od_lattice_find(o->g->p, &lattice);
    bool ok = best && !status;
    for (unsigned rows = 1; ok && rows <= o->n; rows++) {
        if (o->n % rows)
            continue;
        begin_on_grid(o, &lattice, rows);
        keep_if_better(o, best, &least);
    }
    if (ok) {
        begin_with(o, best);
        anneal(o, effort / 2, warm, true);
        keep_if_better(o, best, &least);
        begin_in_turn(o);
        anneal(o, effort / 2, hot, true);
        keep_if_better(o, best, &least);
        begin_with(o, best);
    }
    free(best);
    free(lattice.row);
    free(lattice.column);
    return ok ? OD_OK : OD_ENOMEM;
}

/* --- all of it --------------------------------------------------------------------------------- */

static bool make(struct owners *o)
{
    const od_phase_problem *p = o->g->p;
    size_t nt = p->ntasks + 1, ni = p->nitems + 1, nu = p->first_use[p->ntasks];
    o->vertex = od_malloc((ni + 1) * sizeof *o->vertex);
    o->home = od_malloc(nt * sizeof *o->home);
    o->first_pin = od_calloc(nu + ni + 1, sizeof *o->first_pin);
    o->pin = od_malloc((2 * nu + 1) * sizeof *o->pin);
    o->cost = od_malloc((nu + ni + 1) * sizeof *o->cost);
    o->first_net = od_calloc(ni + 2, sizeof *o->first_net);
    o->net = od_malloc((2 * nu + 1) * sizeof *o->net);
    o->work = od_calloc(ni, sizeof *o->work);
    o->load = od_calloc(o->n, sizeof *o->load);
    o->off = od_calloc(o->n, sizeof *o->off);
    o->times = od_calloc(ni * o->n, sizeof *o->times);
    o->owner = od_malloc(ni * sizeof *o->owner);
    o->given = od_malloc(ni * sizeof *o->given);
    o->way = od_malloc(ni * sizeof *o->way);
    return o->vertex && o->home && o->first_pin && o->pin && o->cost && o->first_net && o->net && o->work && o->load &&
           o->off && o->times && o->owner && o->given && o->way;
}

static void unmake(struct owners *o)
{
    free(o->vertex);
    free(o->home);
    free(o->first_pin);
    free(o->pin);
    free(o->cost);
    free(o->first_net);
    free(o->net);
    free(o->count);
    free(o->work);
    free(o->load);
    free(o->off);
    free(o->times);
    free(o->owner);
    free(o->given);
    free(o->way);
}

static bool prepare(struct owners *o, const od_owners_problem *problem)
{
    const od_phase_problem *p = o->g->p;
    uint32_t *last_net = od_calloc(p->nitems + 1, sizeof *last_net);
    struct ranked *ranked = od_malloc((p->ntasks + 1) * sizeof *ranked);
    bool ok = last_net && ranked;
    if (ok) {
        find_vertices(o, problem);
        find_nets(o, last_net, problem->share_of_load);
        list_nets(o);
        measure_work(o, problem, ranked);
        o->count = od_calloc((size_t)o->nnets * o->n + 1, sizeof *o->count);
    }
    free(last_net);
    free(ranked);
    return ok && o->count;
}

static od_status find(const od_owners_problem *problem, uint32_t *owner)
{
    const od_phase_graph *g = problem->graph;
    struct owners o = {.g = g,
                       .n = problem->devices,
                       .mixed = problem->slowness && od_slowness_is_mixed(problem->slowness, OD_MAX_DEVICES),
                       .random = UINT64_C(0x9e3779b97f4a7c15)};
    bool ok = make(&o) && prepare(&o, problem);
    bool moves = ok && o.n > 1 && o.nvertices && (o.nnets || o.mixed); /* tasks may write nothing */
    if (ok)
        begin_in_turn(&o);
    if (moves && problem->nearby)
        ok = anneal_from_grids(&o, problem->effort) == OD_OK;
    else if (moves)
        anneal(&o, problem->effort, 2, false);
    for (uint32_t t = 0; ok && t < g->p->ntasks; t++)
        owner[t] = o.home[t] == OD_NO_OWNER ? OD_NO_OWNER : o.owner[o.home[t]];
    unmake(&o);
    return ok ? OD_OK : OD_ENOMEM;
}

static uint64_t key_of(const od_owners_problem *problem)
{
    const od_phase_problem *p = problem->graph->p;
    const od_slowness *slowness = problem->slowness;
    const double about[] = {problem->devices,
                            problem->effort,
                            problem->share_of_load,
                            problem->nearby,
                            slowness ? slowness->classes : 0,
                            slowness && od_slowness_is_mixed(slowness, OD_MAX_DEVICES)};
    uint64_t key = od_findings_mix(od_findings_tasks_key(p), OD_FINDINGS_OWNERS, about, sizeof about);
    for (unsigned c = 0; slowness && c < slowness->classes; c++)
        for (unsigned k = 0; k < problem->devices; k++) {
            double times = od_slowness_of(slowness, c, problem->which[k]);
            key = od_findings_mix(key, OD_FINDINGS_OWNERS, &times, sizeof times);
        }
    if (!problem->given)
        return key;
    return od_findings_mix(key, OD_FINDINGS_OWNERS, problem->given, p->nitems * sizeof *problem->given);
}

od_status od_owners_find(const od_owners_problem *problem, uint32_t *owner)
{
    uint32_t ntasks = problem->graph->p->ntasks;
    uint64_t key = problem->findings ? key_of(problem) : 0;
    const od_finding *found = od_findings_look_up(problem->findings, key);
    if (found) {
        memcpy(owner, found->place, ntasks * sizeof *owner);
        return OD_OK;
    }
    od_status status = find(problem, owner);
    if (!status)
        od_findings_add(problem->findings, &(od_finding){.key = key, .place = owner}, ntasks);
    return status;
}
