/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Partitioning by METIS; see partition.h. */
#include "sched/policy/batch/order/partition.h"

#include "util/log.h"
#include "util/memory.h"
#include "util/plugin.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define METIS_LIBRARY "libmetis.so.5"
#define LARGEST_SUM 250e6 /* of weights, and of the volumes at all edges: METIS adds them up in 31 bits, some twice */

/* Of METIS 5.1 and 5.2. Options 7 and 8 are the number of cuts and the seed in 5.1, the number of refinements and
 * that of cuts in 5.2: both are given the number of cuts, which does for the other. */
enum {
    NOPTIONS = 40,
    OPTION_OBJECTIVE = 1,
    OPTION_CUTS_5_1 = 7,
    OPTION_CUTS_5_2 = 8,
    OBJECTIVE_VOLUME = 1,
    METIS_OK = 1,
    METIS_ERROR_MEMORY = -3,
    LEAST_TASKS = 8, /* per part; METIS complains on standard output where it has to divide what is one vertex */
};

/* --- the library ------------------------------------------------------------- */

static void *find(const char *symbol, char *error, size_t size)
{
    const void *address = od_plugin_symbol(METIS_LIBRARY, symbol, error, size);
    void *function;
    memcpy(&function, &address, sizeof function);
    return function;
}

/* METIS is built with numbers of 32 or of 64 bits, and does not say which. */
static bool has_32_bits(const od_partitioner *partitioner)
{
    int32_t options[2 * NOPTIONS] = {0};
    partitioner->set_default_options(options);
    for (int i = NOPTIONS; i < 2 * NOPTIONS; i++) {
        if (options[i])
            return false;
    }
    return true;
}

od_status od_partitioner_load(od_partitioner *partitioner, char *error, size_t size)
{
    void *set_defaults = find("METIS_SetDefaultOptions", error, size);
    void *partition = set_defaults ? find("METIS_PartGraphKway", error, size) : NULL;
    if (!partition)
        return OD_EIO;
    memcpy(&partitioner->set_default_options, &set_defaults, sizeof set_defaults);
    memcpy(&partitioner->partition, &partition, sizeof partition);
    if (has_32_bits(partitioner))
        return OD_OK;
    snprintf(error, size, METIS_LIBRARY " was built with 64-bit numbers (IDXTYPEWIDTH)");
    return OD_EIO;
}

/* --- the graph of tasks and data ----------------------------------------------- */

struct graph {
    int32_t nvertices; /* the tasks, then the data */
    int32_t *first, *neighbour, *weight, *volume;
    int32_t *part; /* the result */
};

static void graph_free(struct graph *g)
{
    free(g->first);
    free(g->neighbour);
    free(g->weight);
    free(g->volume);
    free(g->part);
}

/* A share of a sum as a whole number, at least 1, with the sum at LARGEST_SUM. */
static int32_t scale(double share)
{
    return share * LARGEST_SUM < 1 ? 1 : (int32_t)(share * LARGEST_SUM);
}

/* Sum of all durations, none counted as more than `most`. */
static double sum_of_durations(const od_batch *batch, double most)
{
    double seconds = 0;
    for (uint32_t t = 0; t < batch->ntasks; t++)
        seconds += batch->duration[t] < most ? batch->duration[t] : most;
    return seconds;
}

/* The longest duration that counts in full: so that no task is more than 1 / LEAST_TASKS of a part. The rounds
 * approach that from above. */
static double longest_duration(const od_batch *batch, uint32_t parts)
{
    double most = sum_of_durations(batch, HUGE_VAL);
    for (int round = 0; round < 50; round++)
        most = sum_of_durations(batch, most) / (LEAST_TASKS * parts);
    return most;
}

static void graph_weigh(struct graph *g, const od_batch *batch, const od_users *users, uint32_t parts)
{
    double most = longest_duration(batch, parts), seconds = sum_of_durations(batch, most), bytes = 0;
    for (uint32_t d = 0; d < batch->ndata; d++)
        bytes += (double)batch->size[d] * (users->first[d + 1] - users->first[d]);
    for (uint32_t t = 0; t < batch->ntasks; t++) {
        g->weight[t] = scale((batch->duration[t] < most ? batch->duration[t] : most) / seconds);
        g->volume[t] = 0;
    }
    for (uint32_t d = 0; d < batch->ndata; d++) {
        g->weight[batch->ntasks + d] = 0;
        g->volume[batch->ntasks + d] = scale((double)batch->size[d] / bytes);
    }
}

static void graph_connect(struct graph *g, const od_batch *batch, const od_users *users)
{
    uint32_t ntasks = batch->ntasks, nuses = batch->first[ntasks];
    for (uint32_t t = 0; t < ntasks; t++)
        g->first[t] = (int32_t)batch->first[t];
    for (uint32_t d = 0; d <= batch->ndata; d++)
        g->first[ntasks + d] = (int32_t)(nuses + users->first[d]);
    for (uint32_t u = 0; u < nuses; u++) {
        g->neighbour[u] = (int32_t)(ntasks + batch->datum[u]);
        g->neighbour[nuses + u] = (int32_t)users->task[u];
    }
}

static od_status graph_create(struct graph *g, const od_batch *batch, uint32_t parts)
{
    size_t nvertices = (size_t)batch->ntasks + batch->ndata, nuses = batch->first[batch->ntasks];
    od_users users;
    *g = (struct graph){.nvertices = (int32_t)nvertices};
    g->first = od_malloc((nvertices + 1) * sizeof *g->first);
    g->neighbour = od_malloc(2 * nuses * sizeof *g->neighbour);
    g->weight = od_malloc(nvertices * sizeof *g->weight);
    g->volume = od_malloc(nvertices * sizeof *g->volume);
    g->part = od_malloc(nvertices * sizeof *g->part);
    if (!g->first || !g->neighbour || !g->weight || !g->volume || !g->part || od_users_create(batch, &users))
        return OD_ENOMEM;
    graph_weigh(g, batch, &users, parts);
    graph_connect(g, batch, &users);
    od_users_free(&users);
    return OD_OK;
}

/* --- parts ------------------------------------------------------------------------ */

static int run_metis(struct graph *g, uint32_t parts, const od_partitioner *partitioner, uint32_t cuts)
{
    int32_t options[NOPTIONS], nweights = 1, nparts = (int32_t)parts, objective;
    float imbalance = 1.01f;
    partitioner->set_default_options(options);
    options[OPTION_OBJECTIVE] = OBJECTIVE_VOLUME;
    options[OPTION_CUTS_5_1] = options[OPTION_CUTS_5_2] = (int32_t)cuts;
    return partitioner->partition(&g->nvertices, &nweights, g->first, g->neighbour, g->weight, g->volume, NULL, &nparts,
                                  NULL, &imbalance, options, &objective, g->part);
}

static void gather_parts(const struct graph *g, uint32_t ntasks, uint32_t parts, uint32_t *order, uint32_t *begin)
{
    memset(begin, 0, (parts + 1) * sizeof *begin);
    for (uint32_t t = 0; t < ntasks; t++)
        begin[g->part[t] + 1]++;
    for (uint32_t part = 0; part < parts; part++)
        begin[part + 1] += begin[part];
    for (uint32_t t = 0; t < ntasks; t++)
        order[begin[g->part[t]]++] = t;
    for (uint32_t part = parts; part > 0; part--)
        begin[part] = begin[part - 1];
    begin[0] = 0;
}

static od_status cut_in_order(const od_batch *batch, uint32_t parts, uint32_t *order, uint32_t *begin)
{
    for (uint32_t t = 0; t < batch->ntasks; t++)
        order[t] = t;
    od_order_split(batch, parts, order, begin);
    return OD_OK;
}

od_status od_order_partition(const od_batch *batch, uint32_t parts, const od_partitioner *partitioner, uint32_t cuts,
                             uint32_t *order, uint32_t *begin)
{
    uint64_t numbers = (uint64_t)batch->ntasks + batch->ndata + 2 * (uint64_t)batch->first[batch->ntasks];
    if (parts == 1 || batch->ntasks < LEAST_TASKS * parts || batch->ndata == 0 || numbers > INT32_MAX)
        return cut_in_order(batch, parts, order, begin);
    struct graph graph;
    od_status status = graph_create(&graph, batch, parts);
    int result = status ? METIS_ERROR_MEMORY : run_metis(&graph, parts, partitioner, cuts);
    if (result == METIS_OK) {
        gather_parts(&graph, batch->ntasks, parts, order, begin);
    } else if (result == METIS_ERROR_MEMORY) {
        status = OD_ENOMEM;
    } else {
        od_log(OD_LOG_WARNING, "sched",
               "METIS cannot partition %u tasks (error %d): they are divided in order of arrival", batch->ntasks,
               result);
        status = cut_in_order(batch, parts, order, begin);
    }
    graph_free(&graph);
    return status;
}
