/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The two scores of which the policies that know files consist. */
#ifndef OD_BATCH_POLICY_SCORES_H
#define OD_BATCH_POLICY_SCORES_H

#include "batch/policy.h"

/* When the file would be there (Algorithm 14). */
static inline double od_batch_score_eft(const od_batch_offers *offers, uint32_t k)
{
    return offers->start[k] + offers->load[k];
}

/* Loads weigh most (Algorithm 15, line 8). */
static inline double od_batch_score_lea(const od_batch_offers *offers, uint32_t k)
{
    return offers->start[k] + offers->weight * offers->load[k] + offers->eviction[k];
}

#endif
