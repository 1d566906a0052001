/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* See ranks.h. */
#include "tools/report/ranks.h"

#include <stdlib.h>

static void add(run_device *sum, const run_device *d)
{
    sum->tasks += d->tasks;
    sum->loads += d->loads;
    sum->reloads += d->reloads;
    sum->evictions += d->evictions;
    sum->in_bytes += d->in_bytes;
    sum->out_bytes += d->out_bytes;
    sum->peer_bytes += d->peer_bytes;
    sum->remote_bytes += d->remote_bytes;
    sum->reload_bytes += d->reload_bytes;
    sum->data_bytes += d->data_bytes;
    sum->transfer_us += d->transfer_us;
    sum->peak_bytes = d->peak_bytes > sum->peak_bytes ? d->peak_bytes : sum->peak_bytes;
    for (unsigned i = 0; i < SHARES; i++)
        sum->share_us[i] += d->share_us[i];
}

static int by_number(const void *a, const void *b)
{
    unsigned x = ((const run_rank *)a)->about->number, y = ((const run_rank *)b)->about->number;
    return (x > y) - (x < y);
}

static run_rank *rank_of(run_ranks *ranks, const trace_rank *about)
{
    for (unsigned i = 0; i < ranks->count; i++)
        if (ranks->at[i].about->number == about->number)
            return &ranks->at[i];
    run_rank *added = &ranks->at[ranks->count++];
    added->about = about;
    return added;
}

od_status run_sum_ranks(const trace_file *trace, const run_figures *figures, run_ranks *ranks)
{
    *ranks = (run_ranks){0};
    if (!trace->rank)
        return OD_OK;
    ranks->at = calloc(trace->ndevices, sizeof *ranks->at);
    if (!ranks->at)
        return OD_ENOMEM;
    for (unsigned k = 0; k < trace->ndevices; k++) {
        run_rank *rank = rank_of(ranks, &trace->rank[k]);
        rank->ndevices++;
        add(&rank->sum, &figures->device[k]);
    }
    qsort(ranks->at, ranks->count, sizeof *ranks->at, by_number);
    return OD_OK;
}

void run_ranks_free(run_ranks *ranks)
{
    free(ranks->at);
    *ranks = (run_ranks){0};
}
