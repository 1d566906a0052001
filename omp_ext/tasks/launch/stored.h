/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Device addresses that kernels store: lists, trees and tables of rows that a program builds on a device. They lead
 * astray as soon as what holds them, or what they lead to, is somewhere else.
 *
 * So the first runs of each kernel are looked through for words with an address in a pool, but for pointers that we
 * have written ourselves (memmgr/data/relocation.h). Whatever holds one stays on that device, and what it leads to
 * where it is, until their regions close, as if the program had been shown their addresses. A kernel that has stored
 * one is looked at each time; so are the declare target variables, which stay where they are. Of large data samples;
 * from devices whose memory is not the process's, copies, which are not counted.
 *
 * Parts of arrays cannot stay anywhere, nor can data for which no device has room: that is said, once.
 */
#ifndef OD_OMP_EXT_STORED_H
#define OD_OMP_EXT_STORED_H

#include "omp_ext/tasks/entry.h"

/* Likewise in host memory, where access i was at[i]. */
void od_stored_look_outside(const od_task *task, void *const *at);
/* The task's kernel has run on device k, and its data are still there. `entry`: the kernel's, or NULL. */
void od_stored_look(od_entry *entry, const od_task *task, unsigned k);

#endif
