/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* See signals.h. What the program calls leads here. */
#define _GNU_SOURCE /* struct sigaction, sighandler_t, RTLD_NEXT */
#include "omp_ext/process/signals/signals.h"

#include "util/tsan.h"

#include <dlfcn.h>
#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>

enum { HANDLERS = 2, SIGNALS = _NSIG };

static struct taken {
    od_signal_handler *_Atomic handler[HANDLERS]; /* the last one is asked first */
    struct sigaction wanted;                      /* by the program; under the lock */
} taken[SIGNALS];

static atomic_flag lock = ATOMIC_FLAG_INIT;

/* --- the C library's ------------------------------------------------------------ */

static struct {
    int (*sigaction)(int, const struct sigaction *, struct sigaction *);
    sighandler_t (*signal)(int, sighandler_t), (*sysv_signal)(int, sighandler_t);
} real;

/* Before there is a second thread, and before any handler: dlsym() is none of what handlers may call. */
OD_TSAN_CALLS __attribute__((constructor)) static void find_real(void)
{
    if (real.sigaction)
        return;
    *(void **)&real.signal = dlsym(RTLD_NEXT, "signal");
    *(void **)&real.sysv_signal = dlsym(RTLD_NEXT, "__sysv_signal");
    *(void **)&real.sigaction = dlsym(RTLD_NEXT, "sigaction");
}

OD_TSAN_CALLS int od_sigaction(int number, const struct sigaction *action, struct sigaction *before)
{
    find_real(); /* another library's constructor may be first */
    return real.sigaction(number, action, before);
}

/* --- the program's -------------------------------------------------------------- */

/* Handlers want the lock, too: nothing may interrupt a thread that has it. */
static void enter(sigset_t *mask)
{
    sigset_t every;
    sigfillset(&every);
    pthread_sigmask(SIG_SETMASK, &every, mask);
    while (atomic_flag_test_and_set_explicit(&lock, memory_order_acquire))
        sched_yield();
}

static void leave(const sigset_t *mask)
{
    atomic_flag_clear_explicit(&lock, memory_order_release);
    pthread_sigmask(SIG_SETMASK, mask, NULL);
}

static struct sigaction exchange(int number, const struct sigaction *action)
{
    sigset_t mask;
    enter(&mask);
    struct sigaction before = taken[number].wanted;
    if (action)
        taken[number].wanted = *action;
    leave(&mask);
    return before;
}

/* One that wants to be called once is not there the next time. */
static struct sigaction take_wanted(int number)
{
    sigset_t mask;
    enter(&mask);
    struct sigaction action = taken[number].wanted;
    if (action.sa_flags & (int)SA_RESETHAND)
        taken[number].wanted.sa_handler = SIG_DFL;
    leave(&mask);
    return action;
}

bool od_signals_is_handler(const struct sigaction *action)
{
    return action->sa_handler != SIG_DFL && action->sa_handler != SIG_IGN;
}

/* --- somebody else's ------------------------------------------------------------- */

/* As the kernel would call it: with its mask, and with the signal itself blocked unless it says otherwise. */
static void call(const struct sigaction *handler, int number, siginfo_t *info, void *context)
{
    sigset_t before, itself;
    sigemptyset(&itself);
    sigaddset(&itself, number);
    pthread_sigmask(SIG_BLOCK, &handler->sa_mask, &before);
    if ((handler->sa_flags & SA_NODEFER) && !sigismember(&handler->sa_mask, number))
        pthread_sigmask(SIG_UNBLOCK, &itself, NULL);
    if (handler->sa_flags & SA_SIGINFO)
        handler->sa_sigaction(number, info, context);
    else
        handler->sa_handler(number);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* As if we were not there. Without a handler the instruction is tried again, which ends the process, and what somebody
 * has sent is sent again. A handler that has been put in front of ours may call ours in turn: the mark in the kernel's
 * description of the signal shows which. */
static void pass_on(int number, siginfo_t *info, void *context)
{
    enum { PASSED_ON = 0x6f64 };
    struct sigaction action = take_wanted(number), plain = {.sa_handler = SIG_DFL};
    bool is_sent = info->si_code <= 0;
    if (od_signals_is_handler(&action) && info->si_errno != PASSED_ON) {
        info->si_errno = PASSED_ON;
        call(&action, number, info, context);
    } else if (!is_sent || action.sa_handler != SIG_IGN) {
        od_sigaction(number, &plain, NULL);
        if (is_sent)
            raise(number);
    }
}

static void on_signal(int number, siginfo_t *info, void *context)
{
    int error = errno;
    bool done = false;
    for (size_t i = HANDLERS; i-- > 0 && !done;)
        done = taken[number].handler[i] && taken[number].handler[i](info, context);
    if (!done)
        pass_on(number, info, context);
    errno = error;
}

/* --- ours ------------------------------------------------------------------------ */

static bool is_ours(const struct sigaction *action)
{
    return (action->sa_flags & SA_SIGINFO) && action->sa_sigaction == on_signal;
}

/* The order matters: ours may be called as soon as it is there. */
static void install(int number, const struct sigaction *before)
{
    struct sigaction ours = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    sigemptyset(&ours.sa_mask);
    exchange(number, before);
    od_sigaction(number, &ours, NULL);
}

void od_signals_take(int number, od_signal_handler *handler)
{
    struct sigaction now;
    size_t i = 0;
    while (i < HANDLERS && taken[number].handler[i] && taken[number].handler[i] != handler)
        i++;
    if (i == HANDLERS || od_sigaction(number, NULL, &now))
        return;
    taken[number].handler[i] = handler;
    if (!is_ours(&now))
        install(number, &now);
}

OD_TSAN_CALLS static bool is_taken(int number)
{
    struct sigaction now;
    return number > 0 && number < SIGNALS && taken[number].handler[0] && !od_sigaction(number, NULL, &now) &&
           is_ours(&now);
}

OD_TSAN_CALLS static int change(int number, const struct sigaction *action, struct sigaction *before)
{
    if (!is_taken(number))
        return od_sigaction(number, action, before);
    struct sigaction now = exchange(number, action);
    if (before)
        *before = now;
    return 0;
}

int od_signals_wanted(int number, struct sigaction *action)
{
    return change(number, NULL, action);
}

/* --- the entry points --------------------------------------------------------------- */

/* Which of the two a program calls depends on what it defines before it includes <signal.h>. */
sighandler_t __sysv_signal(int number, sighandler_t handler);

OD_TSAN_CALLS int sigaction(int number, const struct sigaction *restrict action, struct sigaction *restrict before)
{
    return change(number, action, before);
}

static sighandler_t set(int number, sighandler_t handler, int flags)
{
    struct sigaction before, action = {.sa_handler = handler, .sa_flags = flags};
    sigemptyset(&action.sa_mask);
    return change(number, &action, &before) ? SIG_ERR : before.sa_handler;
}

sighandler_t signal(int number, sighandler_t handler)
{
    find_real();
    return is_taken(number) && handler != SIG_ERR ? set(number, handler, SA_RESTART) : real.signal(number, handler);
}

sighandler_t __sysv_signal(int number, sighandler_t handler)
{
    find_real();
    return is_taken(number) && handler != SIG_ERR ? set(number, handler, (int)SA_RESETHAND | SA_NODEFER)
                                                  : real.sysv_signal(number, handler);
}
