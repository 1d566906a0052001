/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Parts: which bytes of an array a kernel works on that gets the array whole.
 *
 * A program that enters an array once and lets each task work on a section of it says which in the task's depend
 * clause: items with base and length inside of the array. These sections are the task's data. What its kernel touches
 * besides is found out while it runs (omp_ext/runtime/parts/pages.c), but not with OMPDARTS_COHERENCE=depend. An item
 * of less than a page is a name, not an extent (clang writes an element as a section of its size): a task that names
 * nothing longer in the array uses all of it, as one whose items say nothing about it does.
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

#include "omp_ext/maps/args.h"

typedef struct od_part {
    uintptr_t base; /* host range */
    size_t size;
    od_mode mode;
} od_part;

typedef struct od_parts {
    od_part *at; /* malloc'ed */
    uint32_t count, capacity;
} od_parts;

/* What a slice of a kernel is taken to use of arrays; page faults correct it. */
typedef struct od_parts_slice {
    unsigned index, count;
    struct od_footprint *footprint; /* omp_ext/slices/footprint.h */
    bool learns; /* it gets all of them */
} od_parts_slice;

/* What a task says. */
typedef struct od_parts_named {
    const od_depend *depends;
    int32_t count;
    const void *kernel;
    const void *user; /* the thread, where that is alone in its team and waits for the kernel; else NULL */
    bool all; /* what depend items name beside a section that is mapped, too; else page faults bring it */
    int32_t argument;
    const od_parts_slice *slice; /* nothing but this; NULL: it is no slice */
} od_parts_named;

/* The parts of a region that a kernel uses, by its depend items; or by what is known of the region, where it is in
 * parts already and a device has memory for all of them; or the region, where it maps a section but may use more. None:
 * it uses what it maps as one datum, and where this is the region, it is not in parts any more. OD_EFULL: settle the
 * region and retry. Locked. */
od_status od_parts_find(od_engine *engine, const od_map_args *args, const od_reference *reference,
                        const od_parts_named *named, od_parts *parts);
/* Whether kernels that use argument i may run in slices: it is an array that may be in parts, or no datum. Locked. */
typedef enum od_divisible {
    OD_DIVISIBLE,
    OD_DIVISIBLE_NOT_HERE,    /* devices have no windows */
    OD_DIVISIBLE_NOT_MAPPED,  /* it is in no region */
    OD_DIVISIBLE_NOT_SECTION, /* a section of a region, or with `always` */
    OD_DIVISIBLE_NOT_HELD,    /* pointers are attached in it, or the program holds its address */
    OD_DIVISIBLE_NOT_NOW,     /* others use it in one piece */
} od_divisible;
od_divisible od_parts_divisible(od_engine *engine, const od_map_args *args, int32_t i);
/* The array is cut for so many slices and what is known of them, and its data are exactly cells of the cut, or none.
 * OD_EFULL: settle the region and retry. Locked. */
od_status od_parts_prepare(od_engine *engine, const od_map_args *args, int32_t i, const od_parts_slice *slice);
/* Bytes that one slice of so many uses of argument i. Locked. */
size_t od_parts_slice_bytes(od_engine *engine, const od_map_args *args, int32_t i, const od_parts_slice *slice);
/* The region is one datum again, if it was in parts. Locked. */
void od_parts_join(od_engine *engine, od_region *region);

#endif
