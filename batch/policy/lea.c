/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Locality and eviction aware (Algorithm 15): the start, the load times a weight, and what is evicted. */
#include "batch/policy/scores.h"

static void score(const od_batch_offers *offers, double *scores)
{
    for (uint32_t k = 0; k < offers->nodes; k++)
        scores[k] = od_batch_score_lea(offers, k);
}

static const od_batch_policy_ops lea = {
    .interface_version = OD_BATCH_POLICY_INTERFACE,
    .name = "lea",
    .description = "locality and eviction aware: few loads, even where jobs wait for them",
    .wants_files = true,
    .score = score,
};
OD_REGISTER_BATCH_POLICY(lea)
