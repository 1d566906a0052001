/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The inverted index of a batch, by counting; see batch.h. */
#include "sched/policy/batch/order/batch.h"
#include "util/memory.h"

#include <stdlib.h>

od_status od_users_create(const od_batch *batch, od_users *users)
{
    uint32_t nuses = batch->first[batch->ntasks];
    /* One element more than needed: the counts of datum d are gathered at d + 2, so that filling ends at d + 1. */
    uint32_t *first = od_calloc((size_t)batch->ndata + 2, sizeof *first);
    uint32_t *task = od_malloc(((size_t)nuses + 1) * sizeof *task);
    *users = (od_users){first, task};
    if (!first || !task) {
        od_users_free(users);
        return OD_ENOMEM;
    }
    for (uint32_t u = 0; u < nuses; u++)
        first[batch->datum[u] + 2]++;
    for (uint32_t d = 2; d < batch->ndata + 2; d++)
        first[d] += first[d - 1];
    for (uint32_t t = 0; t < batch->ntasks; t++) {
        for (uint32_t u = batch->first[t]; u < batch->first[t + 1]; u++)
            task[first[batch->datum[u] + 1]++] = t;
    }
    return OD_OK;
}

void od_users_free(od_users *users)
{
    free(users->first);
    free(users->task);
    *users = (od_users){0};
}
