/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Copies. From and to pinned memory they are asynchronous; pageable memory is read before the call returns, and written
 * before it, too, as CUDA does it: correct, but slow, and therefore counted.
 */
#include "double.h"

#include <stdlib.h>
#include <string.h>

/* All copies demand a current context, though it need not be the stream's. */
static od_cu_result enter_with(cd_call call, od_cu_stream handle, cd_stream **stream)
{
    od_cu_result result = cd_enter(call, CD_CONTEXT);
    if (result)
        return result;
    result = cd_stream_find(handle, stream);
    if (!result)
        result = cd_context_health((*stream)->context);
    return result ? cd_leave(result) : OD_CU_SUCCESS;
}

static od_cu_result capture(cd_op *op)
{
    op->captured = malloc(op->bytes);
    if (!op->captured)
        return OD_CU_OUT_OF_MEMORY;
    memcpy(op->captured, op->from, op->bytes);
    op->from = op->captured;
    return OD_CU_SUCCESS;
}

od_cu_result cuMemcpyHtoDAsync_v2(od_cu_address to, const void *from, size_t bytes, od_cu_stream handle)
{
    cd_stream *stream;
    od_cu_result result = enter_with(CD_cuMemcpyHtoDAsync_v2, handle, &stream);
    if (result || !bytes)
        return result ? result : cd_leave(result);
    cd_op op = {.kind = CD_OP_COPY, .direction = CD_H2D, .to = (void *)(uintptr_t)to, .from = from, .bytes = bytes};
    result = cd_allocation_check("copy to a device", (uintptr_t)to, bytes, stream->context->device, &op.device_to);
    if (!result)
        result = cd_pinned_find((uintptr_t)from, bytes, &op.pinned);
    if (!result && !op.pinned) {
        cd.stats.pageable_copies++;
        result = capture(&op);
    }
    if (!result)
        result = cd_stream_submit(stream, &op);
    if (result)
        free(op.captured);
    return cd_leave(result);
}

od_cu_result cuMemcpyDtoHAsync_v2(void *to, od_cu_address from, size_t bytes, od_cu_stream handle)
{
    cd_stream *stream;
    od_cu_result result = enter_with(CD_cuMemcpyDtoHAsync_v2, handle, &stream);
    if (result || !bytes)
        return result ? result : cd_leave(result);
    cd_op op = {.kind = CD_OP_COPY, .direction = CD_D2H, .to = to, .from = (void *)(uintptr_t)from, .bytes = bytes};
    result =
        cd_allocation_check("copy from a device", (uintptr_t)from, bytes, stream->context->device, &op.device_from);
    if (!result)
        result = cd_pinned_find((uintptr_t)to, bytes, &op.pinned);
    if (!result)
        result = cd_stream_submit(stream, &op);
    if (result || op.pinned)
        return cd_leave(result);
    cd.stats.pageable_copies++;
    cd_stream_drain(stream);
    return cd_leave(cd_context_health(stream->context));
}

od_cu_result cuMemcpyDtoDAsync_v2(od_cu_address to, od_cu_address from, size_t bytes, od_cu_stream handle)
{
    cd_stream *stream;
    od_cu_result result = enter_with(CD_cuMemcpyDtoDAsync_v2, handle, &stream);
    if (result || !bytes)
        return result ? result : cd_leave(result);
    const cd_device *device = stream->context->device;
    cd_op op = {.kind = CD_OP_COPY,
                .direction = CD_D2D,
                .to = (void *)(uintptr_t)to,
                .from = (void *)(uintptr_t)from,
                .bytes = bytes};
    result = cd_allocation_check("copy within a device, to", (uintptr_t)to, bytes, device, &op.device_to);
    if (!result)
        result = cd_allocation_check("copy within a device, from", (uintptr_t)from, bytes, device, &op.device_from);
    if (!result)
        result = cd_stream_submit(stream, &op);
    return cd_leave(result);
}

/* --- rows ---------------------------------------------------------------------- */

/* One of a copy's two ends: the bytes between its first and its last. */
typedef struct side {
    bool on_device;
    uintptr_t address;
    size_t pitch, span;
} side;

static od_cu_result side_of(const cd_copy_2d *c, bool is_target, side *s)
{
    int type = is_target ? c->to_type : c->from_type;
    size_t x = is_target ? c->to_x : c->from_x, y = is_target ? c->to_y : c->from_y;
    s->on_device = type == OD_CU_MEMORYTYPE_DEVICE;
    s->pitch = is_target ? c->to_pitch : c->from_pitch;
    if ((type != OD_CU_MEMORYTYPE_HOST && !s->on_device) || (c->height > 1 && s->pitch < c->width))
        return OD_CU_INVALID_VALUE;
    const void *host = is_target ? c->to_host : c->from_host;
    od_cu_address device = is_target ? c->to_device : c->from_device;
    s->address = (s->on_device ? (uintptr_t)device : (uintptr_t)host) + y * s->pitch + x;
    s->span = (c->height - 1) * s->pitch + c->width;
    return OD_CU_SUCCESS;
}

static od_cu_result hold_side(const side *s, const cd_device *device, cd_allocation **allocation, cd_pinned **pinned)
{
    if (s->on_device)
        return cd_allocation_check("copy of rows", s->address, s->span, device, allocation);
    return cd_pinned_find(s->address, s->span, pinned);
}

od_cu_result cuMemcpy2DAsync_v2(const cd_copy_2d *c, od_cu_stream handle)
{
    cd_stream *stream;
    side to, from;
    od_cu_result result = enter_with(CD_cuMemcpy2DAsync_v2, handle, &stream);
    if (result || !c->width || !c->height)
        return result ? result : cd_leave(result);
    result = side_of(c, true, &to);
    if (!result)
        result = side_of(c, false, &from);
    if (!result && !to.on_device && !from.on_device)
        result = OD_CU_INVALID_VALUE;
    if (result)
        return cd_leave(result);
    cd_op op = {.kind = CD_OP_COPY,
                .direction = !from.on_device ? CD_H2D : !to.on_device ? CD_D2H : CD_D2D,
                .to = (void *)to.address,
                .from = (const void *)from.address,
                .bytes = c->width * c->height,
                .rows = c->height,
                .pitch_to = to.pitch,
                .pitch_from = from.pitch};
    result = hold_side(&to, stream->context->device, &op.device_to, &op.pinned);
    if (!result)
        result = hold_side(&from, stream->context->device, &op.device_from, &op.pinned);
    if (!result)
        result = cd_stream_submit(stream, &op);
    if (result || op.pinned || op.direction == CD_D2D)
        return cd_leave(result);
    cd.stats.pageable_copies++;
    cd_stream_drain(stream);
    return cd_leave(cd_context_health(stream->context));
}

/* Managed memory is host memory here: nothing moves, which takes as long as if it did. */
od_cu_result cuMemPrefetchAsync(od_cu_address address, size_t bytes, od_cu_device device, od_cu_stream handle)
{
    cd_stream *stream;
    od_cu_result result = enter_with(CD_cuMemPrefetchAsync, handle, &stream);
    if (result || !bytes)
        return result ? result : cd_leave(result);
    bool leaves = device == OD_CU_ON_HOST;
    cd_op op = {.kind = CD_OP_COPY,
                .direction = leaves ? CD_D2H : CD_H2D,
                .to = (void *)(uintptr_t)address,
                .from = (const void *)(uintptr_t)address,
                .bytes = bytes};
    result = leaves || device == (int)stream->context->device->ordinal ? OD_CU_SUCCESS : OD_CU_INVALID_DEVICE;
    const cd_allocation *a = cd_allocation_find((uintptr_t)address);
    if (!result && (!a || !a->managed))
        result = cd_misuse(OD_CU_INVALID_VALUE, "prefetch of %zu bytes at %#llx, not managed", bytes, address);
    if (!result)
        result = cd_allocation_check("prefetch", (uintptr_t)address, bytes, stream->context->device,
                                     leaves ? &op.device_from : &op.device_to);
    if (!result)
        result = cd_stream_submit(stream, &op);
    return cd_leave(result);
}

/* Those without a stream wait. */
od_cu_result cuMemcpyHtoD_v2(od_cu_address to, const void *from, size_t bytes)
{
    od_cu_result result = cuMemcpyHtoDAsync_v2(to, from, bytes, NULL);
    return result ? result : cuStreamSynchronize(NULL);
}

od_cu_result cuMemcpyDtoH_v2(void *to, od_cu_address from, size_t bytes)
{
    od_cu_result result = cuMemcpyDtoHAsync_v2(to, from, bytes, NULL);
    return result ? result : cuStreamSynchronize(NULL);
}

static od_cu_result fill(cd_call call, od_cu_address to, cd_op op, od_cu_stream handle)
{
    cd_stream *stream;
    od_cu_result result = enter_with(call, handle, &stream);
    if (result || !op.bytes)
        return result ? result : cd_leave(result);
    op.kind = CD_OP_FILL;
    op.to = (void *)(uintptr_t)to;
    result = cd_allocation_check("fill", (uintptr_t)to, op.bytes, stream->context->device, &op.device_to);
    if (!result)
        result = cd_stream_submit(stream, &op);
    return cd_leave(result);
}

od_cu_result cuMemsetD8Async(od_cu_address to, unsigned char value, size_t n, od_cu_stream stream)
{
    return fill(CD_cuMemsetD8Async, to, (cd_op){.value = value, .width = 1, .bytes = n}, stream);
}

od_cu_result cuMemsetD16Async(od_cu_address to, unsigned short value, size_t n, od_cu_stream stream)
{
    return fill(CD_cuMemsetD16Async, to, (cd_op){.value = value, .width = 2, .bytes = 2 * n}, stream);
}

od_cu_result cuMemsetD32Async(od_cu_address to, unsigned value, size_t n, od_cu_stream stream)
{
    return fill(CD_cuMemsetD32Async, to, (cd_op){.value = value, .width = 4, .bytes = 4 * n}, stream);
}

static od_cu_result check_end(const char *what, od_cu_address address, size_t bytes, const cd_context *context,
                              cd_allocation **allocation)
{
    od_cu_result result = cd_context_check(context);
    if (!result)
        result = cd_context_health(context);
    return result ? result : cd_allocation_check(what, (uintptr_t)address, bytes, context->device, allocation);
}

/* Works without peer access, too, through the host. */
static bool is_staged(const cd_context *one, const cd_context *other)
{
    bool reaches = (one->peers >> other->device->ordinal & 1) || (other->peers >> one->device->ordinal & 1);
    return one != other && !reaches;
}

od_cu_result cuMemcpyPeerAsync(od_cu_address to, od_cu_context to_context, od_cu_address from,
                               od_cu_context from_context, size_t bytes, od_cu_stream handle)
{
    cd_stream *stream;
    od_cu_result result = enter_with(CD_cuMemcpyPeerAsync, handle, &stream);
    if (result || !bytes)
        return result ? result : cd_leave(result);
    cd_op op = {.kind = CD_OP_COPY,
                .direction = CD_PEER,
                .to = (void *)(uintptr_t)to,
                .from = (void *)(uintptr_t)from,
                .bytes = bytes};
    /* With one address space the addresses decide: LLVM 19 names the contexts the wrong way round. */
    cd_allocation *target = cd_allocation_find((uintptr_t)to);
    if (target && target->context == from_context) {
        from_context = to_context;
        to_context = target->context;
    }
    result = check_end("copy between devices, to", to, bytes, to_context, &op.device_to);
    if (!result)
        result = check_end("copy between devices, from", from, bytes, from_context, &op.device_from);
    if (!result && stream->context != to_context && stream->context != from_context)
        result =
            cd_misuse(OD_CU_INVALID_VALUE, "copy between devices %u and %u on a stream of device %u",
                      from_context->device->ordinal, to_context->device->ordinal, stream->context->device->ordinal);
    if (!result)
        result = cd_stream_submit(stream, &op);
    if (!result)
        cd.stats.staged_peer_copies += is_staged(to_context, from_context);
    return cd_leave(result);
}
