/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Device memory that is the program's own: omp_target_alloc, omp_target_associate_ptr, and ranges that were
 * passed through to libomptarget. A task that is given such an address must run where it is valid.
 */
#ifndef OD_OMP_EXT_DEVICE_MEMORY_H
#define OD_OMP_EXT_DEVICE_MEMORY_H

#include <limits.h>
#include "util/lock.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* omp_target_alloc() has given the program this memory. False: out of memory. */
bool od_allocated_add(uintptr_t base, size_t size, int device);
void od_allocated_remove(uintptr_t base);
/* OpenMP's number of the device whose program-allocated memory contains the address, or -1. */
int od_device_of_address(uintptr_t address);
/* The program has been shown the address of some of our data on a device, and may have stored it. */
void od_addresses_note_shown(void);
/* The first device address that a range of the program's memory holds, of which at most OD_CARRIED_BYTES are looked at:
 * one of memory that it has allocated on a device, or of ours there, if it has been shown any. 0: none, or the range
 * cannot be read. */
uintptr_t od_address_stored(uintptr_t base, size_t size);

enum { OD_CARRIED_BYTES = 4096 }; /* what NVIDIA's kernels can be given by value */

enum { OD_FIRST_DEVICE = INT_MAX }; /* our first one, whichever it is: not yet chosen when the program is loaded */
/* Host ranges that libomptarget itself holds on a device: entries of map lists that name one are its own, foreign.h. */
bool od_foreign_add(uintptr_t base, size_t size, int device);
void od_foreign_remove(uintptr_t base);
int od_foreign_device(uintptr_t base, size_t size); /* -1: none overlaps */
bool od_foreign_any(void);

/* For a fork. */
void od_device_memory_locks(void (*visit)(od_lock *lock));

#endif
