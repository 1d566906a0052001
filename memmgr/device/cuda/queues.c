/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Streams and cuBLAS handles for tasks that call cuBLAS themselves. Making a handle takes long and device memory, so
 * both are kept for the next task. cuBLAS is the program's own where it has one, else the newest that can be opened.
 */
#define _GNU_SOURCE
#include "memmgr/device/cuda/cuda.h"

#include "util/log.h"
#include "util/memory.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

enum { TRIES = 3 };

/* FUNCTION(member, name, argument types); all return int. */
#define CUBLAS_FUNCTIONS(FUNCTION)                                                                                     \
    FUNCTION(create, cublasCreate_v2, (void **handle))                                                                 \
    FUNCTION(destroy, cublasDestroy_v2, (void *handle))                                                                \
    FUNCTION(set_stream, cublasSetStream_v2, (void *handle, od_cu_stream stream))                                      \
    FUNCTION(set_math_mode, cublasSetMathMode, (void *handle, int mode))                                               \
    FUNCTION(set_pointer_mode, cublasSetPointerMode_v2, (void *handle, int mode))                                      \
    FUNCTION(set_atomics_mode, cublasSetAtomicsMode, (void *handle, int mode))

enum { DEFAULT_MATH = 0, SCALARS_ON_HOST = 0, NO_ATOMICS = 0 };

/* cublasCreate() where memory is short. */
enum { OD_CUBLAS_NOT_INITIALIZED = 1, OD_CUBLAS_ALLOC_FAILED = 3 };

typedef struct od_cublas {
    void *library;
#define MEMBER(member, name, arguments) int(*member) arguments;
    CUBLAS_FUNCTIONS(MEMBER)
#undef MEMBER
} od_cublas;

static bool find(od_cublas *blas, void *library)
{
    void *symbol;
#define FIND(member, name, arguments)                                                                                  \
    if (!(symbol = dlsym(library, #name)))                                                                             \
        return false;                                                                                                  \
    memcpy(&blas->member, &symbol, sizeof blas->member);
    CUBLAS_FUNCTIONS(FIND)
#undef FIND
    return true;
}

static bool open_blas(od_cublas *blas)
{
    static const char *const libraries[] = {"libcublas.so.13", "libcublas.so.12", "libcublas.so.11"};
    const size_t n = sizeof libraries / sizeof *libraries;
    if (find(blas, RTLD_DEFAULT))
        return true;
    for (int opened = 1; opened >= 0; opened--) /* one that the program has opened for itself goes first */
        for (size_t i = 0; i < n; i++) {
            blas->library = dlopen(libraries[i], RTLD_NOW | RTLD_LOCAL | (opened ? RTLD_NOLOAD : 0));
            if (blas->library && find(blas, blas->library))
                return true;
            if (blas->library)
                dlclose(blas->library);
        }
    blas->library = NULL;
    return false;
}

/* The library, opened once, or NULL. */
static od_cublas *blas_of(od_cuda *cuda)
{
    static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&one_at_a_time);
    if (!cuda->blas && (cuda->blas = od_calloc(1, sizeof *cuda->blas)) && !open_blas(cuda->blas))
        od_log(OD_LOG_WARNING, "cuda",
               "no libcublas.so of version 11 to 13 can be opened: ompdarts_cublas_handle() returns NULL");
    od_cublas *blas = cuda->blas && cuda->blas->create ? cuda->blas : NULL;
    pthread_mutex_unlock(&one_at_a_time);
    return blas;
}

static od_status enter(void *state, unsigned k)
{
    return od_cuda_enter(&((od_cuda *)state)->device[k]);
}

static void leave(void *state, unsigned k)
{
    od_cuda_leave(&((od_cuda *)state)->device[k]);
}

static bool has_failed(void *state, unsigned k)
{
    od_cuda_device *d = &((od_cuda *)state)->device[k];
    od_cu_result result = d->cuda->cu.stream_query(d->stream[OD_H2D]);
    if (!od_cu_is_sticky(result))
        return atomic_load(&d->lost);
    od_cuda_check(d, result, "asking for its state");
    return true;
}

static od_status take(void *state, unsigned k, od_queue **queue)
{
    od_cuda *cuda = state;
    od_cuda_device *d = &cuda->device[k];
    pthread_mutex_lock(&d->lock);
    *queue = d->queues;
    if (*queue) {
        d->queues = (*queue)->next;
        (*queue)->has_set_blas = false;
    }
    pthread_mutex_unlock(&d->lock);
    if (*queue)
        return OD_OK;
    od_queue *q = od_calloc(1, sizeof *q);
    if (!q)
        return OD_ENOMEM;
    q->device = d;
    od_status status = od_cuda_enter(d);
    if (!status) {
        status = od_cuda_check(d, cuda->cu.stream_create(&q->stream, OD_CU_STREAM_NON_BLOCKING), "making a stream");
        od_cuda_leave(d);
    }
    if (status)
        free(q);
    else
        *queue = q;
    return status;
}

static void *handle(const od_queue *queue)
{
    return queue->stream;
}

static void *context(void *state, unsigned k)
{
    return ((od_cuda *)state)->device[k].context;
}

static int ordinal(void *state, unsigned k)
{
    return ((od_cuda *)state)->device[k].gpu;
}

/* As a new handle is: the task before may have set it to its own. A stream also brings back the workspace. */
static int reset(const od_cublas *blas, const od_queue *queue)
{
    int failed = blas->set_stream(queue->blas, queue->stream);
    failed = failed ? failed : blas->set_math_mode(queue->blas, DEFAULT_MATH);
    failed = failed ? failed : blas->set_pointer_mode(queue->blas, SCALARS_ON_HOST);
    return failed ? failed : blas->set_atomics_mode(queue->blas, NO_ATOMICS);
}

static void *blas_handle(void *state, od_queue *queue, od_status *status)
{
    *status = OD_OK;
    const od_cublas *blas = queue->has_set_blas ? NULL : blas_of(state);
    if (!blas)
        return queue->has_set_blas ? queue->blas : NULL;
    int failed = queue->blas ? 0 : blas->create(&queue->blas);
    if (failed && od_reserve_give(queue->device))
        failed = blas->create(&queue->blas);
    if (!failed && (failed = reset(blas, queue)))
        blas->destroy(queue->blas);
    if (failed) {
        *status = failed == OD_CUBLAS_NOT_INITIALIZED || failed == OD_CUBLAS_ALLOC_FAILED ? OD_EFULL : OD_EDEVICE;
        od_log(OD_LOG_INFO, "cuda", "device %u: cuBLAS could not create a handle (status %d)", queue->device->k,
               failed);
        queue->blas = NULL;
    }
    queue->has_set_blas = queue->blas;
    return queue->blas;
}

static od_status drain(void *state, od_queue *queue)
{
    od_cuda *cuda = state;
    od_cuda_device *d = queue->device;
    od_status status = od_cuda_enter(d);
    if (status)
        return status;
    status = od_cuda_check(d, cuda->cu.stream_synchronize(queue->stream), "waiting for a task's own work");
    od_cuda_leave(d);
    return status;
}

/* An event behind what the queue holds. The program's code has run and must not be run again only because its end
 * cannot be known: what fails without the device being lost is tried again. The context is current. */
static od_status record(od_queue *queue, od_ticket **ticket)
{
    od_cuda_device *d = queue->device;
    od_status status = OD_EDEVICE;
    for (int i = 0; i < TRIES && status && !atomic_load(&d->lost); i++) {
        od_ticket *t = od_ticket_take(d);
        if (!t)
            continue;
        status = od_cuda_check(d, d->cuda->cu.event_record(t->event, queue->stream), "recording an event");
        if (status)
            od_ticket_give(t);
        else
            *ticket = t;
    }
    return status;
}

static od_status mark(void *state, od_queue *queue, od_ticket **ticket)
{
    od_cuda_device *d = queue->device;
    (void)state;
    *ticket = NULL;
    od_status status = od_cuda_enter(d);
    if (!status) {
        status = record(queue, ticket);
        od_cuda_leave(d);
    }
    if (status) {
        od_cuda_calm(d, queue->stream);
        od_queue_give(queue);
    } else {
        (*ticket)->queue = queue;
        (*ticket)->stream = queue->stream;
    }
    return status;
}

const od_queue_ops od_cuda_queue_ops = {
    .enter = enter,
    .leave = leave,
    .has_failed = has_failed,
    .take = take,
    .handle = handle,
    .context = context,
    .ordinal = ordinal,
    .blas = blas_handle,
    .drain = drain,
    .mark = mark,
};

void od_queues_destroy(od_cuda_device *d)
{
    const od_cuda *cuda = d->cuda;
    while (d->queues) {
        od_queue *q = d->queues;
        d->queues = q->next;
        if (q->blas)
            cuda->blas->destroy(q->blas);
        cuda->cu.stream_destroy(q->stream);
        free(q);
    }
}

void od_blas_close(od_cuda *cuda)
{
    if (cuda->blas && cuda->blas->library)
        dlclose(cuda->blas->library);
    free(cuda->blas);
}
