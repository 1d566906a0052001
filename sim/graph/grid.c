/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* See grid.h. */
#include "sim/graph/grid.h"

#include <stdio.h>
#include <string.h>

od_status sim_grid_parse(const char *text, sim_grid *grid)
{
    enum { MOST = 1024 };
    int end = 0;
    uint32_t rows, columns;
    if (sscanf(text, "%4ux%4u%n", &rows, &columns, &end) != 2 || rows - 1 >= MOST || columns - 1 >= MOST)
        return OD_EINVAL;
    *grid = (sim_grid){rows, columns, strcmp(text + end, ":first") == 0};
    return grid->first || !text[end] ? OD_OK : OD_EINVAL;
}

/* The larger side is a multiple that leaves the smaller one as large as it can be. */
static uint32_t smaller_side(uint32_t devices)
{
    uint32_t side = 1;
    for (uint32_t i = 2; i * i <= devices; i++)
        side = devices % i == 0 ? i : side;
    return side;
}

static uint32_t owner(const sim_grid *grid, uint32_t devices, const sim_datum *tile)
{
    uint32_t rows = smaller_side(devices), columns = devices / rows;
    uint32_t node = tile->row % grid->rows * grid->columns + tile->column % grid->columns;
    uint32_t device = tile->row / grid->rows % rows * columns + tile->column / grid->columns % columns;
    return node * devices + device;
}

void sim_grid_distribute(const sim_grid *grid, uint32_t devices, sim_graph *graph)
{
    for (uint32_t t = 0; t < graph->ntasks; t++) {
        sim_task *task = &graph->tasks[t];
        const sim_access *accesses = &graph->accesses[task->first_access], *written = NULL;
        for (uint32_t i = 0; i < task->naccess; i++)
            written = accesses[i].mode & OD_WRITE ? &accesses[i] : written;
        if (written && (!grid->first || written->mode == OD_WRITE))
            task->device = owner(grid, devices, &graph->data[written->datum]) + 1;
    }
}
