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

/* Calls another handler from inside one, as if the signal had been its own. */
static inline void od_signal_pass_on(const struct sigaction *handler, int number, siginfo_t *info, void *context)
{
    sigset_t before;
    pthread_sigmask(SIG_BLOCK, &handler->sa_mask, &before);
    if (handler->sa_flags & SA_SIGINFO)
        handler->sa_sigaction(number, info, context);
    else
        handler->sa_handler(number);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

#endif
