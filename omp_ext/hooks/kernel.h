/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Parallel regions of kernels on host devices, and of host versions, on workers.
 *
 * Each worker is a root thread of libomp, which would give every one of them as many threads as the machine has
 * processors. They share them instead: a region without num_threads gets the worker's share, as does a team without
 * thread_limit; so it is where a thread of the program runs a short kernel instead of waking a worker. Regions that a
 * kernel begins on a thread that waits for it are that thread's: libomp counts them as nested where they are.
 *
 * On a worker what a kernel or host version sets by omp_set_… is given back after it (launch.h). A thread_limit clause
 * of a construct without teams is a variable of the construct's task in libomp: it goes with the launch.
 */
#ifndef OD_OMP_EXT_KERNEL_H
#define OD_OMP_EXT_KERNEL_H

#include "omp_ext/libomp/abi.h"

/* The calling thread is about to begin a league of teams. */
void od_kernel_before_league(od_ident *ident);

#endif
