/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What the program wants to happen on signals. Those that we see first stay ours: a handler that the program sets while
 * kernels have page faults that we answer, or the default action, would get them otherwise. */
#define _GNU_SOURCE /* struct sigaction, sighandler_t, RTLD_NEXT */
#include "omp_ext/process/signals.h"

#include <dlfcn.h>
#include <signal.h>
#include <stddef.h>

typedef sighandler_t set_handler(int number, sighandler_t handler);

/* Which of the two a program calls depends on what it defines before it includes <signal.h>. */
sighandler_t __sysv_signal(int number, sighandler_t handler);

static set_handler *next_signal, *next_sysv_signal;

/* As in process/signals.c: handlers may call them. */
__attribute__((constructor)) static void find_next(void)
{
    if (!next_signal)
        next_signal = (set_handler *)dlsym(RTLD_NEXT, "signal");
    if (!next_sysv_signal)
        next_sysv_signal = (set_handler *)dlsym(RTLD_NEXT, "__sysv_signal");
}

int sigaction(int number, const struct sigaction *restrict action, struct sigaction *restrict before)
{
    return od_signals_action(number, action, before);
}

static sighandler_t set(int number, sighandler_t handler, int flags)
{
    struct sigaction before, action = {.sa_handler = handler, .sa_flags = flags};
    sigemptyset(&action.sa_mask);
    return od_signals_action(number, &action, &before) ? SIG_ERR : before.sa_handler;
}

sighandler_t signal(int number, sighandler_t handler)
{
    find_next();
    return od_signals_keep(number) && handler != SIG_ERR ? set(number, handler, SA_RESTART)
                                                         : next_signal(number, handler);
}

sighandler_t __sysv_signal(int number, sighandler_t handler)
{
    find_next();
    return od_signals_keep(number) && handler != SIG_ERR ? set(number, handler, (int)SA_RESETHAND | SA_NODEFER)
                                                         : next_sysv_signal(number, handler);
}
