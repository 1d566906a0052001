/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* See program.h. GLPK is opened where it is needed: nothing is linked with it. */
#include "sched/split/program.h"

#include "util/memory.h"
#include "util/plugin.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GLPK_LIBRARY "libglpk.so.40"

enum { DEVICE, HOST, UNITS };
enum { MINIMISE = 1, AT_LEAST = 2, AT_MOST = 3, FIXED = 5, OPTIMAL = 5 }; /* GLP_MIN, GLP_LO, GLP_UP, GLP_FX, GLP_OPT */
enum {
    MOST_ROWS = OD_SPLIT_KINDS * OD_SPLIT_LEVELS + 2 * UNITS,
    MOST_COLUMNS = OD_SPLIT_KINDS * OD_SPLIT_LEVELS * (UNITS + 1) + 1,
    MOST_ENTRIES = OD_SPLIT_KINDS * OD_SPLIT_LEVELS * (OD_SPLIT_KINDS + 4 * UNITS + 1) + UNITS
};

typedef struct glpk {
    void *(*create)(void);
    void (*destroy)(void *problem);
    void (*set_direction)(void *problem, int direction);
    int (*add_rows)(void *problem, int count);
    int (*add_columns)(void *problem, int count);
    void (*bound_row)(void *problem, int row, int type, double lower, double upper);
    void (*bound_column)(void *problem, int column, int type, double lower, double upper);
    void (*set_cost)(void *problem, int column, double cost);
    void (*load)(void *problem, int count, const int *row, const int *column, const double *value);
    int (*solve)(void *problem, const void *parameters);
    int (*status)(void *problem);
    double (*value)(void *problem, int column);
    double (*optimum)(void *problem);
    int (*print)(int whether);
} glpk;

struct od_split_solver {
    glpk glpk;
    int row[MOST_ENTRIES + 1], column[MOST_ENTRIES + 1]; /* as GLPK counts: from 1 */
    double value[MOST_ENTRIES + 1];
    int entries;
    int split[OD_SPLIT_KINDS][OD_SPLIT_LEVELS], run[OD_SPLIT_KINDS][OD_SPLIT_LEVELS][UNITS]; /* columns; 0: none */
    int columns;
};

/* --- GLPK ---------------------------------------------------------------------- */

static bool find(const char *symbol, void *function, char *error, size_t size)
{
    const void *address = od_plugin_symbol(GLPK_LIBRARY, symbol, error, size);
    memcpy(function, &address, sizeof address);
    return address != NULL;
}

static bool find_all(glpk *g, char *error, size_t size)
{
    return find("glp_create_prob", &g->create, error, size) && find("glp_delete_prob", &g->destroy, error, size) &&
           find("glp_set_obj_dir", &g->set_direction, error, size) && find("glp_add_rows", &g->add_rows, error, size) &&
           find("glp_add_cols", &g->add_columns, error, size) && find("glp_set_row_bnds", &g->bound_row, error, size) &&
           find("glp_set_col_bnds", &g->bound_column, error, size) &&
           find("glp_set_obj_coef", &g->set_cost, error, size) && find("glp_load_matrix", &g->load, error, size) &&
           find("glp_simplex", &g->solve, error, size) && find("glp_get_status", &g->status, error, size) &&
           find("glp_get_col_prim", &g->value, error, size) && find("glp_get_obj_val", &g->optimum, error, size) &&
           find("glp_term_out", &g->print, error, size);
}

od_status od_split_solver_create(od_split_solver **solver, char *error, size_t size)
{
    od_split_solver *s = od_calloc(1, sizeof *s);
    if (!s) {
        snprintf(error, size, "out of memory");
        return OD_ENOMEM;
    }
    if (!find_all(&s->glpk, error, size)) {
        free(s);
        return OD_EIO;
    }
    *solver = s;
    return OD_OK;
}

void od_split_solver_destroy(od_split_solver *solver)
{
    free(solver);
}

/* --- the program ------------------------------------------------------------------ */

static double seconds_on(const od_split_view *view, unsigned t, unsigned l, int unit)
{
    if (unit == HOST)
        return view->cpus ? view->kind[t].host_s[l] : 0;
    return view->ndevices ? view->kind[t].device_s[l] : 0;
}

static bool can_split(const od_split_view *view, unsigned t, unsigned l)
{
    bool any = false;
    for (unsigned c = 0; c < view->nkinds; c++)
        any |= view->kind[t].children[l][c] > 0;
    return any && l + 1 < view->nlevels;
}

static void add(od_split_solver *s, int row, int column, double value)
{
    s->entries++;
    s->row[s->entries] = row;
    s->column[s->entries] = column;
    s->value[s->entries] = value;
}

/* exT is the first column. */
static void number_columns(od_split_solver *s, const od_split_view *view)
{
    s->columns = 1;
    for (unsigned t = 0; t < view->nkinds; t++)
        for (unsigned l = 0; l < view->nlevels; l++) {
            s->split[t][l] = can_split(view, t, l) ? ++s->columns : 0;
            for (int u = 0; u < UNITS; u++)
                s->run[t][l][u] = seconds_on(view, t, l, u) > 0 ? ++s->columns : 0;
        }
}

static void add_numbers(od_split_solver *s, const od_split_view *view, void *problem)
{
    for (unsigned t = 0; t < view->nkinds; t++)
        for (unsigned l = 0; l < view->nlevels; l++) {
            int row = s->glpk.add_rows(problem, 1);
            s->glpk.bound_row(problem, row, AT_LEAST, view->kind[t].waiting[l], 0);
            if (s->split[t][l])
                add(s, row, s->split[t][l], 1);
            for (int u = 0; u < UNITS; u++)
                if (s->run[t][l][u])
                    add(s, row, s->run[t][l][u], 1);
            for (unsigned p = 0; l > 0 && p < view->nkinds; p++)
                if (s->split[p][l - 1] && view->kind[p].children[l - 1][t])
                    add(s, row, s->split[p][l - 1], -(double)view->kind[p].children[l - 1][t]);
        }
}

static void add_unit(od_split_solver *s, const od_split_view *view, void *problem, int u, double least)
{
    double count = u == HOST ? view->cpus : view->ndevices;
    int busy = s->glpk.add_rows(problem, 1);
    s->glpk.bound_row(problem, busy, AT_MOST, 0, 0);
    add(s, busy, 1, -count);
    int enough = count > 0 && least > 0 ? s->glpk.add_rows(problem, 1) : 0;
    if (enough)
        s->glpk.bound_row(problem, enough, AT_LEAST, count * least, 0);
    for (unsigned t = 0; t < view->nkinds; t++)
        for (unsigned l = 0; l < view->nlevels; l++) {
            if (!s->run[t][l][u])
                continue;
            add(s, busy, s->run[t][l][u], seconds_on(view, t, l, u));
            if (enough)
                add(s, enough, s->run[t][l][u], 1);
        }
}

static double share(double part, double all)
{
    return all > 0 ? fmin(fmax(part / all, 0), 1) : 0;
}

static void read_ratios(const od_split_solver *s, const od_split_view *view, void *problem, od_split_ratios *ratios)
{
    *ratios = (od_split_ratios){.seconds = s->glpk.optimum(problem)};
    for (unsigned t = 0; t < view->nkinds; t++)
        for (unsigned l = 0; l < view->nlevels; l++) {
            double split = s->split[t][l] ? s->glpk.value(problem, s->split[t][l]) : 0, run = 0, host = 0;
            for (int u = 0; u < UNITS; u++)
                run += s->run[t][l][u] ? s->glpk.value(problem, s->run[t][l][u]) : 0;
            if (s->run[t][l][HOST])
                host = s->glpk.value(problem, s->run[t][l][HOST]);
            ratios->ratio[t][l] = share(split, split + run);
            ratios->host[t][l] = share(host, run);
        }
}

static bool solve(od_split_solver *s, const od_split_view *view, double least, od_split_ratios *ratios)
{
    const glpk *g = &s->glpk;
    void *problem = g->create();
    s->entries = 0;
    number_columns(s, view);
    g->add_columns(problem, s->columns);
    for (int c = 1; c <= s->columns; c++)
        g->bound_column(problem, c, AT_LEAST, 0, 0);
    g->set_direction(problem, MINIMISE);
    g->set_cost(problem, 1, 1);
    add_numbers(s, view, problem);
    for (int u = 0; u < UNITS; u++)
        add_unit(s, view, problem, u, least);
    g->load(problem, s->entries, s->row, s->column, s->value);
    bool solved = g->solve(problem, NULL) == 0 && g->status(problem) == OPTIMAL;
    if (solved)
        read_ratios(s, view, problem, ratios);
    g->destroy(problem);
    return solved;
}

bool od_split_solve(od_split_solver *s, const od_split_view *view, double least, od_split_ratios *ratios)
{
    int printed = s->glpk.print(0);
    bool solved = solve(s, view, least, ratios) || (least > 0 && solve(s, view, 0, ratios));
    s->glpk.print(printed);
    return solved;
}
