/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "tools/analyze/study.h"

#include <stdlib.h>
#include <string.h>

enum {
    MOST_ADDED = 20000, /* precedences */
    MANY = 100000       /* tasks of a tree of which one optimum is enough */
};

const char *analyze_bytes(int64_t bytes)
{
    static const char *const units[] = {"B", "kB", "MB", "GB", "TB", "PB"};
    static char texts[8][24];
    static unsigned next;
    char *text = texts[next++ % 8];
    double value = (double)bytes;
    size_t unit = 0;
    for (; value >= 999.5 && unit + 1 < sizeof units / sizeof *units; unit++)
        value /= 1000;
    snprintf(text, sizeof texts[0], unit ? "%.3g %s" : "%.0f %s", value, units[unit]);
    return text;
}

/* --- orders of one processor ----------------------------------------------------------------------- */

static od_status compute_one(analyze_study *study, analyze_order_kind kind, uint32_t *order)
{
    static const char *const why_not[] = {[ANALYZE_POSTORDER] = "no tree with private data",
                                          [ANALYZE_LIU] = "no tree with private data",
                                          [ANALYZE_SERIES] = "nested too deeply for its effort: left out"};
    analyze_order *o = &study->orders[kind];
    od_dag_series found = {0};
    od_status status = OD_OK;
    switch (kind) {
    case ANALYZE_DEPTH_FIRST:
        status = od_dag_depth_first(&study->dag, order);
        break;
    case ANALYZE_BREADTH_FIRST:
        status = od_dag_breadth_first(&study->dag, order);
        break;
    case ANALYZE_POSTORDER:
        status = od_dag_postorder(&study->dag, study->model, order);
        break;
    case ANALYZE_LIU:
        status = od_dag_liu(&study->dag, study->model, order);
        break;
    default:
        status = od_dag_series_parallel(&study->dag, study->model, study->orders[study->best].order, order, &found);
    }
    if (status == OD_EINVAL || status == OD_EBUSY) {
        snprintf(o->note, sizeof o->note, "%s", why_not[kind]);
        return OD_EINVAL;
    }
    study->optimal |= !status && (kind == ANALYZE_LIU || found.optimal);
    if (kind == ANALYZE_POSTORDER)
        snprintf(o->note, sizeof o->note, "the best postorder");
    else if (kind == ANALYZE_LIU || found.optimal)
        snprintf(o->note, sizeof o->note, "optimal");
    else if (found.synchronisations)
        snprintf(o->note, sizeof o->note, "%u synchronisation points", found.synchronisations);
    else if (kind == ANALYZE_SERIES)
        snprintf(o->note, sizeof o->note, "data with several last readers");
    return status;
}

/* In the order of their kinds: the last one begins with the best so far. */
static od_status compute_orders(analyze_study *study)
{
    static const char *const names[] = {"depth-first", "breadth-first", "postorder", "liu", "series-parallel"};
    for (int kind = 0; kind < ANALYZE_ORDERS; kind++) {
        analyze_order *o = &study->orders[kind];
        o->name = names[kind];
        if (kind == ANALYZE_SERIES && study->optimal && study->dag.ntasks > MANY) {
            snprintf(o->note, sizeof o->note, "left out: liu is optimal");
            continue;
        }
        uint32_t *order = malloc(((size_t)study->dag.ntasks + 1) * sizeof *order);
        od_status status = order ? compute_one(study, (analyze_order_kind)kind, order) : OD_ENOMEM;
        if (status) {
            free(order);
            if (status != OD_EINVAL)
                return status;
            continue;
        }
        o->order = order;
        o->peak = od_dag_peak(&study->dag, study->model, order, NULL);
        if (o->peak < 0)
            return OD_ENOMEM;
        if (o->peak < study->orders[study->best].peak)
            study->best = (analyze_order_kind)kind;
    }
    return OD_OK;
}

/* --- serialisation -------------------------------------------------------------------------------------- */

/* The graph is as before afterwards. */
static od_status compute_rule(analyze_study *study, od_dag_rule rule)
{
    char error[256];
    analyze_rule *r = &study->rules[rule];
    uint32_t before = study->dag.norders;
    od_status status = od_dag_serialize(&study->dag, study->model, rule, study->bound, study->orders[study->best].order,
                                        MOST_ADDED, &r->result);
    if (status)
        return status;
    r->added = malloc(((size_t)r->result.added + 1) * sizeof *r->added);
    if (!r->added)
        return OD_ENOMEM;
    if (r->result.added)
        memcpy(r->added, study->dag.orders + before, r->result.added * sizeof *r->added);
    study->dag.norders = before;
    return od_dag_finish(&study->dag, error, sizeof error);
}

od_dag_rule analyze_best_rule(const analyze_study *study)
{
    od_dag_rule best = OD_DAG_RULES;
    for (od_dag_rule rule = 0; rule < OD_DAG_RULES; rule++) {
        const analyze_rule *r = &study->rules[rule];
        if (r->added && r->result.kept && (best == OD_DAG_RULES || r->result.path < study->rules[best].result.path))
            best = rule;
    }
    return best;
}

od_status analyze_apply(analyze_study *study, od_dag_rule rule)
{
    char error[256];
    const analyze_rule *r = &study->rules[rule];
    for (uint32_t i = 0; i < r->result.added; i++)
        if (od_dag_add_order(&study->dag, r->added[i].before, r->added[i].after) == OD_DAG_NONE)
            return OD_ENOMEM;
    return od_dag_finish(&study->dag, error, sizeof error);
}

/* --- all of it -------------------------------------------------------------------------------------------- */

od_status analyze_compute(analyze_study *study)
{
    const od_dag *dag = &study->dag;
    for (uint32_t d = 0; d < dag->ndata; d++)
        study->data_bytes += dag->data[d].bytes;
    study->work = od_dag_work(dag);
    study->path = od_dag_critical_path(dag, NULL, NULL);
    study->path_product = od_dag_least_product(dag, study->model);
    study->largest_need = od_dag_largest_need(dag, study->model);
    study->held = malloc((size_t)dag->ndata + 1);
    od_status status = study->held ? compute_orders(study) : OD_ENOMEM;
    if (!status)
        status = od_dag_cut_best(dag, study->model, study->held, &study->cut);
    bool serialise = study->bound && dag->ntasks <= ANALYZE_SERIALISED;
    for (od_dag_rule rule = 0; rule < OD_DAG_RULES && !status && serialise; rule++)
        if (study->rules[rule].asked)
            status = compute_rule(study, rule);
    return status;
}

void analyze_free(analyze_study *study)
{
    for (int kind = 0; kind < ANALYZE_ORDERS; kind++)
        free(study->orders[kind].order);
    for (int rule = 0; rule < OD_DAG_RULES; rule++)
        free(study->rules[rule].added);
    od_dag_cut_free(&study->cut);
    free(study->held);
    od_dag_free(&study->dag);
}
