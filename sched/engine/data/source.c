/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Where the contents of a datum come from that a place is to get. */
#include "sched/engine/internal.h"

static int fastest_to_host(const od_engine *e, const od_datum *d)
{
    int best = OD_NOWHERE;
    for (od_placeset_walk at = od_placeset_begin(od_engine_senders(e, d)); od_placeset_next(&at);) {
        int k = (int)at.place;
        if (d->replica[k].state != OD_PRESENT)
            continue;
        if (best == OD_NOWHERE ||
            od_engine_link(e, k, OD_HOST)->bandwidth > od_engine_link(e, best, OD_HOST)->bandwidth)
            best = k;
    }
    return best;
}

static int fastest_to_device(const od_engine *e, const od_datum *d, unsigned to)
{
    const od_source_level *level = od_sources_of(&e->sources, to);
    od_placeset senders = od_engine_senders(e, d);
    for (unsigned l = 0; l < e->sources.nlevels[to]; l++) {
        od_placeset_walk at = od_placeset_begin(od_placeset_intersection(level[l].from, senders));
        while (od_placeset_next(&at))
            if (d->replica[at.place].state == OD_PRESENT)
                return (int)at.place;
    }
    return OD_NOWHERE;
}

int od_source_device(const od_engine *e, const od_datum *d, int to)
{
    return to < OD_SPILL ? fastest_to_device(e, d, (unsigned)to) : fastest_to_host(e, d);
}

static const double clearly = 1.5; /* links are measured, and measurements differ */

/* A peer only where its link is clearly faster, or where the host's copy is stale. */
static int complete_source(const od_engine *e, const od_datum *d, unsigned k)
{
    int host = od_placeset_has(d->valid, OD_HOST)    ? OD_HOST
               : od_placeset_has(d->valid, OD_SPILL) ? OD_SPILL
                                                     : OD_NOWHERE;
    int peer = e->config.peer || host == OD_NOWHERE ? od_source_device(e, d, (int)k) : OD_NOWHERE;
    if (host == OD_NOWHERE || peer == OD_NOWHERE)
        return peer == OD_NOWHERE ? host : peer;
    double host_bandwidth = od_engine_link(e, OD_HOST, (int)k)->bandwidth;
    return od_engine_link(e, peer, (int)k)->bandwidth > clearly * host_bandwidth ? peer : host;
}

/* A peer that can send it clearly faster than the source is about to have it: what crosses a slow link once, the host's
 * or a network, goes on from there. */
static bool comes_to_a_peer(const od_engine *e, const od_datum *d, int source, unsigned k)
{
    double bandwidth = od_engine_link(e, source, (int)k)->bandwidth;
    od_placeset peers = e->config.peer ? od_placeset_minus(d->holding, e->lost) : OD_NO_PLACES;
    for (od_placeset_walk at = od_placeset_begin(od_placeset_without(peers, k)); od_placeset_next(&at);) {
        const od_replica *r = &d->replica[at.place];
        if (r->state == OD_LOADING && !r->awaits_source &&
            od_engine_link(e, (int)at.place, (int)k)->bandwidth > clearly * bandwidth)
            return true;
    }
    return false;
}

/* Nodes that are sending it to others: so many of their devices as may have it, they have one network card. */
static od_placeset sending_nodes(const od_engine *e, const od_datum *d)
{
    const od_topology *topology = e->config.topology;
    od_placeset nodes = OD_NO_PLACES;
    od_placeset senders = topology && topology->nnodes > 1 ? od_engine_senders(e, d) : OD_NO_PLACES;
    for (od_placeset_walk at = od_placeset_begin(senders); od_placeset_next(&at);)
        if (d->replica[at.place].far_sends)
            od_placeset_add(&nodes, topology->node[at.place]);
    return nodes;
}

/* That of the device's node takes no more loads now (card.c). */
static bool card_is_busy(const od_engine *e, unsigned k)
{
    unsigned node = e->config.topology->node[k];
    return e->far_loads[node] >= e->card_loads[node];
}

/* Loads under way from device j, of the datum to its own node, or of all data from its node's card. */
static unsigned sends_of(const od_engine *e, const od_datum *d, int j, unsigned k)
{
    return od_engine_is_far(e, j, (int)k) ? e->far_sends[e->config.topology->node[j]] : d->replica[j].sends;
}

/* Where several devices are to have it, one that has got it sends it on while the first one still sends: a tree of
 * copies instead of a star. OD_NOWHERE: each that has it, and whose link is about as fast, sends as many as it can at
 * once. */
static int least_busy(const od_engine *e, const od_datum *d, int peer, unsigned k)
{
    double bandwidth = od_engine_link(e, peer, (int)k)->bandwidth;
    od_placeset sending = sending_nodes(e, d);
    bool far = od_engine_is_far(e, peer, (int)k);
    int best = OD_NOWHERE;
    if (far && card_is_busy(e, k))
        return OD_NOWHERE;
    for (od_placeset_walk at = od_placeset_begin(od_engine_senders(e, d)); od_placeset_next(&at);) {
        int j = (int)at.place;
        bool busy = far ? od_placeset_has(sending, e->config.topology->node[j]) : d->replica[j].sends >= e->fan[j];
        bool slower = !far && bandwidth > clearly * od_engine_link(e, j, (int)k)->bandwidth;
        if (d->replica[j].state != OD_PRESENT || busy || slower || od_engine_is_far(e, j, (int)k) != far)
            continue;
        if (best == OD_NOWHERE || sends_of(e, d, j, k) < sends_of(e, d, best, k))
            best = j;
    }
    return best;
}

int od_source_of_load(const od_engine *e, const od_datum *d, unsigned k)
{
    int source = complete_source(e, d, k);
    if (source == OD_NOWHERE || comes_to_a_peer(e, d, source >= OD_SPILL ? OD_HOST : source, k))
        return OD_NOWHERE;
    return source >= OD_SPILL ? source : least_busy(e, d, source, k);
}
