/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Signals that end the process, and one that asks. See interrupt.h. The handler wakes a thread, since to write figures
 * is nothing for a signal handler, and waits: for the program nothing comes after the signal. A second signal that ends
 * the process does not wait. The same thread ends the process when the program's threads have ended one by one.
 */
#define _GNU_SOURCE
#include "omp_ext/process/signals/interrupt.h"

#include "omp_ext/process/last.h"
#include "omp_ext/process/signals/signals.h"
#include "util/clock.h"
#include "util/log.h"
#include "util/options.h"
#include "util/thread.h"

#include <errno.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

/* A user, a batch system, a terminal that closes, a limit of time, a reader that has gone. */
static const int endings[] = {SIGINT, SIGTERM, SIGHUP, SIGXCPU, SIGUSR2, SIGPIPE};

static struct {
    sem_t arrived;
    atomic_int signal;
    atomic_bool asked; /* SIGUSR1 */
    atomic_bool under_way; /* the report */
    void (*report)(int signal);
    void (*show)(bool internals);
    pid_t process; /* that has a thread to wake: a forked child has none */
} interrupt;

/* As if there had been no handler. */
static void end_by(int signal)
{
    struct sigaction plain = {.sa_handler = SIG_DFL};
    sigset_t it;
    od_sigaction(signal, &plain, NULL);
    sigemptyset(&it);
    sigaddset(&it, signal);
    pthread_sigmask(SIG_UNBLOCK, &it, NULL);
    raise(signal);
}

/* What the report still wants may be held by what the signal has interrupted: that goes on then. Whatever it meets of
 * ours waits for the end. */
static void await_end(void)
{
    enum { NAP_NS = 5 * 1000 * 1000, SOON_NS = 300 * 1000 * 1000 };
    const uint64_t now = od_clock_ns(), soon = now + SOON_NS, late = now + OD_REPORT_S * OD_NS_PER_S;
    while (od_clock_ns() < (atomic_load(&interrupt.under_way) ? late : soon))
        od_thread_nap(NAP_NS);
}

/* Several threads may write to one that does not read any more. */
static void note(int signal)
{
    int saved = errno, none = 0;
    bool first = interrupt.report && getpid() == interrupt.process &&
                 atomic_compare_exchange_strong(&interrupt.signal, &none, signal);
    if (first)
        sem_post(&interrupt.arrived);
    if (first || (signal == SIGPIPE && none == SIGPIPE))
        await_end();
    else
        end_by(signal);
    errno = saved;
}

void od_interrupt_is_under_way(void)
{
    atomic_store(&interrupt.under_way, true);
}

static void ask(int signal)
{
    static const char nothing[] = "ompdarts: SIGUSR1: this process has scheduled nothing yet\n";
    int saved = errno;
    (void)signal;
    if (getpid() != interrupt.process)
        (void)!write(STDERR_FILENO, nothing, sizeof nothing - 1);
    else if (!atomic_exchange(&interrupt.asked, true))
        sem_post(&interrupt.arrived);
    errno = saved;
}

static void answer(void)
{
    static uint64_t last_ns;
    uint64_t now = od_clock_ns();
    interrupt.show(last_ns && now - last_ns <= OD_ASK_AGAIN_S * OD_NS_PER_S);
    last_ns = now;
}

/* For a signal, or for some time. */
static void await_signal(void)
{
    struct timespec limit = od_clock_time(od_clock_ns() + OD_NS_PER_S);
    sem_clockwait(&interrupt.arrived, CLOCK_MONOTONIC, &limit);
}

static void *wait_for_signal(void *arg)
{
    int signal;
    (void)arg;
    while (!(signal = atomic_load(&interrupt.signal))) {
        await_signal();
        if (atomic_exchange(&interrupt.asked, false))
            answer();
        if (od_only_we_are_left())
            exit(0);
    }
    interrupt.report(signal);
    end_by(signal);
    return NULL;
}

static bool is_default(int signal)
{
    struct sigaction now;
    return !od_sigaction(signal, NULL, &now) && !(now.sa_flags & SA_SIGINFO) && now.sa_handler == SIG_DFL;
}

static void handle(int signal, void (*handler)(int signal))
{
    struct sigaction ours = {.sa_handler = handler, .sa_flags = SA_RESTART | SA_NODEFER};
    sigemptyset(&ours.sa_mask);
    od_sigaction(signal, &ours, NULL);
}

/* In one step: one that comes in between must not end the process. */
void od_interrupt_load(bool answers)
{
    const char *by = od_environment(OD_IGNORES_SIGUSR1);
    bool ignored = by && atoi(by) == (int)getpid();
    if (answers && (ignored || is_default(SIGUSR1)))
        handle(SIGUSR1, ask);
    else if (ignored)
        handle(SIGUSR1, SIG_DFL);
    unsetenv(OD_IGNORES_SIGUSR1);
}

void od_interrupt_start(void (*report)(int signal), void (*show)(bool internals))
{
    interrupt.report = report;
    interrupt.show = show;
    atomic_store(&interrupt.signal, 0);
    atomic_store(&interrupt.asked, false);
    if (sem_init(&interrupt.arrived, 0, 0) || od_thread_start(NULL, "od-interrupt", wait_for_signal, NULL)) {
        od_log(OD_LOG_WARNING, "runtime", "an interrupted run will print no statistics: out of threads");
        return;
    }
    interrupt.process = getpid();
    for (size_t i = 0; report && i < sizeof endings / sizeof *endings; i++)
        if (is_default(endings[i]))
            handle(endings[i], note);
}
