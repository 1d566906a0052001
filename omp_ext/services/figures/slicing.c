/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* See slicing.h. */
#include "omp_ext/services/figures/slicing.h"

#include "omp_ext/services/source.h"
#include "omp_ext/slices/kernels.h"

#include <stdlib.h>
#include <string.h>

typedef struct kernels {
    od_report_slicing *all;
    unsigned count;
} kernels;

static void add(const od_entry *entry, void *arg)
{
    kernels *k = arg;
    const od_slicing *s = entry->slicing;
    if (!s || entry->closed || k->count == OD_SLICING_MOST || !(s->whole_launches + s->sliced_launches))
        return;
    const od_source *source = od_source_of((od_entry *)(uintptr_t)entry); /* which it remembers */
    k->all[k->count++] = (od_report_slicing){.name = source ? source->name : "?",
                                             .sliced = s->sliced_launches,
                                             .early = s->early_launches,
                                             .whole = s->whole_launches,
                                             .slices = s->slices,
                                             .reason = s->reason ? od_whole_text(s->reason) : NULL};
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const od_report_slicing *)a)->name, ((const od_report_slicing *)b)->name);
}

unsigned od_slicing_figures(od_report_slicing all[OD_SLICING_MOST])
{
    kernels k = {.all = all};
    od_entry_visit(add, &k);
    qsort(all, k.count, sizeof *all, by_name);
    return k.count;
}
