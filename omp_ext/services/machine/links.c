/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Measures links. See links.h.
 *
 * Back-ends that know their pairs of devices are measured device by device and pair by pair, those that have devices on
 * several nodes node by node, others once for all. A slow link is measured with fewer bytes: seconds are a matter of
 * how many links there are, not of how slow they are.
 */
#define _GNU_SOURCE /* gethostname */
#include "omp_ext/services/machine/links.h"

#include "memmgr/device/measured.h"
#include "omp_ext/services/machine/nodes.h"
#include "omp_ext/services/profile.h"
#include "util/clock.h"
#include "util/log.h"
#include "util/memory.h"
#include "util/thread.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SMALL = 64, SMALL_COPIES = 16, LARGE = 8 << 20, LARGE_COPIES = 4, MOST_AT_ONCE = OD_MAX_DEVICES };
enum { LEAST = 512 << 10, LONG_ENOUGH_NS = 4000000 }; /* bytes of a large copy; what such a copy takes on a slow link */

typedef struct meter {
    od_backend *backend;
    od_rates *rates;
    od_nodes *nodes; /* of several nodes, else NULL */
    char *buffer; /* of `bytes` for each device */
    size_t bytes; /* of a large copy, at most */
    bool failed;
} meter;

typedef struct ends {
    od_backend *backend;
    int to, from;
    void *to_address;
    const void *from_address;
    size_t bytes;
} ends;

static unsigned host_of(const meter *m)
{
    return m->rates->ndevices;
}

/* The first half of a pool takes, the second gives. */
static void *address_of(const meter *m, unsigned place, unsigned other, bool gives)
{
    if (place == host_of(m))
        return m->buffer + other * m->bytes;
    return (char *)m->backend->pool_address[place] + (gives ? m->bytes : 0);
}

static ends ends_of(const meter *m, unsigned from, unsigned to)
{
    unsigned host = host_of(m);
    return (ends){.backend = m->backend,
                  .to = to == host ? OD_HOST : (int)to,
                  .from = from == host ? OD_HOST : (int)from,
                  .to_address = address_of(m, to, from, false),
                  .from_address = address_of(m, from, to, true),
                  .bytes = m->bytes};
}

static bool copy(const ends *x, size_t bytes)
{
    const od_backend *b = x->backend;
    return b->ops->copy(b->state, x->to, x->to_address, x->from, x->from_address, bytes) == OD_OK;
}

static double seconds_since(uint64_t start)
{
    return (double)(od_clock_ns() - start) / (double)OD_NS_PER_S;
}

/* --- alone -------------------------------------------------------------------- */

/* The shortest of some copies, seconds; below 0: one failed. */
static double time_copies(const ends *x, size_t bytes, int copies)
{
    double best = INFINITY;
    for (int i = 0; i < copies; i++) {
        uint64_t start = od_clock_ns();
        if (!copy(x, bytes))
            return -1;
        best = fmin(best, seconds_since(start));
    }
    return best;
}

/* Of a copy over a link that moves `bandwidth` bytes/s. */
static size_t enough_bytes(double bandwidth, size_t most)
{
    double bytes = fmax(bandwidth * LONG_ENOUGH_NS / (double)OD_NS_PER_S, LEAST);
    return bytes < (double)most ? (size_t)bytes & ~(size_t)(SMALL - 1) : most;
}

static bool measure(ends *x, const char *name, od_link *link)
{
    double latency = time_copies(x, SMALL, SMALL_COPIES);
    if (latency > 0 && x->bytes > LEAST)
        x->bytes = enough_bytes(LEAST / time_copies(x, LEAST, 1), x->bytes);
    double total = time_copies(x, x->bytes, LARGE_COPIES);
    if (latency <= 0 || total <= 0)
        return false;
    if (total <= latency) /* something disturbed the small ones */
        latency = 0;
    *link = (od_link){.latency = latency, .bandwidth = (double)x->bytes / (total - latency)};
    od_profile_put_link(name, OD_LINK_LATENCY, link->latency);
    od_profile_put_link(name, OD_LINK_BANDWIDTH, link->bandwidth);
    od_log(OD_LOG_INFO, "profile", "link %s: latency %.2g s, bandwidth %.3g bytes/s (measured)", name, link->latency,
           link->bandwidth);
    return true;
}

static void find_link(meter *m, unsigned from, unsigned to, const char *name)
{
    od_link *link = &m->rates->alone[from][to];
    *link = (od_link){.latency = od_profile_find_link(name, OD_LINK_LATENCY),
                      .bandwidth = od_profile_find_link(name, OD_LINK_BANDWIDTH)};
    ends x = ends_of(m, from, to);
    if (link->bandwidth <= 0)
        m->failed |= !measure(&x, name, link);
}

/* --- at once ------------------------------------------------------------------- */

/* One of several that copy until the same moment. */
typedef struct stream {
    ends ends;
    uint64_t until_ns;
    double rate; /* bytes/s; 0: it failed */
    pthread_t thread;
} stream;

static void *run_stream(void *arg)
{
    enum { LEAST_COPIES = 2 };
    stream *s = arg;
    uint64_t start = od_clock_ns();
    unsigned copies = 0;
    do {
        if (!copy(&s->ends, s->ends.bytes))
            return NULL;
        copies++;
    } while (copies < LEAST_COPIES || od_clock_ns() < s->until_ns);
    s->rate = copies * (double)s->ends.bytes / seconds_since(start);
    return NULL;
}

/* What they reach together; 0: one failed, or there is no thread for it. */
static double run_streams(stream *streams, unsigned count)
{
    unsigned started = 0;
    double sum = 0;
    for (unsigned i = 0; i < count; i++)
        streams[i].until_ns = od_clock_ns() + LONG_ENOUGH_NS;
    while (started < count && !od_thread_start(&streams[started].thread, "od-links", run_stream, &streams[started]))
        started++;
    bool all = started == count;
    for (unsigned i = 0; i < started; i++) {
        pthread_join(streams[i].thread, NULL);
        all &= streams[i].rate > 0;
        sum += streams[i].rate;
    }
    return all ? sum : 0;
}

/* Twice, for a disturbance shows as a link that is shared. */
static double find_together(meter *m, const char *name, stream *streams, unsigned count)
{
    double known = od_profile_find_link(name, OD_LINK_BANDWIDTH);
    if (known > 0 || m->failed)
        return known;
    double rate = run_streams(streams, count);
    rate = fmax(rate, run_streams(streams, count));
    m->failed |= rate <= 0;
    od_profile_put_link(name, OD_LINK_BANDWIDTH, rate);
    od_log(OD_LOG_INFO, "profile", "link %s: %.3g bytes/s together, measured", name, rate);
    return rate;
}

static stream stream_of(const meter *m, unsigned from, unsigned to)
{
    stream s = {.ends = ends_of(m, from, to)};
    s.ends.bytes = enough_bytes(m->rates->alone[from][to].bandwidth, m->bytes);
    return s;
}

/* These devices, from the host or to it. Where it is not known what one reaches alone, it is like the first. */
static double find_several(meter *m, const char *name, const unsigned *devices, unsigned count, bool in)
{
    stream streams[MOST_AT_ONCE];
    unsigned host = host_of(m);
    for (unsigned i = 0; i < count; i++) {
        unsigned from = in ? host : devices[i], to = in ? devices[i] : host;
        streams[i] = stream_of(m, from, to);
        if (m->rates->alone[from][to].bandwidth <= 0)
            streams[i].ends.bytes = streams[0].ends.bytes;
    }
    return find_together(m, name, streams, count);
}

static double find_all(meter *m, const char *name, bool in)
{
    unsigned devices[MOST_AT_ONCE], n = m->rates->ndevices;
    for (unsigned k = 0; k < n; k++)
        devices[k] = k;
    return find_several(m, name, devices, n, in);
}

/* --- devices by themselves ------------------------------------------------------- */

static void find_each_alone(meter *m, const char *backend)
{
    char name[64];
    unsigned n = m->rates->ndevices;
    for (unsigned from = 0; from < n && !m->failed; from++) {
        snprintf(name, sizeof name, "%s between host and %u", backend, from);
        find_link(m, n, from, name);
        snprintf(name, sizeof name, "%s from %u to host", backend, from);
        find_link(m, from, n, name);
        for (unsigned to = 0; to < n && !m->failed; to++) {
            snprintf(name, sizeof name, "%s from %u to %u", backend, from, to);
            if (from != to && m->backend->ops->is_peer(m->backend->state, from, to))
                find_link(m, from, to, name);
        }
    }
}

static void find_pair(meter *m, const char *backend, unsigned a, unsigned b)
{
    char name[64];
    unsigned n = m->rates->ndevices;
    snprintf(name, sizeof name, "%s at once host to %u and %u", backend, a, b);
    m->rates->in[a][b] = m->rates->in[b][a] =
        find_together(m, name, (stream[]){stream_of(m, n, a), stream_of(m, n, b)}, 2);
    snprintf(name, sizeof name, "%s at once %u and %u to host", backend, a, b);
    m->rates->out[a][b] = m->rates->out[b][a] =
        find_together(m, name, (stream[]){stream_of(m, a, n), stream_of(m, b, n)}, 2);
}

static void find_peer(meter *m, const char *backend, unsigned from, unsigned to)
{
    char name[64];
    if (m->rates->alone[from][to].bandwidth <= 0)
        return;
    snprintf(name, sizeof name, "%s at once host and %u to %u", backend, from, to);
    m->rates->peer[from][to] =
        find_together(m, name, (stream[]){stream_of(m, host_of(m), to), stream_of(m, from, to)}, 2);
}

static void find_each_at_once(meter *m, const char *backend)
{
    char name[64];
    unsigned n = m->rates->ndevices;
    for (unsigned a = 0; a < n && !m->failed; a++) {
        snprintf(name, sizeof name, "%s at once host and %u both ways", backend, a);
        m->rates->in[a][a] = find_together(m, name, (stream[]){stream_of(m, n, a), stream_of(m, a, n)}, 2);
        for (unsigned b = 0; b < n && !m->failed; b++) {
            if (b > a)
                find_pair(m, backend, a, b);
            if (b != a)
                find_peer(m, backend, a, b);
        }
    }
    snprintf(name, sizeof name, "%s at once host to all %u", backend, n);
    m->rates->all_in = find_all(m, name, true);
    snprintf(name, sizeof name, "%s at once all %u to host", backend, n);
    m->rates->all_out = find_all(m, name, false);
}

/* --- one for all ----------------------------------------------------------------- */

static void find_alone_for_all(meter *m)
{
    unsigned n = m->rates->ndevices;
    find_link(m, n, 0, "between host and device");
    if (n > 1 && !m->failed && m->backend->ops->peer)
        find_link(m, 0, 1, "between devices");
    for (unsigned k = 0; k < n; k++) {
        m->rates->alone[n][k] = m->rates->alone[k][n] = m->rates->alone[n][0];
        for (unsigned to = 0; n > 1 && to < n; to++)
            if (to != k)
                m->rates->alone[k][to] = m->backend->ops->peer ? m->rates->alone[0][1] : m->rates->alone[n][0];
    }
}

static void find_at_once_for_all(meter *m)
{
    char name[64];
    unsigned n = m->rates->ndevices;
    double both =
        find_together(m, "at once host and device both ways", (stream[]){stream_of(m, n, 0), stream_of(m, 0, n)}, 2);
    snprintf(name, sizeof name, "at once host to all %u", n);
    m->rates->all_in = m->rates->all_out = find_all(m, name, true);
    double two =
        n < 2 ? 0
              : find_together(m, "at once host to two devices", (stream[]){stream_of(m, n, 0), stream_of(m, n, 1)}, 2);
    double peer = n < 2 || !m->backend->ops->peer
                      ? 0
                      : find_together(m, "at once host and device to device",
                                      (stream[]){stream_of(m, n, 1), stream_of(m, 0, 1)}, 2);
    for (unsigned a = 0; a < n; a++)
        for (unsigned b = 0; b < n; b++) {
            m->rates->in[a][b] = a == b ? both : two;
            m->rates->out[a][b] = two;
            m->rates->peer[a][b] = peer;
        }
}

/* --- nodes -------------------------------------------------------------------------- */

enum { HOST_NAME = 64 };

/* Which device is on which node, by the names of their hosts. */
static void find_nodes(const od_backend *backend, od_nodes *nodes)
{
    char here[HOST_NAME] = "", names[OD_MAX_DEVICES][HOST_NAME];
    gethostname(here, sizeof here - 1);
    *nodes = (od_nodes){.ndevices = backend->ndevices};
    for (unsigned k = 0; k < backend->ndevices; k++) {
        unsigned node = 0, last = nodes->nnodes;
        unsigned rank = backend->ops->rank_of(backend->state, k, names[last], sizeof names[last]);
        while (node < last && strcmp(names[node], names[last]) != 0)
            node++;
        nodes->node[k] = node;
        if (node == last)
            nodes->of[nodes->nnodes++].rank = rank;
        nodes->of[node].is_home = strcmp(names[node], here) == 0;
    }
}

/* Node i's devices, `most` at most. */
static unsigned devices_of(const od_nodes *nodes, unsigned node, unsigned *devices, unsigned most)
{
    unsigned count = 0;
    for (unsigned k = 0; k < nodes->ndevices && count < most; k++)
        if (nodes->node[k] == node)
            devices[count++] = k;
    return count;
}

/* 0 for one, which is alone, or none. */
static double find_if_several(meter *m, const char *name, const unsigned *devices, unsigned count, bool in)
{
    return count > 1 ? find_several(m, name, devices, count, in) : 0;
}

static void find_node(meter *m, const char *backend, unsigned node)
{
    char name[64];
    unsigned devices[MOST_AT_ONCE] = {0}, host = host_of(m), count = devices_of(m->nodes, node, devices, MOST_AT_ONCE);
    od_node_rates *r = &m->nodes->of[node];
    snprintf(name, sizeof name, "%s host to rank %u", backend, r->rank);
    find_link(m, host, devices[0], name);
    snprintf(name, sizeof name, "%s rank %u to host", backend, r->rank);
    find_link(m, devices[0], host, name);
    snprintf(name, sizeof name, "%s within rank %u", backend, r->rank);
    if (count > 1)
        find_link(m, devices[0], devices[1], name);
    snprintf(name, sizeof name, "%s host to rank %u at once", backend, r->rank);
    r->all_in = find_if_several(m, name, devices, count, true);
    snprintf(name, sizeof name, "%s rank %u to host at once", backend, r->rank);
    r->all_out = find_if_several(m, name, devices, count, false);
    r->in = m->rates->alone[host][devices[0]];
    r->out = m->rates->alone[devices[0]][host];
    r->within = count > 1 ? m->rates->alone[devices[0]][devices[1]] : r->in;
}

/* From each node to the next one. Those between others are taken for equal to the slowest of these. */
static void find_between(meter *m, const char *backend, const unsigned *first)
{
    char name[64];
    od_nodes *nodes = m->nodes;
    for (unsigned a = 0; a + 1 < nodes->nnodes && !m->failed; a++) {
        snprintf(name, sizeof name, "%s rank %u to rank %u", backend, nodes->of[a].rank, nodes->of[a + 1].rank);
        find_link(m, first[a], first[a + 1], name);
        const od_link *link = &m->rates->alone[first[a]][first[a + 1]];
        if (a == 0 || link->bandwidth < nodes->between.bandwidth)
            nodes->between = *link;
    }
}

static void find_each_node(meter *m, const char *backend)
{
    char name[64];
    unsigned first[MOST_AT_ONCE], others[MOST_AT_ONCE], count = 0;
    for (unsigned node = 0; node < m->nodes->nnodes && !m->failed; node++) {
        devices_of(m->nodes, node, &first[node], 1);
        find_node(m, backend, node);
        if (!m->nodes->of[node].is_home)
            others[count++] = first[node];
    }
    find_between(m, backend, first);
    snprintf(name, sizeof name, "%s host to %u nodes at once", backend, count);
    m->nodes->others_in = find_if_several(m, name, others, count, true);
    snprintf(name, sizeof name, "%s %u nodes to host at once", backend, count);
    m->nodes->others_out = find_if_several(m, name, others, count, false);
}

/* --- all of it --------------------------------------------------------------------- */

static void report_odd(const meter *m)
{
    unsigned n = m->rates->ndevices;
    char source[16], target[16];
    for (unsigned from = 0; from <= n; from++)
        for (unsigned to = 0; to <= n; to++) {
            if (!od_rates_are_odd(m->rates, from, to))
                continue;
            snprintf(source, sizeof source, from == n ? "the host" : "device %u", from);
            snprintf(target, sizeof target, to == n ? "the host" : "device %u", to);
            od_log(OD_LOG_WARNING, "profile",
                   "the link from %s to %s, %.3g bytes/s, is over 10 times slower than others of its kind; if its "
                   "measurement was disturbed, `ompdarts history clear link` has it measured again",
                   source, target, m->rates->alone[from][to].bandwidth);
        }
}

static const od_link pcie = {.bandwidth = 12e9, .latency = 1e-6};

static void assume(od_rates *rates)
{
    unsigned n = rates->ndevices;
    memset(rates, 0, sizeof *rates);
    rates->ndevices = n;
    for (unsigned from = 0; from <= n; from++)
        for (unsigned to = 0; to <= n; to++)
            rates->alone[from][to] = pcie;
}

/* The network is as fast as that. */
static void assume_nodes(od_nodes *nodes)
{
    nodes->between = pcie;
    for (unsigned node = 0; node < nodes->nnodes; node++) {
        od_node_rates *r = &nodes->of[node];
        *r = (od_node_rates){.rank = r->rank, .is_home = r->is_home, .in = pcie, .out = pcie, .within = pcie};
    }
}

static void measure_all(meter *m)
{
    const od_backend_ops *ops = m->backend->ops;
    char devices[32];
    for (unsigned k = 0; k < m->rates->ndevices; k++)
        m->failed |= od_backend_commit(m->backend, k, 0, 2 * m->bytes) != OD_OK;
    snprintf(devices, sizeof devices, "%s %08x", ops->name, ops->identity ? ops->identity(m->backend->state) : 0);
    if (m->failed)
        return;
    if (m->nodes) {
        find_each_node(m, devices);
    } else if (ops->is_peer) {
        find_each_alone(m, devices);
        if (!m->failed)
            find_each_at_once(m, devices);
    } else {
        find_alone_for_all(m);
        if (!m->failed)
            find_at_once_for_all(m);
    }
}

/* What lies there next is something else. */
static void let_go(const meter *m, size_t bytes)
{
    od_backend *backend = m->backend;
    if (backend->ops->release_host) {
        backend->ops->release_host(backend->state, (uintptr_t)m->buffer, bytes);
        backend->ops->reclaim(backend->state);
    }
}

/* In the program's own memory, which the back-end may pin. False: there is none. */
static bool measure_in_pages(meter *m, size_t bytes)
{
    m->buffer = od_malloc(bytes);
    if (!m->buffer)
        return false;
    memset(m->buffer, 1, bytes); /* touched pages, not the one of zeros */
    measure_all(m);
    let_go(m, bytes);
    free(m->buffer);
    return true;
}

/* False: nothing can be measured. */
static bool find_rates(od_backend *backend, od_rates *rates, od_nodes *nodes)
{
    size_t half = backend->pool_bytes[0] / 2, bytes = half < LARGE ? half : LARGE;
    meter m = {.backend = backend, .rates = rates, .nodes = nodes, .bytes = bytes & ~(size_t)(SMALL - 1)};
    if (!od_profile_is_on() || m.bytes <= 2 * SMALL)
        return false;
    bytes = rates->ndevices * m.bytes;
    m.buffer = backend->ops->host_alloc ? backend->ops->host_alloc(backend->state, bytes) : NULL;
    if (m.buffer) {
        measure_all(&m);
        let_go(&m, bytes);
        backend->ops->host_free(backend->state, m.buffer);
    } else if (!measure_in_pages(&m, bytes)) {
        return false;
    }
    if (!m.failed)
        report_odd(&m);
    return !m.failed;
}

static od_topology *find(od_backend *backend, bool measure_them, od_rates *rates, od_nodes *nodes)
{
    rates->ndevices = backend->ndevices;
    if (nodes)
        find_nodes(backend, nodes);
    if (!measure_them || !find_rates(backend, rates, nodes)) {
        assume(rates);
        if (nodes)
            assume_nodes(nodes);
        od_log(OD_LOG_INFO, "profile", "the links are not measured: each %s is taken for one of 12 GB/s of its own",
               nodes ? "node's" : "device's");
    }
    return nodes ? od_topology_nodes(nodes) : od_topology_measured(rates);
}

od_topology *od_links_find(od_backend *backend, bool measure_them)
{
    if (backend->shared_link > 0)
        return od_topology_bus(backend->ndevices, backend->shared_link);
    bool has_nodes = backend->ops->rank_of != NULL;
    od_rates *rates = od_calloc(1, sizeof *rates);
    od_nodes *nodes = has_nodes ? od_calloc(1, sizeof *nodes) : NULL;
    od_topology *topology = rates && (nodes || !has_nodes) ? find(backend, measure_them, rates, nodes) : NULL;
    free(rates);
    free(nodes);
    return topology;
}
