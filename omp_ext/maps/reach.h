/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * What a program reaches from addresses that it is shown (use_device_ptr, use_device_addr): where pointers have been
 * attached inside the data, what these lead to must be on the same device for as long, and the words there must hold
 * its address. A kernel with has_device_addr says nothing of it.
 */
#ifndef OD_OMP_EXT_REACH_H
#define OD_OMP_EXT_REACH_H

#include "memmgr/data/attach.h"
#include "memmgr/data/relocation.h"
#include "omp_ext/maps/list.h"
#include "omp_ext/maps/uses/uses.h"

typedef struct od_reach {
    od_map_list list; /* the construct's entries, and then one for what each pointer leads to */
    int32_t given;    /* entries of the construct's */
    od_attachment *slots;         /* of the entries from `given` on */
    od_relocations **relocations; /* of each datum, or NULL */
    uint32_t nrelocations;
    unsigned depth; /* of constructs that show addresses, this one included */
    struct od_reach *outer;
} od_reach;

/* True where pointers are attached in what the construct shows. Takes the runtime's lock, as the next. */
bool od_reach_any(const od_map_args *args);
/* NULL: there are none. To be freed by the caller. */
od_reach *od_reach_find(const od_map_args *args);
/* The uses of its list, as resolved, want the words written: od_reach_write() does, without the lock, when the data are
 * on device k. For each attempt anew; what the last one wanted must have ended. */
void od_reach_want(od_reach *reach, od_uses *uses, const int32_t *access_of);
void od_reach_write(const od_uses *uses, unsigned k);
/* Likewise of what is shown in spill areas. Locked. */
void od_reach_write_spilled(const od_uses *uses);
void od_reach_free(od_reach *reach); /* may be NULL */

#endif
