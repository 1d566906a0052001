/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* See nodes.h. */
#include "sim/nodes.h"
#include "sim/graph/graph.h"

#include <simgrid/link.h>
#include <stdlib.h>
#include <xbt/dynar.h>

const sim_nodes sim_one_node = {.count = 1, .card = 50e9, .latency = 2e-6};

typedef struct writer {
    const sim_node_model *node;
    FILE *file;
    unsigned number; /* of the node that is being written */
} writer;

/* --- a node's own ways --------------------------------------------------------------------- */

static void write_property(const writer *w, sg_host_t host, const char *name)
{
    const char *value = sg_host_get_property_value(host, name);
    if (value)
        fprintf(w->file, "<prop id=\"%s\" value=\"%s\"/>", name, value);
}

static void write_hosts(const writer *w)
{
    static const char *const of_memory[] = {"kernels", "peak", "peer", "slots", "cores", "core-kernels", "core-peak"};
    unsigned n = w->node->ndevices;
    if (w->number == 0) {
        fputs("<host id=\"ram\" speed=\"1Gf\">", w->file);
        for (size_t i = 0; i < sizeof of_memory / sizeof *of_memory; i++)
            write_property(w, w->node->memory, of_memory[i]);
        fputs("</host>\n", w->file);
    }
    for (unsigned k = 0; k < n; k++) {
        fprintf(w->file, "<host id=\"gpu%u\" speed=\"%.17gf\">", w->number * n + k,
                sg_host_get_speed(w->node->device[k]));
        write_property(w, w->node->device[k], "times");
        fputs("</host>\n", w->file);
    }
    fprintf(w->file, "<router id=\"gate%u\"/>\n", w->number);
}

static void write_link(const writer *w, const char *name, double bandwidth, double latency, bool shared)
{
    fprintf(w->file, "<link id=\"n%u-%s\" bandwidth=\"%.17gBps\" latency=\"%.17gs\" sharing_policy=\"%s\"/>\n",
            w->number, name, bandwidth, latency, shared ? "SHARED" : "FATPIPE");
}

/* Written once for each node. */
static void mark(const writer *w, sg_link_t link)
{
    if (sg_link_get_data(link) == (void *)w)
        return;
    sg_link_set_data(link, (void *)w);
    write_link(w, sg_link_get_name(link), sg_link_get_bandwidth(link), sg_link_get_latency(link),
               sg_link_is_shared(link));
}

/* The links of the way from one host to another: all that have not been written yet, or their names. */
static void write_way(const writer *w, sg_host_t from, sg_host_t to, bool names)
{
    xbt_dynar_t links = xbt_dynar_new(sizeof(sg_link_t), NULL);
    sg_host_get_route(from, to, links);
    for (unsigned i = 0; i < xbt_dynar_length(links); i++) {
        sg_link_t link = xbt_dynar_get_as(links, i, sg_link_t);
        if (names)
            fprintf(w->file, "<link_ctn id=\"n%u-%s\"/>", w->number, sg_link_get_name(link));
        else
            mark(w, link);
    }
    xbt_dynar_free(&links);
}

static void write_route(const writer *w, const char *from, const char *to, sg_host_t source, sg_host_t target)
{
    fprintf(w->file, "<route src=\"%s\" dst=\"%s\" symmetrical=\"NO\">", from, to);
    if (source)
        write_way(w, source, target, true);
    else /* a route has links */
        fprintf(w->file, "<link_ctn id=\"n%u-door\"/>", w->number);
    fputs("</route>\n", w->file);
}

static void write_both_routes(const writer *w, const char *a, const char *b, sg_host_t first, sg_host_t second)
{
    write_route(w, a, b, first, second);
    write_route(w, b, a, second, first);
}

/* Ways between nodes begin and end at the gate, as those inside it do at the host. */
static void write_routes_of(const writer *w, unsigned k)
{
    char device[32], other[32], gate[32];
    const sim_node_model *node = w->node;
    snprintf(device, sizeof device, "gpu%u", w->number * node->ndevices + k);
    snprintf(gate, sizeof gate, "gate%u", w->number);
    if (w->number == 0)
        write_both_routes(w, "ram", device, node->memory, node->device[k]);
    write_both_routes(w, gate, device, node->memory, node->device[k]);
    for (unsigned j = 0; j < k && node->peer; j++) {
        snprintf(other, sizeof other, "gpu%u", w->number * node->ndevices + j);
        write_both_routes(w, device, other, node->device[k], node->device[j]);
    }
}

static void write_node(writer *w, const sim_nodes *nodes)
{
    const sim_node_model *node = w->node;
    fprintf(w->file, "<zone id=\"node%u\" routing=\"Full\">\n", w->number);
    write_hosts(w);
    for (unsigned k = 0; k < node->ndevices; k++) {
        write_way(w, node->memory, node->device[k], false);
        write_way(w, node->device[k], node->memory, false);
        for (unsigned j = 0; j < node->ndevices && node->peer; j++)
            if (j != k)
                write_way(w, node->device[k], node->device[j], false);
    }
    write_link(w, "door", 1e18, 0, false);
    for (unsigned k = 0; k < node->ndevices; k++)
        write_routes_of(w, k);
    if (w->number == 0)
        write_both_routes(w, "ram", "gate0", NULL, NULL);
    fputs("</zone>\n", w->file);
    write_link(w, "card-out", nodes->card, 0, true);
    write_link(w, "card-in", nodes->card, 0, true);
}

/* --- the network --------------------------------------------------------------------------- */

static void write_zone_route(FILE *file, const sim_nodes *nodes, unsigned from, unsigned to)
{
    fprintf(file,
            "<zoneRoute src=\"node%u\" dst=\"node%u\" gw_src=\"gate%u\" gw_dst=\"gate%u\" symmetrical=\"NO\">"
            "<link_ctn id=\"network\"/><link_ctn id=\"n%u-card-out\"/>%s<link_ctn id=\"n%u-card-in\"/></zoneRoute>\n",
            from, to, from, to, from, nodes->shared > 0 ? "<link_ctn id=\"switch\"/>" : "", to);
}

void sim_nodes_write(const sim_node_model *node, const sim_nodes *nodes, FILE *file)
{
    writer *w = sim_checked(calloc(nodes->count, sizeof *w)); /* their addresses mark links */
    fputs("<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
          "<platform version=\"4.1\">\n<zone id=\"cluster\" routing=\"Full\">\n",
          file);
    for (unsigned i = 0; i < nodes->count; i++) {
        w[i] = (writer){node, file, i};
        write_node(&w[i], nodes);
    }
    fprintf(file, "<link id=\"network\" bandwidth=\"1e18Bps\" latency=\"%.17gs\" sharing_policy=\"FATPIPE\"/>\n",
            nodes->latency);
    if (nodes->shared > 0)
        fprintf(file, "<link id=\"switch\" bandwidth=\"%.17gBps\" latency=\"0s\" sharing_policy=\"SHARED\"/>\n",
                nodes->shared);
    for (unsigned from = 0; from < nodes->count; from++)
        for (unsigned to = 0; to < nodes->count; to++)
            if (from != to)
                write_zone_route(file, nodes, from, to);
    fputs("</zone>\n</platform>\n", file);
    free(w);
}
