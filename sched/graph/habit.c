/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* See habit.h. */
#include "sched/graph/habit.h"

#include "util/container/array.h"
#include "util/memory.h"

#include <stdlib.h>

enum { FIRST_BITS = 6, MOST = 1 << 20, RUNS = OD_HABIT_PERIOD + 1 };

/* --- kinds ------------------------------------------------------------------------------- */

bool od_habits_has(const od_habits *all, const void *kind)
{
    for (uint32_t i = 0; i < all->nkinds; i++)
        if (all->kind[i] == kind)
            return true;
    return false;
}

od_status od_habits_add(od_habits *all, const void *kind)
{
    if (!od_array_reserve(&all->kind, &all->kinds_room, (uint64_t)all->nkinds + 1, sizeof(const void *)))
        return OD_ENOMEM;
    all->kind[all->nkinds++] = kind;
    return OD_OK;
}

/* --- the table ----------------------------------------------------------------------------- */

static size_t slot(unsigned bits, uint64_t key)
{
    return (size_t)(key >> (64 - bits));
}

/* Without memory the buckets only get longer. */
static void grow(od_habits *all)
{
    size_t old = all->bits ? (size_t)1 << all->bits : 0;
    unsigned bits = all->bits ? all->bits + 1 : FIRST_BITS;
    if (all->count < old)
        return;
    od_habit **wider = od_calloc((size_t)1 << bits, sizeof(od_habit *));
    if (!wider)
        return;
    for (size_t i = 0; i < old; i++)
        for (od_habit *f = all->bucket[i], *next; f; f = next) {
            od_habit **at = &wider[slot(bits, f->key)];
            next = f->next;
            f->next = *at;
            *at = f;
        }
    free(all->bucket);
    all->bucket = wider;
    all->bits = bits;
}

od_habit *od_habits_get(od_habits *all, uint64_t key)
{
    grow(all);
    if (!all->bits)
        return NULL;
    od_habit **at = &all->bucket[slot(all->bits, key)];
    for (od_habit *f = *at; f; f = f->next)
        if (f->key == key)
            return f;
    od_habit *f = all->count < MOST ? od_calloc(1, sizeof *f) : NULL;
    if (!f)
        return NULL;
    f->key = key;
    od_list_init(&f->waiting);
    f->next = *at;
    *at = f;
    all->count++;
    return f;
}

void od_habits_free(od_habits *all)
{
    for (size_t i = 0; all->bits && i < (size_t)1 << all->bits; i++)
        for (od_habit *f = all->bucket[i], *next; f; f = next) {
            next = f->next;
            for (uint32_t r = 0; r < RUNS; r++)
                free(f->ran[r].use);
            free(f);
        }
    free(all->bucket);
    free(all->kind);
    *all = (od_habits){0};
}

/* --- what is learnt ------------------------------------------------------------------------- */

static bool is_same(const od_habit_data *a, const od_habit_data *b)
{
    bool same = a->nuses == b->nuses;
    for (uint32_t i = 0; same && i < a->nuses; i++)
        same = a->use[i].base == b->use[i].base && a->use[i].mode == b->use[i].mode;
    return same;
}

/* After how many tasks the last one has come again; else as if all that is known were one round. */
static uint32_t find_period(const od_habit *f)
{
    uint32_t most = f->seen < OD_HABIT_PERIOD ? f->seen : OD_HABIT_PERIOD, last = f->seen - 1;
    for (uint32_t period = 1; period <= most && period <= last; period++)
        if (is_same(&f->ran[last % RUNS], &f->ran[(last - period) % RUNS]))
            return period;
    return most;
}

void od_habit_learn(od_habit *f, const od_task *task)
{
    od_habit_data *data = &f->ran[f->seen % RUNS];
    od_habit_use *use = data->use;
    if (!use || data->nuses != task->naccess)
        use = od_malloc((task->naccess + (size_t)1) * sizeof *use);
    if (!use)
        return;
    if (use != data->use)
        free(data->use);
    *data = (od_habit_data){use, task->naccess};
    for (uint32_t i = 0; i < task->naccess; i++)
        use[i] = (od_habit_use){task->access[i].datum->base, task->access[i].mode};
    f->seen++;
    f->period = find_period(f);
}

const od_habit_data *od_habit_expect(const od_habit *f, uint32_t ahead)
{
    return f->period ? &f->ran[(f->seen - f->period + ahead % f->period) % RUNS] : NULL;
}
