/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Links and ways; see topology.h. */
#include "memmgr/device/topology.h"

#include "util/container/array.h"
#include "util/memory.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

od_topology *od_topology_create(unsigned ndevices)
{
    od_topology *t = od_calloc(1, sizeof *t);
    if (!t)
        return NULL;
    t->ndevices = ndevices;
    t->nnodes = 1;
    t->way = od_calloc((ndevices + 1) * (size_t)(ndevices + 1), sizeof *t->way);
    od_slowness_init(&t->slowness);
    if (!t->way) {
        od_topology_destroy(t);
        return NULL;
    }
    return t;
}

static void *copied(const void *from, size_t count, size_t size, bool *ok)
{
    void *copy = od_malloc((count + 1) * size);
    *ok = *ok && copy;
    if (copy && count)
        memcpy(copy, from, count * size);
    return copy;
}

od_topology *od_topology_copy(const od_topology *topology)
{
    od_topology *t = od_malloc(sizeof *t);
    if (!t)
        return NULL;
    size_t places = topology->ndevices + (size_t)1;
    bool ok = true;
    *t = *topology;
    t->capacity = copied(topology->capacity, topology->nlinks, sizeof *t->capacity, &ok);
    t->users = copied(topology->users, topology->nlinks, sizeof *t->users, &ok);
    t->way = copied(topology->way, places * places, sizeof *t->way, &ok);
    t->on_way = copied(topology->on_way, topology->non_way, sizeof *t->on_way, &ok);
    t->links_room = t->users_room = topology->nlinks;
    t->on_way_room = topology->non_way;
    if (ok)
        return t;
    od_topology_destroy(t);
    return NULL;
}

void od_topology_destroy(od_topology *t)
{
    if (!t)
        return;
    free(t->capacity);
    free(t->users);
    free(t->way);
    free(t->on_way);
    free(t);
}

uint32_t od_topology_add_link(od_topology *t, double bandwidth)
{
    if (!od_array_reserve(&t->users, &t->users_room, (uint64_t)t->nlinks + 1, sizeof *t->users) ||
        !od_array_reserve(&t->capacity, &t->links_room, (uint64_t)t->nlinks + 1, sizeof *t->capacity))
        return UINT32_MAX;
    t->users[t->nlinks] = (od_link_users){OD_NO_PLACES, OD_NO_PLACES};
    t->capacity[t->nlinks] = bandwidth;
    return t->nlinks++;
}

static od_way *way_between(const od_topology *t, int from, int to)
{
    unsigned n = t->ndevices;
    unsigned row = from < OD_SPILL ? (unsigned)from : n, column = to < OD_SPILL ? (unsigned)to : n;
    return &t->way[row * (n + 1) + column];
}

/* Those of the way's links, where it leads from or to the host. */
static void note_users(od_topology *t, int from, int to, void (*change)(od_placeset *set, int64_t place))
{
    const od_way *way = way_between(t, from, to);
    for (uint32_t i = 0; i < way->nlinks; i++) {
        od_link_users *users = &t->users[t->on_way[way->first + i]];
        if (from >= OD_SPILL && to < OD_SPILL)
            change(&users->loads, to);
        if (to >= OD_SPILL && from < OD_SPILL)
            change(&users->stores, from);
    }
}

od_status od_topology_set_way(od_topology *t, int from, int to, od_link own, const uint32_t *links, uint32_t nlinks)
{
    if (!od_array_reserve(&t->on_way, &t->on_way_room, (uint64_t)t->non_way + nlinks, sizeof *t->on_way))
        return OD_ENOMEM;
    if (nlinks)
        memcpy(t->on_way + t->non_way, links, nlinks * sizeof *links);
    note_users(t, from, to, od_placeset_remove);
    *way_between(t, from, to) =
        (od_way){.latency = own.latency, .bandwidth = own.bandwidth, .first = t->non_way, .nlinks = nlinks};
    note_users(t, from, to, od_placeset_add);
    t->non_way += nlinks;
    return OD_OK;
}

const od_way *od_topology_way(const od_topology *t, int from, int to)
{
    return way_between(t, from, to);
}

double od_topology_alone(const od_topology *t, int from, int to)
{
    const od_way *way = way_between(t, from, to);
    double bandwidth = way->bandwidth;
    for (uint32_t i = 0; i < way->nlinks; i++)
        bandwidth = fmin(bandwidth, t->capacity[t->on_way[way->first + i]]);
    return bandwidth;
}

/* --- all ways at once ---------------------------------------------------------------------- */

/* Devices of the set that load from the host over the link, or that store over it: the larger number, at least one. */
static unsigned sharers(const od_topology *t, od_placeset devices, uint32_t link)
{
    unsigned loads = od_placeset_count(od_placeset_intersection(t->users[link].loads, devices));
    unsigned stores = od_placeset_count(od_placeset_intersection(t->users[link].stores, devices));
    unsigned more = loads > stores ? loads : stores;
    return more ? more : 1;
}

od_link od_topology_link_among(const od_topology *t, int from, int to, od_placeset devices)
{
    const od_way *way = way_between(t, from, to);
    od_link link = {.bandwidth = way->bandwidth, .latency = way->latency};
    for (uint32_t i = 0; i < way->nlinks; i++) {
        uint32_t l = t->on_way[way->first + i];
        link.bandwidth = fmin(link.bandwidth, t->capacity[l] / sharers(t, devices, l));
    }
    return link;
}

/* The part of each link that one of its sharers gets, bytes/s; NULL: out of memory. */
static double *parts_among(const od_topology *t, od_placeset devices)
{
    double *part = od_malloc((t->nlinks + (size_t)1) * sizeof *part);
    for (uint32_t l = 0; part && l < t->nlinks; l++)
        part[l] = t->capacity[l] / sharers(t, devices, l);
    return part;
}

void od_topology_links_among(const od_topology *t, unsigned n, od_placeset devices, od_link *links)
{
    double *part = parts_among(t, devices);
    for (unsigned at = 0; at < (n + 1) * (n + 1); at++) {
        unsigned from = at / (n + 1), to = at % (n + 1);
        const od_way *way = way_between(t, from < n ? (int)from : OD_HOST, to < n ? (int)to : OD_HOST);
        links[at] = (od_link){.bandwidth = way->bandwidth, .latency = way->latency};
        for (uint32_t i = way->first; i < way->first + way->nlinks; i++) {
            uint32_t l = t->on_way[i];
            links[at].bandwidth = fmin(links[at].bandwidth, part ? part[l] : t->capacity[l] / sharers(t, devices, l));
        }
    }
    free(part);
}

od_link od_topology_link(const od_topology *t, int from, int to, unsigned ndevices)
{
    unsigned n = ndevices < OD_MAX_DEVICES ? ndevices : OD_MAX_DEVICES;
    return od_topology_link_among(t, from, to, od_placeset_below(n));
}

/* What is left of a link, and who waits for a part of it. */
struct share {
    double left;         /* bytes/s that are not given yet */
    od_placeset devices; /* on the way to them */
};

/* The link whose equal parts are the smallest. */
static struct share *bottleneck(struct share *shares, size_t count, od_placeset waiting)
{
    struct share *tightest = NULL;
    double least = (double)INFINITY;
    for (size_t i = 0; i < count; i++) {
        unsigned users = od_placeset_count(od_placeset_intersection(shares[i].devices, waiting));
        if (users && shares[i].left / users < least) {
            least = shares[i].left / users;
            tightest = &shares[i];
        }
    }
    return tightest;
}

/* Progressive filling: who uses the tightest link gets its part of that, the rest is for the others. */
static double fill(struct share *shares, size_t count, od_placeset waiting)
{
    double total = 0;
    for (struct share *tightest; (tightest = bottleneck(shares, count, waiting));) {
        od_placeset served = od_placeset_intersection(tightest->devices, waiting);
        double part = tightest->left / od_placeset_count(served);
        total += part * od_placeset_count(served);
        for (size_t i = 0; i < count; i++)
            shares[i].left -= part * od_placeset_count(od_placeset_intersection(shares[i].devices, served));
        waiting = od_placeset_minus(waiting, served);
    }
    return total;
}

/* Bandwidth from a place into these devices together, all ways used at once. */
static double outbound(const od_topology *t, int from, od_placeset devices)
{
    uint32_t *share_of = od_calloc(t->nlinks + (size_t)1, sizeof *share_of); /* by link: its place in shares plus one */
    struct share *shares = NULL;
    uint32_t count = 0, room = 0;
    bool failed = !share_of;
    for (od_placeset_walk at = od_placeset_begin(devices); !failed && od_placeset_next(&at);) {
        const od_way *way = way_between(t, from, (int)at.place);
        for (uint32_t i = way->first; !failed && i < way->first + way->nlinks; i++) {
            uint32_t link = t->on_way[i];
            failed = !od_array_reserve(&shares, &room, (uint64_t)count + 1, sizeof *shares);
            if (!failed && !share_of[link]) {
                shares[count] = (struct share){.left = t->capacity[link]};
                share_of[link] = ++count;
            }
            if (!failed)
                od_placeset_add(&shares[share_of[link] - 1].devices, at.place);
        }
    }
    double total = failed ? 0 : fill(shares, count, devices);
    free(share_of);
    free(shares);
    return total;
}

double od_topology_inbound(const od_topology *t, unsigned ndevices)
{
    return outbound(t, OD_HOST, od_placeset_below(ndevices));
}

/* What one copy gets of the links that it shares, alone; 0: it shares none. */
static double alone_on(const od_topology *t, const od_way *way)
{
    double least = way->nlinks ? (double)INFINITY : 0;
    for (uint32_t i = 0; i < way->nlinks; i++)
        least = fmin(least, t->capacity[t->on_way[way->first + i]]);
    return least;
}

/* Of these devices those on its node. */
static od_placeset on_node_of(const od_topology *t, unsigned device, od_placeset devices)
{
    od_placeset found = OD_NO_PLACES;
    for (od_placeset_walk at = od_placeset_begin(devices); od_placeset_next(&at);)
        if (t->node[at.place] == t->node[device])
            od_placeset_add(&found, at.place);
    return found;
}

unsigned od_topology_fan(const od_topology *t, unsigned from, od_placeset devices)
{
    static const double about = 0.9;
    double alone = 0;
    od_placeset others = od_placeset_without(on_node_of(t, from, devices), from);
    for (od_placeset_walk at = od_placeset_begin(others); od_placeset_next(&at);)
        alone = fmax(alone, alone_on(t, way_between(t, (int)from, (int)at.place)));
    double all = outbound(t, (int)from, others);
    return all > alone && alone > 0 ? (unsigned)(all / alone / about) : 1;
}

static bool uses(const od_topology *t, const od_way *way, uint32_t link)
{
    for (uint32_t i = 0; i < way->nlinks; i++)
        if (t->on_way[way->first + i] == link)
            return true;
    return false;
}

/* By the links that the ways from one device of another node to all of these have in common. */
unsigned od_topology_card_loads(const od_topology *t, unsigned to, od_placeset devices)
{
    static const double about = 0.9;
    od_placeset there = on_node_of(t, to, devices), far = od_placeset_minus(devices, there);
    int from = od_placeset_is_empty(far) ? OD_NOWHERE : (int)od_placeset_first(far);
    double alone = from == OD_NOWHERE ? 0 : od_topology_alone(t, from, (int)to), times = (double)INFINITY;
    const od_way *way = alone > 0 ? way_between(t, from, (int)to) : NULL;
    for (uint32_t i = 0; way && i < way->nlinks; i++) {
        uint32_t link = t->on_way[way->first + i];
        bool common = true;
        for (od_placeset_walk at = od_placeset_begin(there); od_placeset_next(&at);)
            common &= uses(t, way_between(t, from, (int)at.place), link);
        if (common)
            times = fmin(times, t->capacity[link] / alone);
    }
    return times < od_placeset_count(devices) ? (unsigned)(times / about) + 1 : UINT_MAX;
}
