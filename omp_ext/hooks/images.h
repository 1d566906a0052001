/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The program's device code: what __tgt_register_lib() brings, at the start or when a library is opened later, and what
 * __tgt_unregister_lib() takes away.
 */
#ifndef OD_OMP_EXT_IMAGES_H
#define OD_OMP_EXT_IMAGES_H

#include <pthread.h>
#include <stdbool.h>

/* The name that clang has given to a target region: __omp_offloading_<ids>_<function>_l<line>. NULL: not known. May be called
 * from a signal handler that interrupts the program's own code. */
const char *od_images_kernel_name(const void *kernel);

/* True while the program has device code. */
bool od_images_exist(void);

/* The ELF machine of the first device image: what kind of device it is for. 0: not known. */
unsigned od_images_machine(void);

/* Keeps libomptarget's devices until the process ends, also when the last library with device code has been closed. */
void od_images_hold(void);
void od_images_let_go(void);

/* For a fork. */
void od_images_locks(int (*visit)(pthread_mutex_t *lock));

#endif
