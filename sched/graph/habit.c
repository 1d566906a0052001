/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* See habit.h. */
#include "sched/graph/habit.h"

#include "util/container/array.h"
#include "util/memory.h"

#include <stdlib.h>

enum { BITS = 13, BUCKETS = 1 << BITS, MOST = 1 << 16, RUNS = OD_HABIT_PERIOD + 1 };

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
    if (!all->bucket)
        all->bucket = od_calloc(BUCKETS, sizeof(od_habit *));
    if (!all->bucket ||
        !od_array_reserve(&all->kind, &all->kinds_room, (uint64_t)all->nkinds + 1, sizeof(const void *)))
        return OD_ENOMEM;
    all->kind[all->nkinds++] = kind;
    return OD_OK;
}

/* --- the table ----------------------------------------------------------------------------- */

static od_habit **bucket_of(od_habits *all, uint64_t key)
{
    return &all->bucket[key >> (64 - BITS)];
}

static void free_habit(od_habit *h)
{
    for (uint32_t r = 0; r < RUNS; r++)
        free(h->ran[r].use);
    free(h);
}

/* There are too many: those go that have not come again, and that nobody waits for. */
static void forget(od_habits *all)
{
    for (size_t i = 0; i < BUCKETS; i++)
        for (od_habit **at = &all->bucket[i]; *at;) {
            od_habit *h = *at;
            if (h->waiting.count || h->seen > 1) {
                at = &h->next;
                continue;
            }
            *at = h->next;
            free_habit(h);
            all->count--;
        }
}

od_habit *od_habits_get(od_habits *all, uint64_t key)
{
    od_habit **bucket = bucket_of(all, key);
    for (od_habit *h = *bucket; h; h = h->next)
        if (h->key == key)
            return h;
    if (all->count == MOST && all->refused++ % MOST == 0)
        forget(all);
    od_habit *h = all->count < MOST ? od_calloc(1, sizeof *h) : NULL;
    if (!h)
        return NULL;
    all->refused = 0;
    h->key = key;
    od_list_init(&h->waiting);
    h->next = *bucket;
    *bucket = h;
    all->count++;
    return h;
}

void od_habits_free(od_habits *all)
{
    for (size_t i = 0; all->bucket && i < BUCKETS; i++)
        for (od_habit *h = all->bucket[i], *next; h; h = next) {
            next = h->next;
            free_habit(h);
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
static uint32_t find_period(const od_habit *h)
{
    uint32_t most = h->seen < OD_HABIT_PERIOD ? h->seen : OD_HABIT_PERIOD, last = h->seen - 1;
    for (uint32_t period = 1; period <= most && period <= last; period++)
        if (is_same(&h->ran[last % RUNS], &h->ran[(last - period) % RUNS]))
            return period;
    return most;
}

void od_habit_learn(od_habit *h, const od_task *task)
{
    od_habit_data *data = &h->ran[h->seen % RUNS];
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
    h->seen++;
    h->period = find_period(h);
}

const od_habit_data *od_habit_expect(const od_habit *h, uint32_t ahead)
{
    return h->period ? &h->ran[(h->seen - h->period + ahead % h->period) % RUNS] : NULL;
}
