/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What tasks name, and the numbers of what is known; see internal.h. */
#include "sched/graph/internal.h"

#include "util/container/array.h"
#include "util/memory.h"

#include <stdlib.h>

enum { LAST_BITS = 24 };

/* --- numbers ----------------------------------------------------------------- */

/* Room for the numbers that may come back is made when they are given out. */
bool od_known_new_id(od_known_ids *ids, uint32_t *id)
{
    if (ids->nfree) {
        *id = ids->free[--ids->nfree];
        return true;
    }
    if (!od_array_reserve(&ids->free, &ids->capacity, (uint64_t)ids->bound + 1, sizeof *ids->free))
        return false;
    *id = ids->bound++;
    return true;
}

void od_known_free_id(od_known_ids *ids, uint32_t id)
{
    ids->free[ids->nfree++] = id;
}

/* --- items ------------------------------------------------------------------- */

static size_t slot(unsigned bits, uintptr_t base)
{
    return (size_t)(((uint64_t)base * UINT64_C(0x9e3779b97f4a7c15)) >> (64 - bits));
}

static od_known_item **locate(const od_known *known, uintptr_t base)
{
    od_known_item **at = &known->bucket[slot(known->bits, base)];
    while (*at && (*at)->base != base)
        at = &(*at)->next;
    return at;
}

/* Without memory the buckets only get longer. */
static void grow_buckets(od_known *known)
{
    size_t old = (size_t)1 << known->bits;
    if (known->nitems < old || known->bits == LAST_BITS)
        return;
    od_known_item **wider = od_calloc(2 * old, sizeof(od_known_item *));
    if (!wider)
        return;
    for (size_t i = 0; i < old; i++)
        for (od_known_item *item = known->bucket[i], *next; item; item = next) {
            od_known_item **at = &wider[slot(known->bits + 1, item->base)];
            next = item->next;
            item->next = *at;
            *at = item;
        }
    free(known->bucket);
    known->bucket = wider;
    known->bits++;
}

void od_known_meet_datum(od_known *known, od_known_item *item, const od_datum *datum)
{
    if (item->datum == datum)
        return;
    item->datum = datum;
    item->size = datum->size;
    known->mean_size += ((double)datum->size - known->mean_size) / (double)++known->sized;
}

static od_known_item *new_item(od_known *known, uintptr_t base)
{
    od_known_item *item = od_calloc(1, sizeof *item + known->ndevices * sizeof item->claimed[0]);
    if (!item || !od_known_new_id(&known->item_ids, &item->id)) {
        free(item);
        return NULL;
    }
    item->base = base;
    od_list_init(&item->readers);
    od_list_init(&item->open);
    for (unsigned k = 0; k < known->ndevices; k++)
        od_list_init(&item->claimed[k]);
    const od_datum *datum = known->find ? known->find(known->find_arg, base) : NULL;
    if (datum)
        od_known_meet_datum(known, item, datum);
    return item;
}

od_known_item *od_known_get_item(od_known *known, uintptr_t base)
{
    od_known_item **at = locate(known, base);
    if (*at)
        return *at;
    od_known_item *item = new_item(known, base);
    if (!item)
        return NULL;
    *at = item;
    known->nitems++;
    grow_buckets(known);
    return item;
}

void od_known_drop_item(od_known *known, od_known_item *item)
{
    if (--item->nusers > 0)
        return;
    *locate(known, item->base) = item->next;
    known->nitems--;
    od_known_free_id(&known->item_ids, item->id);
    free(item);
}

od_known_item *od_known_find(const od_known *known, uintptr_t base)
{
    return *locate(known, base);
}

void od_known_forget(od_known *known, const od_datum *datum)
{
    od_known_item *item = od_known_find(known, datum->base);
    if (item && item->datum == datum)
        item->datum = NULL;
}

/* --- uses ---------------------------------------------------------------------- */

static od_list *list_of(const od_known_use *use)
{
    const od_known_task *user = use->user;
    return user->place == OD_NOWHERE ? &use->item->open : &use->item->claimed[user->place];
}

void od_known_list_use(od_known_use *use)
{
    od_list_push_back(list_of(use), &use->link);
}

void od_known_unlist_use(od_known_use *use)
{
    if (od_list_contains(&use->link))
        od_list_remove(list_of(use), &use->link);
}

const od_access *od_known_find_access(const od_task *task, uintptr_t base, uint32_t i)
{
    if (i < task->naccess && task->access[i].datum->base == base)
        return &task->access[i];
    for (uint32_t j = 0; j < task->naccess; j++)
        if (task->access[j].datum->base == base)
            return &task->access[j];
    return NULL;
}

void od_known_clear_prediction(od_known *known, od_known_task *task)
{
    for (uint32_t i = 0; i < task->nuses; i++) {
        od_known_unlist_use(&task->uses[i]);
        if (task->uses != task->named)
            od_known_drop_item(known, task->uses[i].item);
    }
    if (task->uses != task->named)
        free(task->uses);
    task->uses = task->named;
    task->nuses = task->nnamed;
}

bool od_known_is_open(const od_known_task *task)
{
    return task->place == OD_NOWHERE && !task->taken && !task->gone;
}
