/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Map lists of our own. See list.h. */
#include "omp_ext/maps/list.h"

#include "omp_ext/process/memory.h"

#include <stdlib.h>
#include <string.h>

static bool is_section(const od_map_args *args, int32_t i)
{
    return args->sizes[i] > 0 && !(args->types[i] & (OD_MAP_NO_RANGE | OD_MAP_NON_CONTIG));
}

/* Compilers put the sections of one variable one behind the other. The first of an array is the kernel's argument;
 * those that a member leads to have its address as their base. */
static bool continues(const od_map_args *args, int32_t i)
{
    int64_t type = args->types[i + 1], differ = type ^ args->types[i];
    if (args->bases[i] != args->bases[i + 1] || !is_section(args, i) || !is_section(args, i + 1))
        return false;
    return !(type & OD_MAP_PARAM) && !(differ & OD_MAP_PTR_AND_OBJ) &&
           ((type & OD_MAP_PTR_AND_OBJ) || !(type & OD_MAP_MEMBER_OF));
}

void od_list_mark_whole(od_map_args *args, int32_t i, int64_t **types)
{
    size_t bytes = (size_t)args->count * sizeof **types;
    if (!*types)
        args->types = *types = memcpy(od_alloc(bytes), args->types, bytes);
    (*types)[i] |= OD_MAP_WHOLE;
    args->any |= OD_MAP_WHOLE;
}

int64_t *od_list_mark_shared(od_map_args *args)
{
    int64_t *types = NULL;
    for (int32_t i = 0; i + 1 < args->count; i++) {
        if (!continues(args, i))
            continue;
        od_list_mark_whole(args, i, &types);
        od_list_mark_whole(args, i + 1, &types);
    }
    return types;
}

static void grow(od_map_list *list)
{
    od_map_args *args = &list->args;
    size_t n = (size_t)(list->capacity = list->capacity ? 2 * list->capacity : 16);
    args->bases = od_alloc_more(args->bases, n * sizeof *args->bases);
    args->begins = od_alloc_more(args->begins, n * sizeof *args->begins);
    args->sizes = od_alloc_more(args->sizes, n * sizeof *args->sizes);
    args->types = od_alloc_more(args->types, n * sizeof *args->types);
}

int32_t od_map_list_add(od_map_list *list, void *base, void *begin, int64_t size, int64_t type)
{
    od_map_args *args = &list->args;
    if (args->count == list->capacity)
        grow(list);
    int32_t i = args->count++;
    args->bases[i] = base;
    args->begins[i] = begin;
    args->sizes[i] = size;
    args->types[i] = type;
    args->any |= type;
    return i;
}

od_map_list od_map_list_copy(const od_map_args *args)
{
    od_map_list copy = {0};
    for (int32_t i = 0; i < args->count; i++)
        od_map_list_add(&copy, args->bases[i], args->begins[i], args->sizes[i], args->types[i]);
    return copy;
}

void od_map_list_free(od_map_list *list)
{
    free(list->args.bases);
    free(list->args.begins);
    free(list->args.sizes);
    free(list->args.types);
    *list = (od_map_list){0};
}
