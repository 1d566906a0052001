/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Transfers in virtual time; see network.h. */
#include "sched/oracle/network.h"

#include "util/memory.h"

#include <math.h>
#include <stdlib.h>

static const double instant = 1e-9; /* seconds: what is left of a latency is nothing then */
static const double nothing = 1e-14; /* bytes, as in SimGrid: what rounding leaves of a transfer ends a moment later */

od_status od_network_init(od_network *n, const od_topology *topology, uint32_t most)
{
    *n = (od_network){.topology = topology,
                      .flow = od_malloc((most + 1) * sizeof *n->flow),
                      .waiting = od_malloc((most + 1) * sizeof *n->waiting),
                      .left = od_malloc((topology->nlinks + 1) * sizeof *n->left),
                      .wanted = od_calloc(topology->nlinks + (size_t)1, sizeof *n->wanted),
                      .part = od_malloc((topology->nlinks + 1) * sizeof *n->part),
                      .used = od_malloc((topology->nlinks + 1) * sizeof *n->used)};
    if (n->flow && n->waiting && n->left && n->wanted && n->part && n->used)
        return OD_OK;
    od_network_free(n);
    return OD_ENOMEM;
}

void od_network_free(od_network *n)
{
    free(n->flow);
    free(n->waiting);
    free(n->left);
    free(n->wanted);
    free(n->part);
    free(n->used);
    *n = (od_network){0};
}

void od_network_start(od_network *n, int from, int to, double bytes, uint32_t owner)
{
    const od_way *way = od_topology_way(n->topology, from, to);
    double penalty = n->topology->by_latency && way->latency > 0 ? way->latency : 1;
    n->flow[n->nflows++] = (od_flow){.way = way,
                                     .link = n->topology->on_way + way->first,
                                     .nlinks = way->nlinks,
                                     .owner = owner,
                                     .latency = way->latency,
                                     .penalty = penalty,
                                     .weight = 1 / penalty,
                                     .most = way->bandwidth / (1 / penalty),
                                     .left = bytes};
    n->stale |= way->latency <= 0;
}

/* --- rates ----------------------------------------------------------------------------------- */

static double smaller(double a, double b) /* neither is NaN */
{
    return a < b ? a : b;
}

/* What each of the flows gets that want a part of the link. */
static double divide(od_network *n, uint32_t link)
{
    return n->part[link] = n->wanted[link] > 0 ? n->left[link] / n->wanted[link] : (double)INFINITY;
}

static void want(od_network *n, uint32_t link, double weight)
{
    double *wanted = &n->wanted[link];
    if (*wanted <= 0) {
        n->left[link] = n->topology->capacity[link];
        n->used[n->nused++] = link;
    }
    *wanted += weight;
}

/* Which flows want a rate, what each link on their ways has, and how many parts of it they want. */
static void count_parts(od_network *n)
{
    uint32_t waiting = 0;
    n->nused = 0;
    for (od_flow *f = n->flow, *end = f + n->nflows; f < end; f++) {
        f->rate = 0;
        if (f->latency > 0)
            continue;
        n->waiting[waiting++] = (uint32_t)(f - n->flow);
        for (const uint32_t *link = f->link, *last = link + f->nlinks; link < last; link++)
            want(n, *link, f->weight);
    }
    n->nwaiting = waiting;
}

/* The smallest part that a link has for its flows, or a way allows. Links that no flow wants any more are let go. */
static double smallest_part(od_network *n)
{
    double part = (double)INFINITY;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < n->nused; i++) {
        uint32_t link = n->used[i];
        part = smaller(part, divide(n, link));
        n->used[kept] = link;
        kept += n->wanted[link] > 0;
    }
    n->nused = kept;
    for (uint32_t i = 0; i < n->nwaiting; i++)
        part = smaller(part, n->flow[n->waiting[i]].most);
    return part;
}

static bool is_limited(const od_network *n, const od_flow *f, double part)
{
    if (f->most <= part)
        return true;
    for (const uint32_t *link = f->link, *last = link + f->nlinks; link < last; link++)
        if (n->part[*link] <= part)
            return true;
    return false;
}

static void take(double *from, double what, double least)
{
    *from = *from - what < least ? 0 : *from - what;
}

/* What rounding leaves of a link, or of what is wanted of it, is nothing. */
static void leave_rest(od_network *n, const od_flow *f)
{
    static const double precision = 1e-5;
    for (uint32_t j = 0; j < f->nlinks; j++) {
        uint32_t l = f->link[j];
        take(&n->left[l], f->rate, precision * n->topology->capacity[l]);
        take(&n->wanted[l], f->weight, precision);
    }
}

/* Those that the smallest part limits get it; the others wait on, for what these leave. */
static void fix_limited(od_network *n)
{
    double part = smallest_part(n);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < n->nwaiting; i++) {
        od_flow *f = &n->flow[n->waiting[i]];
        f->rate = is_limited(n, f, part) ? part / f->penalty : 0;
        kept += f->rate <= 0;
    }
    if (!kept) {
        n->nwaiting = 0;
        return;
    }
    kept = 0;
    for (uint32_t i = 0; i < n->nwaiting; i++) {
        od_flow *f = &n->flow[n->waiting[i]];
        if (f->rate > 0)
            leave_rest(n, f);
        else
            n->waiting[kept++] = n->waiting[i];
    }
    n->nwaiting = kept;
}

static void share(od_network *n)
{
    n->stale = false;
    count_parts(n);
    for (uint32_t before = n->nwaiting + 1; n->nwaiting && n->nwaiting < before;) { /* else no link limits them */
        before = n->nwaiting;
        fix_limited(n);
    }
    for (uint32_t i = 0; i < n->nused; i++)
        n->wanted[n->used[i]] = 0;
}

/* --- time ------------------------------------------------------------------------------------- */

double od_network_next(od_network *n)
{
    double next = (double)INFINITY;
    if (n->stale)
        share(n);
    for (const od_flow *f = n->flow, *end = f + n->nflows; f < end; f++)
        next = smaller(next, f->latency > 0 ? f->latency : f->rate > 0 ? f->left / f->rate : 0);
    return next;
}

/* True where it has ended. */
static bool pass(od_network *n, od_flow *f, double seconds)
{
    if (f->latency > 0) {
        f->latency = f->latency - seconds < instant ? 0 : f->latency - seconds;
        n->stale |= f->latency <= 0;
        return false;
    }
    f->left -= f->rate * seconds;
    return f->left < nothing || f->rate <= 0;
}

uint32_t od_network_pass(od_network *n, double seconds, uint32_t *ended)
{
    od_flow *kept = n->flow;
    uint32_t count = 0;
    if (n->stale)
        share(n);
    for (od_flow *f = n->flow, *end = f + n->nflows; f < end; f++) {
        if (pass(n, f, seconds)) {
            ended[count++] = f->owner;
            continue;
        }
        if (kept < f)
            *kept = *f;
        kept++;
    }
    n->nflows = (uint32_t)(kept - n->flow);
    n->stale |= count > 0;
    return count;
}
