/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Kernels on structs with mapped members and pointer members, and on arrays of pointers.
 *
 * In a map list such a *holder* (holders.h) comes with its members and with pointees: data that a pointer inside
 * it, the *slot*, leads to. A holder is a datum like any other. A kernel does with it what libomptarget does: for its
 * time it opens a region around it, or takes one more reference to the one that is there, and attaches the slots
 * (memmgr/data/attach.h); at its end the members that are mapped `from` are written back if it was the last. So two
 * kernels at once share one copy, and members that nobody maps stay the host's. Before the kernel starts the slots of
 * its device's copy get the addresses of the pointees there (memmgr/data/relocation.h).
 *
 * A lambda that captures by reference is a private argument with slots: these are filled in in the launch's own copy.
 */
#ifndef OD_OMP_EXT_STRUCTS_H
#define OD_OMP_EXT_STRUCTS_H

#include "memmgr/data/attach.h"
#include "omp_ext/runtime/runtime.h"

/* What a flattened map list has lost. */
typedef struct od_structs od_structs;

typedef enum od_flattened {
    OD_FLAT_AS_IT_IS,  /* no struct in it */
    OD_FLAT_DONE,      /* *flat is to be used instead */
    OD_FLAT_IMPOSSIBLE /* needs libomptarget's own logic */
} od_flattened;

/* The list has members or pointees. */
bool od_has_parts(const od_map_args *args);
/* A kernel's map list without structs: holders and pointees are simple arguments; those that the kernel itself does not
 * get are at the end. `expanded`: the list is none of the program's. The arrays of *flat, which may be the list, belong
 * to
 * *structs. Not locked. */
od_flattened od_structs_flatten(const od_map_args *list, bool expanded, od_map_args *flat, od_structs **structs);
void od_structs_free(od_structs *structs);
/* How many arguments at the end are not the kernel's. */
uint32_t od_structs_hidden(const od_structs *structs);

/* The kernel's references: taken before its data are resolved; may block. NULL: nothing to do. Not locked. */
void od_structs_enter(od_structs *structs);
/* After the kernel: gives them back. The request (NULL: there is none) is to be made before the lock is released:
 * no other thread may find data that have left their region and are not written back. Locked. */
od_request *od_structs_leave(od_engine *engine, od_structs *structs);

/* The data are resolved: says for each holder's access what its words must hold. The arrays are the structs'. */
void od_structs_relocate(od_structs *structs, const int32_t *access_of, od_access *access);
/* Just before a launch on device k: the slots of the launch's private arguments, and those of its data. */
od_status od_structs_fill(const od_structs *structs, const od_kernel_args *args, const int32_t *access_of,
                          const od_access *access, unsigned k);

/* Likewise where access[i] is a copy on OpenMP's device, copy[i]. */
void od_structs_fill_copies(const od_structs *structs, const od_kernel_args *args, const int32_t *access_of,
                            const od_access *access, void *const *copy, int device);

/* --- data constructs --- */

/* A data construct's map list without structs, for the engine's regions: members are marked with OD_MAP_PART, pointees
 * are ranges of their own; the arrays of *flat belong to *structs. */
od_flattened od_structs_flatten_data(const od_map_args *args, od_map_args *flat, od_structs **structs);
/* The regions are open: attaches the list's slots. Calls attached(arg, base, size, first) for each with its region, in
 * which it may be the first. Not locked. */
void od_structs_attach(const od_structs *structs,
                       void (*attached)(void *arg, uintptr_t base, size_t size, bool first), void *arg);

/* From now on the slot of the region is attached. True where it is the region's first. Locked. */
bool od_region_attach(od_region *region, const od_attachment *is);

/* True where giving back one reference of this map type (hold, delete) closes the region. Locked. */
bool od_region_would_close(const od_region *region, int64_t type);

#endif
