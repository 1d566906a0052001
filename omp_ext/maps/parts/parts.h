/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Parts: which bytes of an array a kernel works on that gets the array whole.
 *
 * A program that enters an array once and lets each task work on a section of it says which in the task's depend
 * clause: items with base and length inside of the array. These sections are the task's data. What its kernel touches
 * besides is found out while it runs (omp_ext/runtime/parts/pages.c), but not with OMPDARTS_COHERENCE=depend. An item
 * of less than a page is a name, not an extent (clang writes an element as a section of its size). Where a task names
 * nothing longer in an array that several tasks want at once, or that is larger than a device's memory, each name
 * stands for what the kernel uses around it, as far as that has been learnt; else the task uses all of the array, as
 * one whose items say nothing about it does.
 *
 * A kernel that maps a section of an open region gets that section alone, as a datum of its own. To libomptarget the
 * rest is there, too, and a kernel may use it without saying so. So the section of a construct that serial code waits
 * for stands for the whole region, as long as no tasks work on sections of it side by side, and so does that of a task
 * whose depend clause names other places of the region; if that is a large one, its parts are in windows.
 *
 * An array of which nothing says that a kernel writes to it is taken for an input as soon as several tasks want it at
 * once: devices have replicas, and a kernel that writes to it all the same has a page fault, which shows it.
 */
#ifndef OD_OMP_EXT_PARTS_H
#define OD_OMP_EXT_PARTS_H

#include "omp_ext/maps/parts/collect.h"

/* The parts of a region that a kernel uses, by its depend items; or by what is known of the region, where it is in
 * parts already and a device has memory for all of them; or the region, where it maps a section but may use more. None:
 * it uses what it maps as one datum, and where this is the region, it is not in parts any more. OD_EFULL: settle the
 * region and retry. Locked. */
od_status od_parts_find(od_engine *engine, const od_map_args *args, const od_reference *reference,
                        const od_parts_named *named, od_parts *parts);
/* A device has memory for all of the region beside all else that the construct maps. Locked. */
bool od_parts_region_fits(od_engine *engine, const od_map_args *args, const od_region *region);
/* Kernels for whose data no device has memory use them in parts, page by page (OMPDARTS_OVERSIZE). */
bool od_parts_go_by_pages(void);
/* The region is one datum again, if it was in parts. Kernels that run, or will, with parts of it may touch more of it
 * than these, for which all data have to be pages: so it waits for them. OD_EFULL: settle the region and retry;
 * `at_once`: only because of those that run. Locked. */
od_status od_parts_join(od_engine *engine, od_region *region, bool at_once);

#endif
