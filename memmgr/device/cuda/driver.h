/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The part of NVIDIA's driver API that we call, found in libcuda.so.1 when it is needed.
 *
 * The declarations are our own, so that neither building nor running needs an installation of CUDA: names, numbers
 * and argument types are those of cuda.h, which tests/unit/cuda/test_cuda_abi.c compares where there is one. A function
 * with a version in its name (_v2) is what cuda.h's plain name has stood for since CUDA 11.
 */
#ifndef OD_MEMMGR_DEVICE_CUDA_DRIVER_H
#define OD_MEMMGR_DEVICE_CUDA_DRIVER_H

#include "util/status.h"

#include <stdbool.h>
#include <stddef.h>

typedef int od_cu_result;                 /* CUresult */
typedef int od_cu_device;                 /* CUdevice */
typedef unsigned long long od_cu_address; /* CUdeviceptr */
typedef struct od_cu_context_st *od_cu_context;
typedef struct od_cu_stream_st *od_cu_stream;
typedef struct od_cu_event_st *od_cu_event;
typedef unsigned long long od_cu_memory; /* CUmemGenericAllocationHandle */

typedef struct od_cu_location { /* CUmemLocation */
    int type, id;
} od_cu_location;

typedef struct od_cu_memory_properties { /* CUmemAllocationProp */
    int type, handle_types;
    od_cu_location location;
    void *windows;
    struct {
        unsigned char compression, rdma;
        unsigned short usage;
        unsigned char reserved[4];
    } flags;
} od_cu_memory_properties;

typedef struct od_cu_access { /* CUmemAccessDesc */
    od_cu_location location;
    int flags;
} od_cu_access;

enum { /* CUresult */
       OD_CU_SUCCESS = 0,
       OD_CU_INVALID_VALUE = 1,
       OD_CU_OUT_OF_MEMORY = 2,
       OD_CU_NO_DEVICE = 100,
       OD_CU_INVALID_DEVICE = 101,
       OD_CU_INVALID_CONTEXT = 201,
       OD_CU_ECC_UNCORRECTABLE = 214,
       OD_CU_NVLINK_UNCORRECTABLE = 220,
       OD_CU_CONTAINED = 226, /* CUDA_ERROR_CONTAINED: a memory error that was kept to the process */
       OD_CU_INVALID_HANDLE = 400,
       OD_CU_NOT_READY = 600,
       OD_CU_ILLEGAL_ADDRESS = 700,
       OD_CU_LAUNCH_OUT_OF_RESOURCES = 701,
       OD_CU_LAUNCH_TIMEOUT = 702,
       OD_CU_PEER_ACCESS_ALREADY_ENABLED = 704,
       OD_CU_ASSERT = 710,
       OD_CU_HOST_MEMORY_ALREADY_REGISTERED = 712,
       OD_CU_HOST_MEMORY_NOT_REGISTERED = 713,
       OD_CU_HARDWARE_STACK_ERROR = 714,
       OD_CU_ILLEGAL_INSTRUCTION = 715,
       OD_CU_MISALIGNED_ADDRESS = 716,
       OD_CU_INVALID_ADDRESS_SPACE = 717,
       OD_CU_INVALID_PC = 718,
       OD_CU_LAUNCH_FAILED = 719,
       OD_CU_SYSTEM_NOT_READY = 802,
       OD_CU_UNKNOWN = 999,
};

enum {
    OD_CU_STREAM_NON_BLOCKING = 1,              /* CU_STREAM_NON_BLOCKING */
    OD_CU_EVENT_BLOCKING_SYNC = 1,              /* CU_EVENT_BLOCKING_SYNC */
    OD_CU_EVENT_DISABLE_TIMING = 2,             /* CU_EVENT_DISABLE_TIMING */
    OD_CU_MEMHOST_PORTABLE = 1,                 /* CU_MEMHOSTALLOC_PORTABLE, CU_MEMHOSTREGISTER_PORTABLE */
    OD_CU_POINTER_ATTRIBUTE_MEMORY_TYPE = 2,    /* CU_POINTER_ATTRIBUTE_MEMORY_TYPE */
    OD_CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL = 9, /* CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL */
    OD_CU_MEMORYTYPE_HOST = 1,                  /* CU_MEMORYTYPE_HOST */
    OD_CU_MEMORYTYPE_DEVICE = 2,                /* CU_MEMORYTYPE_DEVICE */
    OD_CU_HAS_VIRTUAL_MEMORY = 102,             /* CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED */
    OD_CU_HAS_CONCURRENT_MANAGED = 89,          /* CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS */
    OD_CU_ATTACH_GLOBAL = 1,                    /* CU_MEM_ATTACH_GLOBAL */
    OD_CU_READ_MOSTLY = 1,                      /* CU_MEM_ADVISE_SET_READ_MOSTLY */
    OD_CU_NOT_READ_MOSTLY = 2,                  /* CU_MEM_ADVISE_UNSET_READ_MOSTLY */
    OD_CU_ON_HOST = -1,                         /* CU_DEVICE_CPU */
    OD_CU_CAN_MAP_RDMA = 110,                   /* CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED */
    OD_CU_MEMORY_PINNED = 1,                    /* CU_MEM_ALLOCATION_TYPE_PINNED */
    OD_CU_LOCATION_DEVICE = 1,                  /* CU_MEM_LOCATION_TYPE_DEVICE */
    OD_CU_ACCESS_READ_WRITE = 3,                /* CU_MEM_ACCESS_FLAGS_PROT_READWRITE */
    OD_CU_LEAST_GRANULARITY = 0,                /* CU_MEM_ALLOC_GRANULARITY_MINIMUM */
};

/* FUNCTION(member, name in libcuda, argument types) */
#define OD_CU_FUNCTIONS(FUNCTION)                                                                                      \
    FUNCTION(init, cuInit, (unsigned flags))                                                                           \
    FUNCTION(driver_version, cuDriverGetVersion, (int *version))                                                       \
    FUNCTION(device_count, cuDeviceGetCount, (int *count))                                                             \
    FUNCTION(device_get, cuDeviceGet, (od_cu_device * device, int ordinal))                                            \
    FUNCTION(device_name, cuDeviceGetName, (char *name, int length, od_cu_device device))                              \
    FUNCTION(device_bus_id, cuDeviceGetPCIBusId, (char *id, int length, od_cu_device device))                          \
    FUNCTION(device_attribute, cuDeviceGetAttribute, (int *value, int attribute, od_cu_device device))                 \
    FUNCTION(can_access_peer, cuDeviceCanAccessPeer, (int *can, od_cu_device device, od_cu_device peer))               \
    FUNCTION(context_retain, cuDevicePrimaryCtxRetain, (od_cu_context * context, od_cu_device device))                 \
    FUNCTION(context_release, cuDevicePrimaryCtxRelease_v2, (od_cu_device device))                                     \
    FUNCTION(context_push, cuCtxPushCurrent_v2, (od_cu_context context))                                               \
    FUNCTION(context_pop, cuCtxPopCurrent_v2, (od_cu_context * context))                                               \
    FUNCTION(enable_peer_access, cuCtxEnablePeerAccess, (od_cu_context peer, unsigned flags))                          \
    FUNCTION(memory_info, cuMemGetInfo_v2, (size_t *free_bytes, size_t *total_bytes))                                  \
    FUNCTION(alloc, cuMemAlloc_v2, (od_cu_address * address, size_t bytes))                                            \
    FUNCTION(free, cuMemFree_v2, (od_cu_address address))                                                              \
    FUNCTION(granularity, cuMemGetAllocationGranularity,                                                               \
             (size_t * bytes, const od_cu_memory_properties *properties, int option))                                  \
    FUNCTION(address_reserve, cuMemAddressReserve,                                                                     \
             (od_cu_address * address, size_t bytes, size_t alignment, od_cu_address wish, unsigned long long flags))  \
    FUNCTION(address_free, cuMemAddressFree, (od_cu_address address, size_t bytes))                                    \
    FUNCTION(memory_create, cuMemCreate,                                                                               \
             (od_cu_memory * memory, size_t bytes, const od_cu_memory_properties *properties,                          \
              unsigned long long flags))                                                                               \
    FUNCTION(memory_release, cuMemRelease, (od_cu_memory memory))                                                      \
    FUNCTION(memory_map, cuMemMap,                                                                                     \
             (od_cu_address address, size_t bytes, size_t offset, od_cu_memory memory, unsigned long long flags))      \
    FUNCTION(memory_unmap, cuMemUnmap, (od_cu_address address, size_t bytes))                                          \
    FUNCTION(memory_access, cuMemSetAccess,                                                                            \
             (od_cu_address address, size_t bytes, const od_cu_access *access, size_t count))                          \
    FUNCTION(managed_alloc, cuMemAllocManaged, (od_cu_address * address, size_t bytes, unsigned flags))                \
    FUNCTION(managed_prefetch, cuMemPrefetchAsync,                                                                     \
             (od_cu_address address, size_t bytes, od_cu_device device, od_cu_stream stream))                          \
    FUNCTION(managed_advise, cuMemAdvise,                                                                              \
             (od_cu_address address, size_t bytes, int advice, od_cu_device device))                                   \
    FUNCTION(host_alloc, cuMemHostAlloc, (void **address, size_t bytes, unsigned flags))                               \
    FUNCTION(host_free, cuMemFreeHost, (void *address))                                                                \
    FUNCTION(host_register, cuMemHostRegister_v2, (void *address, size_t bytes, unsigned flags))                       \
    FUNCTION(host_unregister, cuMemHostUnregister, (void *address))                                                    \
    FUNCTION(pointer_attribute, cuPointerGetAttribute, (void *data, int attribute, od_cu_address address))             \
    FUNCTION(stream_create, cuStreamCreate, (od_cu_stream * stream, unsigned flags))                                   \
    FUNCTION(stream_destroy, cuStreamDestroy_v2, (od_cu_stream stream))                                                \
    FUNCTION(stream_query, cuStreamQuery, (od_cu_stream stream))                                                       \
    FUNCTION(stream_synchronize, cuStreamSynchronize, (od_cu_stream stream))                                           \
    FUNCTION(event_create, cuEventCreate, (od_cu_event * event, unsigned flags))                                       \
    FUNCTION(event_destroy, cuEventDestroy_v2, (od_cu_event event))                                                    \
    FUNCTION(event_record, cuEventRecord, (od_cu_event event, od_cu_stream stream))                                    \
    FUNCTION(event_query, cuEventQuery, (od_cu_event event))                                                           \
    FUNCTION(event_synchronize, cuEventSynchronize, (od_cu_event event))                                               \
    FUNCTION(copy_h2d, cuMemcpyHtoDAsync_v2, (od_cu_address to, const void *from, size_t bytes, od_cu_stream stream))  \
    FUNCTION(copy_d2h, cuMemcpyDtoHAsync_v2, (void *to, od_cu_address from, size_t bytes, od_cu_stream stream))        \
    FUNCTION(copy_d2d, cuMemcpyDtoDAsync_v2,                                                                           \
             (od_cu_address to, od_cu_address from, size_t bytes, od_cu_stream stream))                                \
    FUNCTION(copy_peer, cuMemcpyPeerAsync,                                                                             \
             (od_cu_address to, od_cu_context to_context, od_cu_address from, od_cu_context from_context,              \
              size_t bytes, od_cu_stream stream))                                                                      \
    FUNCTION(error_name, cuGetErrorName, (od_cu_result error, const char **name))                                      \
    FUNCTION(error_text, cuGetErrorString, (od_cu_result error, const char **text))

typedef struct od_cu_driver {
#define OD_CU_MEMBER(member, name, arguments) od_cu_result(*member) arguments;
    OD_CU_FUNCTIONS(OD_CU_MEMBER)
#undef OD_CU_MEMBER
    void *library;
} od_cu_driver;

/* Opens the driver library and calls cuInit. OD_EDEVICE: there is no driver, a function is missing, or no device works;
 * `why` says so in words. */
od_status od_cu_open(od_cu_driver *cu, const char *library, char *why, size_t why_size);

/* Logs "cuX failed: CUDA_ERROR_NAME (meaning)" as an error, with what was being done; OD_OK passes silently. */
od_status od_cu_check(const od_cu_driver *cu, od_cu_result result, const char *doing, unsigned k);

/* True for errors after which every call on the device's context fails: nothing there can be recovered. */
bool od_cu_is_sticky(od_cu_result result);

#endif
