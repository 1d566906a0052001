/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Windows: an array of which devices hold parts.
 *
 * A kernel that works on a part of an array gets the array's address, and computes the part's from it. So on each
 * device a range of addresses is reserved that is as long as the array, and the replica of a part lies in it where the
 * part lies in the array. There is memory behind a page only while a resident part touches it; a device's memory limit
 * counts those pages (od_window_occupies), by a block of its pool of which only the size is used.
 *
 * Pages are the system's, or larger ones of the back-end's (od_window_ops.page), which it puts memory behind, that
 * of the pool's block; a page that several parts touch has the memory of one of them. The first one begins with the
 * system's page in which the array does. Where the host and all devices can have one memory, of which the driver
 * brings each what it touches (CUDA's managed memory), that is the array's spill area, and all views are this one:
 * then copies between them only tell where it should be. Else each device has two views of a window's memory:
 * kernels use one, whose pages may be protected; copies and the library use the other. What has the number of
 * devices as its own is no device: kernels that no device has room for see the array there, in memory that no limit
 * counts. Sizes in bytes; the caller holds the engine's lock.
 */
#ifndef OD_MEMMGR_WINDOW_WINDOW_H
#define OD_MEMMGR_WINDOW_WINDOW_H

#include "memmgr/extent/page.h"
#include "memmgr/extent/places.h"
#include "memmgr/extent/strides.h"
#include "util/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What the array's first byte is in each view of one device. */
typedef struct od_window_view {
    char *kernel;
    char *copies;
    void *own; /* the back-end's, or NULL */
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
    /* NULL: pages are the system's, and have memory once they are touched. Else bytes of each, and that those from
     * `first` on have memory of k's pool, which is at the offset: what a page has already it keeps, whoever gave it;
     * or have it no more, so that the pool's is free. `own` is the view's. */
    size_t (*page)(void *state);
    od_status (*back)(void *state, unsigned k, void *own, uint32_t first, uint32_t count, size_t offset);
    void (*strip)(void *state, unsigned k, void *own, uint32_t first, uint32_t count, size_t offset);
    /* NULL, or memory that is one for the host and all devices: then nothing else here is called but what gives it
     * back. OD_EDEVICE: there is none. */
    od_status (*share)(void *state, size_t bytes, void **memory);
    void (*unshare)(void *state, void *memory);
    /* How many ranges, of all windows and devices together, may be protected in another way than what is around.
     * NULL where that is not possible. */
    size_t (*most_ranges)(void *state);
} od_window_ops;

/* What is known of tiles in an array. */
typedef struct od_tiling {
    od_strides strides; /* that have been learnt of it last: of other kernels the first guess */
    bool is_sure;       /* their stride is no guess */
    od_places places;   /* by which tasks have named them */
} od_tiling;

typedef struct od_window {
    uintptr_t base; /* host range of the array */
    size_t size;
    uint32_t users; /* the region, and the data in it */
    od_tiling tiling;
    unsigned ndevices;
    const od_window_ops *ops;
    void *state;        /* the back-end's */
    size_t page;        /* bytes of a page of devices */
    struct od_spill *area; /* that is all views, or NULL; one use is the window's */
    struct od_cut *cut; /* how kernels in slices divide it (cut.h): malloc'ed, or NULL */
    od_window_view view[]; /* of each device, and outside; NULL: not reserved */
} od_window;

/* With one user. OD_ENOMEM, or what reserve() answers. */
od_status od_window_create(const od_window_ops *ops, void *state, unsigned ndevices, uintptr_t base, size_t size,
                           od_window **window);
/* Likewise, with an area that is shared as all views. */
od_status od_window_create_shared(const od_window_ops *ops, void *state, unsigned ndevices, uintptr_t base, size_t size,
                                  struct od_spill *area, od_window **window);
/* Likewise the views outside of the devices, unless they are there. */
od_status od_window_reserve_outside(od_window *window);
od_window *od_window_hold(od_window *window); /* may be NULL; returns it */
/* The last user frees it. */
void od_window_release(od_window *window); /* may be NULL */

/* Addresses on device k of a host address in the array. */
char *od_window_kernel(const od_window *window, unsigned k, uintptr_t address);
char *od_window_copies(const od_window *window, unsigned k, uintptr_t address);
bool od_window_contains(const od_window *window, uintptr_t base, size_t size);

/* What the device's pages that the host range touches occupy. */
size_t od_window_occupies(const od_window *window, uintptr_t base, size_t size);
/* Of which blocks of pools must be multiples, and begin at one; 0: any will do. */
size_t od_window_alignment(const od_window *window);
/* Where that is not 0: the pages of the host range have the memory at this offset of k's pool; or not any more. */
od_status od_window_back(const od_window *window, unsigned k, uintptr_t base, size_t size, size_t offset);
void od_window_strip(const od_window *window, unsigned k, uintptr_t base, size_t size, size_t offset);

/* Of the system's pages that the host range touches. */
od_status od_window_protect(const od_window *window, unsigned k, uintptr_t base, size_t size, od_window_access access);
od_status od_window_discard(const od_window *window, unsigned k, uintptr_t base, size_t size);

#endif
