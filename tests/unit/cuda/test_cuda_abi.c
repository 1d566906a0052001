/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Our declarations of the CUDA driver API against those of cuda.h: numbers, sizes, and which functions its plain names
 * stand for. Skipped where no cuda.h is installed.
 */
#include "memmgr/device/cuda/driver.h"

#include <stdio.h>

#ifndef TEST_CUDA_H

int main(void)
{
    puts("skipped: no cuda.h was found when this was configured (CUDA_PATH)");
    return 77;
}

#else

#include <cuda.h>
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/cuda_double/functions.h"
#if __has_include(<cublas_v2.h>) && __has_include(<driver_types.h>) && __has_include(<crt/host_defines.h>)
#define HAS_CUBLAS
#include <cublas_v2.h>
#endif

/* Not in every cuda.h that the rest is compared with. */
#if CUDA_VERSION >= 13000
#define NEWER_ERRORS(ERROR) ERROR(OD_CU_CONTAINED, CUDA_ERROR_CONTAINED)
#else
#define NEWER_ERRORS(ERROR)
#endif

#define ERRORS(ERROR)                                                                                                  \
    ERROR(OD_CU_SUCCESS, CUDA_SUCCESS)                                                                                 \
    ERROR(OD_CU_INVALID_VALUE, CUDA_ERROR_INVALID_VALUE)                                                               \
    ERROR(OD_CU_OUT_OF_MEMORY, CUDA_ERROR_OUT_OF_MEMORY)                                                               \
    ERROR(OD_CU_NO_DEVICE, CUDA_ERROR_NO_DEVICE)                                                                       \
    ERROR(OD_CU_INVALID_DEVICE, CUDA_ERROR_INVALID_DEVICE)                                                             \
    ERROR(OD_CU_INVALID_CONTEXT, CUDA_ERROR_INVALID_CONTEXT)                                                           \
    ERROR(OD_CU_ECC_UNCORRECTABLE, CUDA_ERROR_ECC_UNCORRECTABLE)                                                       \
    ERROR(OD_CU_NVLINK_UNCORRECTABLE, CUDA_ERROR_NVLINK_UNCORRECTABLE)                                                 \
    ERROR(OD_CU_INVALID_HANDLE, CUDA_ERROR_INVALID_HANDLE)                                                             \
    ERROR(OD_CU_NOT_READY, CUDA_ERROR_NOT_READY)                                                                       \
    ERROR(OD_CU_ILLEGAL_ADDRESS, CUDA_ERROR_ILLEGAL_ADDRESS)                                                           \
    ERROR(OD_CU_LAUNCH_OUT_OF_RESOURCES, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES)                                           \
    ERROR(OD_CU_LAUNCH_TIMEOUT, CUDA_ERROR_LAUNCH_TIMEOUT)                                                             \
    ERROR(OD_CU_PEER_ACCESS_ALREADY_ENABLED, CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED)                                   \
    ERROR(OD_CU_ASSERT, CUDA_ERROR_ASSERT)                                                                             \
    ERROR(OD_CU_HOST_MEMORY_ALREADY_REGISTERED, CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED)                             \
    ERROR(OD_CU_HOST_MEMORY_NOT_REGISTERED, CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED)                                     \
    ERROR(OD_CU_HARDWARE_STACK_ERROR, CUDA_ERROR_HARDWARE_STACK_ERROR)                                                 \
    ERROR(OD_CU_ILLEGAL_INSTRUCTION, CUDA_ERROR_ILLEGAL_INSTRUCTION)                                                   \
    ERROR(OD_CU_MISALIGNED_ADDRESS, CUDA_ERROR_MISALIGNED_ADDRESS)                                                     \
    ERROR(OD_CU_INVALID_ADDRESS_SPACE, CUDA_ERROR_INVALID_ADDRESS_SPACE)                                               \
    ERROR(OD_CU_INVALID_PC, CUDA_ERROR_INVALID_PC)                                                                     \
    ERROR(OD_CU_LAUNCH_FAILED, CUDA_ERROR_LAUNCH_FAILED)                                                               \
    ERROR(OD_CU_SYSTEM_NOT_READY, CUDA_ERROR_SYSTEM_NOT_READY)                                                         \
    ERROR(OD_CU_UNKNOWN, CUDA_ERROR_UNKNOWN)                                                                           \
    NEWER_ERRORS(ERROR)

/* Those that only the double gives. */
#define DOUBLES_ERRORS(ERROR)                                                                                          \
    ERROR(3, CUDA_ERROR_NOT_INITIALIZED)                                                                               \
    ERROR(217, CUDA_ERROR_PEER_ACCESS_UNSUPPORTED)                                                                     \
    ERROR(709, CUDA_ERROR_CONTEXT_IS_DESTROYED)                                                                        \
    ERROR(800, CUDA_ERROR_NOT_PERMITTED)

#define SAME(ours, theirs) _Static_assert((int)(ours) == (int)(theirs), #ours);
ERRORS(SAME)
DOUBLES_ERRORS(SAME)
SAME(OD_CU_STREAM_NON_BLOCKING, CU_STREAM_NON_BLOCKING)
SAME(OD_CU_EVENT_BLOCKING_SYNC, CU_EVENT_BLOCKING_SYNC)
SAME(OD_CU_EVENT_DISABLE_TIMING, CU_EVENT_DISABLE_TIMING)
SAME(OD_CU_MEMHOST_PORTABLE, CU_MEMHOSTALLOC_PORTABLE)
SAME(OD_CU_MEMHOST_PORTABLE, CU_MEMHOSTREGISTER_PORTABLE)
SAME(OD_CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_MEMORY_TYPE)
SAME(OD_CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL)
SAME(OD_CU_MEMORYTYPE_HOST, CU_MEMORYTYPE_HOST)
SAME(OD_CU_MEMORYTYPE_DEVICE, CU_MEMORYTYPE_DEVICE)
SAME(OD_CU_HAS_VIRTUAL_MEMORY, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED)
SAME(OD_CU_HAS_CONCURRENT_MANAGED, CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS)
SAME(OD_CU_ATTACH_GLOBAL, CU_MEM_ATTACH_GLOBAL)
SAME(OD_CU_READ_MOSTLY, CU_MEM_ADVISE_SET_READ_MOSTLY)
SAME(OD_CU_NOT_READ_MOSTLY, CU_MEM_ADVISE_UNSET_READ_MOSTLY)
SAME(OD_CU_ON_HOST, (int)CU_DEVICE_CPU)
SAME(OD_CU_CAN_MAP_RDMA, CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED)
SAME(OD_CU_MEMORY_PINNED, CU_MEM_ALLOCATION_TYPE_PINNED)
SAME(OD_CU_LOCATION_DEVICE, CU_MEM_LOCATION_TYPE_DEVICE)
SAME(OD_CU_ACCESS_READ_WRITE, CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
SAME(OD_CU_LEAST_GRANULARITY, CU_MEM_ALLOC_GRANULARITY_MINIMUM)
SAME(sizeof(od_cu_memory), sizeof(CUmemGenericAllocationHandle))
SAME(sizeof(od_cu_memory_properties), sizeof(CUmemAllocationProp))
SAME(offsetof(od_cu_memory_properties, type), offsetof(CUmemAllocationProp, type))
SAME(offsetof(od_cu_memory_properties, handle_types), offsetof(CUmemAllocationProp, requestedHandleTypes))
SAME(offsetof(od_cu_memory_properties, location.type), offsetof(CUmemAllocationProp, location.type))
SAME(offsetof(od_cu_memory_properties, location.id), offsetof(CUmemAllocationProp, location.id))
SAME(offsetof(od_cu_memory_properties, flags.rdma), offsetof(CUmemAllocationProp, allocFlags.gpuDirectRDMACapable))
SAME(sizeof(od_cu_access), sizeof(CUmemAccessDesc))
SAME(offsetof(od_cu_access, location.id), offsetof(CUmemAccessDesc, location.id))
SAME(offsetof(od_cu_access, flags), offsetof(CUmemAccessDesc, flags))
SAME(sizeof(od_cu_result), sizeof(CUresult))
SAME(sizeof(od_cu_device), sizeof(CUdevice))
SAME(sizeof(od_cu_address), sizeof(CUdeviceptr))
SAME(sizeof(od_cu_context), sizeof(CUcontext))
SAME(sizeof(od_cu_stream), sizeof(CUstream))
SAME(sizeof(od_cu_event), sizeof(CUevent))
SAME(sizeof(unsigned), sizeof(CUmemorytype)) /* what cuPointerGetAttribute writes */

/* The double of cuBLAS. */
#ifdef HAS_CUBLAS
SAME(CD_CUBLAS_SUCCESS, CUBLAS_STATUS_SUCCESS)
SAME(CD_CUBLAS_NOT_INITIALIZED, CUBLAS_STATUS_NOT_INITIALIZED)
SAME(CD_CUBLAS_ALLOC_FAILED, CUBLAS_STATUS_ALLOC_FAILED)
SAME(CD_CUBLAS_INVALID_VALUE, CUBLAS_STATUS_INVALID_VALUE)
SAME(CD_CUBLAS_EXECUTION_FAILED, CUBLAS_STATUS_EXECUTION_FAILED)
SAME(CD_CUBLAS_N, CUBLAS_OP_N)
SAME(CD_CUBLAS_T, CUBLAS_OP_T)
SAME(CD_CUBLAS_C, CUBLAS_OP_C)
SAME(CD_CUBLAS_LOWER, CUBLAS_FILL_MODE_LOWER)
SAME(CD_CUBLAS_UPPER, CUBLAS_FILL_MODE_UPPER)
SAME(CD_CUBLAS_LEFT, CUBLAS_SIDE_LEFT)
SAME(CD_CUBLAS_RIGHT, CUBLAS_SIDE_RIGHT)
SAME(CD_CUBLAS_NON_UNIT, CUBLAS_DIAG_NON_UNIT)
SAME(CD_CUBLAS_UNIT, CUBLAS_DIAG_UNIT)
#endif

/* What cuda.h makes of a plain name. */
#define TEXT(name) #name
#define EXPANDED(name) TEXT(name)
#define PLAIN(name) {#name, EXPANDED(name)}

static const struct {
    const char *plain, *expanded;
} functions[] = {
    PLAIN(cuInit),
    PLAIN(cuDriverGetVersion),
    PLAIN(cuDeviceGetCount),
    PLAIN(cuDeviceGet),
    PLAIN(cuDeviceGetName),
    PLAIN(cuDeviceGetPCIBusId),
    PLAIN(cuDeviceGetAttribute),
    PLAIN(cuMemGetAllocationGranularity),
    PLAIN(cuMemAddressReserve),
    PLAIN(cuMemAddressFree),
    PLAIN(cuMemCreate),
    PLAIN(cuMemRelease),
    PLAIN(cuMemMap),
    PLAIN(cuMemUnmap),
    PLAIN(cuMemSetAccess),
    PLAIN(cuDeviceCanAccessPeer),
    PLAIN(cuDevicePrimaryCtxRetain),
    PLAIN(cuDevicePrimaryCtxRelease),
    PLAIN(cuCtxPushCurrent),
    PLAIN(cuCtxPopCurrent),
    PLAIN(cuCtxEnablePeerAccess),
    PLAIN(cuMemGetInfo),
    PLAIN(cuMemAlloc),
    PLAIN(cuMemFree),
    PLAIN(cuMemAllocManaged),
    {"cuMemPrefetchAsync", "cuMemPrefetchAsync"}, /* the plain names of CUDA 13 stand for other functions; */
    {"cuMemAdvise", "cuMemAdvise"},               /* these stay in the library, for older programs */
    PLAIN(cuMemHostAlloc),
    PLAIN(cuMemFreeHost),
    PLAIN(cuMemHostRegister),
    PLAIN(cuMemHostUnregister),
    PLAIN(cuPointerGetAttribute),
    PLAIN(cuStreamCreate),
    PLAIN(cuStreamDestroy),
    PLAIN(cuStreamSynchronize),
    PLAIN(cuEventCreate),
    PLAIN(cuEventDestroy),
    PLAIN(cuEventRecord),
    PLAIN(cuStreamQuery),
    PLAIN(cuEventQuery),
    PLAIN(cuEventSynchronize),
    PLAIN(cuMemcpyHtoDAsync),
    PLAIN(cuMemcpyDtoHAsync),
    PLAIN(cuMemcpyDtoDAsync),
    PLAIN(cuMemcpyPeerAsync),
    PLAIN(cuGetErrorName),
    PLAIN(cuGetErrorString),
};

/* A function that neither has is an error of the compiler. */
#define DECLARED(member, name, arguments) _Static_assert(sizeof(&name) == sizeof(void *), #name);
OD_CU_FUNCTIONS(DECLARED)

static const char *const ours[] = {
#define NAME(member, name, arguments) #name,
    OD_CU_FUNCTIONS(NAME)
#undef NAME
};

enum { NFUNCTIONS = sizeof functions / sizeof *functions };

static size_t plain_length(const char *name)
{
    size_t length = strlen(name);
    return length > 3 && name[length - 3] == '_' && name[length - 2] == 'v' ? length - 3 : length;
}

static void test_names_of_functions(void **state)
{
    (void)state;
    assert_int_equal(sizeof ours / sizeof *ours, NFUNCTIONS);
    for (unsigned i = 0; i < NFUNCTIONS; i++) {
        size_t length = plain_length(ours[i]);
        unsigned k = 0;
        while (k < NFUNCTIONS &&
               (strlen(functions[k].plain) != length || strncmp(functions[k].plain, ours[i], length) != 0))
            k++;
        assert_in_range(k, 0, NFUNCTIONS - 1);
        assert_string_equal(functions[k].expanded, ours[i]);
    }
}

static const struct {
    od_cu_result result;
    const char *name;
} errors[] = {
#define ENTRY(ours, theirs) {ours, #theirs},
    ERRORS(ENTRY) DOUBLES_ERRORS(ENTRY)
#undef ENTRY
};

/* The double's names for results are cuda.h's. */
static void test_names_of_errors(void **state)
{
    (void)state;
    void *library = dlopen(TEST_CUDA_DOUBLE, RTLD_NOW);
    assert_non_null(library);
    void *symbol = dlsym(library, "cuGetErrorName");
    assert_non_null(symbol);
    od_cu_result (*name_of)(od_cu_result, const char **);
    memcpy(&name_of, &symbol, sizeof name_of);
    for (unsigned i = 0; i < sizeof errors / sizeof *errors; i++) {
        const char *name = NULL;
        assert_int_equal(name_of(errors[i].result, &name), 0);
        assert_string_equal(name, errors[i].name);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names_of_functions),
        cmocka_unit_test(test_names_of_errors),
    };
    return cmocka_run_group_tests_name("cuda abi", tests, NULL, NULL);
}

#endif
