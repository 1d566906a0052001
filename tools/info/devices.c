/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The LLVM runtimes and the devices, as far as they show without a program.
 *
 * libomptarget makes a plug-in's devices available when a device image for them is
 * registered, which a program's start-up code does. For host devices any executable of this machine passes
 * for an image until it is loaded, so this command registers itself. NVIDIA devices
 * are asked for at their driver. All of it happens in a child process: what foreign
 * libraries do there, crash included, ends with it.
 */
#define _GNU_SOURCE
#include "tools/info/machine.h"
#include "tools/tools.h"
#include "util/options.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

/* Where CMake found LLVM's runtimes: tried when the loader does not find them by name. */
#ifndef OMPDARTS_LLVM_LIBDIR
#define OMPDARTS_LLVM_LIBDIR "/usr/lib"
#endif

enum { OLDEST_LLVM = 19, NEWEST_LLVM = 30 };

/* libomptarget's descriptor of a program's device images (offload/include/Shared/APITypes.h). */
typedef struct device_image {
    void *begin, *end;
    void *entries_begin, *entries_end;
} device_image;

typedef struct image_descriptor {
    int32_t count;
    device_image *images;
    void *entries_begin, *entries_end;
} image_descriptor;

/* A function of a library, by way of a union: ISO C has no cast from object to function pointer. */
typedef union symbol {
    void *address;
    void (*register_images)(image_descriptor *);
    int (*get_num_devices)(void);
    int (*cu_init)(unsigned);
    int (*cu_count)(int *);
    int (*cu_name)(char *, int, int);
    int (*cu_memory)(size_t *, int);
    int (*nvml_init)(void);
    int (*nvml_handle)(const char *, void **);
    int (*nvml_memory)(void *, void *);
} symbol;

static bool find(void *library, const char *name, symbol *found)
{
    found->address = dlsym(library, name);
    return found->address != NULL;
}

/* --- LLVM's runtimes --------------------------------------------------------- */

static void *open_in_llvm_folder(const char *name)
{
    char pattern[PATH_MAX];
    glob_t matches;
    void *library = NULL;

    snprintf(pattern, sizeof pattern, "%s/%s*", OMPDARTS_LLVM_LIBDIR, name);
    if (glob(pattern, 0, NULL, &matches) == 0)
        for (size_t i = 0; !library && i < matches.gl_pathc; i++)
            library = dlopen(matches.gl_pathv[i], RTLD_NOW | RTLD_GLOBAL);
    globfree(&matches);
    return library;
}

static void *open_libomptarget(void)
{
    void *library = NULL;

    for (int version = NEWEST_LLVM; !library && version >= OLDEST_LLVM; version--) {
        char name[64];
        snprintf(name, sizeof name, "libomptarget.so.%d.1", version);
        library = dlopen(name, RTLD_NOW | RTLD_GLOBAL);
    }
    return library ? library : open_in_llvm_folder("libomptarget.so");
}

/* Where a library lies; "" where it is none. */
static void find_path(void *library, char path[PATH_MAX])
{
    struct link_map *map = NULL;
    if (library && dlinfo(library, RTLD_DI_LINKMAP, &map) == 0 && map && !realpath(map->l_name, path))
        snprintf(path, PATH_MAX, "%s", map->l_name);
}

/* --- devices ------------------------------------------------------------------ */

/* The image stays registered, and mapped, until the process ends. */
static bool register_own_image(void *libomptarget)
{
    static device_image image;
    static image_descriptor descriptor = {.count = 1, .images = &image};
    struct stat info;
    symbol call;
    int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

    if (file < 0 || fstat(file, &info) != 0 || !find(libomptarget, "__tgt_register_lib", &call))
        return false;
    void *bytes = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, file, 0);
    close(file);
    if (bytes == MAP_FAILED)
        return false;
    image.begin = bytes;
    image.end = (char *)bytes + info.st_size;
    call.register_images(&descriptor);
    return true;
}

static void find_host_devices(void *libomptarget, info_devices *found)
{
    symbol call;
    if (libomptarget && register_own_image(libomptarget) && find(libomptarget, "omp_get_num_devices", &call))
        found->host_devices = call.get_num_devices();
}

/* A GPU's free memory comes from the management library: the driver reports it only to programs that have taken
 * some. */
static uint64_t free_memory(void *nvml, void *driver, int gpu)
{
    struct {
        unsigned long long total, free, used;
    } memory = {0};
    char bus[64] = "";
    void *handle = NULL;
    symbol address, get, ask;
    bool known = find(driver, "cuDeviceGetPCIBusId", &address) && address.cu_name(bus, sizeof bus, gpu) == 0 &&
                 find(nvml, "nvmlDeviceGetHandleByPciBusId_v2", &get) && get.nvml_handle(bus, &handle) == 0 &&
                 find(nvml, "nvmlDeviceGetMemoryInfo", &ask) && ask.nvml_memory(handle, &memory) == 0;
    return known ? memory.free : 0;
}

static void find_gpus(info_devices *found)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW), *nvml = dlopen("libnvidia-ml.so.1", RTLD_NOW);
    symbol init, count, name, memory, begin;
    int gpus = 0;

    found->driver = driver && find(driver, "cuInit", &init) && find(driver, "cuDeviceGetCount", &count) &&
                    find(driver, "cuDeviceGetName", &name) && find(driver, "cuDeviceTotalMem_v2", &memory);
    if (!found->driver || init.cu_init(0) != 0 || count.cu_count(&gpus) != 0)
        return;
    bool manages = nvml && find(nvml, "nvmlInit_v2", &begin) && begin.nvml_init() == 0;
    for (int i = 0; i < gpus && i < INFO_MOST_GPUS; i++) {
        info_gpu *gpu = &found->gpu[i];
        size_t bytes = 0;
        name.cu_name(gpu->name, sizeof gpu->name, i);
        memory.cu_memory(&bytes, i);
        gpu->bytes = bytes;
        gpu->free_bytes = manages ? free_memory(nvml, driver, i) : 0;
        found->gpus = i + 1;
    }
}

static void probe(info_devices *found)
{
    void *libomp = dlopen("libomp.so.5", RTLD_NOW | RTLD_GLOBAL);
    find_path(libomp ? libomp : open_in_llvm_folder("libomp.so"), found->libomp);
    void *libomptarget = open_libomptarget();
    find_path(libomptarget, found->libomptarget);
    find_host_devices(libomptarget, found);
    find_gpus(found);
}

void info_find_devices(info_devices *found)
{
    int status = 0;
    struct utsname system;
    const char *offload = od_environment("OMP_TARGET_OFFLOAD");
    info_devices *shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    *found = (info_devices){.host_devices = -1, .crashed = true};
    if (shared == MAP_FAILED)
        return;
    shared->host_devices = -1;
    fflush(stdout);
    pid_t child = od_tool_fork();
    if (child == 0) {
        probe(shared);
        _exit(0);
    }
    bool asked = child > 0 && waitpid(child, &status, 0) == child;
    *found = *shared;
    found->crashed = !asked || !WIFEXITED(status) || WEXITSTATUS(status) != 0;
    munmap(shared, sizeof *shared);
    if (offload && strcasecmp(offload, "disabled") == 0)
        snprintf(found->disabled, sizeof found->disabled, "%s", offload);
    if (uname(&system) == 0)
        snprintf(found->architecture, sizeof found->architecture, "%s", system.machine);
}

/* --- as text ------------------------------------------------------------------- */

static void print_gpu(int number, const info_gpu *gpu)
{
    char bytes[32], left[32];
    printf("    %d: %s, %s", number, gpu->name, info_bytes(gpu->bytes, bytes));
    if (gpu->free_bytes)
        printf(", %s free", info_bytes(gpu->free_bytes, left));
    printf("\n");
}

void info_print_devices(const info_devices *found)
{
    char left[32];
    info_machine machine;
    info_find_machine(&machine);
    printf("LLVM\n");
    printf("  %-12s %s\n", "libomp", *found->libomp ? found->libomp : "not found");
    printf("  %-12s %s\n", "libomptarget", *found->libomptarget ? found->libomptarget : "not found");
    printf("devices (a program sees those that it was built for)\n");
    if (*found->disabled)
        printf("  none is used: OMP_TARGET_OFFLOAD=%s\n", found->disabled);
    if (found->host_devices >= 0)
        printf("  %-12s %d, for programs built with -fopenmp-targets=%s-pc-linux-gnu; they share this machine's "
               "memory, %s free\n",
               "host", found->host_devices, found->architecture, info_bytes(machine.available, left));
    if (!found->driver)
        printf("  %-12s no driver\n", "NVIDIA");
    else
        printf("  %-12s %d, for programs built with --offload-arch=sm_NN\n", "NVIDIA", found->gpus);
    for (int i = 0; i < found->gpus; i++)
        print_gpu(i, &found->gpu[i]);
    if (found->crashed)
        printf("  the search failed: the runtime libraries ended the process\n");
}
