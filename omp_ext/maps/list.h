/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Map lists of our own, which grow. */
#ifndef OD_OMP_EXT_LIST_H
#define OD_OMP_EXT_LIST_H

#include "omp_ext/libomp/abi.h"

typedef struct od_map_list {
    od_map_args args; /* arrays malloc'ed; neither names nor mappers */
    int32_t capacity;
} od_map_list;

/* Returns the new entry's index. */
int32_t od_map_list_add(od_map_list *list, void *base, void *begin, int64_t size, int64_t type);
void od_map_list_free(od_map_list *list);

#endif
