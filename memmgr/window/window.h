/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Windows: an array of which devices hold parts.
 *
 * A kernel that works on a part of an array gets the array's address, and computes the part's from it. So on each
 * device a range of addresses is reserved that is as long as the array, and the replica of a part lies in it where the
 * part lies in the array. There is memory behind a page only while a resident part touches it; a device's memory limit
 * counts those pages (od_window_span), by a block of its pool of which only the size is used.
 *
 * Pages begin where the array's own do in host memory. Each device has two views of a window's memory: kernels use one,
 * whose pages may be protected; copies and the library use the other. What has the number of devices as its own is no
 * device: kernels that no device has room for see the array there, in memory that no limit counts. Sizes in bytes; the
 * caller holds the engine's lock.
 */
#ifndef OD_MEMMGR_WINDOW_WINDOW_H
#define OD_MEMMGR_WINDOW_WINDOW_H

#include "memmgr/extent/page.h"
#include "memmgr/extent/strides.h"
#include "util/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What the array's first byte is in each view of one device. */
typedef struct od_window_view {
    char *kernel;
    char *copies;
} od_window_view;

typedef enum od_window_access {
    OD_WINDOW_CLOSED,
    OD_WINDOW_READABLE,
    OD_WINDOW_OPEN,
    OD_WINDOW_MIXED, /* page by page, as far as anybody knows; nothing to ask for */
} od_window_access;

/* A back-end's part of it. */
typedef struct od_window_ops {
    /* Reserves addresses on device k for `bytes` from a page's beginning on, with no memory behind them and the
     * kernels' view closed. OD_EDEVICE: not on this device. */
    od_status (*reserve)(void *state, unsigned k, size_t bytes, od_window_view *view);
    void (*give_back)(void *state, unsigned k, size_t bytes, const od_window_view *view);
    /* Of whole pages: what kernels may do with them; and that their contents and their memory are not needed any
     * more. */
    od_status (*protect)(void *state, unsigned k, char *kernel, size_t bytes, od_window_access access);
    od_status (*discard)(void *state, unsigned k, char *copies, size_t bytes);
    /* How many ranges, of all windows and devices together, may be protected in another way than what is around. */
    size_t (*most_ranges)(void *state);
} od_window_ops;

typedef struct od_window {
    uintptr_t base; /* host range of the array */
    size_t size;
    uint32_t users; /* the region, and the data in it */
    od_strides strides; /* that have been learnt of it last: of other kernels the first guess */
    unsigned ndevices;
    const od_window_ops *ops;
    void *state;        /* the back-end's */
    struct od_cut *cut; /* how kernels in slices divide it (cut.h): malloc'ed, or NULL */
    od_window_view view[]; /* of each device, and outside; NULL: not reserved */
} od_window;

/* With one user. OD_ENOMEM, or what reserve() answers. */
od_status od_window_create(const od_window_ops *ops, void *state, unsigned ndevices, uintptr_t base, size_t size,
                           od_window **window);
/* Likewise the views outside of the devices, unless they are there. */
od_status od_window_reserve_outside(od_window *window);
od_window *od_window_hold(od_window *window); /* may be NULL; returns it */
/* The last user frees it. */
void od_window_release(od_window *window); /* may be NULL */

/* Addresses on device k of a host address in the array. */
char *od_window_kernel(const od_window *window, unsigned k, uintptr_t address);
char *od_window_copies(const od_window *window, unsigned k, uintptr_t address);
bool od_window_contains(const od_window *window, uintptr_t base, size_t size);

/* Of the pages that the host range touches. */
od_status od_window_protect(const od_window *window, unsigned k, uintptr_t base, size_t size, od_window_access access);
od_status od_window_discard(const od_window *window, unsigned k, uintptr_t base, size_t size);

#endif
