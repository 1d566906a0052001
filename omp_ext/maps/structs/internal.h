/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What flatten.c (map lists) and kernels.c (kernels' time) share. */
#ifndef OD_OMP_EXT_STRUCTS_INTERNAL_H
#define OD_OMP_EXT_STRUCTS_INTERNAL_H

#include "omp_ext/maps/list.h"
#include "omp_ext/maps/structs/holders.h"
#include "omp_ext/maps/structs/structs.h"

#include "memmgr/data/attach.h"
#include "memmgr/data/relocation.h"

/* A member, or a whole holder, that is mapped `to` or `from`. */
typedef struct od_part {
    uintptr_t begin;
    size_t size;
    int64_t type;
    uint32_t holder;
} od_part;

typedef struct od_slot {
    od_attachment is;
    bool named;   /* by the list: to be attached */
    uint32_t arg; /* of the flat list: what it leads to, or OD_NO_ARG */
} od_slot;

/* A word of a private argument. */
typedef struct od_private_slot {
    uint32_t owner, arg; /* of the flat list: the private argument, and what the slot leads to */
    size_t offset;       /* in the private argument */
    uintptr_t pointer;
} od_private_slot;

struct od_structs {
    od_map_list flat;
    uint32_t nhidden;
    od_holders holders;
    od_part *parts;                /* in order of addresses; malloc'ed, like the following */
    od_slot *slots;                /* in order of addresses */
    od_private_slot *privates;
    od_relocations **relocations;  /* of each holder, or NULL */
    uint32_t nparts, nslots, nprivates;
    uint32_t slots_capacity;
    bool entered;
};

/* From now on a plain list may name what has attached pointers. */
void od_structs_note_attached(void);
/* The first of the slots, which are in order, at or behind the address. */
uint32_t od_structs_slots_from(const od_structs *s, uintptr_t address);

/* The first of the parts, which are in order, at or behind the address. */
uint32_t od_structs_parts_from(const od_structs *s, uintptr_t address);

#endif
