/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * To what the entries of a map list refer: memmgr/data/presence.h, for regions and for the other entries of the list.
 *
 * A kernel's list is entered whole before the kernel gets its arguments. So a pointer that it uses without mapping what
 * that leads to, an entry of size zero, may refer to another entry.
 */
#ifndef OD_OMP_EXT_REFER_H
#define OD_OMP_EXT_REFER_H

#include "omp_ext/maps/list.h"
#include "sched/engine/engine.h"

typedef struct od_reference {
    uintptr_t base; /* host range; size 0: the entry refers to nothing */
    size_t size;
    od_region *region; /* that this lies in, or NULL */
    int32_t entry;     /* which says how it is used: the entry itself, or the one that it refers to */
} od_reference;

od_section od_arg_section(const od_map_args *args, int32_t i);
/* The region that entry i of a data construct uses, or NULL. Locked. */
od_region *od_arg_region(od_engine *engine, od_naming naming, const od_map_args *args, int32_t i);
/* What entry i of a kernel's list refers to, if all are entered. Locked. */
od_reference od_refer(od_engine *engine, const od_map_args *args, int32_t i);
/* Entries that map ranges outside of regions, in order of addresses: in a long list a search through all of it for each
 * entry of size zero takes too long. */
typedef struct od_own_entry {
    uintptr_t begin;
    int32_t entry;
} od_own_entry;

typedef struct od_own_entries {
    od_own_entry *all; /* malloc'ed */
    uint32_t count;
} od_own_entries;

/* Locked. */
od_status od_own_entries_find(od_engine *engine, const od_map_args *args, od_own_entries *own);
void od_own_entries_free(od_own_entries *own);
/* od_refer(); own NULL: not known. Locked. */
od_reference od_refer_among(od_engine *engine, const od_map_args *args, const od_own_entries *own, int32_t i);
/* Like it, but not to other entries. */
od_reference od_refer_to_regions(od_engine *engine, const od_map_args *args, int32_t i);
/* The host range of od_refer(). False: there is none. Locked. */
bool od_arg_range(od_engine *engine, const od_map_args *args, int32_t i, uintptr_t *base, size_t *size);

#endif
