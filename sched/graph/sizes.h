/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * How large the data of tasks are, as far as they are known.
 *
 * A task that is not ready names its data by their addresses alone, and perhaps no task has used them yet. They are
 * taken to be as large as what tasks of its kind have used as the same argument, on the average.
 */
#ifndef OD_SCHED_GRAPH_SIZES_H
#define OD_SCHED_GRAPH_SIZES_H

#include <stddef.h>
#include <stdint.h>

enum { OD_SIZES_KINDS = 64, OD_SIZES_ARGUMENTS = 16 }; /* of kinds and arguments beyond these nothing is known */

typedef struct od_sizes {
    const void *kind[OD_SIZES_KINDS];
    double mean[OD_SIZES_KINDS][OD_SIZES_ARGUMENTS];    /* bytes; 0: none is known */
    uint32_t count[OD_SIZES_KINDS][OD_SIZES_ARGUMENTS]; /* data that it is the mean of */
    uint32_t nkinds;
} od_sizes;

/* Place of the kind; nkinds: nothing has been noted. */
static inline uint32_t od_sizes_find(const od_sizes *sizes, const void *kind)
{
    uint32_t i = 0;
    while (i < sizes->nkinds && sizes->kind[i] != kind)
        i++;
    return i;
}

/* A task of this kind uses so many bytes. */
static inline void od_sizes_note(od_sizes *sizes, const void *kind, uint32_t argument, size_t bytes)
{
    uint32_t i = od_sizes_find(sizes, kind);
    if (!kind || i == OD_SIZES_KINDS || argument >= OD_SIZES_ARGUMENTS)
        return;
    sizes->nkinds += i == sizes->nkinds;
    sizes->kind[i] = kind;
    double *mean = &sizes->mean[i][argument];
    *mean += ((double)bytes - *mean) / ++sizes->count[i][argument];
}

/* Bytes of that argument of the kind at this place; 0: not known. */
static inline size_t od_sizes_expected(const od_sizes *sizes, uint32_t place, uint32_t argument)
{
    return place < sizes->nkinds && argument < OD_SIZES_ARGUMENTS ? (size_t)sizes->mean[place][argument] : 0;
}

#endif
