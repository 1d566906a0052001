/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Signals that end the process. See interrupt.h. The handler only wakes a thread: to write figures is nothing for a signal
 * handler. A second signal does not wait for it.
 */
#define _GNU_SOURCE
#include "omp_ext/interrupt.h"

#include "util/log.h"
#include "util/thread.h"

#include <errno.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/types.h>
#include <unistd.h>

static const int handled[] = {SIGINT, SIGTERM};

static struct {
    sem_t arrived;
    atomic_int signal;
    void (*report)(int signal);
    pid_t process; /* a forked child has no thread to wake */
} interrupt;

/* As if there had been no handler. */
static void end_by(int signal)
{
    struct sigaction plain = {.sa_handler = SIG_DFL};
    sigset_t it;
    sigaction(signal, &plain, NULL);
    sigemptyset(&it);
    sigaddset(&it, signal);
    pthread_sigmask(SIG_UNBLOCK, &it, NULL);
    raise(signal);
}

static void note(int signal)
{
    int saved = errno, none = 0;
    if (getpid() == interrupt.process && atomic_compare_exchange_strong(&interrupt.signal, &none, signal))
        sem_post(&interrupt.arrived);
    else
        end_by(signal);
    errno = saved;
}

static void *wait_for_signal(void *arg)
{
    (void)arg;
    while (sem_wait(&interrupt.arrived))
        ;
    int signal = atomic_load(&interrupt.signal);
    interrupt.report(signal);
    end_by(signal);
    return NULL;
}

void od_interrupt_start(void (*report)(int signal))
{
    interrupt.report = report;
    interrupt.process = getpid();
    if (sem_init(&interrupt.arrived, 0, 0) || od_thread_start(NULL, "od-interrupt", wait_for_signal, NULL)) {
        od_log(OD_LOG_WARNING, "runtime", "an interrupted run will give no figures: out of threads");
        return;
    }
    for (size_t i = 0; i < sizeof handled / sizeof *handled; i++) {
        struct sigaction old, ours = {.sa_handler = note, .sa_flags = SA_RESTART};
        sigemptyset(&ours.sa_mask);
        bool plain = !sigaction(handled[i], NULL, &old) && !(old.sa_flags & SA_SIGINFO) && old.sa_handler == SIG_DFL;
        if (plain)
            sigaction(handled[i], &ours, NULL);
    }
}
