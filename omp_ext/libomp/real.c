/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Finding the entry points that ours stand in front of. See real.h. */
#define _GNU_SOURCE
#include "omp_ext/libomp/real.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

od_real od_real_table;
od_offered od_offered_table;

static const struct {
    const char *name;
    size_t offset;
    bool optional;
} entry_points[] = {
#define X(type, name, parameters) {#name, offsetof(od_real, name), false},
    OD_REAL_FUNCTIONS(X)
#undef X
#define X(type, name, parameters) {#name, offsetof(od_real, name), true},
        OD_REAL_SINCE_18(X)
#undef X
            {"__kmpc_fork_call", offsetof(od_real, __kmpc_fork_call), false},
    {"__kmpc_fork_teams", offsetof(od_real, __kmpc_fork_teams), false},
};

/* In a library that the program opened later, for itself. Its names are the only way to reach it. It stays when the
 * program closes it: what has been found in it is kept. */
static void *find_opened(const char *name)
{
    static const char *const libraries[] = {"libomp.so.5",          "libiomp5.so",          "libomp.so",
                                            "libomptarget.so.19.1", "libomptarget.so.22.1", "libomptarget.so"};
    for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++) {
        void *library = dlopen(libraries[i], RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
        void *symbol = library ? dlsym(library, name) : NULL;
        if (library)
            dlclose(library);
        if (symbol)
            return symbol;
    }
    return NULL;
}

static void *load(size_t offset)
{
    void *symbol;
    memcpy(&symbol, (char *)&od_real_table + offset, sizeof symbol);
    return symbol;
}

static void store(size_t offset, void *symbol)
{
    memcpy((char *)&od_real_table + offset, &symbol, sizeof symbol);
}

/* All are found when the library is loaded, before the first image of device code is registered. */
void od_real_use_offered(od_kernel_function kernel, od_data_function begin, od_data_function end,
                         od_data_function update)
{
    od_offered_table.asking_begin = REAL(__tgt_target_data_begin_mapper);
    od_offered_table.asking_end = REAL(__tgt_target_data_end_mapper);
    od_offered_table.asking_update = REAL(__tgt_target_data_update_mapper);
    od_offered_table.asking_kernel = REAL(__tgt_target_kernel);
    od_real_table.__tgt_target_kernel = kernel;
    od_real_table.__tgt_target_data_begin_mapper = begin;
    od_real_table.__tgt_target_data_end_mapper = end;
    od_real_table.__tgt_target_data_update_mapper = update;
}

bool od_real_resolve(const char **missing)
{
    *missing = NULL;
    bool offload = false;
    for (size_t i = 0; i < sizeof entry_points / sizeof *entry_points; i++) {
        void *symbol = dlsym(RTLD_NEXT, entry_points[i].name);
        store(entry_points[i].offset, symbol);
        if (!symbol && !*missing && !entry_points[i].optional)
            *missing = entry_points[i].name;
        offload |= symbol && strncmp(entry_points[i].name, "__tgt_", 6) == 0;
    }
    if (!offload)
        *missing = NULL;
    return offload && !*missing;
}

bool od_real_resolve_opened(void)
{
    bool all = true;
    for (size_t i = 0; i < sizeof entry_points / sizeof *entry_points; i++) {
        if (!load(entry_points[i].offset))
            store(entry_points[i].offset, find_opened(entry_points[i].name));
        all &= load(entry_points[i].offset) || entry_points[i].optional;
    }
    return all;
}

/* A hook was called although its real function was not there at load time. */
void od_real_late(const char *name)
{
    od_real_resolve_opened();
    for (size_t i = 0; i < sizeof entry_points / sizeof *entry_points; i++)
        if (strcmp(entry_points[i].name, name) == 0 && !load(entry_points[i].offset)) {
            fprintf(stderr, "ompdarts: %s was called, but no OpenMP runtime that has it can be found\n", name);
            abort();
        }
}

const char *od_real_llvm_version(void)
{
    static const char marker[] = "libomptarget.so.";
    Dl_info info;
    void *symbol;
    memcpy(&symbol, &od_real_table.__tgt_register_lib, sizeof symbol);
    if (!symbol || !dladdr(symbol, &info) || !info.dli_fname)
        return "";
    const char *version = strstr(info.dli_fname, marker);
    return version ? version + sizeof marker - 1 : "";
}

bool od_real_is_old(void)
{
    return od_real_llvm_version()[0] == '1';
}
