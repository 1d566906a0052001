/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Entries of a map list that name what libomptarget itself holds on a device (device_memory.h): associated ranges,
 * declare target variables, what a construct that passed through has mapped.
 *
 * They are marked with OD_MAP_FOREIGN: then they are none of our data, and libomptarget gets them as the program wrote
 * them, a kernel's beside the addresses of our replicas, a data construct's in a call of their own. So all else in the
 * list is ours. That does not do where one entry is about both: *entangled*, the construct passes through (lend.h).
 */
#ifndef OD_OMP_EXT_FOREIGN_H
#define OD_OMP_EXT_FOREIGN_H

#include "omp_ext/maps/list.h"

#include <stdbool.h>

typedef enum od_foreignness {
    OD_FOREIGN_NONE,      /* all entries are ours */
    OD_FOREIGN_MARKED,    /* the list has other types: *marked, malloc'ed */
    OD_FOREIGN_ENTANGLED, /* a pointer of ours leads to what libomptarget holds, or the other way round */
} od_foreignness;

/* `whole`: libomptarget will get the list with all entries in their places, so that members find their struct. Not
 * locked. */
od_foreignness od_foreign_mark(od_map_args *args, bool whole, int64_t **marked);
/* The list that libomptarget gets of one with marks: what is ours has no meaning there. Malloc'ed. */
int64_t *od_foreign_types(const od_map_args *args);
/* OpenMP's number of the device where libomptarget holds what entry i names, or the pointer to it; -1: it does not. */
int od_foreign_entry_device(const od_map_args *args, int32_t i);
/* Our index of the device where the marked entries are, or OD_NOWHERE: there are none. */
int od_foreign_place(const od_map_args *args);

#endif
