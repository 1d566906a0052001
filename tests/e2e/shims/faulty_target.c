/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Devices that fail: preloaded after libompdarts.so, this stands in front of what the library calls in libomptarget.
 * From the environment:
 *   FAULTY_EVERY=n       each n-th kernel launch fails, without having touched any data
 *   FAULTY_COPY_EVERY=n  each n-th copy of a tile fails (the small ones that ask whether a device answers do not)
 *   FAULTY_LOCK_US=n     kernels and __tgt_unregister_lib() are one at a time, each kernel at least n us: libomptarget's own lock, held long
 *   FAULTY_DEVICE=k      from its n-th launch or copy on, n being FAULTY_AFTER (0: at once), device k fails for good
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
#include <unistd.h>

typedef int launch(void *ident, int64_t device, int32_t teams, int32_t threads, void *kernel, void *args);
typedef int copy(void *to, const void *from, size_t bytes, size_t to_offset, size_t from_offset, int to_device,
                 int from_device);

launch __tgt_target_kernel;
void __tgt_unregister_lib(void *desc);
copy omp_target_memcpy;

static unsigned setting(const char *name)
{
    const char *text = getenv(name);
    return text ? (unsigned)atoi(text) : 0;
}

/* Counts a call; true for each n-th. */
static bool is_due(atomic_uint *calls, unsigned n)
{
    return n && (atomic_fetch_add(calls, 1) + 1) % n == 0;
}

static bool is_lost(int64_t device)
{
    static atomic_uint calls;
    const char *lost = getenv("FAULTY_DEVICE");
    return lost && device == atoi(lost) && atomic_fetch_add(&calls, 1) >= setting("FAULTY_AFTER");
}

static void find(const char *name, void *function)
{
    void *symbol = dlsym(RTLD_NEXT, name);
    if (!symbol)
        abort();
    memcpy(function, &symbol, sizeof symbol);
}

static pthread_mutex_t lock_of_all = PTHREAD_MUTEX_INITIALIZER;

static bool take_lock(void)
{
    unsigned microseconds = setting("FAULTY_LOCK_US");
    if (microseconds) {
        pthread_mutex_lock(&lock_of_all);
        usleep(microseconds);
    }
    return microseconds;
}

static void give_lock(bool taken)
{
    if (taken)
        pthread_mutex_unlock(&lock_of_all);
}

int __tgt_target_kernel(void *ident, int64_t device, int32_t teams, int32_t threads, void *kernel, void *args)
{
    static atomic_uint calls;
    if (is_due(&calls, setting("FAULTY_EVERY")) || is_lost(device))
        return 1;
    launch *real;
    find("__tgt_target_kernel", &real);
    bool locked = take_lock();
    int result = real(ident, device, teams, threads, kernel, args);
    give_lock(locked);
    return result;
}

void __tgt_unregister_lib(void *desc)
{
    void (*real)(void *desc);
    find("__tgt_unregister_lib", &real);
    bool locked = take_lock();
    real(desc);
    give_lock(locked);
}

/* True where this copy has failed before: a second failure by chance, or on another thread, is not what is tried. */
static bool has_failed(const void *to, const void *from)
{
    enum { MOST = 64 };
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static struct pair {
        const void *to, *from;
    } failed[MOST];
    static unsigned next;
    bool found = false;
    pthread_mutex_lock(&lock);
    for (unsigned i = 0; i < MOST && !found; i++) {
        found = failed[i].to == to && failed[i].from == from;
        if (found)
            failed[i] = (struct pair){NULL, NULL};
    }
    if (!found)
        failed[next++ % MOST] = (struct pair){to, from};
    pthread_mutex_unlock(&lock);
    return found;
}

int omp_target_memcpy(void *to, const void *from, size_t bytes, size_t to_offset, size_t from_offset, int to_device,
                      int from_device)
{
    static atomic_uint calls;
    unsigned every = setting("FAULTY_COPY_EVERY");
    bool due = bytes > 64 && is_due(&calls, every);
    bool fails = due && (every == 1 || !has_failed((char *)to + to_offset, (const char *)from + from_offset));
    if (fails || is_lost(to_device) || is_lost(from_device))
        return 1;
    copy *real;
    find("omp_target_memcpy", &real);
    return real(to, from, bytes, to_offset, from_offset, to_device, from_device);
}
