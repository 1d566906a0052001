/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What tasks are expected to use whose depend items do not say it; see habit.h. */
#include "sched/graph/internal.h"

#include "util/memory.h"

#include <stdlib.h>

/* --- a prediction ----------------------------------------------------------------------- */

static bool is_predicted(const od_known_task *task, const od_habit_data *data)
{
    bool same = task->nuses == data->nuses;
    for (uint32_t i = 0; same && i < data->nuses; i++)
        same = task->uses[i].item->base == data->use[i].base && task->uses[i].mode == data->use[i].mode;
    return same;
}

/* NULL: out of memory. */
static od_known_use *make_uses(od_known *known, od_known_task *task, const od_habit_data *data)
{
    od_known_use *uses = od_calloc(data->nuses + (size_t)1, sizeof *uses);
    uint32_t count = 0;
    for (; uses && count < data->nuses; count++) {
        od_known_item *item = od_known_get_item(known, data->use[count].base);
        if (!item)
            break;
        item->nusers++;
        uses[count] = (od_known_use){.item = item, .user = task, .mode = data->use[count].mode};
    }
    if (!uses || count == data->nuses)
        return uses;
    while (count > 0)
        od_known_drop_item(known, uses[--count].item);
    free(uses);
    return NULL;
}

static void set_vague(od_known *known, od_known_task *task, bool vague)
{
    known->nvague = known->nvague + vague - task->vague;
    task->vague = vague;
}

/* Without memory for it the old prediction stays. */
static void predict(od_known *known, od_known_task *task, uint32_t ahead)
{
    const od_habit_data *data = od_habit_expect(task->habit, ahead);
    set_vague(known, task, !data);
    if (!data || !od_known_is_open(task) || is_predicted(task, data))
        return;
    od_known_use *uses = make_uses(known, task, data);
    if (!uses)
        return;
    od_known_clear_prediction(known, task);
    task->uses = uses;
    task->nuses = data->nuses;
    for (uint32_t i = 0; i < task->nuses; i++)
        od_known_list_use(&uses[i]);
}

/* --- tasks alike ------------------------------------------------------------------------- */

static uint64_t key_of(const od_known_task *task)
{
    uint64_t key = 0;
    od_pattern_mix(&key, (uint64_t)(uintptr_t)task->kind);
    for (uint32_t i = 0; i < task->nnamed; i++) {
        od_pattern_mix(&key, task->named[i].item->base);
        od_pattern_mix(&key, task->named[i].mode & OD_WRITE);
    }
    return key;
}

static void enlist(od_known *known, od_known_task *task)
{
    task->habit = od_habits_get(&known->habits, key_of(task));
    if (!task->habit)
        return;
    od_list_push_back(&task->habit->waiting, &task->alike);
    predict(known, task, (uint32_t)task->habit->waiting.count - 1);
}

void od_known_expect(od_known *known, od_known_task *task)
{
    if (od_habits_has(&known->habits, task->kind))
        enlist(known, task);
}

void od_known_expect_no_more(od_known *known, od_known_task *task)
{
    set_vague(known, task, false);
    if (task->habit)
        od_list_remove(&task->habit->waiting, &task->alike);
    task->habit = NULL;
}

/* --- learning --------------------------------------------------------------------------- */

/* The first of its kind that uses other data: all that wait are looked for. */
static void meet_kind(od_known *known, const void *kind)
{
    if (od_habits_has(&known->habits, kind) || od_habits_add(&known->habits, kind))
        return;
    od_list_each(it, &known->open) {
        od_known_task *task = od_container_of(it, od_known_task, link);
        if (task->kind == kind && !task->task)
            enlist(known, task);
    }
}

/* For tasks that use other data each time the next one is enough. */
static void predict_waiting(od_known *known, const od_habit *habit)
{
    enum { REGULAR = 2 * OD_HABIT_PERIOD };
    size_t most = habit->seen <= REGULAR ? SIZE_MAX : 1;
    uint32_t ahead = 0;
    od_list_each(it, &habit->waiting) {
        if (ahead == most)
            break;
        predict(known, od_container_of(it, od_known_task, alike), ahead);
        ahead++;
    }
}

/* Where the data are. */
static bool are_modes_right(const od_known_task *known_task, const od_task *task)
{
    bool right = true;
    for (uint32_t i = 0; right && i < known_task->nuses; i++)
        right = od_known_find_access(task, known_task->uses[i].item->base, i)->mode == known_task->uses[i].mode;
    return right;
}

static bool are_data_right(const od_known_task *known_task, const od_task *task)
{
    bool right = known_task->nuses == task->naccess;
    for (uint32_t i = 0; right && i < known_task->nuses; i++)
        right = od_known_find_access(task, known_task->uses[i].item->base, i);
    return right;
}

bool od_known_compare(od_known *known, od_known_task *submitted, const od_task *task)
{
    if (submitted->taken)
        return false;
    bool right = are_data_right(submitted, task);
    if (!right && submitted->kind)
        meet_kind(known, submitted->kind);
    od_habit *habit = submitted->habit;
    if (!habit)
        return right;
    bool all_right = right && are_modes_right(submitted, task);
    od_known_expect_no_more(known, submitted);
    od_habit_learn(habit, task);
    if (!all_right)
        predict_waiting(known, habit);
    return right;
}
