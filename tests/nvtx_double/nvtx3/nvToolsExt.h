/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A double of NVTX 3's header with a profiler attached, for tests: what trace/nvtx.c uses of it, by the names and
 * meanings of the public documentation. Every call is a line of a file (log.h). Wrong attributes end the program.
 */
#ifndef NVTX_DOUBLE_NV_TOOLS_EXT_H
#define NVTX_DOUBLE_NV_TOOLS_EXT_H

#include "../log.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdint.h>

#define NVTX_VERSION 3
#define NVTX_EVENT_ATTRIB_STRUCT_SIZE ((uint16_t)sizeof(nvtxEventAttributes_t))

enum { NVTX_COLOR_UNKNOWN, NVTX_COLOR_ARGB };
enum { NVTX_MESSAGE_UNKNOWN, NVTX_MESSAGE_TYPE_ASCII };
enum { NVTX_PAYLOAD_UNKNOWN, NVTX_PAYLOAD_TYPE_UNSIGNED_INT64, NVTX_PAYLOAD_TYPE_INT64 };

typedef uint64_t nvtxRangeId_t;
typedef struct nvtx_double_domain *nvtxDomainHandle_t;

typedef struct nvtxEventAttributes_t {
    uint16_t version, size;
    uint32_t category;
    int32_t colorType;
    uint32_t color;
    int32_t payloadType, reserved0;
    union {
        uint64_t ullValue;
        int64_t llValue;
    } payload;
    int32_t messageType;
    union {
        const char *ascii;
    } message;
} nvtxEventAttributes_t;

static inline void nvtx_double_log(const char *call, nvtxDomainHandle_t domain, nvtxRangeId_t id,
                                   const nvtxEventAttributes_t *what)
{
    if (!domain || what->version != NVTX_VERSION || what->size != sizeof *what || what->colorType != NVTX_COLOR_ARGB ||
        what->messageType != NVTX_MESSAGE_TYPE_ASCII || what->payloadType == NVTX_PAYLOAD_UNKNOWN)
        abort();
    nvtx_log("%s\t%" PRIu64 "\t%" PRIu32 "\t%" PRId64 "\t%s", call, id, what->category, what->payload.llValue,
             what->message.ascii);
}

static inline nvtxDomainHandle_t nvtxDomainCreateA(const char *name)
{
    static char domain;
    nvtx_log("domain\t%s", name);
    return (nvtxDomainHandle_t)(void *)&domain;
}

static inline void nvtxDomainDestroy(nvtxDomainHandle_t domain)
{
    (void)domain;
    nvtx_log("destroy");
}

static inline void nvtxDomainNameCategoryA(nvtxDomainHandle_t domain, uint32_t category, const char *name)
{
    (void)domain;
    nvtx_log("category\t%" PRIu32 "\t%s", category, name);
}

static inline void nvtxDomainMarkEx(nvtxDomainHandle_t domain, const nvtxEventAttributes_t *what)
{
    nvtx_double_log("mark", domain, 0, what);
}

static inline nvtxRangeId_t nvtxDomainRangeStartEx(nvtxDomainHandle_t domain, const nvtxEventAttributes_t *what)
{
    static atomic_uint_fast64_t last;
    nvtxRangeId_t id = atomic_fetch_add(&last, 1) + 1;
    nvtx_double_log("start", domain, id, what);
    return id;
}

static inline void nvtxDomainRangeEnd(nvtxDomainHandle_t domain, nvtxRangeId_t id)
{
    (void)domain;
    nvtx_log("end\t%" PRIu64, id);
}

#endif
