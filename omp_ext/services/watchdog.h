/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The watchdog (OMPDARTS_DEBUG=watchdog=SECONDS): a program that makes no progress any more is stopped, and says where
 * it stands.
 *
 * No progress is: the engine has something to do and no event comes; or it has nothing to do while threads wait in
 * libomp for tasks, and the process uses no processor time; or, for six times as long, no more than these threads use
 * by waiting. Only seconds in which the process, and those of other ranks whose devices it uses, got their processors
 * count (util/fair.h): an overloaded machine stops no program, nor does a debugger or a shell that lets it rest.
 */
#ifndef OD_OMP_EXT_WATCHDOG_H
#define OD_OMP_EXT_WATCHDOG_H

#include "omp_ext/services/service.h"

extern const od_service od_watchdog_service;

/* The calling thread begins (or ends) to wait in libomp for tasks of the program. */
void od_watchdog_note_wait(bool begins);

#endif
