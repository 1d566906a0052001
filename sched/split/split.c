/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The registered splitting rules. */
#include "sched/split/split.h"

#include "util/nearest.h"
#include "util/options.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

extern const od_split_ops *const __start_od_split_rules[] __attribute__((visibility("hidden")));
extern const od_split_ops *const __stop_od_split_rules[] __attribute__((visibility("hidden")));

static od_registry registry = {.kind = "splitting rule"};

static void add_own(void)
{
    for (const od_split_ops *const *ops = __start_od_split_rules; ops < __stop_od_split_rules; ops++)
        od_registry_add(&registry, (*ops)->name, *ops, (*ops)->interface_version, OD_SPLIT_INTERFACE);
}

static od_registry *rules(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, add_own);
    return &registry;
}

const od_split_ops *od_split_find(const char *name)
{
    return od_registry_find(rules(), name);
}

const char *const *od_split_names(void)
{
    return rules()->names;
}

od_status od_split_choose(const char *text, od_split_choice *choice, char *error, size_t size)
{
    char name[32];
    uint64_t level = 0;
    const char *value = strchr(text, '=');
    snprintf(name, sizeof name, "%.*s", (int)(value && value - text < 31 ? value - text : 31), text);
    *choice = (od_split_choice){.ops = od_split_find(name)};
    if (!choice->ops) {
        od_nearest_explain(name, NULL, od_split_names(), error, size);
        return OD_EINVAL;
    }
    if (choice->ops->takes_level != (value != NULL)) {
        snprintf(error, size, value ? "%s takes no level" : "%s needs a level: %s=1", name, name);
        return OD_EINVAL;
    }
    if (value && od_parse_integer(value + 1, 0, OD_SPLIT_LEVELS - 1, &level)) {
        snprintf(error, size, "'%s' is no level; allowed: a whole number from 0 to %d", value + 1, OD_SPLIT_LEVELS - 1);
        return OD_EINVAL;
    }
    choice->level = (unsigned)level;
    return OD_OK;
}
