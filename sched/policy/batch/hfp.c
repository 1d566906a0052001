/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * hfp and mhfp: Hierarchical Fair Packing (Gonthier's thesis, Algorithms 5 and 8).
 *
 * hfp packs all tasks into one order and cuts that into a part per device. mhfp stops when there is a package per
 * device and moves tasks between them until all take the mean time. On one device they are the same.
 */
#include "sched/policy/batch/static_policy.h"

enum { FLIP = OD_STATIC_OWN, FAST_START, INTERLACE, BALANCE, AGAIN };

#define HFP_OPTIONS                                                                                                    \
    OD_STATIC_OPTIONS, {"flip", "0: packages are never reversed to meet at the ends that share most", true, 1, 1},     \
        {"faststart", "the first round merges any tasks that share data, without looking for the most", true, 1, 0},   \
        {"interlace", "each part from its middle outwards", true, 1, 0}

static const od_policy_option hfp_options[] = {HFP_OPTIONS, {0}};

static const od_policy_option mhfp_options[] = {
    HFP_OPTIONS,
    {"balance", "0: packages stay as long as they are", true, 1, 1},
    {"mhfp2", "packs each device's tasks once more, by themselves", true, 1, 0},
    {0},
};

static od_hfp_options options_of(const od_static_job *job, uint32_t parts)
{
    return (od_hfp_options){.memory = job->memory,
                            .parts = parts,
                            .flip = job->values[FLIP] != 0,
                            .fast_start = job->values[FAST_START] != 0};
}

static od_status interlace(const od_static_job *job, uint32_t *order, const uint32_t *begin)
{
    return job->values[INTERLACE] ? od_order_interlace(job->parts, order, begin) : OD_OK;
}

static od_status hfp_plan(const od_static_job *job, uint32_t *order, uint32_t *begin)
{
    uint32_t whole[2];
    od_hfp_options options = options_of(job, 1);
    od_status status = od_order_hfp(job->batch, &options, order, whole);
    if (status)
        return status;
    od_order_split(job->batch, job->parts, order, begin);
    return interlace(job, order, begin);
}

static od_status mhfp_plan(const od_static_job *job, uint32_t *order, uint32_t *begin)
{
    od_hfp_options options = options_of(job, job->parts);
    od_status status = od_order_hfp(job->batch, &options, order, begin);
    if (status)
        return status;
    if (job->values[BALANCE])
        od_order_balance(job->batch, job->parts, order, begin);
    if (job->values[AGAIN])
        status = od_order_hfp_again(job->batch, &options, order, begin);
    return status ? status : interlace(job, order, begin);
}

static od_status hfp_create(const od_policy_env *env, void **state)
{
    return od_static_create(env, hfp_plan, hfp_options, NULL, state);
}

static od_status mhfp_create(const od_policy_env *env, void **state)
{
    return od_static_create(env, mhfp_plan, mhfp_options, NULL, state);
}

static const od_policy_ops hfp_ops = {
    .interface_version = OD_POLICY_INTERFACE,
    .name = "hfp",
    .description = "Hierarchical Fair Packing, one order for all devices (thesis, Algorithm 5)",
    .default_evict = "belady",
    .options = hfp_options,
    .create = hfp_create,
    OD_STATIC_CALLBACKS,
};

static const od_policy_ops mhfp_ops = {
    .interface_version = OD_POLICY_INTERFACE,
    .name = "mhfp",
    .description = "Hierarchical Fair Packing, a package per device (thesis, Algorithm 8)",
    .default_evict = "belady",
    .options = mhfp_options,
    .create = mhfp_create,
    OD_STATIC_CALLBACKS,
};

OD_REGISTER_POLICY(hfp_ops)
OD_REGISTER_POLICY(mhfp_ops)
