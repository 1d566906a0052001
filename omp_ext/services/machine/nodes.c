/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* See nodes.h. */
#include "omp_ext/services/machine/nodes.h"

#include <math.h>
#include <string.h>

enum { IN, OUT, DIRECTIONS };

typedef struct maker {
    const od_nodes *nodes;
    od_topology *topology;
    uint32_t link[DIRECTIONS][OD_MAX_DEVICES]; /* of each node: its devices' ways from and to the program's memory */
    uint32_t home[DIRECTIONS];                 /* into the home node and out of it, where there are others */
    bool failed;
} maker;

static void add_link(maker *m, uint32_t *link, double bandwidth)
{
    *link = od_topology_add_link(m->topology, bandwidth);
    m->failed |= *link == UINT32_MAX;
}

static void add_links(maker *m)
{
    const od_nodes *n = m->nodes;
    double most_in = n->others_in, most_out = n->others_out;
    for (unsigned i = 0; i < n->nnodes; i++) {
        const od_node_rates *r = &n->of[i];
        add_link(m, &m->link[IN][i], fmax(r->in.bandwidth, r->all_in));
        add_link(m, &m->link[OUT][i], fmax(r->out.bandwidth, r->all_out));
        most_in = r->is_home ? most_in : fmax(most_in, r->in.bandwidth);
        most_out = r->is_home ? most_out : fmax(most_out, r->out.bandwidth);
    }
    if (most_in > 0)
        add_link(m, &m->home[OUT], most_in);
    if (most_out > 0)
        add_link(m, &m->home[IN], most_out);
}

static void set_way(maker *m, int from, int to, od_link own, const uint32_t *links, uint32_t count)
{
    m->failed |= od_topology_set_way(m->topology, from, to, own, links, count) != OD_OK;
}

static void set_host_ways(maker *m, unsigned k)
{
    unsigned node = m->nodes->node[k];
    const od_node_rates *r = &m->nodes->of[node];
    const uint32_t in[] = {m->link[IN][node], m->home[OUT]}, out[] = {m->link[OUT][node], m->home[IN]};
    set_way(m, OD_HOST, (int)k, r->in, in, r->is_home ? 1 : 2);
    set_way(m, (int)k, OD_HOST, r->out, out, r->is_home ? 1 : 2);
}

static void set_peer_way(maker *m, unsigned from, unsigned to)
{
    const od_nodes *n = m->nodes;
    unsigned a = n->node[from], b = n->node[to];
    const uint32_t links[] = {n->of[a].is_home ? m->home[OUT] : m->link[OUT][a],
                              n->of[b].is_home ? m->home[IN] : m->link[IN][b]};
    if (a == b)
        set_way(m, (int)from, (int)to, n->of[a].within, NULL, 0);
    else
        set_way(m, (int)from, (int)to, n->between, links, 2);
}

od_topology *od_topology_nodes(const od_nodes *nodes)
{
    maker m = {.nodes = nodes, .topology = od_topology_create(nodes->ndevices)};
    if (!m.topology)
        return NULL;
    m.topology->nnodes = nodes->nnodes;
    memcpy(m.topology->node, nodes->node, sizeof m.topology->node);
    add_links(&m);
    for (unsigned k = 0; k < nodes->ndevices && !m.failed; k++) {
        set_host_ways(&m, k);
        for (unsigned to = 0; to < nodes->ndevices; to++)
            if (to != k)
                set_peer_way(&m, k, to);
    }
    if (!m.failed)
        return m.topology;
    od_topology_destroy(m.topology);
    return NULL;
}
