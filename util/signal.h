/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Signals that turn out to be somebody else's. */
#ifndef OD_UTIL_SIGNAL_H
#define OD_UTIL_SIGNAL_H

#include <signal.h>
#include <stdbool.h>

static inline bool od_signal_is_handled(const struct sigaction *action)
{
    return action->sa_handler != SIG_DFL && action->sa_handler != SIG_IGN;
}

static inline void od_signal_call(const struct sigaction *handler, int number, siginfo_t *info, void *context)
{
    sigset_t before;
    pthread_sigmask(SIG_BLOCK, &handler->sa_mask, &before);
    if (handler->sa_flags & SA_SIGINFO)
        handler->sa_sigaction(number, info, context);
    else
        handler->sa_handler(number);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* From inside a handler, as if there were only `previous`. Without that one the instruction is tried again without a
 * handler, and what somebody has sent is sent again. A handler that the program has installed after ours may call ours
 * in turn: the mark in the kernel's description of the signal shows which. */
static inline void od_signal_pass_on(struct sigaction *previous, int number, siginfo_t *info, void *context)
{
    enum { PASSED_ON = 0x6f64 };
    if (!od_signal_is_handled(previous) || info->si_errno == PASSED_ON) {
        signal(number, SIG_DFL);
        if (info->si_code <= 0)
            raise(number);
        return;
    }
    struct sigaction handler = *previous;
    if (previous->sa_flags & (int)SA_RESETHAND)
        previous->sa_handler = SIG_DFL;
    info->si_errno = PASSED_ON;
    od_signal_call(&handler, number, info, context);
}

#endif
