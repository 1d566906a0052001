/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Graphs of the engine's world. See engine_world.h. */
#include "tests/unit/engine/engine_world.h"

#include <string.h>

static bool dependent(const w_task *a, const w_task *b)
{
    for (int i = 0; i < a->nuses; i++)
        for (int j = 0; j < b->nuses; j++)
            if (a->use[i].datum == b->use[j].datum && ((a->use[i].mode | b->use[j].mode) & OD_WRITE))
                return true;
    return false;
}

void w_add_dependences(w_graph *graph)
{
    for (int t = 0; t < graph->ntasks; t++)
        for (int p = 0; p < t; p++)
            if (dependent(&graph->task[p], &graph->task[t]))
                graph->task[t].after |= 1u << p;
}

bool w_is_pure(const w_task *spec)
{
    int written = 0;
    for (int u = 0; u < spec->nuses; u++)
        written += spec->use[u].mode == OD_READ ? 0 : spec->use[u].mode == OD_WRITE ? 1 : 2;
    return written == 1;
}

double w_host_seconds(int t)
{
    static const double seconds[] = {0.25, 0.5, 0, -1};
    return seconds[t % 4];
}

void w_run_serially(const w_graph *graph, w_contents (*before)[W_DATA], w_contents (*after)[W_DATA], w_contents *last)
{
    memset(last, 0, W_DATA * sizeof *last);
    for (int t = 0; t < graph->ntasks; t++)
        for (int u = 0; u < graph->task[t].nuses; u++) {
            const w_use *use = &graph->task[t].use[u];
            before[t][use->datum] = last[use->datum];
            if (use->mode & OD_WRITE)
                last[use->datum].count[t]++;
            after[t][use->datum] = last[use->datum];
        }
}
