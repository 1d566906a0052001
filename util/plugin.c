/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Loading shared objects; see plugin.h. */
#include "util/plugin.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* A name without a folder is looked for in the current one, too. */
static void *open_object(const char *file)
{
    char here[PATH_MAX];
    if (!strchr(file, '/') && access(file, F_OK) == 0 && snprintf(here, sizeof here, "./%s", file) < PATH_MAX)
        file = here;
    return dlopen(file, RTLD_NOW | RTLD_LOCAL);
}

const void *od_plugin_symbol(const char *file, const char *symbol, char *error, size_t size)
{
    void *object = open_object(file);
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
