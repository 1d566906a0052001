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

static const double bytes_per_gib = 1024.0 * 1024.0 * 1024.0;

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

static void print_library(const char *what, void *library)
{
    struct link_map *map = NULL;
    char path[PATH_MAX] = "not found";

    if (library && dlinfo(library, RTLD_DI_LINKMAP, &map) == 0 && map)
        if (!realpath(map->l_name, path))
            snprintf(path, sizeof path, "%s", map->l_name);
    printf("  %-12s %s\n", what, path);
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

static void print_host_devices(void *libomptarget)
{
    struct utsname system;
    symbol call;

    if (!libomptarget || uname(&system) != 0)
        return;
    if (register_own_image(libomptarget) && find(libomptarget, "omp_get_num_devices", &call))
        printf("  %-12s %d, for programs built with -fopenmp-targets=%s-pc-linux-gnu\n", "host", call.get_num_devices(),
               system.machine);
}

static void print_nvidia_devices(void)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    symbol init, count, name, memory;
    int devices = 0;

    if (!driver || !find(driver, "cuInit", &init) || !find(driver, "cuDeviceGetCount", &count) ||
        !find(driver, "cuDeviceGetName", &name) || !find(driver, "cuDeviceTotalMem_v2", &memory)) {
        printf("  %-12s no driver\n", "NVIDIA");
        return;
    }
    if (init.cu_init(0) == 0)
        count.cu_count(&devices);
    printf("  %-12s %d, for programs built with --offload-arch=sm_NN\n", "NVIDIA", devices);
    for (int i = 0; i < devices; i++) {
        char text[128] = "";
        size_t bytes = 0;
        name.cu_name(text, sizeof text, i);
        memory.cu_memory(&bytes, i);
        printf("    %d: %s, %.1f GiB\n", i, text, (double)bytes / bytes_per_gib);
    }
}

static void probe(void)
{
    printf("LLVM\n");
    void *libomp = dlopen("libomp.so.5", RTLD_NOW | RTLD_GLOBAL);
    print_library("libomp", libomp ? libomp : open_in_llvm_folder("libomp.so"));
    void *libomptarget = open_libomptarget();
    print_library("libomptarget", libomptarget);
    printf("devices (a program sees those that it was built for)\n");
    const char *offload = od_environment("OMP_TARGET_OFFLOAD");
    if (offload && strcasecmp(offload, "disabled") == 0)
        printf("  none is used: OMP_TARGET_OFFLOAD=%s\n", offload);
    fflush(stdout);
    print_host_devices(libomptarget);
    print_nvidia_devices();
}

void od_info_devices(void)
{
    int status = 0;

    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        probe();
        fflush(stdout);
        _exit(0);
    }
    if (child < 0 || waitpid(child, &status, 0) < 0)
        printf("LLVM\n  not looked at: no child process\n");
    else if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        printf("  looking further failed: the runtime libraries ended the process\n");
}
