/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Orders of chosen tasks are those of a plain simulation that keeps no counts but works out everything anew at each
 * step; they are given up only where that is as poor as it was said to be; and what may be chosen with H is found
 * from its tasks as from all tasks.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <math.h>

#include "sched/phase/impl.h"
#include "tests/unit/policy/problem.h"
#include "tests/unit/random.h"

/* --- the plain simulation ------------------------------------------------------------------- */

struct plain {
    const od_phase_graph *g;
    const od_phase_problem *p;
    const od_phase_choice *choice;
    bool done[TASKS], there[ITEMS], was_there[ITEMS], dirty[ITEMS];
    uint32_t order[TASKS], ntasks, released; /* of the order the first ones have ended */
    uint32_t last[ITEMS];                    /* how many tasks there were with the last one that uses the item */
    uint32_t present[ITEMS], npresent, cursor;
    uint32_t useless[ITEMS], nuseless;
    double seconds, loads, stores;
};

static bool uses(const struct plain *s, uint32_t task, uint32_t item)
{
    bool found = false;
    for (uint32_t u = s->p->first_use[task]; task != OD_NO_ITEM && u < s->p->first_use[task + 1]; u++)
        found |= s->p->use[u] == item;
    return found;
}

/* What the task waits for has been chosen and has not ended. */
static bool waits(const struct plain *s, uint32_t task)
{
    bool waits = false;
    for (uint32_t b = 0; b < task; b++) {
        bool ended = !s->choice->chosen[b];
        for (uint32_t i = 0; i < s->released; i++)
            ended |= s->order[i] == b;
        for (uint32_t e = s->p->first_successor[b]; !ended && e < s->p->first_successor[b + 1]; e++)
            waits |= s->p->successor[e] == task;
    }
    return waits;
}

static bool is_ready(const struct plain *s, uint32_t task)
{
    return s->choice->chosen[task] && !s->done[task] && !waits(s, task);
}

/* How many items the task lacks, one of which is `*item`; seconds of their loads. */
static uint32_t lacks(const struct plain *s, uint32_t task, uint32_t *item, double *seconds)
{
    uint32_t count = 0;
    *seconds = 0;
    for (uint32_t u = s->p->first_use[task]; u < s->p->first_use[task + 1]; u++) {
        if (s->there[s->p->use[u]])
            continue;
        *item = s->p->use[u];
        *seconds += s->p->load[*item];
        count++;
    }
    return count;
}

/* Seconds of chosen tasks that use the item and have not run, and how many there are. */
static double left(const struct plain *s, uint32_t item, uint32_t *count)
{
    double seconds = 0;
    *count = 0;
    for (uint32_t t = 0; t < s->p->ntasks; t++) {
        if (!s->choice->chosen[t] || s->done[t] || !uses(s, t, item))
            continue;
        seconds += s->p->seconds[t];
        ++*count;
    }
    return seconds;
}

static bool is_in_window(const struct plain *s, uint32_t item)
{
    return s->last[item] && s->last[item] + s->p->window > s->ntasks;
}

static double value(const struct plain *s, uint32_t item)
{
    uint32_t count;
    if (is_in_window(s, item))
        return 1e60 * s->last[item];
    return left(s, item, &count) + (s->choice->held[item] ? 1e30 : 0);
}

static uint32_t others(const struct plain *s, uint32_t item)
{
    uint32_t count = 0;
    for (uint32_t t = 0; t < s->p->ntasks; t++)
        count += !s->choice->chosen[t] && uses(s, t, item);
    return count;
}

static uint32_t victim(struct plain *s, uint32_t task)
{
    uint32_t best = 0, item = OD_NO_ITEM;
    for (uint32_t i = 1; i < s->nuseless; i++)
        if (others(s, s->useless[i]) < others(s, s->useless[best]))
            best = i;
    if (s->nuseless) {
        item = s->useless[best];
        s->useless[best] = s->useless[--s->nuseless];
        return item;
    }
    for (uint32_t i = 0; i < s->npresent; i++) {
        uint32_t other = s->present[(s->cursor + i) % s->npresent];
        if (!uses(s, task, other) && (item == OD_NO_ITEM || value(s, other) < value(s, item)))
            item = other;
    }
    s->cursor += s->npresent;
    return item;
}

static double bytes(const struct plain *s)
{
    double sum = 0;
    for (uint32_t i = 0; i < s->npresent; i++)
        sum += s->p->size[s->present[i]];
    return sum;
}

static void bring(struct plain *s, uint32_t item)
{
    s->present[s->npresent++] = item;
    s->there[item] = s->was_there[item] = true;
}

static void load(struct plain *s, uint32_t item, uint32_t task)
{
    uint32_t other, at = 0;
    while (bytes(s) + s->p->size[item] > s->p->memory && (other = victim(s, task)) != OD_NO_ITEM) {
        for (at = 0; s->present[at] != other;)
            at++;
        s->present[at] = s->present[--s->npresent];
        s->there[other] = false;
        s->stores += s->dirty[other] ? s->p->load[other] : 0;
        s->dirty[other] = false;
    }
    s->loads += s->p->fresh[item] && !s->last[item] ? 0 : s->p->load[item];
    bring(s, item);
}

static bool is_before(const struct plain *s, uint32_t a, uint32_t b)
{
    const double *level = s->g->level;
    return b == OD_NO_ITEM || level[a] > level[b] || (level[a] == level[b] && a < b);
}

/* The most urgent task with all its data, or OD_NO_ITEM. */
static uint32_t runnable(const struct plain *s)
{
    uint32_t best = OD_NO_ITEM, item;
    double seconds;
    for (uint32_t t = 0; t < s->p->ntasks; t++)
        if (is_ready(s, t) && !lacks(s, t, &item, &seconds) && is_before(s, t, best))
            best = t;
    return best;
}

static void run(struct plain *s, uint32_t task)
{
    uint32_t count;
    s->done[task] = true;
    s->order[s->ntasks++] = task;
    s->seconds += s->p->seconds[task];
    for (uint32_t u = s->p->first_use[task]; u < s->p->first_use[task + 1]; u++) {
        s->last[s->p->use[u]] = s->ntasks;
        s->dirty[s->p->use[u]] |= s->p->writes[u];
    }
    uint32_t number = s->ntasks - s->p->window, leaves = s->ntasks > s->p->window ? s->order[number - 1] : OD_NO_ITEM;
    for (uint32_t u = 0; leaves != OD_NO_ITEM && u < s->p->first_use[leaves + 1] - s->p->first_use[leaves]; u++) {
        uint32_t item = s->p->use[s->p->first_use[leaves] + u];
        left(s, item, &count);
        if (s->there[item] && s->last[item] == number && !count)
            s->useless[s->nuseless++] = item;
    }
    s->released += s->ntasks - s->released > s->p->window;
}

/* Bytes of held items that have still to come. */
static double lacking(const struct plain *s)
{
    double sum = 0;
    uint32_t count;
    for (uint32_t i = 0; i < s->p->nitems; i++) {
        left(s, i, &count);
        sum += s->choice->held[i] && !s->there[i] && (count || !s->was_there[i]) ? s->p->size[i] : 0;
    }
    return sum;
}

/* How many ready tasks lack this item alone, the most urgent level, and the first of these tasks. */
static uint32_t enabled(const struct plain *s, uint32_t item, double *level, uint32_t *first)
{
    uint32_t count = 0, other;
    double seconds;
    *level = 0;
    *first = OD_NO_ITEM;
    for (uint32_t t = 0; t < s->p->ntasks; t++) {
        if (!is_ready(s, t) || lacks(s, t, &other, &seconds) != 1 || other != item)
            continue;
        *level = fmax(*level, s->g->level[t]);
        *first = count++ ? *first : t;
    }
    return count;
}

static uint32_t best_load(const struct plain *s, uint32_t *task)
{
    uint32_t best = OD_NO_ITEM, first;
    double most = 0, urgent = 0, level;
    for (uint32_t i = 0; i < s->p->nitems; i++) {
        double worth = s->there[i] ? 0 : enabled(s, i, &level, &first) / s->p->load[i];
        bool fits = s->choice->held[i] || lacking(s) <= 0 || bytes(s) + s->p->size[i] + lacking(s) <= s->p->memory;
        if (worth <= 0 || !fits || worth < most * (1 - 1e-9) || (worth <= most * (1 + 1e-9) && level <= urgent))
            continue;
        best = i;
        most = worth;
        urgent = level;
        *task = first;
    }
    return best;
}

static uint32_t best_task(const struct plain *s)
{
    uint32_t best = OD_NO_ITEM, item;
    double least = 0, seconds;
    for (uint32_t t = 0; t < s->p->ntasks; t++) {
        if (!is_ready(s, t))
            continue;
        lacks(s, t, &item, &seconds);
        if (best != OD_NO_ITEM && (seconds > least || (seconds == least && !is_before(s, t, best))))
            continue;
        best = t;
        least = seconds;
    }
    return best;
}

static bool bring_more(struct plain *s)
{
    uint32_t task = OD_NO_ITEM, item = best_load(s, &task);
    if (item != OD_NO_ITEM) {
        load(s, item, task);
        return true;
    }
    task = best_task(s);
    for (uint32_t u = 0; task != OD_NO_ITEM && u < s->p->first_use[task + 1] - s->p->first_use[task]; u++)
        if (!s->there[s->p->use[s->p->first_use[task] + u]])
            load(s, s->p->use[s->p->first_use[task] + u], task);
    return task != OD_NO_ITEM;
}

static void stream(struct plain *s)
{
    uint32_t task, count;
    for (uint32_t i = 0; i < s->p->nitems; i++) {
        left(s, i, &count);
        if (s->p->resident[i] && count && bytes(s) + s->p->size[i] <= s->p->memory)
            bring(s, i);
    }
    for (bool more = true; more && s->seconds < od_phase_limit(s->p);) {
        while (s->seconds < od_phase_limit(s->p) && (task = runnable(s)) != OD_NO_ITEM)
            run(s, task);
        more = s->seconds < od_phase_limit(s->p) && bring_more(s);
        if (!more && s->seconds < od_phase_limit(s->p) && s->released < s->ntasks)
            more = ++s->released;
    }
    for (uint32_t i = 0; i < s->p->nitems; i++)
        s->stores += s->dirty[i] ? s->p->load[i] : 0;
}

/* --- comparisons ------------------------------------------------------------------------------ */

struct counts {
    unsigned same, given_up, wrongly; /* orders: those that are the same; ended; of these, better than was asked for */
};

static void check_same(const struct plain *plain, const od_phase_result *result, const bool *there)
{
    assert_int_equal(result->ntasks, plain->ntasks);
    assert_memory_equal(result->order, plain->order, plain->ntasks * sizeof plain->order[0]);
    assert_true(fabs(result->loads - plain->loads) <= 1e-9 * plain->loads);
    assert_true(fabs(result->stores - plain->stores) <= 1e-9 * plain->stores);
    assert_memory_equal(there, plain->there, plain->p->nitems);
}

/* Once with any worth, and once with about what it has. */
static void check_order(od_phase_device *device, const od_phase_choice *choice, uint64_t *random, struct counts *counts)
{
    uint32_t order[TASKS + 1];
    bool there[ITEMS + 1];
    static struct plain plain;
    od_phase_result result = {.order = order};
    plain = (struct plain){.g = device->g, .p = device->g->p, .choice = choice};
    stream(&plain);
    od_phase_stream(device, choice, 0, &result, there);
    check_same(&plain, &result, there);
    double transfers = plain.loads + plain.stores;
    double asked = transfers > 0 ? plain.seconds / transfers * (0.5 + (double)random_below(random, 100) / 100) : 0;
    od_phase_stream(device, choice, asked, &result, there);
    if (result.ntasks || !plain.ntasks) {
        check_same(&plain, &result, there);
        counts->same++;
        return;
    }
    counts->given_up++;
    counts->wrongly += plain.seconds > asked * transfers * (1 + 1e-9);
}

/* What is chosen with `n` items of H, from the tasks around it, is what is chosen from all. */
static void check_choice(const od_phase_graph *g, od_phase_growth *growth, uint32_t n, od_phase_choice *choice)
{
    od_phase_choice plain;
    uint32_t *task = growth->task;
    assert_true(od_phase_make_choice(g->p, &plain));
    growth->task = NULL;
    od_phase_choose(g, growth, n, &plain);
    growth->task = task;
    od_phase_choose(g, growth, n, choice);
    assert_int_equal(choice->ntasks, plain.ntasks);
    assert_memory_equal(choice->task, plain.task, plain.ntasks * sizeof *plain.task);
    assert_memory_equal(choice->chosen, plain.chosen, g->p->ntasks);
    assert_memory_equal(choice->held, plain.held, g->p->nitems);
    od_phase_free_choice(&plain);
}

static void check_problem(const od_phase_problem *p, uint64_t *random, struct counts *counts)
{
    od_phase_graph g = {.p = p};
    od_phase_role roles[OD_PHASE_ROLES];
    od_phase_choice choice;
    assert_true(od_phase_make_graph(&g) && od_phase_make_choice(p, &choice));
    od_phase_device *device = od_phase_make_device(&g);
    od_phase_grower *grower = od_phase_make_grower(&g);
    assert_true(device && grower);
    for (unsigned i = od_phase_list_roles(p, roles); i-- > 0;) {
        od_phase_growth growth = {0};
        assert_int_equal(od_phase_grow(grower, roles[i].role, p->memory * 0.75, &growth), OD_OK);
        od_phase_look_around(&g, &growth, &choice);
        for (uint32_t n = growth.nitems; n > 0; n /= 2) {
            check_choice(&g, &growth, n, &choice);
            check_order(device, &choice, random, counts);
        }
        od_phase_free_growth(&growth);
    }
    od_phase_choose_all(p, &choice);
    check_order(device, &choice, random, counts);
    od_phase_free_grower(grower);
    od_phase_free_device(device);
    od_phase_free_choice(&choice);
    od_phase_free_graph(&g);
}

static void test_orders_are_plain_ones(void **unused)
{
    (void)unused;
    enum { PROBLEMS = 400 };
    struct counts counts = {0};
    uint64_t random = 13;
    static struct problem q;
    for (int i = 0; i < PROBLEMS; i++) {
        make_problem(&q, &random);
        check_problem(&q.p, &random, &counts);
    }
    print_message("%u orders, %u given up, %u of them wrongly\n", counts.same, counts.given_up, counts.wrongly);
    assert_true(counts.same > 0 && counts.given_up > 0 && counts.wrongly == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_orders_are_plain_ones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
