/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "dag/memory.h"

#include "dag/cut/state.h"

#include <math.h>
#include <stdlib.h>

int64_t od_dag_initial(const od_dag *dag)
{
    int64_t bytes = 0;
    for (uint32_t d = 0; d < dag->ndata; d++)
        if (dag->data[d].producer == OD_DAG_NONE && !dag->data[d].lazy)
            bytes += dag->data[d].bytes;
    return bytes;
}

/* How many of each datum's readers are still to come. */
static uint32_t *make_left(const od_dag *dag)
{
    uint32_t *left = malloc(((size_t)dag->ndata + 1) * sizeof *left);
    for (uint32_t d = 0; left && d < dag->ndata; d++)
        left[d] = dag->data[d].nreaders;
    return left;
}

static od_dag_step step_of(od_dag_model model, int64_t own, int64_t born, int64_t freed)
{
    od_dag_step step = {born + own, born - freed};
    if (model == OD_DAG_REPLACE)
        step.rise = step.change + own;
    if (step.rise < step.change)
        step.rise = step.change;
    if (step.rise < 0)
        step.rise = 0;
    return step;
}

static int64_t made(const od_dag *dag, uint32_t t)
{
    int64_t bytes = 0;
    for (uint32_t i = dag->outputs.first[t]; i < dag->outputs.first[t + 1]; i++)
        bytes += dag->data[dag->outputs.items[i]].bytes;
    return bytes;
}

/* The step of a task when it is its turn. */
static od_dag_step take_turn(const od_dag *dag, od_dag_model model, uint32_t t, uint32_t *left)
{
    int64_t born = made(dag, t), freed = 0;
    for (uint32_t i = dag->inputs.first[t]; i < dag->inputs.first[t + 1]; i++) {
        uint32_t d = dag->inputs.items[i];
        const od_dag_datum *datum = &dag->data[d];
        if (datum->lazy && left[d] == datum->nreaders)
            born += datum->bytes;
        if (--left[d] == 0)
            freed += datum->bytes;
    }
    return step_of(model, dag->tasks[t].bytes, born, freed);
}

int64_t od_dag_peak(const od_dag *dag, od_dag_model model, const uint32_t *order, od_dag_level *levels)
{
    uint32_t *left = make_left(dag);
    int64_t level = od_dag_initial(dag), peak = level;
    for (uint32_t i = 0; left && i < dag->ntasks; i++) {
        od_dag_step step = take_turn(dag, model, order[i], left);
        if (level + step.rise > peak)
            peak = level + step.rise;
        if (levels)
            levels[i] = (od_dag_level){level + step.rise, level + step.change};
        level += step.change;
    }
    bool fine = left != NULL;
    free(left);
    return fine ? peak : -1;
}

/* By datum: whether one reader alone may be the last, and one alone the first where that matters. */
typedef struct several {
    const od_dag *dag;
    uint32_t datum; /* seen last, plus one */
    bool first, found;
} several;

static void look_for_several(void *arg, uint32_t d, uint32_t reader)
{
    several *s = arg;
    (void)reader;
    s->found |= s->datum == d + 1 && (!s->first || s->dag->data[d].lazy);
    s->datum = d + 1;
}

static od_status is_exact(const od_dag *dag, bool *exact)
{
    several s = {.dag = dag};
    od_status status = od_dag_last_readers(dag, look_for_several, &s);
    s.datum = 0;
    s.first = true;
    if (!status)
        status = od_dag_first_readers(dag, look_for_several, &s);
    *exact = !s.found;
    return status;
}

od_status od_dag_steps(const od_dag *dag, od_dag_model model, const uint32_t *order, od_dag_step *steps, bool *exact)
{
    uint32_t *left = make_left(dag);
    for (uint32_t i = 0; left && i < dag->ntasks; i++)
        steps[order[i]] = take_turn(dag, model, order[i], left);
    od_status status = left ? is_exact(dag, exact) : OD_ENOMEM;
    free(left);
    return status;
}

int64_t od_dag_largest_need(const od_dag *dag, od_dag_model model)
{
    int64_t largest = 0;
    for (uint32_t t = 0; t < dag->ntasks; t++) {
        int64_t in = 0, out = made(dag, t), need;
        for (uint32_t i = dag->inputs.first[t]; i < dag->inputs.first[t + 1]; i++)
            in += dag->data[dag->inputs.items[i]].bytes;
        need = dag->tasks[t].bytes + (model == OD_DAG_RESIDENT ? in + out : out);
        if (model == OD_DAG_REPLACE && in > need)
            need = in;
        largest = need > largest ? need : largest;
    }
    return largest;
}

double od_dag_least_product(const od_dag *dag, od_dag_model model)
{
    double product = 0;
    for (uint32_t d = 0; d < dag->ndata; d++) {
        const od_dag_datum *datum = &dag->data[d];
        double made_s = datum->producer == OD_DAG_NONE ? 0 : dag->tasks[datum->producer].seconds, read_s = 0;
        for (uint32_t i = 0; i < datum->nreaders && model == OD_DAG_RESIDENT; i++)
            read_s = fmax(read_s, dag->tasks[dag->readers[datum->first_reader + i]].seconds);
        product += (double)datum->bytes * (made_s + read_s);
    }
    for (uint32_t t = 0; t < dag->ntasks; t++)
        product += (double)dag->tasks[t].bytes * dag->tasks[t].seconds;
    return product;
}
