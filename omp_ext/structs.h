/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Structs with mapped pointer members, and arrays of pointers.
 *
 * In a map list such a *parent* (the struct, a Fortran descriptor, an array of pointers) comes with its members and with
 * pointees: arrays that a pointer inside it, the *slot*, leads to. The pointees are data like any other and
 * are scheduled. The parent is small and is rebuilt for each launch: an *image* of its contents with the addresses of
 * the pointees' replicas in the slots, mapped for that launch alone. What the kernel changes in it outside the slots is
 * merged back afterwards.
 *
 * Inside a region the device's contents of a parent persist. They are kept in a *shadow* on the host, apart
 * from the program's own memory, and the region's pointees stay attached to their slots: a later kernel that names the
 * parent alone uses them all.
 *
 * The table of open parents has a lock of its own, taken after the runtime's.
 */
#ifndef OD_OMP_EXT_STRUCTS_H
#define OD_OMP_EXT_STRUCTS_H

#include "omp_ext/runtime.h"

/* What a flattened map list has lost: the images to be built, their members and slots. */
typedef struct od_structs od_structs;

typedef enum od_flattened {
    OD_FLAT_AS_IT_IS,  /* no struct in it */
    OD_FLAT_DONE,      /* *flat is to be used instead */
    OD_FLAT_IMPOSSIBLE /* needs libomptarget's own logic */
} od_flattened;

/* A kernel's map list without structs: parents are private arguments (od_structs_build() fills them in), pointees are
 * ordinary data at the end, which the kernel itself does not get. The arrays of *flat belong to *structs. Not locked. */
od_flattened od_structs_flatten(const od_kernel_args *args, od_kernel_args *flat, od_structs **structs);
void od_structs_free(od_structs *structs);
/* How many arguments at the end are not the kernel's. */
uint32_t od_structs_hidden(const od_structs *structs);

/* On the thread that launches, just before it; not locked. Makes the images for a launch on device k; `access_of` says which datum each argument is. */
void od_structs_build(od_structs *structs, od_kernel_args *args, const int32_t *access_of, const od_access *access,
                      unsigned k);
/* After the kernel. */
void od_structs_merge(od_structs *structs);
/* The host version will run instead: it finds the device's contents in the program's memory, and its own count then. */
void od_structs_to_host(const od_structs *structs);

/* A data construct's map list without structs, for the engine's regions; its arrays belong to *structs. */
od_flattened od_structs_flatten_data(const od_map_args *args, od_map_args *flat, od_structs **structs);
/* What begin, end and update mean for the parents in a list, which od_structs_flatten_data() has accepted: begin before
 * the engine's regions open, end after they have closed. Not locked; out of memory ends the program. */
void od_structs_begin(const od_map_args *args);
void od_structs_end(const od_map_args *args);
void od_structs_update(const od_map_args *args);

/* A construct on open parents passes through: as od_structs_to_host(). */
void od_structs_bring_home(const od_map_args *args);
/* True where the address lies in an open parent. */
bool od_structs_is_open(uintptr_t address, size_t size);

/* For a fork. */
void od_structs_locks(int (*visit)(pthread_mutex_t *lock));

#endif
