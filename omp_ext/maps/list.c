/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Map lists of our own. See list.h. */
#include "omp_ext/maps/list.h"

#include "omp_ext/process/memory.h"

#include <stdlib.h>

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
