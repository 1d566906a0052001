/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* See footprints.h. */
#include "omp_ext/services/figures/footprints.h"

#include "omp_ext/runtime/runtime.h"
#include "omp_ext/services/source.h"
#include "omp_ext/tasks/entry.h"

#include <stdlib.h>
#include <string.h>

typedef struct footprints {
    od_report_footprint *all;
    const void *kernel[OD_FOOTPRINTS_MOST];
    unsigned count;
} footprints;

static void note(const void *kernel, unsigned argument, od_footprint_state state, void *arg)
{
    footprints *f = arg;
    if (f->count == OD_FOOTPRINTS_MOST)
        return;
    f->kernel[f->count] = kernel;
    f->all[f->count++] = (od_report_footprint){.name = "?", .argument = argument + 1, .state = state};
}

static void name(const od_entry *entry, void *arg)
{
    footprints *f = arg;
    for (unsigned i = 0; !entry->closed && i < f->count; i++) {
        if (f->kernel[i] != entry->code)
            continue;
        const od_source *source = od_source_of((od_entry *)(uintptr_t)entry); /* which it remembers */
        f->all[i].name = source ? source->name : f->all[i].name;
    }
}

static int by_name(const void *a, const void *b)
{
    const od_report_footprint *first = a, *second = b;
    int names = strcmp(first->name, second->name);
    return names ? names : (first->argument > second->argument) - (first->argument < second->argument);
}

unsigned od_footprints_find(od_report_footprint all[OD_FOOTPRINTS_MOST])
{
    footprints f = {.all = all};
    od_runtime_visit_footprints(note, &f);
    od_entry_visit(name, &f);
    qsort(all, f.count, sizeof *all, by_name);
    return f.count;
}
