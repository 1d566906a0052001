/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Loading shared objects; see plugin.h. */
#include "util/plugin.h"

#include <dlfcn.h>
#include <stdio.h>

const void *od_plugin_symbol(const char *file, const char *symbol, char *error, size_t size)
{
    void *object = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (!object) {
        snprintf(error, size, "%s", dlerror());
        return NULL;
    }
    const void *address = dlsym(object, symbol);
    if (!address) {
        snprintf(error, size, "%s has no symbol %s", file, symbol);
        dlclose(object);
    }
    return address;
}
