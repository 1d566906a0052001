/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Threads that take no signals. See thread.h. */
#define _GNU_SOURCE 1 /* pthread_setname_np */

#include "util/thread.h"

#include <signal.h>
#include <stdio.h>

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
