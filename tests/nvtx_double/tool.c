/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A profiler for NVIDIA's own header, which opens it where NVTX_INJECTION64_PATH names it and lets it take over the
 * functions. Every call is a line of a file (log.h), as those of the double beside it.
 */
#include "log.h"

#include <inttypes.h>
#include <nvtx3/nvToolsExt.h>
#include <stdatomic.h>

static char domain;

static nvtxDomainHandle_t create_domain(const char *name)
{
    nvtx_log("domain\t%s", name);
    return (nvtxDomainHandle_t)(void *)&domain;
}

static void destroy_domain(nvtxDomainHandle_t which)
{
    (void)which;
    nvtx_log("destroy");
}

static void name_category(nvtxDomainHandle_t which, uint32_t category, const char *name)
{
    (void)which;
    nvtx_log("category\t%" PRIu32 "\t%s", category, name);
}

static void log_event(const char *call, nvtxDomainHandle_t which, nvtxRangeId_t id, const nvtxEventAttributes_t *what)
{
    if ((void *)which != &domain || what->size != sizeof *what || what->messageType != NVTX_MESSAGE_TYPE_ASCII)
        abort();
    nvtx_log("%s\t%" PRIu64 "\t%" PRIu32 "\t%" PRId64 "\t%s", call, id, what->category, what->payload.llValue,
             what->message.ascii);
}

static void mark(nvtxDomainHandle_t which, const nvtxEventAttributes_t *what)
{
    log_event("mark", which, 0, what);
}

static nvtxRangeId_t start_range(nvtxDomainHandle_t which, const nvtxEventAttributes_t *what)
{
    static atomic_uint_fast64_t last;
    nvtxRangeId_t id = atomic_fetch_add(&last, 1) + 1;
    log_event("start", which, id, what);
    return id;
}

static void end_range(nvtxDomainHandle_t which, nvtxRangeId_t id)
{
    (void)which;
    nvtx_log("end\t%" PRIu64, id);
}

__attribute__((visibility("default"))) int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table)
{
    const NvtxExportTableCallbacks *callbacks = get_table(NVTX_ETID_CALLBACKS);
    NvtxFunctionTable table = NULL;
    unsigned size = 0;
    if (!callbacks || !callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &table, &size) ||
        size <= NVTX_CBID_CORE2_DomainDestroy)
        return 0;
    *table[NVTX_CBID_CORE2_DomainCreateA] = (NvtxFunctionPointer)create_domain;
    *table[NVTX_CBID_CORE2_DomainDestroy] = (NvtxFunctionPointer)destroy_domain;
    *table[NVTX_CBID_CORE2_DomainNameCategoryA] = (NvtxFunctionPointer)name_category;
    *table[NVTX_CBID_CORE2_DomainMarkEx] = (NvtxFunctionPointer)mark;
    *table[NVTX_CBID_CORE2_DomainRangeStartEx] = (NvtxFunctionPointer)start_range;
    *table[NVTX_CBID_CORE2_DomainRangeEnd] = (NvtxFunctionPointer)end_range;
    return 1;
}
