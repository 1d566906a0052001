/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Small clusters and logs; see world.h. */
#include "world.h"

#include "tests/unit/random.h"
#include "util/container/array.h"

#include <stdio.h>
#include <stdlib.h>

const world_variant world_variants[WORLD_VARIANTS] = {
    {"fcfs", false}, {"eft", false}, {"lea", false}, {"leo", false}, {"lem", false},   {"fcfs", true},
    {"eft", true},   {"lea", true},  {"leo", true},  {"lem", true},  {"price", false}, {"price", true}};

od_batch_settings world_settings(const world_variant *variant)
{
    const od_batch_policy_ops *policy = od_batch_policy_find(variant->policy);
    assert_non_null(policy);
    return (od_batch_settings){policy, variant->backfill, OD_BATCH_USUAL_WEIGHT};
}

const char *world_name(const world_variant *variant)
{
    static char name[32];
    snprintf(name, sizeof name, "%s%s", variant->policy, variant->backfill ? "-bf" : "");
    return name;
}

void world_add(od_batch_log *log, double submit, double walltime, double duration, uint32_t cores, uint32_t file,
               double size)
{
    od_batch_job *job = od_batch_log_add(log);
    assert_non_null(job);
    job->submit = submit;
    job->walltime = walltime;
    job->duration = duration;
    job->cores = cores;
    job->file = file;
    job->size = size;
    job->id = job->line = job->number + 1;
    job->user = job->session = file;
    if (file >= log->files)
        log->files = log->sessions = file + 1;
}

static void random_cluster(uint64_t *seed, od_batch_cluster *cluster)
{
    cluster->count = 1 + (uint32_t)random_below(seed, 5);
    assert_true(od_array_reserve(&cluster->nodes, &cluster->room, cluster->count, sizeof *cluster->nodes));
    for (uint32_t k = 0; k < cluster->count; k++)
        cluster->nodes[k] = (od_batch_node){.cores = k ? 1 + (uint32_t)random_below(seed, 4) : 4,
                                            .memory = k ? 16 + (double)random_below(seed, 3) * 8 : 32,
                                            .bandwidth = 1 << random_below(seed, 2)};
}

/* Times that are whole numbers, and few of them, so that much happens at once; in some logs all is submitted at once,
 * in some each job asks for a whole node. */
void world_random(uint64_t *seed, uint32_t jobs, od_batch_cluster *cluster, od_batch_log *log)
{
    double now = 0;
    uint32_t files = 1 + (uint32_t)random_below(seed, jobs / 2);
    bool at_once = !random_below(seed, 5), whole_nodes = !random_below(seed, 5);
    double *size = calloc(files, sizeof *size);
    assert_non_null(size);
    random_cluster(seed, cluster);
    for (uint32_t f = 0; f < files; f++)
        size[f] = (double)(random_below(seed, 5) * 8);
    for (uint32_t i = 0; i < jobs; i++) {
        uint32_t file = (uint32_t)random_below(seed, files);
        double walltime = 5 * (double)(1 + random_below(seed, 20));
        now += at_once || random_below(seed, 3) ? 0 : (double)random_below(seed, 40);
        world_add(log, now, walltime, 1 + (double)random_below(seed, 60),
                  whole_nodes ? 4 : 1 + (uint32_t)random_below(seed, 4), file, size[file]);
    }
    free(size);
}

od_batch_outcome *world_simulate(const od_batch_log *log, const od_batch_cluster *cluster, const world_variant *variant,
                                 bool whole)
{
    od_batch_effort effort;
    od_batch_settings settings = world_settings(variant);
    od_batch_outcome *outcomes = calloc((size_t)log->count + 1, sizeof *outcomes);
    assert_non_null(outcomes);
    assert_int_equal(od_batch_simulate(log, cluster, &settings, whole, outcomes, &effort), OD_OK);
    return outcomes;
}
