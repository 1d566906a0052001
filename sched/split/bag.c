/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* See bag.h. */
#include "sched/split/bag.h"

#include "util/memory.h"

#include <math.h>
#include <stdlib.h>

enum { SAMPLE = 256, ROUNDS = 32 }; /* so many tasks stand for all, of all kinds in turn */

/* Time goes on from one play to the next, as the rule may have a memory. */
struct od_split_bag {
    od_split_view view; /* as the rule sees it */
    const od_split_ops *ops;
    void *rule;
    double begin_s;
    double device_s, host_s; /* when devices, and CPU workers, have ended */
    bool unknown;            /* a duration is */
};

static void run(od_split_bag *b, unsigned kind, unsigned level, double count, bool on_host)
{
    const od_split_kind *k = &b->view.kind[kind];
    double device = b->view.ndevices ? k->device_s[level] : 0, host = b->view.cpus ? k->host_s[level] : 0;
    b->unknown |= device <= 0 && host <= 0;
    if (host > 0 && (on_host || device <= 0 || b->host_s + host < b->device_s + device))
        b->host_s += count * host / b->view.cpus;
    else if (device > 0)
        b->device_s += count * device / b->view.ndevices;
}

/* All that a split task becomes runs where the plan says. */
static bool follow(od_split_bag *b, unsigned kind, unsigned level, double count, od_split_plan plan)
{
    const od_split_graph *g = b->view.graph ? b->view.graph(b->view.driver, kind, level, plan.to) : NULL;
    double number[OD_SPLIT_KINDS] = {0};
    for (uint32_t t = 0; g && t < g->ntasks; t++)
        number[g->kind[t]]++;
    for (unsigned c = 0; c < b->view.nkinds; c++)
        if (number[c] > 0)
            run(b, c, plan.to, count * number[c], plan.on_host >> c & 1);
    return g != NULL;
}

static void place(od_split_bag *b, unsigned kind, unsigned level, double count);

static void split(od_split_bag *b, unsigned kind, unsigned level, double count, od_split_plan plan)
{
    if (plan.to && follow(b, kind, level, count, plan))
        return;
    for (unsigned c = 0; c < b->view.nkinds; c++)
        if (b->view.kind[kind].children[level][c])
            place(b, c, level + 1, count * b->view.kind[kind].children[level][c]);
}

static bool can_split(const od_split_view *v, unsigned kind, unsigned level)
{
    bool any = false;
    for (unsigned c = 0; c < v->nkinds; c++)
        any |= v->kind[kind].children[level][c] > 0;
    return any && level + 1 < v->nlevels;
}

/* So many tasks of one decision. */
static void place(od_split_bag *b, unsigned kind, unsigned level, double count)
{
    od_split_view *v = &b->view;
    double seconds = v->kind[kind].device_s[level];
    od_split_task task = {
        .kind = kind, .level = level, .bottom_s = seconds, .ahead_s = (b->device_s - b->begin_s) * v->ndevices};
    v->now = v->ndevices ? fmin(b->device_s, b->host_s) : b->host_s;
    v->idle_cpus = b->host_s <= b->device_s || !v->ndevices ? v->cpus : 0;
    v->queued_s = task.ahead_s;
    if (can_split(v, kind, level) && b->ops->decide(b->rule, &task) == OD_SPLIT_SPLIT)
        split(b, kind, level, count, task.plan);
    else
        run(b, kind, level, count, b->ops->on_host && b->ops->on_host(b->rule, &task));
}

/* One of `step` tasks is placed; the view's numbers of tasks stay. */
static void place_all(od_split_bag *b, double step)
{
    od_split_view *v = &b->view;
    for (int round = 0; round < ROUNDS; round++)
        for (unsigned l = 0; l < v->nlevels; l++)
            for (unsigned k = 0; k < v->nkinds; k++) {
                double all = v->kind[k].waiting[l] / step;
                double first = all * round / ROUNDS, end = all * (round + 1) / ROUNDS;
                for (double count; first < end && !b->unknown; first += count) {
                    count = fmin(end - first, 1);
                    place(b, k, l, count);
                    v->work_s -= count * v->kind[k].device_s[l];
                }
            }
}

od_split_bag *od_split_bag_create(const od_split_view *view, const od_split_choice *rule)
{
    char error[256];
    od_split_bag *b = od_calloc(1, sizeof *b);
    if (!b)
        return NULL;
    b->view = *view;
    b->ops = rule->ops;
    if (b->ops->create(&b->view, rule->level, &b->rule, error, sizeof error)) {
        free(b);
        return NULL;
    }
    return b;
}

void od_split_bag_destroy(od_split_bag *b)
{
    if (b)
        b->ops->destroy(b->rule);
    free(b);
}

double od_split_bag_play(od_split_bag *b, const od_split_view *view)
{
    b->view = *view;
    b->view.wants_work = true;
    b->device_s = b->host_s = b->begin_s;
    b->unknown = false;
    double step = fmax(od_split_waiting(view) / SAMPLE, 1);
    b->view.work_s /= step;
    place_all(b, step);
    double end_s = fmax(b->device_s, b->host_s), seconds = end_s - b->begin_s;
    b->begin_s = end_s;
    return b->unknown ? 0 : seconds * step;
}
