/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* See lattice.h. */
#include "sched/phase/lattice.h"

#include "util/memory.h"

#include <stdlib.h>
#include <string.h>

/* While they are found: the row and the column that an item gives to others. */
typedef struct lines {
    const od_phase_problem *p;
    uint32_t *row, *column;
    uint32_t nrows, ncolumns;
} lines;

/* What a task writes last, and the first items that it only reads. */
typedef struct pattern {
    uint32_t written, read[2];
} pattern;

static pattern pattern_of(const od_phase_problem *p, uint32_t task)
{
    pattern found = {OD_NO_LINE, {OD_NO_LINE, OD_NO_LINE}};
    for (uint32_t u = p->first_use[task]; u < p->first_use[task + 1]; u++) {
        if (p->writes[u])
            found.written = p->use[u];
        else if (found.read[0] == OD_NO_LINE)
            found.read[0] = p->use[u];
        else if (found.read[1] == OD_NO_LINE)
            found.read[1] = p->use[u];
    }
    return found;
}

static uint32_t number(uint32_t *numbers, uint32_t item, uint32_t *count)
{
    if (numbers[item] == OD_NO_LINE)
        numbers[item] = (*count)++;
    return numbers[item];
}

static uint32_t either(uint32_t line, uint32_t other)
{
    return line != OD_NO_LINE ? line : other;
}

static void set_pairs(lines *l, od_lattice *lattice)
{
    for (uint32_t t = 0; t < l->p->ntasks; t++) {
        pattern found = pattern_of(l->p, t);
        if (found.written == OD_NO_LINE || found.read[1] == OD_NO_LINE || lattice->row[found.written] != OD_NO_LINE)
            continue;
        lattice->row[found.written] = number(l->row, found.read[0], &l->nrows);
        lattice->column[found.written] = number(l->column, found.read[1], &l->ncolumns);
    }
}

static void set_others(const lines *l, od_lattice *lattice)
{
    for (uint32_t t = 0; t < l->p->ntasks; t++) {
        pattern found = pattern_of(l->p, t);
        uint32_t item = found.written, read = found.read[0];
        if (item == OD_NO_LINE || lattice->row[item] != OD_NO_LINE)
            continue;
        uint32_t from = l->row[item] != OD_NO_LINE || l->column[item] != OD_NO_LINE ? item : read;
        if (from == OD_NO_LINE || (l->row[from] == OD_NO_LINE && l->column[from] == OD_NO_LINE))
            continue;
        lattice->row[item] = either(l->row[from], from == item ? 0 : l->column[from]);
        lattice->column[item] = either(l->column[from], from == item ? 0 : l->row[from]);
    }
}

static uint32_t *no_lines(uint32_t count)
{
    uint32_t *all = od_malloc((count + (size_t)1) * sizeof *all);
    if (all)
        memset(all, 0xff, (count + (size_t)1) * sizeof *all);
    return all;
}

od_status od_lattice_find(const od_phase_problem *p, od_lattice *lattice)
{
    lines l = {.p = p, .row = no_lines(p->nitems), .column = no_lines(p->nitems)};
    *lattice = (od_lattice){no_lines(p->nitems), no_lines(p->nitems)};
    bool ok = l.row && l.column && lattice->row && lattice->column;
    if (ok) {
        set_pairs(&l, lattice);
        set_others(&l, lattice);
    }
    free(l.row);
    free(l.column);
    return ok ? OD_OK : OD_ENOMEM;
}
