/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * One kernel on all devices (OMPDARTS_SLICE).
 *
 * A synchronous kernel whose region is nothing but a distribute loop runs as several tasks of the engine, each with a
 * part of its iterations (omp_ext/slices/slice.h) and, of each array, with a share of as many pages. What else it
 * touches are page faults (omp_ext/runtime/parts/pages.c), so that is a matter of speed only: the memory that slices
 * see is coherent, as that of a device's teams is. What faults show becomes what the next launch is given: arrays that
 * are written, arrays that each slice reads beyond its share.
 *
 * Each kernel runs whole first, and is watched. It stays whole where its code does more than one loop (or in chunks),
 * where its data can be in no parts, where its slices write to each other's shares, and, with `auto`, where slices were
 * not faster. The reason is in the summary. Data that are in no region are in one for the time of the launch.
 */
#ifndef OD_OMP_EXT_SLICES_H
#define OD_OMP_EXT_SLICES_H

#include "omp_ext/runtime/work.h"
#include "omp_ext/slices/kernels.h"

bool od_slices_are_on(void);
/* They are not: a launch that might have been in slices goes as it is. Any thread, without a lock. */
void od_slices_note_off(const od_kernel_call *call);
/* Of how many that may be said to the user; 0 where slices are on, or cannot be. */
uint64_t od_slices_not_tried(void);
/* Runs a launch of the program's thread, in slices or whole. As od_job_launch_sync(). */
int od_slices_launch(const od_kernel_call *call);

#endif
