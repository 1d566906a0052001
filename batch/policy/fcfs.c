/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* First come, first served (Algorithm 13): the node whose cores are free first. */
#include "batch/policy.h"

#include <string.h>

static void score(const od_batch_offers *offers, double *scores)
{
    memcpy(scores, offers->start, offers->nodes * sizeof *scores);
}

static const od_batch_policy_ops fcfs = {
    .interface_version = OD_BATCH_POLICY_INTERFACE,
    .name = "fcfs",
    .description = "first come, first served: the node whose cores are free first",
    .score = score,
};
OD_REGISTER_BATCH_POLICY(fcfs)
