/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Threads that take no signals. See thread.h. */
#define _GNU_SOURCE 1 /* pthread_setname_np */

#include "util/thread.h"

#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <time.h>

od_status od_thread_start(pthread_t *thread, const char *name, void *(*run)(void *), void *arg)
{
    char shown[16]; /* the longest that Linux takes */
    sigset_t every, before;
    pthread_t started;

    sigfillset(&every);
    pthread_sigmask(SIG_SETMASK, &every, &before);
    int error = pthread_create(&started, NULL, run, arg);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error)
        return OD_ENOMEM;
    snprintf(shown, sizeof shown, "%s", name);
    pthread_setname_np(started, shown);
    if (thread)
        *thread = started;
    else
        pthread_detach(started);
    return OD_OK;
}

od_status od_condition_init(pthread_cond_t *condition)
{
    pthread_condattr_t attributes;
    if (pthread_condattr_init(&attributes))
        return OD_ENOMEM;
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    int error = pthread_cond_init(condition, &attributes);
    pthread_condattr_destroy(&attributes);
    return error ? OD_ENOMEM : OD_OK;
}

void od_condition_nap(pthread_cond_t *condition, pthread_mutex_t *lock, long ns)
{
    const long second = 1000000000;
    struct timespec end;
    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_nsec += ns;
    if (end.tv_nsec >= second) {
        end.tv_nsec -= second;
        end.tv_sec++;
    }
    pthread_cond_timedwait(condition, lock, &end);
}

void od_thread_nap_short(void)
{
    prctl(PR_SET_TIMERSLACK, 1000);
}
