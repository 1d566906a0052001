/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * What is known of the arguments of each kind of task.
 *
 * A task that is not ready names its data by their addresses, and perhaps no task has used them yet. They are taken to
 * be as large as what tasks of its kind have used as the same argument, on the average. And what depend clauses call
 * written is not read, if no task of the kind has read it.
 */
#ifndef OD_SCHED_GRAPH_ARGUMENTS_H
#define OD_SCHED_GRAPH_ARGUMENTS_H

#include "sched/task.h"

#include <stddef.h>
#include <stdint.h>

enum { OD_ARGUMENTS_KINDS = 64, OD_ARGUMENTS_MOST = 16 }; /* of kinds and arguments beyond these nothing is known */

typedef struct od_argument {
    double bytes;   /* mean */
    uint32_t count; /* tasks that it is the mean of; 0: nothing is known */
    bool read;      /* by some of them */
} od_argument;

typedef struct od_arguments {
    const void *kind[OD_ARGUMENTS_KINDS];
    od_argument of[OD_ARGUMENTS_KINDS][OD_ARGUMENTS_MOST];
    uint32_t nkinds;
} od_arguments;

/* Place of the kind; nkinds: nothing has been noted. */
static inline uint32_t od_arguments_find(const od_arguments *arguments, const void *kind)
{
    uint32_t i = 0;
    while (i < arguments->nkinds && arguments->kind[i] != kind)
        i++;
    return i;
}

/* A task of this kind uses so many bytes in this way. */
static inline void od_arguments_note(od_arguments *arguments, const void *kind, uint32_t number, size_t bytes,
                                     od_mode mode)
{
    uint32_t i = od_arguments_find(arguments, kind);
    if (!kind || i == OD_ARGUMENTS_KINDS || number >= OD_ARGUMENTS_MOST)
        return;
    arguments->nkinds += i == arguments->nkinds;
    arguments->kind[i] = kind;
    od_argument *a = &arguments->of[i][number];
    a->bytes += ((double)bytes - a->bytes) / ++a->count;
    a->read |= mode & OD_READ;
}

/* That of the kind at this place; NULL: nothing is known. */
static inline const od_argument *od_arguments_expected(const od_arguments *arguments, uint32_t place, uint32_t number)
{
    bool known = place < arguments->nkinds && number < OD_ARGUMENTS_MOST && arguments->of[place][number].count;
    return known ? &arguments->of[place][number] : NULL;
}

#endif
