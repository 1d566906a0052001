/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Finding the driver, and its errors in words. See driver.h. */
#define _GNU_SOURCE
#include "memmgr/device/cuda/driver.h"

#include "util/log.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    size_t offset;
} functions[] = {
#define FUNCTION(member, name, arguments) {#name, offsetof(od_cu_driver, member)},
    OD_CU_FUNCTIONS(FUNCTION)
#undef FUNCTION
};

static const char *find_all(od_cu_driver *cu)
{
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        void *symbol = dlsym(cu->library, functions[i].name);
        if (!symbol)
            return functions[i].name;
        memcpy((char *)cu + functions[i].offset, &symbol, sizeof symbol);
    }
    return NULL;
}

od_status od_cu_open(od_cu_driver *cu, const char *library, char *why, size_t why_size)
{
    *cu = (od_cu_driver){.library = dlopen(library, RTLD_NOW | RTLD_LOCAL)};
    if (!cu->library) {
        const char *error = dlerror();
        snprintf(why, why_size, "%s", error ? error : library);
        return OD_EDEVICE;
    }
    const char *missing = find_all(cu);
    if (missing) {
        snprintf(why, why_size, "%s has no %s", library, missing);
        dlclose(cu->library);
        return OD_EDEVICE;
    }
    od_cu_result result = cu->init(0);
    if (!result)
        return OD_OK;
    const char *name = NULL, *text = NULL;
    cu->error_name(result, &name);
    cu->error_text(result, &text);
    snprintf(why, why_size, "cuInit failed: %s (%s)", name ? name : "unknown error", text ? text : "?");
    return OD_EDEVICE;
}

bool od_cu_is_sticky(od_cu_result result)
{
    switch (result) {
    case OD_CU_ECC_UNCORRECTABLE:
    case OD_CU_NVLINK_UNCORRECTABLE:
    case OD_CU_CONTAINED:
    case OD_CU_ILLEGAL_ADDRESS:
    case OD_CU_LAUNCH_TIMEOUT:
    case OD_CU_ASSERT:
    case OD_CU_HARDWARE_STACK_ERROR:
    case OD_CU_ILLEGAL_INSTRUCTION:
    case OD_CU_MISALIGNED_ADDRESS:
    case OD_CU_INVALID_ADDRESS_SPACE:
    case OD_CU_INVALID_PC:
    case OD_CU_LAUNCH_FAILED:
        return true;
    default:
        return false;
    }
}

od_status od_cu_check(const od_cu_driver *cu, od_cu_result result, const char *doing, unsigned k)
{
    if (!result)
        return OD_OK;
    const char *name = NULL, *text = NULL;
    cu->error_name(result, &name);
    cu->error_text(result, &text);
    od_log(OD_LOG_ERROR, "cuda", "device %u: %s: %s (%d, %s)%s", k, doing, name ? name : "unknown error", result,
           text ? text : "no description", od_cu_is_sticky(result) ? "; the device is no longer usable" : "");
    return OD_EDEVICE;
}
