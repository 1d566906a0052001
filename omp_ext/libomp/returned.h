/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Target tasks that end before their code returns, since the thread that runs it, or a device that is fast, carries
 * them out meanwhile. For libomp they have never been detached: it completes them as any other task. Otherwise each
 * would take two turns of its event's lock; libomp yields the processor whenever it gives that back while there are
 * more threads than processors, and completions that are left with a team wake another thread.
 */
#ifndef OD_OMP_EXT_RETURNED_H
#define OD_OMP_EXT_RETURNED_H

#include "omp_ext/libomp/abi.h"

/* A target task's code, on the thread that runs it, is about to return: the last thing that it does. */
void od_task_returns(od_kmp_task *task, int32_t gtid);
/* The task has ended, once. Its event, if libomp is to be told, which has been told that it is detached; else NULL, and
 * it may be gone. */
void *od_task_ended(od_kmp_task *task);

#endif
