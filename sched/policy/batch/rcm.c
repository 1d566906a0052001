/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* rcm: tasks in Reverse Cuthill-McKee order (Gonthier's thesis, Algorithm 3), cut into a part per device. */
#include "sched/policy/batch/static_policy.h"

static const od_policy_option rcm_options[] = {OD_STATIC_OPTIONS, {0}};

static od_status rcm_plan(const od_static_job *job, uint32_t *order, uint32_t *begin)
{
    od_status status = od_order_rcm(job->batch, order);
    if (!status)
        od_order_split(job->batch, job->parts, order, begin);
    return status;
}

static od_status rcm_create(const od_policy_env *env, void **state)
{
    return od_static_create(env, rcm_plan, rcm_options, NULL, state);
}

static const od_policy_ops rcm_ops = {
    .interface_version = OD_POLICY_INTERFACE,
    .name = "rcm",
    .description = "Reverse Cuthill-McKee order of tasks that share data (thesis, Algorithm 3)",
    .default_evict = "belady",
    .options = rcm_options,
    .create = rcm_create,
    OD_STATIC_CALLBACKS,
};

OD_REGISTER_POLICY(rcm_ops)
