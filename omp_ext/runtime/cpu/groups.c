/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * See groups.h. hwloc is loaded when a worker is bound: programs without CPU workers do not need it. Where it is not
 * there the processors are taken in the order of their numbers.
 */
#define _GNU_SOURCE 1
#include "omp_ext/runtime/cpu/groups.h"

#include <dlfcn.h>
#include <hwloc.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

/* --- hwloc ----------------------------------------------------------------------- */

#define FUNCTIONS(X)                                                                                                   \
    X(hwloc_topology_init)                                                                                             \
    X(hwloc_topology_load)                                                                                             \
    X(hwloc_topology_destroy)                                                                                          \
    X(hwloc_get_type_depth)                                                                                            \
    X(hwloc_get_nbobjs_by_depth)                                                                                       \
    X(hwloc_get_obj_by_depth)                                                                                          \
    X(hwloc_bitmap_isset)

struct hwloc {
#define MEMBER(name) __typeof__(&(name)) name;
    FUNCTIONS(MEMBER)
#undef MEMBER
};

static const char *const names[] = {
#define NAME(name) #name,
    FUNCTIONS(NAME)
#undef NAME
};
_Static_assert(sizeof(struct hwloc) == sizeof names, "a pointer for each name");

/* In a container without /sys it complains to the user. */
static bool open_hwloc(struct hwloc *h)
{
    void *found[sizeof names / sizeof *names];
    bool there = access("/sys/devices/system/cpu", R_OK) == 0 || access("/sys/bus/cpu/devices", R_OK) == 0;
    void *library = there ? dlopen("libhwloc.so.15", RTLD_LAZY | RTLD_LOCAL) : NULL;
    bool all = library;
    for (size_t i = 0; all && i < sizeof names / sizeof *names; i++)
        all = (found[i] = dlsym(library, names[i])) != NULL;
    if (all)
        memcpy(h, found, sizeof *h);
    return all;
}

/* --- the order ------------------------------------------------------------------- */

typedef struct order {
    unsigned processor[CPU_SETSIZE], count;
} order;

static void add(order *o, const cpu_set_t *allowed, unsigned processor)
{
    if (o->count < CPU_SETSIZE && processor < CPU_SETSIZE && CPU_ISSET(processor, allowed))
        o->processor[o->count++] = processor;
}

/* Of each core the first hardware thread that is allowed, or all of them. */
static void list_cores(const struct hwloc *h, hwloc_topology_t t, const cpu_set_t *allowed, bool all, order *o)
{
    int cores = h->hwloc_get_type_depth(t, HWLOC_OBJ_CORE), threads = h->hwloc_get_type_depth(t, HWLOC_OBJ_PU);
    unsigned ncores = cores < 0 ? 0 : h->hwloc_get_nbobjs_by_depth(t, cores);
    unsigned nthreads = threads < 0 ? 0 : h->hwloc_get_nbobjs_by_depth(t, threads);
    for (unsigned i = 0; i < (ncores ? ncores : 1); i++) {
        hwloc_obj_t core = ncores ? h->hwloc_get_obj_by_depth(t, cores, i) : NULL;
        unsigned before = o->count;
        for (unsigned j = 0; j < nthreads && (all || !core || o->count == before); j++) {
            unsigned number = h->hwloc_get_obj_by_depth(t, threads, j)->os_index;
            if (!core || h->hwloc_bitmap_isset(core->cpuset, number))
                add(o, allowed, number);
        }
    }
}

static void find_order(const cpu_set_t *allowed, unsigned wanted, order *o)
{
    struct hwloc h = {0};
    hwloc_topology_t topology = NULL;
    bool known = open_hwloc(&h) && !h.hwloc_topology_init(&topology);
    for (int all = 0; known && all < 2 && o->count < wanted && !(all == 0 && h.hwloc_topology_load(topology)); all++) {
        o->count = 0;
        list_cores(&h, topology, allowed, all, o);
    }
    if (topology)
        h.hwloc_topology_destroy(topology);
    if (o->count >= wanted)
        return;
    o->count = 0;
    for (unsigned i = 0; i < CPU_SETSIZE; i++)
        add(o, allowed, i);
}

void od_cpu_group(const cpu_set_t *allowed, unsigned workers, unsigned cores, unsigned index, cpu_set_t *own)
{
    order o = {.count = 0};
    CPU_ZERO(own);
    find_order(allowed, workers * cores, &o);
    for (unsigned i = index * cores; i < (index + 1) * cores && i < o.count; i++)
        CPU_SET(o.processor[i], own);
}
