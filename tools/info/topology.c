/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The machine as hwloc sees it, and the limits on its memory.
 */
#include "tools/tools.h"

#include <hwloc.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

static void print_bytes(const char *what, uint64_t bytes)
{
    static const char *const units[] = {"KiB", "MiB", "GiB"};
    double amount = (double)bytes / 1024;
    size_t unit = 0;

    for (; amount >= 1024 && unit < 2; unit++)
        amount /= 1024;
    printf("  %-26s %.1f %s\n", what, amount, units[unit]);
}

static void print_nodes(hwloc_topology_t topology)
{
    hwloc_obj_t node = NULL;

    while ((node = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, node))) {
        char name[32];
        snprintf(name, sizeof name, "NUMA node %u", node->os_index);
        print_bytes(name, node->attr->numanode.local_memory);
    }
}

static void print_gpus(hwloc_topology_t topology)
{
    hwloc_obj_t device = NULL;

    while ((device = hwloc_get_next_osdev(topology, device))) {
        hwloc_obj_osdev_type_t type = device->attr->osdev.type;
        const char *model = hwloc_obj_get_info_by_name(device, "GPUModel");
        if (type == HWLOC_OBJ_OSDEV_GPU || type == HWLOC_OBJ_OSDEV_COPROC)
            printf("  %-26s %s%s%s\n", device->name, device->subtype ? device->subtype : "GPU", model ? ", " : "",
                   model ? model : "");
    }
}

static void print_machine(hwloc_topology_t topology)
{
    printf("machine (hwloc)\n");
    printf("  %-26s %d packages, %d NUMA nodes, %d cores, %d hardware threads\n", "processors",
           hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PACKAGE),
           hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_NUMANODE), hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE),
           hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PU));
    print_bytes("memory", hwloc_get_root_obj(topology)->total_memory);
    print_nodes(topology);
    print_gpus(topology);
}

static void print_available(void)
{
    char line[128];
    uint64_t kib;
    FILE *file = fopen("/proc/meminfo", "r");

    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "MemAvailable: %" SCNu64, &kib) == 1)
            print_bytes("memory available now", kib * 1024);
    if (file)
        fclose(file);
}

static void print_control_group(void)
{
    uint64_t bytes;
    FILE *file = fopen("/sys/fs/cgroup/memory.max", "r");

    if (file && fscanf(file, "%" SCNu64, &bytes) == 1)
        print_bytes("control group's memory", bytes);
    if (file)
        fclose(file);
}

static void print_limit(const char *what, int resource)
{
    struct rlimit limit;

    if (getrlimit(resource, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
        print_bytes(what, limit.rlim_cur);
    else
        printf("  %-26s unlimited\n", what);
}

void od_info_topology(void)
{
    hwloc_topology_t topology;

    if (hwloc_topology_init(&topology) == 0) {
        hwloc_topology_set_io_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
        if (hwloc_topology_load(topology) == 0)
            print_machine(topology);
        hwloc_topology_destroy(topology);
    }
    printf("limits\n");
    print_available();
    print_control_group();
    print_limit("address space (ulimit -v)", RLIMIT_AS);
    print_limit("locked memory (ulimit -l)", RLIMIT_MEMLOCK);
}
