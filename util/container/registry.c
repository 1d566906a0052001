/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Named tables of functions; see registry.h. */
#include "util/container/registry.h"

#include "util/log.h"

#include <string.h>

void od_registry_add(od_registry *registry, const char *name, const void *table, unsigned version, unsigned expected)
{
    const char *problem = version != expected                  ? "has another interface version"
                          : od_registry_find(registry, name)   ? "is registered already"
                          : registry->count == OD_REGISTRY_MAX ? "is one too many"
                                                               : NULL;
    if (problem) {
        od_log(OD_LOG_ERROR, "registry", "%s '%s' %s and is left out", registry->kind, name, problem);
        return;
    }
    size_t at = registry->count++;
    for (; at > 0 && strcmp(name, registry->names[at - 1]) < 0; at--) {
        registry->names[at] = registry->names[at - 1];
        registry->tables[at] = registry->tables[at - 1];
    }
    registry->names[at] = name;
    registry->tables[at] = table;
}

const void *od_registry_find(const od_registry *registry, const char *name)
{
    for (size_t i = 0; i < registry->count; i++) {
        if (strcmp(registry->names[i], name) == 0)
            return registry->tables[i];
    }
    return NULL;
}
