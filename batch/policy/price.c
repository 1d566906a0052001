/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Our own: a load has the price of what it delays. It takes cores for a while, which the jobs that wait for cores could
 * use: each waits longer by load x cores / all cores, and its stretch grows by that divided by its walltime. The job's
 * own stretch grows by its delay divided by its walltime. So the load weighs what it does to others in units of what a
 * delay does to the job. On a cluster with cores to spare the score is that of `eft`; the longer the queue, the more it
 * is that of `lea`.
 */
#include "batch/policy/scores.h"

/* Jobs to come are delayed as well, and jobs take less than their walltimes: how many times as many, by trial. */
#define UNSEEN 100

static void score(const od_batch_offers *offers, double *scores)
{
    double price = UNSEEN * offers->congestion * offers->walltime * offers->cores;
    for (uint32_t k = 0; k < offers->nodes; k++)
        scores[k] = od_batch_score_eft(offers, k) + price * offers->load[k] + offers->eviction[k];
}

static const od_batch_policy_ops price = {
    .interface_version = OD_BATCH_POLICY_INTERFACE,
    .name = "price",
    .description = "ours: a load weighs as much as it delays the jobs that wait for cores",
    .wants_files = true,
    .wants_congestion = true,
    .score = score,
};
OD_REGISTER_BATCH_POLICY(price)
