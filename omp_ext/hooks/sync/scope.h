/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Entry points that more than one runtime has: gcc's (GOMP_..., omp_...) are in libomp and in libgomp, and a process
 * may use both, for different libraries. Who calls one of ours gets what it would get without us: the first after us
 * that all libraries see, or else the one of the caller's own libraries.
 */
#ifndef OD_OMP_EXT_SCOPE_H
#define OD_OMP_EXT_SCOPE_H

#include <stdatomic.h>
#include <stdbool.h>

typedef struct od_scoped {
    const char *name;
    _Atomic(void *) real;  /* that all libraries see, or NULL: not known, or there is none */
    atomic_bool is_libomp; /* `real` */
} od_scoped;

/* Sets *is_libomp where it belongs to the libomp whose threads the library knows. Ends the program where the caller
 * could not have been linked without us. */
void *od_scope_find(od_scoped *entry, const void *caller, bool *is_libomp);
/* Likewise of functions that are called often, and referred to weakly, to know whether there is a runtime. NULL: the
 * caller sees none. */
void *od_scope_recall(od_scoped *entry, const void *caller);

#endif
