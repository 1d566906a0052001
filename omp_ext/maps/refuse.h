/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Constructs that are wrong by the rules of memmgr/data/presence.h: what must be present is not, or what is present
 * would be extended. Without the library libomptarget says so and ends the program. It does so with the library, too:
 * it is given the mapping in question and the entry.
 *
 * A list with structs is looked at as it is written: the entry that spans a struct's members comes first and makes one
 * mapping, in which the members lie then; a pointer that is mapped with what it leads to must be in a mapping itself.
 */
#ifndef OD_OMP_EXT_REFUSE_H
#define OD_OMP_EXT_REFUSE_H

#include "omp_ext/runtime/runtime.h"

typedef struct od_refusal {
    bool found;         /* something is wrong: */
    bool passes;        /* not for long: kernels alone have made the mapping, for their time */
    od_section section; /* what an entry names */
    int64_t type;       /* the entry's map type */
    od_mapping crossed; /* the mapping that it would extend; size 0: none */
} od_refusal;

/* The first entry of an expanded list, in libomptarget's order, that is wrong. Not locked. */
od_refusal od_find_refused(od_naming naming, const od_map_args *args);
/* The program ends. */
_Noreturn void od_refuse_data(od_ident *ident, od_naming naming, const od_refusal *refusal);
_Noreturn void od_refuse_kernel(const od_kernel_call *call, const od_refusal *refusal);

#endif
