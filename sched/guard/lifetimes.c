/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Lifetimes; see lifetimes.h. */
#include "sched/guard/lifetimes.h"

#include "util/container/tree.h"
#include "util/memory.h"

#include <stdlib.h>

typedef struct lifetime {
    od_node link;               /* in its place's, the earliest first */
    od_banker_step first, last; /* the task that begins it, the construct that ends it; OD_BANKER_NO_STEP: unknown */
    od_banker_datum datum;
    od_banker_datum sure; /* in od_lifetimes.sure, from the moment that its end is known */
} lifetime;

/* What is known of an address. */
typedef struct place {
    od_tree_node node;
    size_t size;    /* bytes; 0: no region is known */
    bool divided;   /* it is used in parts */
    uint32_t users; /* submitted tasks that write it and have not ended */
    od_list lives;
} place;

struct od_lifetimes {
    od_banker *banker;
    od_banker *sure; /* the same steps, only data whose end is known; NULL: has been out of memory */
    od_tree places;
};

static place *place_of(od_tree_node *node)
{
    return node ? od_container_of(node, place, node) : NULL;
}

static lifetime *life_of(od_node *node)
{
    return node ? od_container_of(node, lifetime, link) : NULL;
}

static place *find(const od_lifetimes *l, uintptr_t base)
{
    return place_of(od_tree_find(&l->places, (od_tree_key){base, 0}));
}

static place *get(od_lifetimes *l, uintptr_t base)
{
    place *p = find(l, base);
    if (p || !(p = od_calloc(1, sizeof *p)))
        return p;
    od_list_init(&p->lives);
    od_tree_insert(&l->places, &p->node, (od_tree_key){base, 0});
    return p;
}

static void unborn(od_lifetimes *l, lifetime *life)
{
    od_banker_died(l->banker, &life->datum);
    if (l->sure)
        od_banker_died(l->sure, &life->sure);
}

static void free_life(od_lifetimes *l, place *p, lifetime *life)
{
    unborn(l, life);
    od_list_remove(&p->lives, &life->link);
    free(life);
}

static void free_if_unneeded(od_lifetimes *l, place *p)
{
    if (p->users || p->size || p->lives.count)
        return;
    od_tree_remove(&l->places, &p->node);
    free(p);
}

size_t od_lifetimes_size(const od_lifetimes *l, uintptr_t base)
{
    const place *p = find(l, base);
    return p ? p->size : 0;
}

od_lifetimes *od_lifetimes_create(int64_t bound)
{
    od_lifetimes *l = od_calloc(1, sizeof *l);
    if (!l)
        return NULL;
    l->banker = od_banker_create(bound);
    l->sure = od_banker_create(bound);
    if (l->banker && l->sure)
        return l;
    od_lifetimes_destroy(l);
    return NULL;
}

void od_lifetimes_destroy(od_lifetimes *l)
{
    if (!l)
        return;
    for (place *p; (p = place_of(l->places.root));) {
        while (p->lives.count)
            free_life(l, p, life_of(od_list_first(&p->lives)));
        od_tree_remove(&l->places, &p->node);
        free(p);
    }
    od_banker_destroy(l->banker);
    od_banker_destroy(l->sure);
    free(l);
}

od_banker *od_lifetimes_banker(const od_lifetimes *l)
{
    return l->banker;
}

/* --- births and deaths -------------------------------------------------------------------------- */

int64_t od_lifetimes_need(const od_lifetimes *l)
{
    return l->sure ? od_banker_need(l->sure) : 0;
}

static void set_end(od_lifetimes *l, lifetime *life)
{
    od_banker_dies(l->banker, &life->datum, life->last);
    if (l->sure && life->last >= od_banker_front(l->sure) && !life->sure.born &&
        od_banker_born(l->sure, &life->sure, life->first, life->datum.bytes) == OD_OK)
        od_banker_dies(l->sure, &life->sure, life->last);
}

/* As soon as its beginning and its size are known. */
static void begin(od_lifetimes *l, const place *p, lifetime *life)
{
    if (life->datum.born || life->first == OD_BANKER_NO_STEP || !p->size || p->divided)
        return;
    if (od_banker_born(l->banker, &life->datum, life->first, (int64_t)p->size) == OD_OK &&
        life->last != OD_BANKER_NO_STEP)
        set_end(l, life);
}

static lifetime *latest(const place *p)
{
    return p->lives.count ? life_of(p->lives.root.prev) : NULL;
}

static lifetime *add_life(place *p)
{
    lifetime *life = od_calloc(1, sizeof *life);
    if (!life)
        return NULL;
    life->first = life->last = OD_BANKER_NO_STEP;
    od_list_push_back(&p->lives, &life->link);
    return life;
}

/* The lifetime of which a task submitted now is part. */
static lifetime *current(place *p)
{
    lifetime *life = latest(p);
    return life && life->last == OD_BANKER_NO_STEP ? life : add_life(p);
}

/* --- steps ---------------------------------------------------------------------------------------- */

static void write_at(od_lifetimes *l, uintptr_t base, od_banker_step step)
{
    place *p = get(l, base);
    if (!p)
        return;
    p->users++;
    lifetime *life = current(p);
    if (!life)
        return;
    life->first = life->first == OD_BANKER_NO_STEP ? step : life->first;
    begin(l, p, life);
}

static od_banker_step add_step(od_lifetimes *l, double seconds)
{
    od_banker_step step = od_banker_submit(l->banker, seconds);
    if (l->sure && od_banker_submit(l->sure, seconds) != step) {
        od_banker_destroy(l->sure);
        l->sure = NULL;
    }
    return step;
}

static void end_step(od_lifetimes *l, od_banker_step step)
{
    od_banker_end(l->banker, step);
    if (l->sure)
        od_banker_end(l->sure, step);
}

od_banker_step od_lifetimes_construct(od_lifetimes *l)
{
    return add_step(l, 0);
}

void od_lifetimes_construct_end(od_lifetimes *l, od_banker_step step)
{
    end_step(l, step);
}

od_banker_step od_lifetimes_submit(od_lifetimes *l, double seconds, const od_level_use *uses, uint32_t nuses)
{
    od_banker_step step = add_step(l, seconds);
    for (uint32_t i = 0; step != OD_BANKER_NO_STEP && i < nuses; i++)
        if (uses[i].write)
            write_at(l, uses[i].address, step);
    return step;
}

/* Tasks of which nothing remains are not the beginning of a lifetime. */
static void forget_unborn(od_lifetimes *l, place *p)
{
    od_list_each(it, &p->lives) {
        lifetime *life = life_of(it);
        if (!p->users && !p->size && !life->datum.born)
            free_life(l, p, life);
    }
}

void od_lifetimes_end(od_lifetimes *l, od_banker_step step, const od_level_use *uses, uint32_t nuses)
{
    if (step == OD_BANKER_NO_STEP)
        return;
    end_step(l, step);
    for (uint32_t i = 0; i < nuses; i++) {
        place *p = uses[i].write ? find(l, uses[i].address) : NULL;
        if (!p || !p->users)
            continue;
        p->users--;
        forget_unborn(l, p);
        free_if_unneeded(l, p);
    }
}

/* --- regions --------------------------------------------------------------------------------------- */

void od_lifetimes_opens(od_lifetimes *l, uintptr_t base, size_t size)
{
    place *p = get(l, base);
    if (!p)
        return;
    p->size = size;
    od_list_each(it, &p->lives)
        begin(l, p, life_of(it));
}

void od_lifetimes_closes(od_lifetimes *l, uintptr_t base, od_banker_step step)
{
    place *p = find(l, base);
    lifetime *life = p ? latest(p) : NULL;
    if (!life || life->last != OD_BANKER_NO_STEP || step == OD_BANKER_NO_STEP)
        return;
    life->last = step;
    if (life->datum.born)
        set_end(l, life);
}

void od_lifetimes_closed(od_lifetimes *l, uintptr_t base)
{
    place *p = find(l, base);
    if (!p)
        return;
    if (p->lives.count)
        free_life(l, p, life_of(od_list_first(&p->lives)));
    if (!p->lives.count) {
        p->size = 0;
        p->divided = false;
    }
    free_if_unneeded(l, p);
}

void od_lifetimes_divided(od_lifetimes *l, uintptr_t base)
{
    place *p = find(l, base);
    if (!p || p->divided)
        return;
    p->divided = true;
    od_list_each(it, &p->lives)
        unborn(l, life_of(it));
}

od_banker_datum *od_lifetimes_use(od_lifetimes *l, uintptr_t base, size_t size, od_banker_step step)
{
    place *p = find(l, base);
    if (!p || p->size != size || p->divided)
        return NULL;
    lifetime *life = life_of(od_list_first(&p->lives));
    if (!life && !(life = add_life(p)))
        return NULL;
    life->first = life->first == OD_BANKER_NO_STEP ? step : life->first;
    begin(l, p, life);
    return life->datum.born ? &life->datum : NULL;
}
