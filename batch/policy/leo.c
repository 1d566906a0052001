/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Locality and eviction opportunistic (Algorithm 16): as `eft` on nodes that can start the job now, else as `lea`. */
#include "batch/policy/scores.h"

static void score(const od_batch_offers *offers, double *scores)
{
    for (uint32_t k = 0; k < offers->nodes; k++)
        scores[k] = offers->start[k] <= offers->now ? od_batch_score_eft(offers, k) : od_batch_score_lea(offers, k);
}

static const od_batch_policy_ops leo = {
    .interface_version = OD_BATCH_POLICY_INTERFACE,
    .name = "leo",
    .description = "locality and eviction opportunistic: eft where a job can start now, else lea",
    .wants_files = true,
    .score = score,
};
OD_REGISTER_BATCH_POLICY(leo)
