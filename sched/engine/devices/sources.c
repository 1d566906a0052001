/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Who can send to a device fastest; see sources.h. */
#include "sched/engine/devices/sources.h"

#include "util/memory.h"

#include <stdlib.h>
#include <string.h>

od_status od_sources_init(od_sources *sources, unsigned ndevices)
{
    *sources = (od_sources){.ndevices = ndevices};
    sources->level = od_malloc((size_t)ndevices * ndevices * sizeof *sources->level);
    return sources->level ? OD_OK : OD_ENOMEM;
}

void od_sources_free(od_sources *sources)
{
    free(sources->level);
    sources->level = NULL;
}

static void add_sender(od_sources *sources, unsigned from, unsigned to, double bandwidth)
{
    od_source_level *level = &sources->level[(size_t)to * sources->ndevices];
    unsigned l = 0, n = sources->nlevels[to];
    while (l < n && level[l].bandwidth > bandwidth)
        l++;
    if (l == n || level[l].bandwidth < bandwidth) {
        memmove(&level[l + 1], &level[l], (n - l) * sizeof *level);
        level[l] = (od_source_level){.bandwidth = bandwidth};
        sources->nlevels[to]++;
    }
    od_placeset_add(&level[l].from, from);
}

void od_sources_find(od_sources *sources, const od_link *links)
{
    unsigned n = sources->ndevices;
    for (unsigned to = 0; to < n; to++) {
        sources->nlevels[to] = 0;
        for (unsigned from = 0; from < n; from++)
            if (from != to)
                add_sender(sources, from, to, links[(size_t)from * (n + 1) + to].bandwidth);
    }
}
