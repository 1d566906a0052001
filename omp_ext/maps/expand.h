/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Entries of a map list that stand for several.
 *
 * `declare mapper`: the entry comes with a function that pushes what it stands for, in the form that a struct with
 * mapped members has in a list. We call it with a handle of our own; structs.h does the rest.
 * Non-contiguous sections, x[0:n:2] in `target update`: the entry comes with a table of its dimensions; each
 * contiguous piece becomes an entry.
 * Attachments, which LLVM 22 writes as entries of their own: "the pointer at this address leads to that range". One
 * that is due becomes what LLVM 19 has instead, the range as pointer and object (OD_MAP_PTR_AND_OBJ), marked
 * OD_MAP_ATTACH too. One whose pointer is on no device, or that was made when both were mapped, is nothing to do, and
 * stays an entry that everybody ignores.
 */
#ifndef OD_OMP_EXT_EXPAND_H
#define OD_OMP_EXT_EXPAND_H

#include "omp_ext/maps/list.h"

/* The list without such entries: itself where it has none, else what *room holds then, which is zero before and to be
 * freed. In a kernel's list an entry with a mapper stays itself, as a parent. */
const od_map_args *od_expanded(const od_map_args *args, od_map_list *room);

#endif
