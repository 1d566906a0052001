/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* See apart.h. */
#include "omp_ext/slices/gpus/apart.h"

#include <pthread.h>
#include <stdatomic.h>

static atomic_uint running; /* kernels */
static atomic_bool sliced;  /* a kernel is in slices; changes under `lock` */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static bool set(bool value)
{
    pthread_mutex_lock(&lock);
    bool was = atomic_exchange(&sliced, value);
    if (!value)
        pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    return was;
}

bool od_apart_begin(void)
{
    if (set(true))
        return false;
    if (!atomic_load(&running))
        return true;
    set(false);
    return false;
}

void od_apart_end(void)
{
    set(false);
}

/* Either this sees that there are slices, or who begins them sees this. */
void od_apart_enter(void)
{
    atomic_fetch_add(&running, 1);
    while (atomic_load(&sliced)) {
        atomic_fetch_sub(&running, 1);
        pthread_mutex_lock(&lock);
        while (atomic_load(&sliced))
            pthread_cond_wait(&changed, &lock);
        pthread_mutex_unlock(&lock);
        atomic_fetch_add(&running, 1);
    }
}

void od_apart_leave(void)
{
    atomic_fetch_sub(&running, 1);
}
