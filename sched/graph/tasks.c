/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The tasks that a policy knows of, with their data and dependences; see known.h. */
#include "sched/graph/known.h"

#include "sched/graph/internal.h"
#include "util/container/array.h"
#include "util/memory.h"

#include <stdlib.h>

enum { FIRST_BITS = 8 };

/* --- uses ---------------------------------------------------------------------- */

static void clear_uses(od_known *known, od_known_task *task)
{
    od_known_clear_prediction(known, task);
    for (uint32_t i = 0; i < task->nnamed; i++) {
        od_known_use *use = &task->named[i];
        if (od_list_contains(&use->reading))
            od_list_remove(&use->item->readers, &use->reading);
        if (use->item->writer == task)
            use->item->writer = NULL;
        od_known_drop_item(known, use->item);
    }
    task->nuses = task->nnamed = 0;
}

/* The task's use of the item, or NULL. */
static od_known_use *find_use(od_known_task *task, const od_known_item *item)
{
    for (uint32_t i = 0; item->last == task && i < task->nnamed; i++)
        if (task->named[i].item == item)
            return &task->named[i];
    return NULL;
}

/* Adds a use; several of one item are one. */
static bool add_use(od_known *known, od_known_task *task, uintptr_t base, od_mode mode)
{
    od_known_item *item = od_known_get_item(known, base);
    if (!item)
        return false;
    od_known_use *use = find_use(task, item);
    if (use) {
        use->mode |= mode;
        return true;
    }
    use = &task->named[task->nnamed++];
    task->nuses = task->nnamed;
    *use = (od_known_use){.item = item, .user = task, .mode = mode};
    item->nusers++;
    item->last = task;
    od_known_list_use(use);
    return true;
}

/* --- making and unmaking ----------------------------------------------------------- */

od_known *od_known_create(unsigned ndevices, od_known_find_datum *find, void *arg)
{
    od_known *known = od_calloc(1, sizeof *known);
    if (!known)
        return NULL;
    known->ndevices = ndevices;
    known->find = find;
    known->find_arg = arg;
    known->bits = FIRST_BITS;
    known->bucket = od_calloc((size_t)1 << known->bits, sizeof(od_known_item *));
    known->claimed = od_calloc(ndevices, sizeof *known->claimed);
    known->claimed_seconds = od_calloc(ndevices, sizeof *known->claimed_seconds);
    od_list_init(&known->open);
    od_list_init(&known->taken);
    for (unsigned k = 0; known->claimed && k < ndevices; k++)
        od_list_init(&known->claimed[k]);
    if (known->bucket && known->claimed && known->claimed_seconds)
        return known;
    od_known_destroy(known);
    return NULL;
}

static void free_task(od_known_task *task)
{
    if (task->uses != task->named)
        free(task->uses);
    free(task->successors);
    free(task);
}

/* With room for so many uses. */
static od_known_task *new_task(od_known *known, uint32_t nuses)
{
    od_known_task *task = od_calloc(1, sizeof *task + nuses * sizeof task->named[0]);
    if (!task || !od_known_new_id(&known->task_ids, &task->id)) {
        free(task);
        return NULL;
    }
    task->place = OD_NOWHERE;
    task->uses = task->named;
    return task;
}

static void free_if_unneeded(od_known_task *task)
{
    if (task->gone && !task->before && !task->pins)
        free_task(task);
}

void od_known_pin(od_known_task *task)
{
    task->pins++;
}

void od_known_unpin(od_known_task *task)
{
    task->pins--;
    free_if_unneeded(task);
}

static void discard(od_known *known, od_known_task *task)
{
    od_known_expect_no_more(known, task);
    clear_uses(known, task);
    od_known_free_id(&known->task_ids, task->id);
    known->batches += known->task_ids.nfree == known->task_ids.bound;
    task->gone = true;
    free_if_unneeded(task);
}

/* --- dependences ---------------------------------------------------------------------- */

/* Without memory for it the dependence is not known. */
static void add_successor(od_known_task *before, od_known_task *after)
{
    if (before == after || (before->nsuccessors && before->successors[before->nsuccessors - 1] == after))
        return;
    if (!od_array_reserve(&before->successors, &before->capacity, (uint64_t)before->nsuccessors + 1,
                          sizeof *before->successors))
        return;
    before->successors[before->nsuccessors++] = after;
    after->before++;
}

static void depend(od_known_use *use)
{
    od_known_item *item = use->item;
    bool writes = use->mode & OD_WRITE;
    if (item->writer && (!writes || !item->readers.count))
        add_successor(item->writer, use->user);
    if (!writes) {
        od_list_push_back(&item->readers, &use->reading);
        return;
    }
    for (od_node *node; (node = od_list_pop_front(&item->readers));)
        add_successor(od_container_of(node, od_known_use, reading)->user, use->user);
    item->writer = use->user;
}

static void leave_successors(od_known_task *task)
{
    for (uint32_t i = 0; i < task->nsuccessors; i++) {
        od_known_task *after = task->successors[i];
        after->before--;
        free_if_unneeded(after);
    }
    task->nsuccessors = 0;
}

static void free_tasks(od_list *tasks)
{
    for (od_node *node; (node = od_list_pop_front(tasks));)
        free_task(od_container_of(node, od_known_task, link));
}

static void leave_all(od_list *tasks)
{
    od_list_each(it, tasks)
        leave_successors(od_container_of(it, od_known_task, link));
}

static void visit_lists(od_known *known, void (*visit)(od_list *tasks))
{
    visit(&known->open);
    visit(&known->taken);
    for (unsigned k = 0; known->claimed && k < known->ndevices; k++)
        visit(&known->claimed[k]);
}

void od_known_destroy(od_known *known)
{
    if (!known)
        return;
    visit_lists(known, leave_all); /* first: it frees tasks that are gone */
    visit_lists(known, free_tasks);
    for (size_t i = 0; known->bucket && i < (size_t)1 << known->bits; i++)
        for (od_known_item *item = known->bucket[i], *next; item; item = next) {
            next = item->next;
            free(item);
        }
    free(known->bucket);
    free(known->claimed);
    free(known->claimed_seconds);
    free(known->task_ids.free);
    free(known->item_ids.free);
    od_habits_free(&known->habits);
    free(known);
}

/* --- life of a task --------------------------------------------------------------------- */

static void open_task(od_known *known, od_known_task *task)
{
    task->order = known->submitted++;
    od_list_push_back(&known->open, &task->link);
    known->open_seconds += task->seconds;
}

/* Out of the list that it is in. */
static void leave(od_known *known, od_known_task *task)
{
    if (task->taken) {
        od_list_remove(&known->taken, &task->link);
        known->taken_seconds = known->taken.count ? known->taken_seconds - task->seconds : 0;
    } else if (task->place == OD_NOWHERE) {
        od_list_remove(&known->open, &task->link);
        known->open_ready -= task->task != NULL;
        known->open_seconds = known->open.count ? known->open_seconds - task->seconds : 0;
    } else {
        od_list_remove(&known->claimed[task->place], &task->link);
        double *seconds = &known->claimed_seconds[task->place];
        *seconds = known->claimed[task->place].count ? *seconds - task->seconds : 0;
    }
}

static od_mode mode_of(const od_level_use *use)
{
    return !use->write ? OD_READ : use->overwrites ? OD_WRITE : OD_READ_WRITE;
}

od_known_task *od_known_submit(od_known *known, const void *kind, unsigned speed_class, double seconds,
                               const od_level_use *uses, uint32_t nuses)
{
    od_known_task *task = new_task(known, nuses);
    if (!task)
        return NULL;
    task->kind = kind;
    task->speed_class = speed_class;
    task->seconds = seconds;
    for (uint32_t i = 0; i < nuses; i++)
        if (!add_use(known, task, uses[i].address, mode_of(&uses[i]))) {
            discard(known, task);
            return NULL;
        }
    for (uint32_t i = 0; i < task->nnamed; i++)
        depend(&task->named[i]);
    open_task(known, task);
    od_known_expect(known, task);
    return task;
}

/* The order of the predictions stays: it is the same for all tasks of a kind. */
static void confirm(od_known *known, od_known_task *known_task, const od_task *task)
{
    for (uint32_t i = 0; i < known_task->nuses; i++) {
        od_known_use *use = &known_task->uses[i];
        const od_access *access = od_known_find_access(task, use->item->base, i);
        use->mode = access->mode;
        od_known_meet_datum(known, use->item, access->datum);
        od_arguments_note(&known->arguments, known_task->kind, i, access->datum->size, access->mode);
    }
}

static od_known_task *make_ready_task(od_known *known, const od_task *task)
{
    od_known_task *made = new_task(known, task->naccess);
    if (!made)
        return NULL;
    made->kind = task->kind;
    made->speed_class = task->speed_class;
    made->seconds = task->duration;
    for (uint32_t i = 0; i < task->naccess; i++) {
        if (!add_use(known, made, task->access[i].datum->base, task->access[i].mode)) {
            discard(known, made);
            return NULL;
        }
        od_known_meet_datum(known, made->named[made->nnamed - 1].item, task->access[i].datum);
    }
    return made;
}

/* What was predicted wrongly is known anew: as an open task. */
static od_known_task *replace(od_known *known, od_known_task *old, const od_task *task)
{
    od_known_task *made = make_ready_task(known, task);
    if (!made)
        return NULL;
    open_task(known, made);
    od_known_task **successors = old->successors;
    made->successors = successors;
    made->nsuccessors = old->nsuccessors;
    made->capacity = old->capacity;
    old->successors = NULL;
    old->nsuccessors = 0;
    leave(known, old);
    discard(known, old);
    return made;
}

od_known_task *od_known_ready(od_known *known, od_known_task *submitted, od_task *task)
{
    od_known_task *known_task = submitted;
    if (!submitted) {
        known_task = make_ready_task(known, task);
        if (!known_task)
            return NULL;
        open_task(known, known_task);
    } else if (od_known_compare(known, submitted, task)) {
        confirm(known, submitted, task);
    } else {
        known_task = replace(known, submitted, task);
        if (!known_task)
            return NULL;
    }
    known_task->task = task;
    known->open_ready += od_known_is_open(known_task);
    return known_task;
}

void od_known_claim(od_known *known, od_known_task *task, unsigned k)
{
    for (uint32_t i = 0; i < task->nuses; i++)
        od_known_unlist_use(&task->uses[i]);
    leave(known, task);
    task->place = (int)k;
    task->number = known->claims++;
    for (uint32_t i = 0; i < task->nuses; i++)
        od_known_list_use(&task->uses[i]);
    od_list_push_back(&known->claimed[k], &task->link);
    known->claimed_seconds[k] += task->seconds;
}

static int by_order(const void *a, const void *b)
{
    uint64_t x = (*(od_known_task *const *)a)->order, y = (*(od_known_task *const *)b)->order;
    return x < y ? -1 : x > y;
}

/* Behind all other open tasks. */
static void reopen(od_known *known, od_known_task *task)
{
    for (uint32_t i = 0; i < task->nuses; i++)
        od_known_unlist_use(&task->uses[i]);
    leave(known, task);
    task->place = OD_NOWHERE;
    for (uint32_t i = 0; i < task->nuses; i++)
        od_known_list_use(&task->uses[i]);
    od_list_push_back(&known->open, &task->link);
    known->open_seconds += task->seconds;
    known->open_ready += task->task != NULL;
}

od_status od_known_reopen(od_known *known)
{
    size_t count = known->open.count, n = 0;
    for (unsigned k = 0; k < known->ndevices; k++)
        count += known->claimed[k].count;
    od_known_task **task = count > known->open.count ? od_malloc(count * sizeof(od_known_task *)) : NULL;
    if (!task)
        return count > known->open.count ? OD_ENOMEM : OD_OK;
    od_list_each(it, &known->open)
        task[n++] = od_container_of(it, od_known_task, link);
    for (unsigned k = 0; k < known->ndevices; k++)
        od_list_each(it, &known->claimed[k])
            task[n++] = od_container_of(it, od_known_task, link);
    qsort(task, n, sizeof(od_known_task *), by_order);
    for (size_t i = 0; i < n; i++)
        reopen(known, task[i]);
    free(task);
    return OD_OK;
}

void od_known_take(od_known *known, od_known_task *task)
{
    for (uint32_t i = 0; i < task->nuses; i++)
        od_known_unlist_use(&task->uses[i]);
    leave(known, task);
    task->taken = true;
    od_list_push_back(&known->taken, &task->link);
    known->taken_seconds += task->seconds;
}

void od_known_done(od_known *known, od_known_task *task)
{
    if (!task->taken)
        od_known_take(known, task);
    leave(known, task);
    leave_successors(task);
    discard(known, task);
}

/* Returns the sum of all. */
static double predict(const od_durations *d, const od_list *tasks)
{
    double sum = 0;
    uint32_t i = 0;
    od_list_each(it, tasks) {
        od_known_task *task = od_container_of(it, od_known_task, link);
        if (i == d->nkinds || d->kind[i] != task->kind) /* neighbours are often of one kind */
            i = od_durations_find(d, task->kind);
        if (i < d->nkinds && d->seconds[i] > 0)
            task->seconds = d->seconds[i];
        sum += task->seconds;
    }
    return sum;
}

static void predict_use(od_known_use *use, const od_argument *expected)
{
    if (!use->item->size)
        use->item->size = (size_t)expected->bytes;
    if (use->mode == OD_READ_WRITE && !expected->read)
        use->mode = OD_WRITE;
}

static void predict_uses(const od_arguments *arguments, const od_list *tasks)
{
    od_list_each(it, tasks) {
        const od_known_task *task = od_container_of(it, od_known_task, link);
        uint32_t place = task->task ? arguments->nkinds : od_arguments_find(arguments, task->kind);
        for (uint32_t i = 0; place < arguments->nkinds && i < task->nuses; i++) {
            const od_argument *expected = od_arguments_expected(arguments, place, i);
            if (expected)
                predict_use(&task->uses[i], expected);
        }
    }
}

void od_known_predict(od_known *known)
{
    predict_uses(&known->arguments, &known->open);
    for (unsigned k = 0; k < known->ndevices; k++)
        predict_uses(&known->arguments, &known->claimed[k]);
    known->open_seconds = predict(&known->durations, &known->open);
    for (unsigned k = 0; k < known->ndevices; k++)
        known->claimed_seconds[k] = predict(&known->durations, &known->claimed[k]);
    known->taken_seconds = predict(&known->durations, &known->taken);
}

/* --- check ------------------------------------------------------------------------------- */

/* Of long lists the beginning. */
static bool list_is_valid(const od_list *tasks, int place, bool taken)
{
    enum { LOOK_AT = 256 };
    size_t count = 0;
    od_list_each(it, tasks) {
        if (count == LOOK_AT)
            return true;
        const od_known_task *task = od_container_of(it, od_known_task, link);
        if (task->taken != taken || (!taken && task->place != place))
            return false;
        for (uint32_t i = 0; i < task->nuses; i++)
            if (od_list_contains(&task->uses[i].link) == taken || task->uses[i].item->nusers == 0)
                return false;
        count++;
    }
    return count == tasks->count;
}

bool od_known_is_valid(const od_known *known)
{
    bool valid = list_is_valid(&known->open, OD_NOWHERE, false) && list_is_valid(&known->taken, OD_NOWHERE, true);
    for (unsigned k = 0; valid && k < known->ndevices; k++)
        valid = list_is_valid(&known->claimed[k], (int)k, false);
    return valid;
}
