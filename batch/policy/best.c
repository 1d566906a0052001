/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Whichever of the others does best with the jobs that wait now. `lea` wins on saturated clusters and loses on others;
 * instead of a test for saturation, as in `lem`, the schedules themselves are compared: by the sum of the stretches
 * that the jobs would have if all took their walltimes. That sum says nothing of jobs to come, to which the loads that
 * `lea` saves now give room: so where the queue has become longer than the cluster, it is followed without a trial until
 * the queue is nearly gone.
 */
#include "batch/policy.h"

#include <stddef.h>

static const char *const candidates[] = {"leo", "fcfs", "eft", "lem", "lea", NULL};

static const od_batch_policy_ops best = {
    .interface_version = OD_BATCH_POLICY_INTERFACE,
    .name = "best",
    .description = "whichever of the others does best with the jobs that wait, tried every ten minutes",
    .wants_files = true,
    .candidates = candidates,
    .overloaded = "lea",
    .overload = 1,
    .relief = 0.05,
};
OD_REGISTER_BATCH_POLICY(best)
