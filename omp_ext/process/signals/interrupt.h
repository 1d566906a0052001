/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * SIGINT, SIGTERM, SIGHUP, SIGXCPU, SIGUSR2 and SIGPIPE: the figures so far are given, then the process ends by that
 * signal as it would have without us. A program that handles or ignores one of them keeps it.
 */
#ifndef OD_OMP_EXT_INTERRUPT_H
#define OD_OMP_EXT_INTERRUPT_H

#include <stdbool.h>

enum { OD_ASK_AGAIN_S = 10, OD_REPORT_S = 10 };

/* `ompdarts run` has ignored SIGUSR1 until here. From now on it does not end the process where it `answers`, if only
 * that nothing has been scheduled yet; else it does. */
void od_interrupt_load(bool answers);

/* From now on `report` is called, in a separate thread, when a signal is about to end the process (NULL: it ends as
 * usual), and `show` at each SIGUSR1, after which the program continues; with `internals` where the last one is no
 * longer ago than OD_ASK_AGAIN_S. In a child of a fork, again. Signals that the program handles or ignores are left to
 * it. */
void od_interrupt_start(void (*report)(int signal), void (*show)(bool internals));
/* By `report`: it wants nothing more that another thread may have. Until it returns, or for OD_REPORT_S, the thread
 * that got the signal goes no further. */
void od_interrupt_is_under_way(void);

#endif
