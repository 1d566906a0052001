/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Kernels that go on after their launch: preloaded after libompdarts.so, this stands in front of libomptarget and makes
 * of host devices what GPUs are. A launch with the flag `nowait` asks the two questions to libomp that libomptarget
 * asks; where it gets a place for a handle, the kernel is queued on its device and the launch returns. One thread per
 * device runs them in order, late. From the environment:
 *   ASYNC_LAUNCH_STATS=FILE  at exit: a line "device K launches N most M threads T" for each device, where M is how
 * many
 *                            kernels were queued or running at once, and T how many threads launched them; and a line
 *                            "synchronous N", the launches that waited for their kernels
 *   ASYNC_LAUNCH_DELAY=US    most microseconds by which a kernel is late (200)
 *   ASYNC_LAUNCH_WAIT=1      each launch waits for its kernel, whose handle stays empty
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { DEVICES = 16, NOWAIT = 1 };

typedef struct kernel_args { /* KernelArgs of libomptarget, version 3 */
    uint32_t version, count;
    void *arrays[6]; /* bases, begins, sizes, types, names, mappers: elements of 8 bytes */
    uint64_t trip_count, flags;
    uint32_t teams[3], threads[3], dynamic_memory;
} kernel_args;

typedef int launch_fn(void *ident, int64_t device, int32_t teams, int32_t threads, void *kernel, kernel_args *args);
typedef void query_fn(void **handle);
typedef int32_t has_team_fn(int32_t gtid);
typedef void **handle_fn(int32_t gtid);
typedef int32_t gtid_fn(void *ident);

launch_fn __tgt_target_kernel;
query_fn __tgt_target_nowait_query;

typedef struct launch {
    void *ident, *kernel;
    int64_t device;
    int32_t teams, threads;
    kernel_args args;
    atomic_bool ended;
    struct launch *next;
    void *storage[];
} launch;

typedef struct queue {
    pthread_mutex_t lock; /* protects the rest */
    pthread_cond_t filled;
    launch *first, **last;
    bool started;
    unsigned launches, waiting, most, threads;
} queue;

static queue queues[DEVICES];
static atomic_uint synchronous;
static launch_fn *real_launch;
static has_team_fn *has_team;
static handle_fn *handle_of;
static gtid_fn *gtid_of;

static void find(void *where, const char *name, void *function)
{
    void *symbol = dlsym(where, name);
    if (!symbol)
        abort();
    memcpy(function, &symbol, sizeof symbol);
}

/* Those that libomptarget asks are found as it finds them: whoever comes first. */
static void find_all(void)
{
    find(RTLD_NEXT, "__tgt_target_kernel", &real_launch);
    find(RTLD_DEFAULT, "__kmpc_omp_has_task_team", &has_team);
    find(RTLD_DEFAULT, "__kmpc_omp_get_target_async_handle_ptr", &handle_of);
    find(RTLD_DEFAULT, "__kmpc_global_thread_num", &gtid_of);
    for (int k = 0; k < DEVICES; k++) {
        pthread_mutex_init(&queues[k].lock, NULL);
        pthread_cond_init(&queues[k].filled, NULL);
        queues[k].last = &queues[k].first;
    }
}

static void find_once(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find_all);
}

/* --- a device ------------------------------------------------------------------ */

static launch *take(queue *q)
{
    pthread_mutex_lock(&q->lock);
    while (!q->first)
        pthread_cond_wait(&q->filled, &q->lock);
    launch *l = q->first;
    q->first = l->next;
    if (!q->first)
        q->last = &q->first;
    pthread_mutex_unlock(&q->lock);
    return l;
}

static void be_late(unsigned *seed)
{
    const char *text = getenv("ASYNC_LAUNCH_DELAY");
    long most_us = text ? atol(text) : 200;
    struct timespec delay = {.tv_nsec = rand_r(seed) % (most_us + 1) * 1000};
    nanosleep(&delay, NULL);
}

static void *run_kernels(void *arg)
{
    queue *q = arg;
    unsigned seed = (unsigned)(q - queues);
    pthread_setname_np(pthread_self(), "kernels");
    for (;;) {
        launch *l = take(q);
        be_late(&seed);
        if (real_launch(l->ident, l->device, l->teams, l->threads, l->kernel, &l->args))
            abort(); /* there is nobody to tell */
        pthread_mutex_lock(&q->lock);
        q->waiting--;
        pthread_mutex_unlock(&q->lock);
        atomic_store(&l->ended, true);
    }
    return NULL;
}

/* With the lock. */
static void count(queue *q)
{
    static _Thread_local bool counted[DEVICES];
    q->threads += !counted[q - queues];
    counted[q - queues] = true;
    q->launches++;
    if (++q->waiting > q->most)
        q->most = q->waiting;
}

static void put(queue *q, launch *l)
{
    pthread_t thread;
    pthread_mutex_lock(&q->lock);
    *q->last = l;
    q->last = &l->next;
    count(q);
    if (!q->started && pthread_create(&thread, NULL, run_kernels, q))
        abort();
    q->started = true;
    pthread_cond_signal(&q->filled);
    pthread_mutex_unlock(&q->lock);
}

static int launch_and_wait(queue *q, launch *l)
{
    static _Thread_local unsigned seed;
    pthread_mutex_lock(&q->lock);
    count(q);
    pthread_mutex_unlock(&q->lock);
    be_late(&seed);
    int failed = real_launch(l->ident, l->device, l->teams, l->threads, l->kernel, &l->args);
    pthread_mutex_lock(&q->lock);
    q->waiting--;
    pthread_mutex_unlock(&q->lock);
    return failed;
}

/* --- entry points ----------------------------------------------------------------- */

/* The arrays are the caller's only until the launch returns. What they point to is read late: the caller keeps it until
 * the kernel has ended. */
static launch *copy(const kernel_args *args)
{
    enum { ARRAYS = sizeof args->arrays / sizeof *args->arrays };
    size_t n = args->count;
    launch *l = calloc(1, sizeof *l + ARRAYS * n * sizeof(void *));
    if (!l)
        abort();
    l->args = *args;
    l->args.flags &= ~(uint64_t)NOWAIT;
    for (size_t i = 0; i < ARRAYS; i++)
        if (args->arrays[i])
            l->args.arrays[i] = memcpy(l->storage + i * n, args->arrays[i], n * sizeof(void *));
    return l;
}

/* Where the handle of an asynchronous launch goes, or NULL. */
static void **handle_place(const kernel_args *args)
{
    int32_t gtid = gtid_of(NULL);
    return args->flags & NOWAIT && has_team(gtid) ? handle_of(gtid) : NULL;
}

int __tgt_target_kernel(void *ident, int64_t device, int32_t teams, int32_t threads, void *kernel, kernel_args *args)
{
    find_once();
    void **handle = handle_place(args);
    if (!handle || device < 0 || device >= DEVICES) {
        synchronous++;
        return real_launch(ident, device, teams, threads, kernel, args);
    }
    if (*handle)
        abort(); /* of another kernel */
    launch *l = copy(args);
    l->ident = ident;
    l->device = device;
    l->teams = teams;
    l->threads = threads;
    l->kernel = kernel;
    if (getenv("ASYNC_LAUNCH_WAIT")) {
        int failed = launch_and_wait(&queues[device], l);
        free(l);
        return failed;
    }
    *handle = l;
    put(&queues[device], l);
    return 0;
}

void __tgt_target_nowait_query(void **handle)
{
    if (!handle || !*handle)
        abort(); /* as libomptarget does, which has no handles of its own on host devices */
    launch *l = *handle;
    if (!atomic_load(&l->ended))
        return;
    *handle = NULL;
    free(l);
}

/* --- statistics --------------------------------------------------------------------- */

__attribute__((destructor)) static void at_exit(void)
{
    const char *path = getenv("ASYNC_LAUNCH_STATS");
    FILE *file = path && real_launch ? fopen(path, "w") : NULL; /* a sanitizer's symbolizer launches nothing */
    if (!file)
        return;
    for (int k = 0; k < DEVICES; k++) {
        queue *q = &queues[k];
        if (!q->launches)
            continue;
        pthread_mutex_lock(&q->lock);
        fprintf(file, "device %d launches %u most %u threads %u\n", k, q->launches, q->most, q->threads);
        pthread_mutex_unlock(&q->lock);
    }
    fprintf(file, "synchronous %u\n", synchronous);
    fclose(file);
}
