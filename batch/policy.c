/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The registered batch policies. */
#include "batch/policy.h"

#include <pthread.h>

extern const od_batch_policy_ops *const __start_od_batch_policies[] __attribute__((visibility("hidden")));
extern const od_batch_policy_ops *const __stop_od_batch_policies[] __attribute__((visibility("hidden")));

static od_registry registry = {.kind = "batch policy"};

static void add_all(void)
{
    for (const od_batch_policy_ops *const *ops = __start_od_batch_policies; ops < __stop_od_batch_policies; ops++)
        od_registry_add(&registry, (*ops)->name, *ops, (*ops)->interface_version, OD_BATCH_POLICY_INTERFACE);
}

static const od_registry *policies(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, add_all);
    return &registry;
}

const od_batch_policy_ops *od_batch_policy_find(const char *name)
{
    return od_registry_find(policies(), name);
}

const char *const *od_batch_policy_names(void)
{
    return policies()->names;
}
