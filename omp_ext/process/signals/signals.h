/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Signals that we want to see before the program does. The program's own action is kept meanwhile: it sees that one
 * when it asks, and it is what happens where a signal turns out to be none of ours.
 */
#ifndef OD_OMP_EXT_SIGNALS_H
#define OD_OMP_EXT_SIGNALS_H

#include <signal.h>
#include <stdbool.h>

/* In a signal handler. True: dealt with, what was interrupted goes on. */
typedef bool od_signal_handler(const siginfo_t *info, void *context);

/* `handler` is asked from now on, before those that have been there, at most two for a signal. Again: it is made sure
 * that the program has put nothing in front, behind our back. Not by two threads at once. */
void od_signals_take(int number, od_signal_handler *handler);
/* What the program wants. -1 and errno: there is no such signal. */
int od_signals_wanted(int number, struct sigaction *action);
bool od_signals_is_handler(const struct sigaction *action);
/* The C library's, or that of whoever else stands in front of it: nothing is kept. */
int od_sigaction(int number, const struct sigaction *action, struct sigaction *before);

#endif
