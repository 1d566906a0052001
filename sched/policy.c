/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The registered scheduling policies. */
#include "sched/policy.h"

#include "sched/registry.h"

static od_registry policies = {.kind = "policy"};

void od_policy_register(const od_policy_ops *ops)
{
    od_registry_add(&policies, ops->name, ops, ops->interface_version, OD_POLICY_INTERFACE);
}

const od_policy_ops *od_policy_find(const char *name)
{
    return od_registry_find(&policies, name);
}

const char *const *od_policy_names(void)
{
    return policies.names;
}
