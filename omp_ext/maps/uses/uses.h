/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What a construct uses: its map list turned into data, which are moved and trusted as its clauses say. */
#ifndef OD_OMP_EXT_USES_H
#define OD_OMP_EXT_USES_H

#include "omp_ext/maps/args.h"
#include "omp_ext/runtime/work.h"

/* The distinct data of a construct, growing. */
typedef struct od_uses {
    od_access *access; /* malloc'ed */
    uint32_t count, capacity;
    bool has_scratch; /* beside these, data of map(alloc: x) that the program's memory knows nothing of */
} od_uses;

/* Before a construct passes through: writes back, and drops, what its expanded list touches outside of regions. In
 * regions the program's memory is none of ours, or the data are lent (lend.h). Blocks. */
void od_args_write_back(const od_map_args *args);
/* Likewise what marked entries name: libomptarget may copy it. */
void od_args_write_back_foreign(const od_map_args *args);

/* Resolves all data arguments: each use's datum comes held. access_of[i] (may be NULL) gets the index per argument.
 * Blocks where ranges overlap in another way than before. Not locked. */
od_status od_args_resolve(const od_map_args *args, const od_depend *depends, int32_t ndepends, od_uses *uses,
                          int32_t *access_of);
/* Likewise a range alone, in a region. OD_EBUSY: it is not all of it in one datum, and the program is shown a part. */
od_status od_range_resolve(uintptr_t base, size_t size, od_mode mode, od_uses *uses);
/* Likewise of a kernel. Where it has no structs, arrays may be in parts: such an argument stands for several of the
 * uses, in a window; launch->access_of is one of them, and says where the array is. `user`: as in od_parts_named.
 * OD_EBUSY, where it has none: the program is shown a part of what overlaps. */
od_status od_launch_resolve(od_launch *launch, const od_depend *depends, int32_t ndepends, const void *user,
                            od_uses *uses);
/* Likewise with all arrays in one piece. */
od_status od_launch_resolve_whole(od_launch *launch, od_uses *uses);
/* Likewise of a slice of a kernel without structs. OD_EBUSY: others use the arrays in other parts. */
struct od_parts_slice;
od_status od_launch_resolve_slice(od_launch *launch, const struct od_parts_slice *slice, od_uses *uses);
/* The range of argument i overlaps data in use in another way than before: once these are written back and idle they
 * make way. Blocks for a while; retry. */
void od_args_wait_for_overlap(const od_map_args *args, int32_t i, unsigned tries);
/* map(always, to: x) of data in a region: the host's section is pushed before the kernel. Blocks. */
void od_args_push_always(const od_map_args *args);
/* map(always, from: x) of data in a region that the caller's job still has: fetched after the kernel. Blocks. */
void od_args_fetch_always(const od_map_args *args);
/* map(always, from: x) of data in a region: the request that fetches the sections after the kernel; NULL: none.
 * Locked. */
od_request *od_args_pull_always(const od_map_args *args, const od_uses *uses, const int32_t *access_of);
/* Contents that the task overwrites on a device without effect on the host are written back first. Locked, but
 * not while it blocks. */
void od_uses_save(const od_uses *uses, const od_depend *depends, int32_t ndepends);
/* OMPDARTS_COHERENCE: says for each datum whether copies may be kept. `synchronous`: the program's thread
 * goes on right after the construct. Locked. */
void od_uses_trust(od_uses *uses, const od_depend *depends, int32_t ndepends, bool synchronous);
void od_uses_release(od_uses *uses);

#endif
