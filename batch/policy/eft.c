/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Earliest finish time (Algorithm 14): the node where the file would be there first. */
#include "batch/policy/scores.h"

static void score(const od_batch_offers *offers, double *scores)
{
    for (uint32_t k = 0; k < offers->nodes; k++)
        scores[k] = od_batch_score_eft(offers, k);
}

static const od_batch_policy_ops eft = {
    .interface_version = OD_BATCH_POLICY_INTERFACE,
    .name = "eft",
    .description = "earliest finish time: the node where the job could compute first",
    .wants_files = true,
    .score = score,
};
OD_REGISTER_BATCH_POLICY(eft)
