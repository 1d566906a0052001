/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "dag/serialize.h"

#include "dag/cut/cut.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const od_dag_rule_names[OD_DAG_RULES + 1] = {"min-levels", "respect-order", "max-size", "max-min-size",
                                                         NULL};

/* A task that may be one of the two, and what the rule says of it: low is good. */
typedef struct candidate {
    double cost;
    uint32_t task;
} candidate;

typedef struct serialization {
    od_dag *dag;
    od_dag_model model;
    od_dag_rule rule;
    od_dag_cut cut;
    bool *held; /* of the cut */
    const uint32_t *order;
    double *top, *bottom;    /* by task */
    candidate *first, *then; /* that have not ended; that have begun */
    uint32_t nfirst, nthen;
    uint32_t *mark, *stack; /* by task: stamps of searches */
    uint32_t stamp;
} serialization;

/* --- candidates ------------------------------------------------------------------------------- */

static bool has_ended(const serialization *s, uint32_t t)
{
    return s->cut.phase[t] == OD_DAG_ENDED;
}

static bool has_begun(const serialization *s, uint32_t t)
{
    return s->cut.phase[t] != OD_DAG_WAITING;
}

/* What the task would free. */
static int64_t freed_bytes(const serialization *s, uint32_t t)
{
    int64_t bytes = has_begun(s, t) ? s->dag->tasks[t].bytes : 0;
    for (uint32_t i = s->dag->inputs.first[t]; i < s->dag->inputs.first[t + 1]; i++) {
        const od_dag_datum *d = &s->dag->data[s->dag->inputs.items[i]];
        if (d->producer == OD_DAG_NONE || has_begun(s, d->producer))
            bytes += d->bytes;
    }
    return bytes;
}

/* What it has allocated: its outputs that somebody still has to read. */
static int64_t held_bytes(const serialization *s, uint32_t t)
{
    int64_t bytes = has_ended(s, t) ? 0 : s->dag->tasks[t].bytes;
    for (uint32_t i = s->dag->outputs.first[t]; i < s->dag->outputs.first[t + 1]; i++) {
        const od_dag_datum *d = &s->dag->data[s->dag->outputs.items[i]];
        bool needed = !d->nreaders;
        for (uint32_t k = 0; k < d->nreaders && !needed; k++)
            needed = !has_ended(s, s->dag->readers[d->first_reader + k]);
        bytes += needed ? d->bytes : 0;
    }
    return bytes;
}

static int by_cost(const void *left, const void *right)
{
    const candidate *a = left, *b = right;
    if (a->cost != b->cost)
        return a->cost < b->cost ? -1 : 1;
    return a->task < b->task ? -1 : a->task > b->task;
}

/* Those that change memory; with `all`, the others, too. */
static void collect(serialization *s, bool all)
{
    s->nfirst = s->nthen = 0;
    for (uint32_t t = 0; t < s->dag->ntasks; t++) {
        bool levels = s->rule == OD_DAG_MIN_LEVELS;
        int64_t frees = has_ended(s, t) ? 0 : freed_bytes(s, t), holds = has_begun(s, t) ? held_bytes(s, t) : 0;
        if (!has_ended(s, t) && (frees || all))
            s->first[s->nfirst++] = (candidate){levels ? s->top[t] + s->dag->tasks[t].seconds : -(double)frees, t};
        if (has_begun(s, t) && (holds || all))
            s->then[s->nthen++] = (candidate){levels ? s->bottom[t] : -(double)holds, t};
    }
    qsort(s->first, s->nfirst, sizeof *s->first, by_cost);
    qsort(s->then, s->nthen, sizeof *s->then, by_cost);
}

static double together(const serialization *s, double first, double then)
{
    return s->rule == OD_DAG_MAX_MIN_SIZE ? fmax(first, then) : first + then;
}

/* Marks the task and all before it. */
static void mark_before(serialization *s, uint32_t task)
{
    uint32_t top = 0;
    s->mark[task] = ++s->stamp;
    s->stack[top++] = task;
    while (top > 0) {
        uint32_t t = s->stack[--top];
        for (uint32_t i = s->dag->before.first[t]; i < s->dag->before.first[t + 1]; i++) {
            uint32_t other = s->dag->before.items[i];
            if (s->mark[other] != s->stamp) {
                s->mark[other] = s->stamp;
                s->stack[top++] = other;
            }
        }
    }
}

/* The pair of the lowest cost that makes no cycle. */
static bool choose_pair(serialization *s, od_dag_order *pair)
{
    double best = HUGE_VAL;
    for (uint32_t i = 0; i < s->nfirst && s->nthen && together(s, s->first[i].cost, s->then[0].cost) < best; i++) {
        uint32_t k = 0;
        mark_before(s, s->first[i].task);
        while (k < s->nthen && s->mark[s->then[k].task] == s->stamp)
            k++;
        if (k < s->nthen && together(s, s->first[i].cost, s->then[k].cost) < best) {
            best = together(s, s->first[i].cost, s->then[k].cost);
            *pair = (od_dag_order){s->first[i].task, s->then[k].task};
        }
    }
    return best < HUGE_VAL;
}

/* --- respect-order ------------------------------------------------------------------------------ */

/* Two readers of a datum, of which neither is known to be the last, or the first. */
typedef struct two_readers {
    const od_dag *dag;
    const uint32_t *position; /* in the order */
    uint32_t datum, reader;   /* seen last; the datum plus one */
    od_dag_order pair;
    bool found, lazy;
} two_readers;

static void look_at_reader(void *arg, uint32_t d, uint32_t reader)
{
    two_readers *l = arg;
    if (l->found || (l->lazy && !l->dag->data[d].lazy))
        return;
    if (l->datum == d + 1) {
        bool later = l->position[reader] > l->position[l->reader];
        l->pair = later ? (od_dag_order){l->reader, reader} : (od_dag_order){reader, l->reader};
        l->found = true;
    }
    l->datum = d + 1;
    l->reader = reader;
}

/* Where the state is one of the order itself, some datum was counted too high. */
static bool order_readers(serialization *s, od_dag_order *pair)
{
    two_readers l = {.dag = s->dag, .position = s->stack};
    for (uint32_t i = 0; i < s->dag->ntasks; i++)
        s->stack[s->order[i]] = i;
    if (od_dag_last_readers(s->dag, look_at_reader, &l))
        return false;
    l.datum = 0;
    l.lazy = true;
    if (!l.found && od_dag_first_readers(s->dag, look_at_reader, &l))
        return false;
    *pair = l.pair;
    return l.found;
}

static bool follow_order(serialization *s, od_dag_order *pair)
{
    uint32_t first = 0, then = s->dag->ntasks;
    while (first < s->dag->ntasks && has_ended(s, s->order[first]))
        first++;
    while (then > 0 && !has_begun(s, s->order[then - 1]))
        then--;
    if (first + 1 >= then)
        return order_readers(s, pair);
    *pair = (od_dag_order){s->order[first], s->order[then - 1]};
    return true;
}

/* --- rounds ---------------------------------------------------------------------------------------- */

static bool choose(serialization *s, od_dag_order *pair)
{
    if (s->rule == OD_DAG_RESPECT_ORDER)
        return follow_order(s, pair);
    collect(s, false);
    if (choose_pair(s, pair))
        return true;
    collect(s, true);
    return choose_pair(s, pair);
}

static od_status cut_again(serialization *s)
{
    od_dag_cut_free(&s->cut);
    return od_dag_cut_best(s->dag, s->model, s->held, &s->cut);
}

static od_status add(serialization *s, od_dag_order pair)
{
    char error[512];
    if (od_dag_add_order(s->dag, pair.before, pair.after) == OD_DAG_NONE)
        return OD_ENOMEM;
    od_status status = od_dag_finish(s->dag, error, sizeof error);
    od_dag_critical_path(s->dag, s->top, s->bottom);
    if (status || !s->cut.exact)
        return status ? status : cut_again(s);
    status = od_dag_cut_add(&s->cut, pair.before, pair.after);
    if (!status)
        od_dag_cut_solve(&s->cut);
    return status;
}

/* There is a longer way from the one to the other. */
static bool is_implied(serialization *s, od_dag_order order)
{
    bool implied = false;
    mark_before(s, order.after);
    for (uint32_t i = s->dag->after.first[order.before]; i < s->dag->after.first[order.before + 1] && !implied; i++)
        implied = s->dag->after.items[i] != order.after && s->mark[s->dag->after.items[i]] == s->stamp;
    return implied;
}

/* Later ones often imply earlier ones. */
static od_status drop_implied(serialization *s, uint32_t begin)
{
    char error[512];
    uint32_t kept = begin;
    for (uint32_t i = begin; i < s->dag->norders; i++)
        if (!is_implied(s, s->dag->orders[i]))
            s->dag->orders[kept++] = s->dag->orders[i];
    s->dag->norders = kept;
    return od_dag_finish(s->dag, error, sizeof error);
}

/* Takes each order away again, the oldest first, that the bound does not need. */
static od_status thin_out(serialization *s, int64_t bound, uint32_t begin)
{
    char error[512];
    od_status status = OD_OK;
    for (uint32_t i = begin; i < s->dag->norders && !status;) {
        od_dag_order taken = s->dag->orders[i];
        memmove(s->dag->orders + i, s->dag->orders + i + 1, (s->dag->norders - i - 1) * sizeof taken);
        s->dag->norders--;
        status = od_dag_finish(s->dag, error, sizeof error);
        if (!status)
            status = cut_again(s);
        if (!status && s->cut.bound > bound) {
            memmove(s->dag->orders + i + 1, s->dag->orders + i, (s->dag->norders - i) * sizeof taken);
            s->dag->orders[i++] = taken;
            s->dag->norders++;
        }
    }
    if (!status)
        status = od_dag_finish(s->dag, error, sizeof error);
    return status ? status : cut_again(s);
}

static od_status work(serialization *s, int64_t bound, uint32_t most, od_dag_serialized *result)
{
    enum { MOST_THINNING = 20000000 }; /* precedences times orders */
    uint32_t begin = s->dag->norders;
    od_dag_order pair;
    od_dag_critical_path(s->dag, s->top, s->bottom);
    od_status status = cut_again(s);
    bool exact = !status && s->cut.exact; /* else direct precedences say which reader is the last */
    while (!status && s->cut.bound > bound && s->dag->norders - begin < most && choose(s, &pair))
        status = add(s, pair);
    result->kept = !status && s->cut.bound <= bound;
    if (!status && exact && s->dag->norders > begin)
        status = drop_implied(s, begin);
    uint64_t effort = (uint64_t)(s->dag->norders - begin) * (s->dag->ntasks + s->dag->after.first[s->dag->ntasks]);
    if (!status && result->kept && s->dag->norders > begin && effort <= MOST_THINNING)
        status = thin_out(s, bound, begin);
    result->added = s->dag->norders - begin;
    result->peak = s->cut.bound;
    result->path = od_dag_critical_path(s->dag, s->top, s->bottom);
    return status;
}

od_status od_dag_serialize(od_dag *dag, od_dag_model model, od_dag_rule rule, int64_t bound, const uint32_t *order,
                           uint32_t most, od_dag_serialized *result)
{
    size_t room = (size_t)dag->ntasks + 1;
    serialization s = {.dag = dag,
                       .model = model,
                       .rule = rule,
                       .order = order,
                       .held = malloc((size_t)dag->ndata + 1),
                       .top = malloc(room * sizeof *s.top),
                       .bottom = malloc(room * sizeof *s.bottom),
                       .first = malloc(room * sizeof *s.first),
                       .then = malloc(room * sizeof *s.then),
                       .mark = calloc(room, sizeof *s.mark),
                       .stack = malloc(room * sizeof *s.stack)};
    bool fine = s.held && s.top && s.bottom && s.first && s.then && s.mark && s.stack;
    od_status status = fine ? work(&s, bound, most, result) : OD_ENOMEM;
    od_dag_cut_free(&s.cut);
    free(s.held);
    free(s.top);
    free(s.bottom);
    free(s.first);
    free(s.then);
    free(s.mark);
    free(s.stack);
    return status;
}
