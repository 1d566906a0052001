/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Streams: queues, each with a thread that executes the operations in order. The thread begins with the first operation
 * and ends with the stream, so that a process that has not used one may fork.
 *
 * A copy takes the time that the bandwidth demands, on the way into and out of the devices that it touches, and touches
 * memory at the end of it: who changes a source too early, or reads a destination, is found out. What has been queued
 * follows what is before it without a gap, however late this machine's processors come to it. On a lost device operations
 * end without having been executed.
 */
#include "double.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

enum { STREAM_MAGIC = 0xc0de0002, IN = 0, OUT = 1 };

static const uint64_t second_ns = 1000000000;

uint64_t cd_now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * second_ns + (uint64_t)t.tv_nsec;
}

void cd_sleep_until(uint64_t end_ns)
{
    struct timespec t = {.tv_sec = (time_t)(end_ns / second_ns), .tv_nsec = (long)(end_ns % second_ns)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL))
        ;
}

/* --- execution ----------------------------------------------------------------- */

static uint64_t draw_jitter_ns(cd_stream *stream)
{
    if (cd.settings.jitter_s <= 0)
        return 0;
    uint64_t x = stream->random += 0x9e3779b97f4a7c15; /* splitmix64 */
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    double part = (double)((x ^ (x >> 31)) >> 11) * 0x1p-53;
    return (uint64_t)(part * cd.settings.jitter_s * 1e9);
}

uint64_t cd_stream_take_time(cd_stream *stream, const cd_op *op, double seconds, uint64_t *one, uint64_t *other)
{
    uint64_t end_ns = op->submitted_ns > stream->end_ns ? op->submitted_ns : stream->end_ns;
    if (one && *one > end_ns)
        end_ns = *one;
    if (other && *other > end_ns)
        end_ns = *other;
    end_ns += (uint64_t)(seconds * 1e9);
    stream->end_ns = end_ns;
    if (one)
        *one = end_ns;
    if (other)
        *other = end_ns;
    return end_ns;
}

/* When the copy may be over; 0: at once. The ways are taken until then. */
static uint64_t reserve_ways(cd_stream *stream, const cd_op *op)
{
    if (cd.settings.bandwidth <= 0)
        return 0;
    uint64_t *in = op->device_to ? &op->device_to->context->device->free_ns[IN] : NULL;
    uint64_t *out = op->device_from ? &op->device_from->context->device->free_ns[OUT] : NULL;
    return cd_stream_take_time(stream, op, (double)op->bytes / cd.settings.bandwidth, in, out);
}

static void execute_copy(cd_stream *stream, const cd_op *op)
{
    uint64_t end_ns = reserve_ways(stream, op);
    pthread_mutex_unlock(&cd.lock);
    if (end_ns)
        cd_sleep_until(end_ns);
    size_t rows = op->rows ? op->rows : 1, width = op->bytes / rows;
    for (size_t i = 0; i < rows && width; i++)
        memmove((char *)op->to + i * op->pitch_to, (const char *)op->from + i * op->pitch_from, width);
    pthread_mutex_lock(&cd.lock);
    cd.stats.copies[op->direction]++;
    cd.stats.bytes[op->direction] += op->bytes;
}

static void execute_fill(const cd_op *op)
{
    pthread_mutex_unlock(&cd.lock);
    for (size_t i = 0; i < op->bytes; i += op->width)
        memcpy((char *)op->to + i, &op->value, op->width); /* little endian */
    pthread_mutex_lock(&cd.lock);
}

/* Until the event has come to the record that was the last one when the wait was submitted. */
static void execute_wait(cd_stream *stream, const cd_op *op)
{
    const cd_device *device = stream->context->device;
    while (op->event->completed < op->record && !device->lost && !op->event->context->device->lost)
        pthread_cond_wait(&cd.progress, &cd.lock);
    if (stream->end_ns < op->event->end_ns)
        stream->end_ns = op->event->end_ns;
}

static void execute_record(const cd_stream *stream, const cd_op *op)
{
    if (op->event->completed >= op->record)
        return;
    op->event->completed = op->record;
    op->event->end_ns = stream->end_ns;
}

static void execute_call(cd_op *op)
{
    pthread_mutex_unlock(&cd.lock);
    cd_in_callback = true;
    op->function(op->data);
    cd_in_callback = false;
    pthread_mutex_lock(&cd.lock);
}

/* Entered and left with the lock, which is dropped while time passes. */
static void execute(cd_stream *stream, cd_op *op)
{
    cd_device *device = stream->context->device;
    uint64_t jitter_ns = draw_jitter_ns(stream);
    if (jitter_ns) {
        pthread_mutex_unlock(&cd.lock);
        cd_sleep_until(cd_now_ns() + jitter_ns);
        pthread_mutex_lock(&cd.lock);
    }
    if (op->loses_device)
        device->lost = true;
    if (device->lost)
        return;
    switch (op->kind) {
    case CD_OP_COPY:
        execute_copy(stream, op);
        break;
    case CD_OP_FILL:
        execute_fill(op);
        break;
    case CD_OP_KERNEL:
        cd_kernel_execute(stream, op);
        break;
    case CD_OP_CALL:
        execute_call(op);
        break;
    case CD_OP_WAIT:
        execute_wait(stream, op);
        break;
    case CD_OP_RECORD:
        execute_record(stream, op);
        break;
    }
}

/* Copies keep what they touch in use from their submission to their end. */
static void hold(cd_op *op)
{
    if (op->device_to)
        op->device_to->pending++;
    if (op->device_from)
        op->device_from->pending++;
    if (op->pinned)
        op->pinned->pending++;
    if (op->kind == CD_OP_COPY && ++cd.stats.in_flight > cd.stats.most_in_flight)
        cd.stats.most_in_flight = cd.stats.in_flight;
}

static void let_go(cd_op *op)
{
    if (op->device_to)
        op->device_to->pending--;
    if (op->device_from)
        op->device_from->pending--;
    if (op->pinned)
        op->pinned->pending--;
    if (op->kind == CD_OP_COPY) {
        cd.stats.in_flight--;
        cd.stats.running--;
    }
}

static void *work(void *arg)
{
    cd_stream *stream = arg;
    pthread_setname_np(pthread_self(), "cuda-double"); /* not that of the thread which has begun it */
    prctl(PR_SET_TIMERSLACK, 1); /* what has taken its time is over */
    pthread_mutex_lock(&cd.lock);
    for (;;) {
        while (!stream->first && stream->alive)
            pthread_cond_wait(&stream->changed, &cd.lock);
        cd_op *op = stream->first;
        if (!op)
            break;
        if (op->kind == CD_OP_COPY && ++cd.stats.running > cd.stats.most_running)
            cd.stats.most_running = cd.stats.running;
        execute(stream, op);
        let_go(op);
        stream->context->kernels -= op->kind == CD_OP_KERNEL;
        stream->first = op->next;
        if (!stream->first)
            stream->last = NULL;
        stream->finished++;
        free(op->captured);
        free(op);
        pthread_cond_broadcast(&cd.progress);
    }
    pthread_mutex_unlock(&cd.lock);
    return NULL;
}

/* Detached: a stream may be destroyed before its work is over, and the process may end before both. */
static od_cu_result start_worker(cd_stream *stream)
{
    if (stream->has_worker)
        return OD_CU_SUCCESS;
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old); /* the program's signals are for its own threads */
    pthread_t thread;
    bool failed = pthread_create(&thread, NULL, work, stream);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (failed)
        return OD_CU_OUT_OF_MEMORY;
    pthread_detach(thread);
    stream->has_worker = true;
    return OD_CU_SUCCESS;
}

od_cu_result cd_stream_submit(cd_stream *stream, const cd_op *op)
{
    cd_op *copy = malloc(sizeof *copy);
    if (!copy || start_worker(stream)) {
        free(copy);
        return OD_CU_OUT_OF_MEMORY;
    }
    *copy = *op;
    copy->next = NULL;
    copy->submitted_ns = cd_now_ns();
    cd_device *device = stream->context->device;
    if (op->kind == CD_OP_COPY)
        copy->loses_device =
            (int)device->ordinal == cd.settings.lost_device && ++device->copies == cd.settings.lost_copy;
    if (op->kind == CD_OP_KERNEL)
        copy->loses_device =
            (int)device->ordinal == cd.settings.lost_kernel_device && ++device->kernels == cd.settings.lost_kernel;
    hold(copy);
    stream->context->kernels += op->kind == CD_OP_KERNEL;
    if (stream->last)
        stream->last->next = copy;
    else
        stream->first = copy;
    stream->last = copy;
    stream->submitted++;
    pthread_cond_signal(&stream->changed);
    return OD_CU_SUCCESS;
}

void cd_stream_drain(cd_stream *stream)
{
    uint64_t submitted = stream->submitted;
    while (stream->finished < submitted)
        pthread_cond_wait(&cd.progress, &cd.lock);
}

void cd_kernels_drain(const cd_context *context)
{
    while (context->kernels)
        pthread_cond_wait(&cd.progress, &cd.lock);
}

/* --- the calls -------------------------------------------------------------------- */

static cd_stream *create(cd_context *context)
{
    cd_stream *stream = calloc(1, sizeof *stream);
    if (!stream)
        return NULL;
    static uint64_t nstreams;
    *stream = (cd_stream){.magic = STREAM_MAGIC,
                          .context = context,
                          .alive = true,
                          .random = cd.settings.seed * 1000003 + ++nstreams,
                          .next = cd.streams};
    pthread_cond_init(&stream->changed, NULL);
    return cd.streams = stream;
}

static od_cu_result find_null_stream(cd_stream **stream)
{
    cd_context *context = cd_current();
    od_cu_result result = cd_context_check(context);
    if (result)
        return result;
    if (!context->null_stream)
        context->null_stream = create(context);
    *stream = context->null_stream;
    return *stream ? OD_CU_SUCCESS : OD_CU_OUT_OF_MEMORY;
}

od_cu_result cd_stream_find(od_cu_stream handle, cd_stream **stream)
{
    if (!handle)
        return find_null_stream(stream);
    if ((uintptr_t)handle < CD_PAGE || handle->magic != STREAM_MAGIC)
        return cd_misuse(OD_CU_INVALID_HANDLE, "%p is no stream", (void *)handle);
    if (!handle->alive)
        return cd_misuse(OD_CU_INVALID_HANDLE, "the stream %p was destroyed", (void *)handle);
    *stream = handle;
    return OD_CU_SUCCESS;
}

/* A context must be current, though a stream knows its own. */
static od_cu_result enter_with(cd_call call, od_cu_stream handle, cd_stream **stream)
{
    od_cu_result result = cd_enter(call, CD_STREAMS_CONTEXT);
    if (result)
        return result;
    result = cd_stream_find(handle, stream);
    return result ? cd_leave(result) : OD_CU_SUCCESS;
}

od_cu_result cuStreamCreate(od_cu_stream *stream, unsigned flags)
{
    od_cu_result result = cd_enter(CD_cuStreamCreate, CD_CONTEXT);
    if (result)
        return result;
    if (!stream || flags > OD_CU_STREAM_NON_BLOCKING)
        return cd_leave(OD_CU_INVALID_VALUE);
    cd_stream *created = create(cd_current());
    if (created)
        *stream = created;
    return cd_leave(created ? OD_CU_SUCCESS : OD_CU_OUT_OF_MEMORY);
}

/* What is pending is still executed. */
static void end(cd_stream *stream)
{
    stream->alive = false;
    pthread_cond_signal(&stream->changed);
}

od_cu_result cuStreamDestroy_v2(od_cu_stream handle)
{
    cd_stream *stream;
    od_cu_result result = enter_with(CD_cuStreamDestroy_v2, handle, &stream);
    if (result)
        return result;
    if (!handle)
        return cd_leave(OD_CU_INVALID_HANDLE);
    end(stream);
    return cd_leave(cd_context_health(stream->context));
}

od_cu_result cuStreamSynchronize(od_cu_stream handle)
{
    cd_stream *stream;
    od_cu_result result = enter_with(CD_cuStreamSynchronize, handle, &stream);
    if (result)
        return result;
    cd_stream_drain(stream);
    return cd_leave(cd_context_health(stream->context));
}

od_cu_result cuStreamQuery(od_cu_stream handle)
{
    cd_stream *stream;
    od_cu_result result = enter_with(CD_cuStreamQuery, handle, &stream);
    if (result)
        return result;
    result = cd_context_health(stream->context);
    if (!result && stream->finished < stream->submitted)
        result = OD_CU_NOT_READY;
    cd.stats.main_ends += !result && stream->was_busy && getpid() == gettid();
    stream->was_busy = result == OD_CU_NOT_READY;
    return cd_leave(result);
}

od_cu_result cuStreamGetCtx(od_cu_stream handle, od_cu_context *context)
{
    cd_stream *stream;
    od_cu_result result = enter_with(CD_cuStreamGetCtx, handle, &stream);
    if (result)
        return result;
    *context = stream->context;
    return cd_leave(OD_CU_SUCCESS);
}

od_cu_result cuLaunchHostFunc(od_cu_stream handle, void (*function)(void *), void *data)
{
    cd_stream *stream;
    od_cu_result result = enter_with(CD_cuLaunchHostFunc, handle, &stream);
    if (result)
        return result;
    result = function ? cd_context_health(stream->context) : OD_CU_INVALID_VALUE;
    if (!result)
        result = cd_stream_submit(stream, &(cd_op){.kind = CD_OP_CALL, .function = function, .data = data});
    return cd_leave(result);
}

od_cu_result cuStreamWaitEvent(od_cu_stream handle, od_cu_event event, unsigned flags)
{
    cd_stream *stream;
    od_cu_result result = enter_with(CD_cuStreamWaitEvent, handle, &stream);
    if (result)
        return result;
    result = flags ? OD_CU_INVALID_VALUE : cd_event_check(event);
    if (!result)
        result = cd_context_health(stream->context);
    if (!result)
        result = cd_stream_submit(stream, &(cd_op){.kind = CD_OP_WAIT, .event = event, .record = event->recorded});
    return cd_leave(result);
}

typedef struct callback {
    od_cu_stream stream;
    void (*function)(od_cu_stream, od_cu_result, void *);
    void *data;
} callback;

static void call_back(void *arg)
{
    callback *c = arg;
    c->function(c->stream, OD_CU_SUCCESS, c->data);
    free(c);
}

od_cu_result cuStreamAddCallback(od_cu_stream handle, void (*function)(od_cu_stream, od_cu_result, void *), void *data,
                                 unsigned flags)
{
    cd_stream *stream;
    od_cu_result result = enter_with(CD_cuStreamAddCallback, handle, &stream);
    if (result)
        return result;
    result = function && !flags ? cd_context_health(stream->context) : OD_CU_INVALID_VALUE;
    callback *c = result ? NULL : malloc(sizeof *c);
    if (c) {
        *c = (callback){handle, function, data};
        result = cd_stream_submit(stream, &(cd_op){.kind = CD_OP_CALL, .function = call_back, .data = c});
    } else if (!result) {
        result = OD_CU_OUT_OF_MEMORY;
    }
    return cd_leave(result);
}

void cd_streams_drop(const cd_context *context)
{
    for (cd_stream *stream = cd.streams; stream; stream = stream->next) {
        if (stream->context != context || !stream->alive)
            continue;
        if (stream->finished < stream->submitted)
            cd_misuse(0, "the context of device %u is destroyed while work is pending", context->device->ordinal);
        cd_stream_drain(stream);
        cd.stats.leaked_streams += stream != context->null_stream;
        end(stream);
    }
}
