/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Holders: of a kernel's map list, the ranges that hold pointers to other mapped data, or members that are mapped one
 * by one: a struct, a Fortran descriptor, an array of pointers or of structs. What overlaps is one holder, and what
 * lies in an open region is the whole region: the kernel reaches all of it by its address. What regions have attached
 * to pointers in holders, and is itself a region with attached pointers, is a holder too.
 */
#ifndef OD_OMP_EXT_HOLDERS_H
#define OD_OMP_EXT_HOLDERS_H

#include "omp_ext/maps/list.h"
#include "omp_ext/runtime/runtime.h"

enum { OD_NO_ARG = UINT32_MAX };

typedef struct od_holder {
    uintptr_t base;
    size_t size;
    uintptr_t origin; /* the pointer through which it is mapped */
    int64_t types; /* the map types of all its parts together */
    bool present;  /* the program has it in a region */
    bool certain;  /* while they are being found: not only by overlapping one */
    bool returned; /* the list maps some of it `from` that is no pointer */
    uint32_t arg;  /* of the flat list, or OD_NO_ARG */
} od_holder;

typedef struct od_holders {
    od_holder *all; /* in order of addresses; malloc'ed */
    uint32_t count, capacity;
    uintptr_t *slots, *members; /* that the list names: where they begin, in order; malloc'ed */
    uint32_t nslots, nmembers;
} od_holders;

/* count 0: there are none. Free it in any case. */
void od_holders_find(od_holders *holders, const od_map_args *args);
void od_holders_free(od_holders *holders);
/* The holder that overlaps the range, or NULL. */
od_holder *od_holders_at(const od_holders *holders, uintptr_t begin, size_t size);
/* The list names a slot or a member in the range. */
bool od_holders_names(const od_holders *holders, uintptr_t begin, size_t size);
bool od_holders_has_slot(const od_holders *holders, uintptr_t slot);

#endif
