/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Locality and eviction mixed (Algorithm 17): `lea` while each node runs a job, else `eft`. */
#include "batch/policy/scores.h"

static void score(const od_batch_offers *offers, double *scores)
{
    for (uint32_t k = 0; k < offers->nodes; k++)
        scores[k] = offers->saturated ? od_batch_score_lea(offers, k) : od_batch_score_eft(offers, k);
}

static const od_batch_policy_ops lem = {
    .interface_version = OD_BATCH_POLICY_INTERFACE,
    .name = "lem",
    .description = "locality and eviction mixed: lea while each node runs a job, else eft",
    .wants_files = true,
    .score = score,
};
OD_REGISTER_BATCH_POLICY(lem)
