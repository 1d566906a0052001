/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * hypergraph: tasks partitioned by the hypergraph of their data, then Ready and stealing (Gonthier's thesis,
 * Algorithm 7, with METIS instead of hMETIS). Without METIS, tasks are cut into parts in order of arrival.
 */
#include "sched/policy/batch/order/partition.h"
#include "sched/policy/batch/static_policy.h"
#include "util/log.h"
#include "util/memory.h"

#include <stdlib.h>

enum { CUTS = OD_STATIC_OWN };

static const od_policy_option hypergraph_options[] = {
    OD_STATIC_OPTIONS,
    {"cuts", "METIS tries this many partitions and keeps the best", true, 4, 4},
    {0},
};

static od_status hypergraph_plan(const od_static_job *job, uint32_t *order, uint32_t *begin)
{
    uint64_t cuts = job->values[CUTS] < 1 ? 1 : job->values[CUTS] > 1000 ? 1000 : job->values[CUTS];
    const od_partitioner *partitioner = job->data;
    if (partitioner->partition)
        return od_order_partition(job->batch, job->parts, partitioner, (uint32_t)cuts, order, begin);
    for (uint32_t t = 0; t < job->batch->ntasks; t++)
        order[t] = t;
    od_order_split(job->batch, job->parts, order, begin);
    return OD_OK;
}

static od_status hypergraph_create(const od_policy_env *env, void **state)
{
    char error[256];
    od_partitioner *partitioner = od_calloc(1, sizeof *partitioner);
    if (!partitioner)
        return OD_ENOMEM;
    if (env->ndevices > 1 && od_partitioner_load(partitioner, error, sizeof error)) {
        *partitioner = (od_partitioner){0};
        od_log(OD_LOG_WARNING, "sched",
               "policy hypergraph needs METIS (Debian: libmetis5), tasks are partitioned in order of arrival: %s",
               error);
    }
    return od_static_create(env, hypergraph_plan, hypergraph_options, partitioner, state);
}

static const od_policy_ops hypergraph_ops = {
    .interface_version = OD_POLICY_INTERFACE,
    .name = "hypergraph",
    .description = "hypergraph of tasks and data partitioned by METIS (thesis, Algorithm 7)",
    .default_evict = "belady",
    .options = hypergraph_options,
    .create = hypergraph_create,
    OD_STATIC_CALLBACKS,
};

OD_REGISTER_POLICY(hypergraph_ops)
