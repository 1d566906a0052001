/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Why there is no device for the program's code, where that is for NVIDIA's GPUs: libomptarget says nothing. Asked in
 * the order in which its plug-in would have failed. And whether the driver is older than the code: libomptarget finds
 * that at the first kernel.
 */
#include "omp_ext/process/why.h"

#include "memmgr/device/cuda/module.h"
#include "omp_ext/libomp/images.h"
#include "omp_ext/libomp/real.h"
#include "util/options.h"

#include <dlfcn.h>
#include <elf.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CAPABILITY_MAJOR = 75, CAPABILITY_MINOR = 76 }; /* CU_DEVICE_ATTRIBUTE_COMPUTE_... */
enum { COMPUTE_MODE = 20, PROHIBITED = 2, EXCLUSIVE = 3 };
enum { OLD_ABI = 7, NO_DEVICE = 100 };

typedef struct gpus {
    int (*init)(unsigned flags);
    int (*count)(int *count);
    int (*attribute)(int *value, int attribute, int device);
    int (*version)(int *version);
    int (*retain)(void **context, int device);
    int (*release)(int device);
} gpus;

static bool find(gpus *g, void *driver)
{
    static const char *const names[] = {"cuInit",
                                        "cuDeviceGetCount",
                                        "cuDeviceGetAttribute",
                                        "cuDriverGetVersion",
                                        "cuDevicePrimaryCtxRetain",
                                        "cuDevicePrimaryCtxRelease_v2"};
    void *found[sizeof names / sizeof *names];
    bool all = true;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        all &= (found[i] = dlsym(driver, names[i])) != NULL;
    memcpy(g, found, sizeof *g);
    return all;
}
_Static_assert(sizeof(gpus) == 6 * sizeof(void *), "a pointer for each name");

/* LLVM opens the driver by this name, which only its development files used to bring. */
static bool has_plain_name(void)
{
    void *driver = dlopen("libcuda.so", RTLD_LAZY | RTLD_LOCAL);
    if (driver)
        dlclose(driver);
    return driver;
}

/* Nothing: the first GPU takes this process. */
static void ask_context(const gpus *g, char *why, size_t size)
{
    void *context;
    int mode = 0, failed = g->retain(&context, 0);
    if (!failed)
        g->release(0);
    else if (!g->attribute(&mode, COMPUTE_MODE, 0) && mode == PROHIBITED)
        snprintf(why, size, "the GPU's compute mode is `prohibited` (nvidia-smi -c 0 allows programs)");
    else if (mode == EXCLUSIVE)
        snprintf(why, size, "the GPU's compute mode is `exclusive`, and another process has it");
    else
        snprintf(why, size, "the NVIDIA driver makes no context on the GPU (error %d)", failed);
}

static void ask_gpus(const gpus *g, const od_cuda_image *image, char *why, size_t size)
{
    const char *visible = od_environment("CUDA_VISIBLE_DEVICES");
    int failed = g->init(0), n = 0, major = 0, minor = 0;
    if (failed && failed != NO_DEVICE)
        snprintf(why, size, "the NVIDIA driver does not start (error %d)", failed);
    else if (failed || g->count(&n) || n < 1)
        snprintf(why, size, "the NVIDIA driver shows no GPU%s%s", visible ? ": CUDA_VISIBLE_DEVICES=" : "",
                 visible ? visible : "");
    else if (image->abi > OLD_ABI && od_real_is_old())
        snprintf(why, size,
                 "ptxas of CUDA 13 has made it, which this LLVM does not read: build it with CUDA 12 or older");
    else if (!g->attribute(&major, CAPABILITY_MAJOR, 0) && !g->attribute(&minor, CAPABILITY_MINOR, 0) &&
             ((int)image->arch / 10 != major || (int)image->arch % 10 > minor))
        snprintf(why, size, "it is for sm_%u, the GPU is sm_%d%d", image->arch, major, minor);
    else
        ask_context(g, why, size);
}

void od_why_no_device(char *why, size_t size)
{
    od_cuda_image image;
    gpus g;
    *why = '\0';
    if (!od_images_cuda(&image))
        return;
    void *driver = dlopen(OD_CUDA_LIBRARY, RTLD_LAZY | RTLD_LOCAL);
    if (!driver || !find(&g, driver))
        snprintf(why, size, "there is no NVIDIA driver (" OD_CUDA_LIBRARY ")");
    else if (!has_plain_name())
        snprintf(why, size, "LLVM opens libcuda.so, and here is only " OD_CUDA_LIBRARY ": make a link of that name");
    else
        ask_gpus(&g, &image, why, size);
    if (driver)
        dlclose(driver);
}

/* A driver reads the code of every CUDA that has its first number, and of older ones. */
void od_why_not_loaded(char *why, size_t size)
{
    od_cuda_image image;
    gpus g;
    int version = 0;
    *why = '\0';
    void *driver = od_images_cuda(&image) ? dlopen(OD_CUDA_LIBRARY, RTLD_LAZY | RTLD_LOCAL) : NULL;
    if (driver && find(&g, driver) && !g.version(&version) && (int)image.cuda > version / 1000)
        snprintf(why, size, "it is of CUDA %u, the NVIDIA driver of CUDA %d.%d", image.cuda, version / 1000,
                 version % 1000 / 10);
    if (driver)
        dlclose(driver);
}
