/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Devices, their primary contexts, and the contexts that are current to a thread.
 */
#include "double.h"

#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

enum { CONTEXT_MAGIC = 0xc0de0001, MOST_CURRENT = 32 };

static _Thread_local cd_context *current[MOST_CURRENT];
static _Thread_local unsigned ncurrent;

/* --- devices ----------------------------------------------------------------- */

od_cu_result cuInit(unsigned flags)
{
    od_cu_result result = cd_enter(CD_cuInit, CD_NOTHING);
    if (result)
        return result;
    if (flags)
        return cd_leave(OD_CU_INVALID_VALUE);
    if (!cd.settings.ndevices)
        return cd_leave(OD_CU_NO_DEVICE);
    for (unsigned k = 0; k < cd.settings.ndevices; k++)
        cd.devices[k].ordinal = k;
    cd.process = getpid();
    return cd_leave(OD_CU_SUCCESS);
}

od_cu_result cuDriverGetVersion(int *version)
{
    od_cu_result result = cd_enter(CD_cuDriverGetVersion, CD_NOTHING);
    if (result)
        return result;
    *version = cd.settings.version;
    return cd_leave(OD_CU_SUCCESS);
}

od_cu_result cuDeviceGetCount(int *count)
{
    od_cu_result result = cd_enter(CD_cuDeviceGetCount, CD_INITIALIZED);
    if (result)
        return result;
    *count = (int)cd.settings.ndevices;
    return cd_leave(OD_CU_SUCCESS);
}

static bool is_device(int ordinal)
{
    return ordinal >= 0 && (unsigned)ordinal < cd.settings.ndevices;
}

od_cu_result cuDeviceGet(od_cu_device *device, int ordinal)
{
    od_cu_result result = cd_enter(CD_cuDeviceGet, CD_INITIALIZED);
    if (result)
        return result;
    if (!is_device(ordinal))
        return cd_leave(OD_CU_INVALID_DEVICE);
    *device = ordinal;
    return cd_leave(OD_CU_SUCCESS);
}

static od_cu_result print_for_device(cd_call call, char *text, int length, od_cu_device device, bool is_name)
{
    od_cu_result result = cd_enter(call, CD_INITIALIZED);
    if (result)
        return result;
    if (!is_device(device))
        return cd_leave(OD_CU_INVALID_DEVICE);
    if (!text || length < 1)
        return cd_leave(OD_CU_INVALID_VALUE);
    if (is_name)
        snprintf(text, (size_t)length, "%s %d", cd.settings.name, device);
    else
        snprintf(text, (size_t)length, "0000:%02x:00.0", device);
    return cd_leave(OD_CU_SUCCESS);
}

od_cu_result cuDeviceGetName(char *name, int length, od_cu_device device)
{
    return print_for_device(CD_cuDeviceGetName, name, length, device, true);
}

od_cu_result cuDeviceGetPCIBusId(char *id, int length, od_cu_device device)
{
    return print_for_device(CD_cuDeviceGetPCIBusId, id, length, device, false);
}

od_cu_result cuDeviceGetUuid(unsigned char uuid[16], od_cu_device device)
{
    od_cu_result result = cd_enter(CD_cuDeviceGetUuid, CD_INITIALIZED);
    if (result)
        return result;
    if (!is_device(device))
        return cd_leave(OD_CU_INVALID_DEVICE);
    for (unsigned i = 0; i < 16; i++)
        uuid[i] = (unsigned char)(i ? i : (unsigned)device);
    return cd_leave(OD_CU_SUCCESS);
}

od_cu_result cuDeviceTotalMem_v2(size_t *bytes, od_cu_device device)
{
    od_cu_result result = cd_enter(CD_cuDeviceTotalMem_v2, CD_INITIALIZED);
    if (result)
        return result;
    if (!is_device(device))
        return cd_leave(OD_CU_INVALID_DEVICE);
    *bytes = cd.settings.memory;
    return cd_leave(OD_CU_SUCCESS);
}

/* Those that decide something; what else is asked for is for display. */
static int attribute_of(int attribute)
{
    switch (attribute) {
    case 1: /* threads of a block */
    case 2: /* its extents */
    case 3:
        return 1024;
    case 4:
        return 64;
    case 5: /* extents of a grid */
        return INT_MAX;
    case 6:
    case 7:
        return 65535;
    case 10: /* threads of a warp */
        return 32;
    case 20:
        return cd.settings.compute_mode;
    case 16: /* multiprocessors */
        return 4;
    case 39: /* threads of each */
        return 2048;
    case 40: /* copy engines */
        return 2;
    case 41: /* unified addressing */
        return 1;
    case 75:
        return (int)cd.settings.arch / 10;
    case 76:
        return (int)cd.settings.arch % 10;
    case OD_CU_HAS_CONCURRENT_MANAGED:
        return cd.settings.managed;
    case OD_CU_HAS_VIRTUAL_MEMORY:
        return cd.settings.granularity > 0;
    default:
        return 0;
    }
}

od_cu_result cuDeviceGetAttribute(int *value, int attribute, od_cu_device device)
{
    od_cu_result result = cd_enter(CD_cuDeviceGetAttribute, CD_INITIALIZED);
    if (result)
        return result;
    if (!is_device(device))
        return cd_leave(OD_CU_INVALID_DEVICE);
    *value = attribute_of(attribute);
    return cd_leave(OD_CU_SUCCESS);
}

static bool can_access(unsigned device, unsigned peer)
{
    return cd.settings.peer && device != peer;
}

od_cu_result cuDeviceCanAccessPeer(int *can, od_cu_device device, od_cu_device peer)
{
    od_cu_result result = cd_enter(CD_cuDeviceCanAccessPeer, CD_INITIALIZED);
    if (result)
        return result;
    if (!is_device(device) || !is_device(peer))
        return cd_leave(OD_CU_INVALID_DEVICE);
    *can = can_access((unsigned)device, (unsigned)peer);
    return cd_leave(OD_CU_SUCCESS);
}

/* --- primary contexts ---------------------------------------------------------- */

od_cu_result cd_context_check(const cd_context *context)
{
    if (!context)
        return OD_CU_INVALID_CONTEXT;
    if ((uintptr_t)context < CD_PAGE || context->magic != CONTEXT_MAGIC)
        return cd_misuse(OD_CU_INVALID_CONTEXT, "%p is no context", (const void *)context);
    if (!context->references)
        return cd_misuse(CD_CONTEXT_IS_DESTROYED, "the context of device %u was destroyed", context->device->ordinal);
    return OD_CU_SUCCESS;
}

od_cu_result cd_context_health(const cd_context *context)
{
    return context->device->lost ? OD_CU_ILLEGAL_ADDRESS : OD_CU_SUCCESS;
}

od_cu_result cuDevicePrimaryCtxRetain(od_cu_context *context, od_cu_device device)
{
    od_cu_result result = cd_enter(CD_cuDevicePrimaryCtxRetain, CD_INITIALIZED);
    if (result)
        return result;
    if (!is_device(device))
        return cd_leave(OD_CU_INVALID_DEVICE);
    if (cd.settings.compute_mode)
        return cd_leave(CD_DEVICE_UNAVAILABLE);
    cd_device *d = &cd.devices[device];
    if (!d->context) {
        cd_context *c = calloc(1, sizeof *c);
        if (!c)
            return cd_leave(OD_CU_OUT_OF_MEMORY);
        *c = (cd_context){.magic = CONTEXT_MAGIC, .device = d, .limits = {1024, 1 << 20, 8 << 20}, .next = cd.contexts};
        cd.contexts = d->context = c;
    }
    d->context->references++;
    *context = d->context;
    return cd_leave(OD_CU_SUCCESS);
}

od_cu_result cuDevicePrimaryCtxRelease_v2(od_cu_device device)
{
    od_cu_result result = cd_enter(CD_cuDevicePrimaryCtxRelease_v2, CD_INITIALIZED);
    if (result)
        return result;
    if (!is_device(device))
        return cd_leave(OD_CU_INVALID_DEVICE);
    cd_context *context = cd.devices[device].context;
    if (!context)
        return cd_leave(OD_CU_INVALID_CONTEXT);
    if (context->references == 1) {
        cd_streams_drop(context);
        cd_modules_drop(context);
        cd_events_drop(context);
        cd_allocations_drop(context);
        cd.devices[device].context = NULL;
    }
    context->references--;
    return cd_leave(OD_CU_SUCCESS);
}

od_cu_result cuDevicePrimaryCtxGetState(od_cu_device device, unsigned *flags, int *active)
{
    od_cu_result result = cd_enter(CD_cuDevicePrimaryCtxGetState, CD_INITIALIZED);
    if (result)
        return result;
    if (!is_device(device))
        return cd_leave(OD_CU_INVALID_DEVICE);
    *flags = cd.devices[device].flags;
    *active = cd.devices[device].context != NULL;
    return cd_leave(OD_CU_SUCCESS);
}

/* Since CUDA 11 also where it is active. */
od_cu_result cuDevicePrimaryCtxSetFlags_v2(od_cu_device device, unsigned flags)
{
    od_cu_result result = cd_enter(CD_cuDevicePrimaryCtxSetFlags_v2, CD_INITIALIZED);
    if (result)
        return result;
    if (!is_device(device))
        return cd_leave(OD_CU_INVALID_DEVICE);
    cd.devices[device].flags = flags;
    return cd_leave(OD_CU_SUCCESS);
}

od_cu_result cuCtxGetDevice(od_cu_device *device)
{
    od_cu_result result = cd_enter(CD_cuCtxGetDevice, CD_CONTEXT);
    if (result)
        return result;
    *device = (od_cu_device)cd_current()->device->ordinal;
    return cd_leave(OD_CU_SUCCESS);
}

od_cu_result cuCtxGetLimit(size_t *value, int limit)
{
    od_cu_result result = cd_enter(CD_cuCtxGetLimit, CD_CONTEXT);
    if (result)
        return result;
    if (limit < 0 || limit >= CD_NLIMITS)
        return cd_leave(OD_CU_INVALID_VALUE);
    *value = cd_current()->limits[limit];
    return cd_leave(OD_CU_SUCCESS);
}

od_cu_result cuCtxSetLimit(int limit, size_t value)
{
    od_cu_result result = cd_enter(CD_cuCtxSetLimit, CD_CONTEXT);
    if (result)
        return result;
    if (limit < 0 || limit >= CD_NLIMITS)
        return cd_leave(OD_CU_INVALID_VALUE);
    cd_current()->limits[limit] = value;
    return cd_leave(OD_CU_SUCCESS);
}

od_cu_result cuCtxEnablePeerAccess(od_cu_context peer, unsigned flags)
{
    od_cu_result result = cd_enter(CD_cuCtxEnablePeerAccess, CD_CONTEXT);
    if (result)
        return result;
    cd_context *context = cd_current();
    result = flags ? OD_CU_INVALID_VALUE : cd_context_check(peer);
    if (!result && peer == context)
        result = OD_CU_INVALID_CONTEXT;
    if (!result && !can_access(context->device->ordinal, peer->device->ordinal))
        result = CD_PEER_ACCESS_UNSUPPORTED;
    if (result)
        return cd_leave(result);
    unsigned bit = 1u << peer->device->ordinal;
    if (context->peers & bit)
        return cd_leave(OD_CU_PEER_ACCESS_ALREADY_ENABLED);
    context->peers |= bit;
    return cd_leave(OD_CU_SUCCESS);
}

/* --- current contexts ------------------------------------------------------------ */

cd_context *cd_current(void)
{
    return ncurrent ? current[ncurrent - 1] : NULL;
}

od_cu_result cuCtxPushCurrent_v2(od_cu_context context)
{
    od_cu_result result = cd_enter(CD_cuCtxPushCurrent_v2, CD_INITIALIZED);
    if (result)
        return result;
    result = cd_context_check(context);
    if (!result && ncurrent == MOST_CURRENT)
        result = cd_misuse(OD_CU_INVALID_CONTEXT, "%u contexts are current to this thread", ncurrent);
    if (!result)
        current[ncurrent++] = context;
    return cd_leave(result);
}

od_cu_result cuCtxPopCurrent_v2(od_cu_context *context)
{
    od_cu_result result = cd_enter(CD_cuCtxPopCurrent_v2, CD_INITIALIZED);
    if (result)
        return result;
    if (!ncurrent)
        return cd_leave(OD_CU_INVALID_CONTEXT);
    cd_context *popped = current[--ncurrent];
    if (context)
        *context = popped;
    return cd_leave(OD_CU_SUCCESS);
}

/* Replaces the top of the stack; NULL takes it away. */
od_cu_result cuCtxSetCurrent(od_cu_context context)
{
    od_cu_result result = cd_enter(CD_cuCtxSetCurrent, CD_INITIALIZED);
    if (result)
        return result;
    result = context ? cd_context_check(context) : OD_CU_SUCCESS;
    if (result)
        return cd_leave(result);
    if (ncurrent)
        ncurrent--;
    if (context)
        current[ncurrent++] = context;
    return cd_leave(OD_CU_SUCCESS);
}

od_cu_result cuCtxGetCurrent(od_cu_context *context)
{
    od_cu_result result = cd_enter(CD_cuCtxGetCurrent, CD_INITIALIZED);
    if (result)
        return result;
    *context = cd_current();
    return cd_leave(OD_CU_SUCCESS);
}
