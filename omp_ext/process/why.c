/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Why there is no device for the program's code, where that is for NVIDIA's GPUs: libomptarget says nothing. Asked in
 * the order in which its plug-in would have failed.
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
enum { OLD_ABI = 7, NO_DEVICE = 100 };

typedef struct gpus {
    int (*init)(unsigned flags);
    int (*count)(int *count);
    int (*attribute)(int *value, int attribute, int device);
} gpus;

static bool find(gpus *g, void *driver)
{
    void *init = dlsym(driver, "cuInit"), *count = dlsym(driver, "cuDeviceGetCount");
    void *attribute = dlsym(driver, "cuDeviceGetAttribute");
    memcpy(&g->init, &init, sizeof init);
    memcpy(&g->count, &count, sizeof count);
    memcpy(&g->attribute, &attribute, sizeof attribute);
    return init && count && attribute;
}

/* LLVM opens the driver by this name, which only its development files used to bring. */
static bool has_plain_name(void)
{
    void *driver = dlopen("libcuda.so", RTLD_LAZY | RTLD_LOCAL);
    if (driver)
        dlclose(driver);
    return driver;
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
