/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* See measured.h. */
#include "memmgr/device/measured.h"

#include <math.h>

static const double clearly = 0.75; /* of what both reach alone; two equal ways over one link reach half */

/* What becomes a topology: links by their number plus one, 0: none yet. */
struct maker {
    const od_rates *rates;
    od_topology *topology;
    uint32_t link[2][OD_MAX_DEVICES]; /* in, out; by device */
    uint32_t above[2];                /* all of them */
    bool failed;
};

enum { IN, OUT, BOTH };

/* Much less than one reaches alone: something else disturbed them, and nothing is known. */
static bool is_disturbed(double together, double most)
{
    static const double part = 0.6;
    return together < part * most;
}

static bool share(double together, double a, double b)
{
    return !is_disturbed(together, fmax(a, b)) && together < clearly * (a + b);
}

static double alone(const od_rates *r, int direction, unsigned k)
{
    return direction == IN ? r->alone[r->ndevices][k].bandwidth : r->alone[k][r->ndevices].bandwidth;
}

static double pair(const od_rates *r, int direction, unsigned a, unsigned b)
{
    return direction == IN ? r->in[a][b] : r->out[a][b];
}

static uint32_t add_link(struct maker *m, double bandwidth)
{
    uint32_t link = od_topology_add_link(m->topology, bandwidth);
    m->failed |= link == UINT32_MAX;
    return link + 1;
}

/* --- groups ------------------------------------------------------------------------------ */

static bool is_half_duplex(const od_rates *r, unsigned k)
{
    return share(r->in[k][k], alone(r, IN, k), alone(r, OUT, k));
}

/* Devices whose ways in the direction, one after the other, share a link with device k's. */
static od_placeset group_of(const od_rates *r, int direction, unsigned k)
{
    od_placeset group = od_placeset_of(k), before = OD_NO_PLACES;
    while (!od_placeset_equal(group, before)) {
        before = group;
        for (unsigned a = 0; a < r->ndevices; a++)
            for (unsigned b = 0; od_placeset_has(group, a) && b < r->ndevices; b++)
                if (a != b && share(pair(r, direction, a, b), alone(r, direction, a), alone(r, direction, b)))
                    od_placeset_add(&group, b);
    }
    return group;
}

/* What its link carries: the most that was seen on it. */
static double capacity(const od_rates *r, int direction, od_placeset group)
{
    double most = 0;
    for (unsigned a = 0; a < r->ndevices; a++)
        for (unsigned b = 0; od_placeset_has(group, a) && b < r->ndevices; b++)
            if (od_placeset_has(group, b))
                most = fmax(most, a == b ? alone(r, direction, a) : pair(r, direction, a, b));
    return most;
}

static void make_groups(struct maker *m, int direction)
{
    for (unsigned k = 0; k < m->rates->ndevices; k++) {
        if (m->link[direction][k])
            continue;
        od_placeset group = group_of(m->rates, direction, k), half = OD_NO_PLACES;
        for (unsigned a = 0; a < m->rates->ndevices; a++)
            if (od_placeset_has(group, a) && is_half_duplex(m->rates, a))
                od_placeset_add(&half, a);
        bool any = direction == OUT && !od_placeset_is_empty(half);
        uint32_t link = any ? m->link[IN][od_placeset_first(half)] : 0;
        if (!link)
            link = add_link(m, capacity(m->rates, direction, group));
        for (unsigned a = 0; a < m->rates->ndevices; a++)
            if (od_placeset_has(group, a))
                m->link[direction][a] = link;
    }
}

/* One link above the groups, where they reach less together than each for itself. */
static void make_above(struct maker *m, int direction)
{
    double all = direction == IN ? m->rates->all_in : m->rates->all_out, groups = 0, most = 0;
    for (unsigned k = 0; k < m->rates->ndevices; k++) {
        bool first = true;
        most = fmax(most, alone(m->rates, direction, k));
        for (unsigned a = 0; a < k; a++)
            first &= m->link[direction][a] != m->link[direction][k];
        if (first && !m->failed)
            groups += m->topology->capacity[m->link[direction][k] - 1];
    }
    if (!is_disturbed(all, most) && all < clearly * groups)
        m->above[direction] = add_link(m, all);
}

/* --- ways -------------------------------------------------------------------------------- */

static uint32_t host_links(const struct maker *m, int direction, unsigned k, uint32_t *links)
{
    uint32_t count = 0;
    links[count++] = m->link[direction][k] - 1;
    if (m->above[direction])
        links[count++] = m->above[direction] - 1;
    return count;
}

static void set_host_way(struct maker *m, int direction, unsigned k)
{
    unsigned n = m->rates->ndevices;
    uint32_t links[2], count = host_links(m, direction, k, links);
    od_link own = direction == IN ? m->rates->alone[n][k] : m->rates->alone[k][n];
    m->failed |= od_topology_set_way(m->topology, direction == IN ? OD_HOST : (int)k,
                                     direction == IN ? (int)k : OD_HOST, own, links, count) != OD_OK;
}

static void set_peer_way(struct maker *m, unsigned from, unsigned to)
{
    const od_rates *r = m->rates;
    od_link own = r->alone[from][to];
    uint32_t links[4], count = 0;
    if (share(r->peer[from][to], own.bandwidth, alone(r, IN, to))) {
        count = host_links(m, IN, to, links);
        if (m->link[OUT][from] != m->link[IN][to])
            links[count++] = m->link[OUT][from] - 1;
    }
    m->failed |= od_topology_set_way(m->topology, (int)from, (int)to, own, links, count) != OD_OK;
}

static od_topology *finished(struct maker *m)
{
    if (!m->failed)
        return m->topology;
    od_topology_destroy(m->topology);
    return NULL;
}

od_topology *od_topology_measured(const od_rates *rates)
{
    struct maker m = {.rates = rates, .topology = od_topology_create(rates->ndevices)};
    if (!m.topology)
        return NULL;
    for (int direction = IN; direction < BOTH && !m.failed; direction++) {
        make_groups(&m, direction);
        make_above(&m, direction);
    }
    for (unsigned k = 0; k < rates->ndevices && !m.failed; k++) {
        set_host_way(&m, IN, k);
        set_host_way(&m, OUT, k);
        for (unsigned to = 0; to < rates->ndevices; to++)
            if (to != k)
                set_peer_way(&m, k, to);
    }
    return finished(&m);
}

od_topology *od_topology_bus(unsigned n, double bandwidth)
{
    static const od_link own = {.bandwidth = (double)INFINITY, .latency = 1e-6};
    struct maker m = {.topology = od_topology_create(n)};
    if (!m.topology)
        return NULL;
    m.topology->turns = true;
    uint32_t bus = add_link(&m, bandwidth) - 1;
    for (unsigned from = 0; from <= n && !m.failed; from++)
        for (unsigned to = 0; to <= n; to++)
            m.failed |= od_topology_set_way(m.topology, from < n ? (int)from : OD_HOST, to < n ? (int)to : OD_HOST, own,
                                            &bus, 1) != OD_OK;
    return finished(&m);
}

/* --- nonsense ---------------------------------------------------------------------------- */

/* 0: to the host, 1: from it, 2: between devices. */
static int kind_of(const od_rates *r, unsigned from, unsigned to)
{
    return to == r->ndevices ? 0 : from == r->ndevices ? 1 : 2;
}

bool od_rates_are_odd(const od_rates *r, unsigned from, unsigned to)
{
    enum { TIMES = 10 };
    double rate = r->alone[from][to].bandwidth;
    size_t count = 0, alike = 0; /* ways of its kind; of these, those that are not so much faster */
    if (from == to || rate <= 0)
        return false;
    for (unsigned i = 0; i <= r->ndevices; i++)
        for (unsigned j = 0; j <= r->ndevices; j++)
            if (i != j && r->alone[i][j].bandwidth > 0 && kind_of(r, i, j) == kind_of(r, from, to)) {
                count++;
                alike += r->alone[i][j].bandwidth <= TIMES * rate;
            }
    return alike <= count / 2;
}
