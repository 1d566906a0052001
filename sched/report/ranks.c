/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* See ranks.h. */
#include "sched/report/ranks.h"

static unsigned place_of(const od_ranks *ranks, unsigned number)
{
    unsigned i = 0;
    while (i < ranks->count && ranks->number[i] < number)
        i++;
    return i;
}

static void insert(od_ranks *ranks, unsigned number)
{
    unsigned at = place_of(ranks, number);
    if (at < ranks->count && ranks->number[at] == number)
        return;
    for (unsigned i = ranks->count++; i > at; i--)
        ranks->number[i] = ranks->number[i - 1];
    ranks->number[at] = number;
}

void od_ranks_find(od_ranks *ranks, const unsigned *rank_of, unsigned ndevices)
{
    ranks->count = 0;
    for (unsigned k = 0; k < ndevices; k++)
        insert(ranks, rank_of[k]);
    for (unsigned k = 0; k < ndevices; k++)
        ranks->index[k] = place_of(ranks, rank_of[k]);
}
