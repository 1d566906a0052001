/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Which runtime's entry point a caller means. See scope.h. */
#define _GNU_SOURCE
#include "omp_ext/hooks/sync/scope.h"

#include "omp_ext/libomp/real.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const void *library_of(const void *address)
{
    Dl_info info;
    return address && dladdr(address, &info) ? info.dli_fbase : NULL;
}

/* Not loaded by name: libomp may be there only for libraries that the program has opened. */
static bool is_of_libomp(const void *symbol)
{
    const void *barrier;
    memcpy(&barrier, &od_real_table.__kmpc_barrier, sizeof barrier);
    return barrier && library_of(symbol) == library_of(barrier);
}

/* In the caller's library and what that needs. */
static void *find_near(const char *name, const void *caller)
{
    Dl_info info;
    void *library = dladdr(caller, &info) ? dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD) : NULL;
    void *symbol = library ? dlsym(library, name) : NULL;
    if (library)
        dlclose(library);
    return symbol;
}

/* NULL: there is none. */
static void *seek(od_scoped *entry, const void *caller, bool *is_libomp)
{
    void *symbol = atomic_load_explicit(&entry->real, memory_order_acquire);
    if (symbol) {
        *is_libomp = atomic_load_explicit(&entry->is_libomp, memory_order_relaxed);
        return symbol;
    }
    symbol = dlsym(RTLD_NEXT, entry->name);
    if (!symbol) {
        symbol = find_near(entry->name, caller);
        *is_libomp = is_of_libomp(symbol);
        return symbol;
    }
    *is_libomp = is_of_libomp(symbol);
    atomic_store_explicit(&entry->is_libomp, *is_libomp, memory_order_relaxed);
    atomic_store_explicit(&entry->real, symbol, memory_order_release);
    return symbol;
}

void *od_scope_find(od_scoped *entry, const void *caller, bool *is_libomp)
{
    void *symbol = seek(entry, caller, is_libomp);
    if (!symbol) {
        fprintf(stderr, "ompdarts: %s was called, but no OpenMP runtime that has it can be found\n", entry->name);
        abort();
    }
    return symbol;
}

void *od_scope_recall(od_scoped *entry, const void *caller)
{
    static _Thread_local struct {
        const void *caller;
        const od_scoped *entry;
        void *symbol;
    } last; /* runtimes stay when they are closed */
    bool is_libomp;
    void *symbol = atomic_load_explicit(&entry->real, memory_order_acquire);
    if (symbol || (last.caller == caller && last.entry == entry))
        return symbol ? symbol : last.symbol;
    symbol = seek(entry, caller, &is_libomp);
    last.caller = caller;
    last.entry = entry;
    last.symbol = symbol;
    return symbol;
}
