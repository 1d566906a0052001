/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Names and meanings of results, and the report of misuse.
 */
#include "double.h"

#include <stdarg.h>
#include <stdlib.h>

static const struct {
    od_cu_result result;
    const char *name, *text;
} errors[] = {
    {OD_CU_SUCCESS, "CUDA_SUCCESS", "it worked"},
    {OD_CU_INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE", "an argument is out of range"},
    {OD_CU_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY", "no memory is left"},
    {CD_NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED", "cuInit was not called"},
    {OD_CU_NO_DEVICE, "CUDA_ERROR_NO_DEVICE", "there is no device"},
    {OD_CU_INVALID_DEVICE, "CUDA_ERROR_INVALID_DEVICE", "no device has that number"},
    {OD_CU_INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT", "no context is current, or not a usable one"},
    {OD_CU_ECC_UNCORRECTABLE, "CUDA_ERROR_ECC_UNCORRECTABLE", "memory of the device is broken"},
    {CD_DEVICE_UNAVAILABLE, "CUDA_ERROR_DEVICE_UNAVAILABLE", "the device is not for this process"},
    {CD_UNSUPPORTED_PTX_VERSION, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION", "the image is of a later CUDA"},
    {CD_INVALID_IMAGE, "CUDA_ERROR_INVALID_IMAGE", "that is no image for a device"},
    {CD_NO_BINARY_FOR_GPU, "CUDA_ERROR_NO_BINARY_FOR_GPU", "the image is for other devices"},
    {CD_NOT_FOUND, "CUDA_ERROR_NOT_FOUND", "nothing has that name"},
    {CD_NOT_SUPPORTED, "CUDA_ERROR_NOT_SUPPORTED", "not supported here"},
    {CD_PEER_ACCESS_UNSUPPORTED, "CUDA_ERROR_PEER_ACCESS_UNSUPPORTED", "these devices cannot reach each other"},
    {OD_CU_NVLINK_UNCORRECTABLE, "CUDA_ERROR_NVLINK_UNCORRECTABLE", "a link between devices is broken"},
    {OD_CU_INVALID_HANDLE, "CUDA_ERROR_INVALID_HANDLE", "a handle does not fit"},
    {OD_CU_NOT_READY, "CUDA_ERROR_NOT_READY", "work is still pending"},
    {OD_CU_ILLEGAL_ADDRESS, "CUDA_ERROR_ILLEGAL_ADDRESS", "the device touched memory that it may not touch"},
    {OD_CU_LAUNCH_OUT_OF_RESOURCES, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", "a kernel needs more than there is"},
    {OD_CU_LAUNCH_TIMEOUT, "CUDA_ERROR_LAUNCH_TIMEOUT", "a kernel ran for too long"},
    {OD_CU_PEER_ACCESS_ALREADY_ENABLED, "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED", "peer access was on before"},
    {CD_CONTEXT_IS_DESTROYED, "CUDA_ERROR_CONTEXT_IS_DESTROYED", "the current context is gone"},
    {OD_CU_ASSERT, "CUDA_ERROR_ASSERT", "an assertion in a kernel failed"},
    {OD_CU_HOST_MEMORY_ALREADY_REGISTERED, "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED",
     "some of these pages are pinned already"},
    {OD_CU_HOST_MEMORY_NOT_REGISTERED, "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED", "no registration begins there"},
    {OD_CU_HARDWARE_STACK_ERROR, "CUDA_ERROR_HARDWARE_STACK_ERROR", "a kernel's stack broke"},
    {OD_CU_ILLEGAL_INSTRUCTION, "CUDA_ERROR_ILLEGAL_INSTRUCTION", "a kernel came to an unknown instruction"},
    {OD_CU_MISALIGNED_ADDRESS, "CUDA_ERROR_MISALIGNED_ADDRESS", "a kernel used an address that is not aligned"},
    {OD_CU_INVALID_ADDRESS_SPACE, "CUDA_ERROR_INVALID_ADDRESS_SPACE", "a kernel used the wrong kind of memory"},
    {OD_CU_INVALID_PC, "CUDA_ERROR_INVALID_PC", "a kernel jumped to where no code is"},
    {OD_CU_LAUNCH_FAILED, "CUDA_ERROR_LAUNCH_FAILED", "a kernel failed"},
    {OD_CU_CONTAINED, "CUDA_ERROR_CONTAINED", "a memory error hit this process alone"},
    {CD_NOT_PERMITTED, "CUDA_ERROR_NOT_PERMITTED", "not allowed here"},
    {OD_CU_SYSTEM_NOT_READY, "CUDA_ERROR_SYSTEM_NOT_READY", "the system is not ready"},
    {OD_CU_UNKNOWN, "CUDA_ERROR_UNKNOWN", "something else went wrong"},
};

static int find(od_cu_result result)
{
    for (unsigned i = 0; i < sizeof errors / sizeof *errors; i++)
        if (errors[i].result == result)
            return (int)i;
    return -1;
}

od_cu_result cuGetErrorName(od_cu_result error, const char **name)
{
    od_cu_result result = cd_enter(CD_cuGetErrorName, CD_NOTHING);
    if (result)
        return result;
    int i = find(error);
    *name = i < 0 ? NULL : errors[i].name;
    return cd_leave(i < 0 ? OD_CU_INVALID_VALUE : OD_CU_SUCCESS);
}

od_cu_result cuGetErrorString(od_cu_result error, const char **text)
{
    od_cu_result result = cd_enter(CD_cuGetErrorString, CD_NOTHING);
    if (result)
        return result;
    int i = find(error);
    *text = i < 0 ? NULL : errors[i].text;
    return cd_leave(i < 0 ? OD_CU_INVALID_VALUE : OD_CU_SUCCESS);
}

int cuda_double_misuse(int result, const char *format, ...)
{
    char message[512];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    fprintf(stderr, "cuda double: misuse: %s\n", message);
    atomic_fetch_add(&cd.stats.misuses, 1);
    if (!cd.settings.warn)
        abort();
    return result;
}
