/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Map lists: what is known of a whole list is found out once, when a construct brings it, and kept by all that make
 * other lists of it. od_map_args.any says of most lists that there is nothing to look for in them.
 */
#ifndef OD_OMP_EXT_LIST_H
#define OD_OMP_EXT_LIST_H

#include "omp_ext/libomp/abi.h"

#include <stdbool.h>

/* --- entries --- */

static inline uintptr_t od_entry_begin(const od_map_args *args, int32_t i)
{
    return (uintptr_t)args->begins[i];
}

static inline size_t od_entry_size(const od_map_args *args, int32_t i)
{
    return args->sizes[i] > 0 ? (size_t)args->sizes[i] : 0;
}

static inline bool od_entry_is_pointee(const od_map_args *args, int32_t i)
{
    return (args->types[i] & (OD_MAP_PTR_AND_OBJ | OD_MAP_FOREIGN)) == OD_MAP_PTR_AND_OBJ;
}

static inline bool od_entry_is_member(const od_map_args *args, int32_t i)
{
    return (args->types[i] & OD_MAP_MEMBER_OF) && !(args->types[i] & (OD_MAP_PTR_AND_OBJ | OD_MAP_FOREIGN));
}

/* Entry i of an expanded list maps a range of the host's memory: it may be an attachment as well. */
static inline bool od_entry_maps(const od_map_args *args, int32_t i)
{
    int64_t type = args->types[i];
    bool object = (type & OD_MAP_PTR_AND_OBJ) && !(type & (OD_MAP_LITERAL | OD_MAP_FOREIGN));
    return object ? args->sizes[i] > 0 : !(type & OD_MAP_NO_RANGE);
}

/* --- lists --- */

/* Marks entry i with OD_MAP_WHOLE. `*types`: NULL before the first one; then the list's types, copied, the caller's to
 * free. */
void od_list_mark_whole(od_map_args *args, int32_t i, int64_t **types);
/* Marks, with OD_MAP_WHOLE, the sections of a kernel's list that share one base: the kernel gets one pointer for all of
 * them. Returns the list's new types, malloc'ed, or NULL: there are none. */
int64_t *od_list_mark_shared(od_map_args *args);

/* For `any`. */
static inline int64_t od_types_together(int32_t count, const int64_t *types)
{
    int64_t any = 0;
    for (int32_t i = 0; i < count; i++)
        any |= types[i];
    return any;
}

/* A list of our own, which grows. */
typedef struct od_map_list {
    od_map_args args; /* arrays malloc'ed; neither names nor mappers */
    int32_t capacity;
} od_map_list;

/* Returns the new entry's index. */
int32_t od_map_list_add(od_map_list *list, void *base, void *begin, int64_t size, int64_t type);
/* Of its own arrays. */
od_map_list od_map_list_copy(const od_map_args *args);
void od_map_list_free(od_map_list *list);

#endif
