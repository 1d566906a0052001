/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* mst: tasks in the order of a maximum spanning tree (Gonthier's thesis, Algorithm 4), cut into a part per device. */
#include "sched/policy/batch/static_policy.h"

static const od_policy_option mst_options[] = {OD_STATIC_OPTIONS, {0}};

static od_status mst_plan(const od_static_job *job, uint32_t *order, uint32_t *begin)
{
    od_status status = od_order_mst(job->batch, order);
    if (!status)
        od_order_split(job->batch, job->parts, order, begin);
    return status;
}

static od_status mst_create(const od_policy_env *env, void **state)
{
    return od_static_create(env, mst_plan, mst_options, NULL, state);
}

static const od_policy_ops mst_ops = {
    .interface_version = OD_POLICY_INTERFACE,
    .name = "mst",
    .description = "order of a maximum spanning tree of tasks that share data (thesis, Algorithm 4)",
    .default_evict = "belady",
    .options = mst_options,
    .create = mst_create,
    OD_STATIC_CALLBACKS,
};

OD_REGISTER_POLICY(mst_ops)
