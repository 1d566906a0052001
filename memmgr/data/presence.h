/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Presence: to which mapping an address or a section refers, and what a construct that names it does then.
 *
 * The rules are those of LLVM's offload runtime, where OpenMP leaves room; a program's meaning depends on them. They
 * are stated here once, on plain numbers. A mapping is an interval of host memory that is present, with the pointer
 * through which it was mapped, its origin: in map(to: a[64:128]) the origin is a, outside of the interval.
 *
 *   A section with a size lies inside a mapping, across the edge of one, or apart from all. Of mappings that it
 *   crosses, the one around its beginning counts, else the first.
 *   A section of size zero, as which a pointer comes that a region uses without mapping what it leads to, refers to the
 *   mapping around its address, where the address range of each is extended to its origin. Only the neighbours of the
 *   address are looked at: the last mapping that begins at or before it, then the first one after it.
 *
 * Mappings never overlap. What a verdict leads to (memory, copies, counts, the end of the program) is the caller's.
 */
#ifndef OD_MEMMGR_DATA_PRESENCE_H
#define OD_MEMMGR_DATA_PRESENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct od_mapping {
    uintptr_t begin;
    size_t size; /* bytes, not 0 */
    uintptr_t origin;
} od_mapping;

/* The neighbours of an address among all mappings. NULL: there is none. */
typedef struct od_neighbours {
    const od_mapping *before; /* the last that begins at or before it */
    const od_mapping *after;  /* the first that begins after it */
} od_neighbours;

typedef enum od_relation { OD_APART, OD_INSIDE, OD_ACROSS } od_relation;

/* How [begin, begin+size) lies to the mapping that it refers to, *found, which is NULL if apart. */
od_relation od_presence_find(od_neighbours near, uintptr_t begin, size_t size, const od_mapping **found);

/* What a construct does with the sections that it names. */
typedef enum od_naming {
    OD_NAMING_ENTER, /* enter data, the begin of target data and of target */
    OD_NAMING_LEAVE, /* exit data, the end of target data and of target */
    OD_NAMING_MOVE,  /* update */
    OD_NAMING_SHOW,  /* asks for the device address: a kernel's argument once all sections have been entered */
    OD_NAMINGS
} od_naming;

typedef enum od_verdict {
    OD_VERDICT_NOTHING, /* it is not there, and that is no fault: nothing happens, an address stays the host's */
    OD_VERDICT_USE,     /* the mapping that it refers to is meant */
    OD_VERDICT_MAKE,    /* it becomes a separate mapping */
    OD_VERDICT_REFUSE,  /* the program ends */
} od_verdict;

/* A section as a construct names it. */
typedef struct od_section {
    uintptr_t begin;
    size_t size; /* bytes; 0: an address */
    uintptr_t origin;
    bool implicit; /* the program did not write it, the compiler maps what a region uses */
    bool present;  /* modifier: it must be there */
    bool hold;     /* modifier ompx_hold: counted apart from other references */
} od_section;

od_verdict od_presence_judge(od_naming naming, od_relation relation, const od_section *section);

/* A mapping has two counts, of references and of holds (ompx_hold): each construct counts in one of them, the mapping
 * goes when both are zero. Takes one from *count (`all`: all, map(delete:)), of which there may be none; true where the
 * mapping goes. */
bool od_presence_give_back(uint32_t *count, uint32_t other, bool all);

#endif
