/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The machine as hwloc sees it, and the limits on its memory.
 */
#include "tools/info/machine.h"

#include <hwloc.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

const char *info_bytes(uint64_t bytes, char text[32])
{
    static const char *const units[] = {"KiB", "MiB", "GiB"};
    double amount = (double)bytes / 1024;
    size_t unit = 0;

    for (; amount >= 1024 && unit < 2; unit++)
        amount /= 1024;
    snprintf(text, 32, "%.1f %s", amount, units[unit]);
    return text;
}

static void print_bytes(const char *what, uint64_t bytes)
{
    char text[32];
    printf("  %-26s %s\n", what, info_bytes(bytes, text));
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

static bool load(hwloc_topology_t *topology)
{
    if (hwloc_topology_init(topology))
        return false;
    hwloc_topology_set_io_types_filter(*topology, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
    if (hwloc_topology_load(*topology) == 0)
        return true;
    hwloc_topology_destroy(*topology);
    return false;
}

/* A row of the kernel's table, such as "MemTotal:"; 0: not known. */
static uint64_t memory(const char *row)
{
    char line[128];
    size_t length = strlen(row);
    uint64_t kib = 0;
    FILE *file = fopen("/proc/meminfo", "r");

    while (file && !kib && fgets(line, sizeof line, file))
        if (strncmp(line, row, length) == 0)
            kib = strtoull(line + length, NULL, 10);
    if (file)
        fclose(file);
    return kib * 1024;
}

static uint64_t available(void)
{
    return memory("MemAvailable:");
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

static void count(hwloc_topology_t topology, info_machine *found)
{
    found->packages = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PACKAGE);
    found->nodes = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_NUMANODE);
    found->cores = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE);
    found->threads = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PU);
    found->memory = memory("MemTotal:"); /* hwloc's may be less than what is available */
}

void info_find_machine(info_machine *found)
{
    hwloc_topology_t topology;
    *found = (info_machine){.available = available()};
    if (load(&topology)) {
        count(topology, found);
        hwloc_topology_destroy(topology);
    }
}

static void print_machine(hwloc_topology_t topology)
{
    info_machine machine;
    count(topology, &machine);
    printf("machine (hwloc)\n");
    printf("  %-26s %d package%s, %d NUMA node%s, %d cores, %d hardware threads\n", "processors", machine.packages,
           machine.packages == 1 ? "" : "s", machine.nodes, machine.nodes == 1 ? "" : "s", machine.cores,
           machine.threads);
    print_bytes("memory", machine.memory);
    print_nodes(topology);
    print_gpus(topology);
}

void info_print_topology(void)
{
    hwloc_topology_t topology;

    if (load(&topology)) {
        print_machine(topology);
        hwloc_topology_destroy(topology);
    }
    printf("limits\n");
    print_bytes("memory available now", available());
    print_control_group();
    print_limit("address space (ulimit -v)", RLIMIT_AS);
    print_limit("locked memory (ulimit -l)", RLIMIT_MEMLOCK);
}
