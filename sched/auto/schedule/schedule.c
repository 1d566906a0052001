/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* See schedule.h. */
#define _GNU_SOURCE /* qsort_r */
#include "sched/auto/schedule/schedule.h"

#include "sched/graph/known.h"
#include "util/container/array.h"
#include "util/container/heap.h"
#include "util/memory.h"

#include <stdlib.h>
#include <string.h>

/* --- schedules ----------------------------------------------------------------------------- */

od_schedule *od_schedule_create(uint32_t ntasks)
{
    od_schedule *s = od_calloc(1, sizeof *s + ntasks * sizeof s->task[0]);
    if (!s)
        return NULL;
    s->ntasks = ntasks;
    for (uint32_t t = 0; t < ntasks; t++)
        s->task[t].device = OD_SCHEDULE_OPEN;
    return s;
}

void od_schedule_take(od_schedule *s, const od_play_began *began)
{
    for (uint32_t i = 0; i < s->ntasks; i++)
        s->task[began[i].task] =
            (od_scheduled){began[i].device >= 0 ? (uint32_t)began[i].device : OD_SCHEDULE_OPEN, i};
}

od_schedule *od_schedule_for_problem(const od_schedule *schedule, const od_play_problem *problem)
{
    od_schedule *s = od_schedule_create(problem->ntasks);
    for (uint32_t t = 0; s && t < problem->ntasks; t++)
        if (problem->tasks[t].number < schedule->ntasks)
            s->task[t] = schedule->task[problem->tasks[t].number];
    return s;
}

od_schedule *od_schedule_for_graph(const od_schedule *schedule, const od_play_problem *problem)
{
    uint32_t last = problem->ntasks ? problem->tasks[problem->ntasks - 1].number : 0;
    od_schedule *s = od_schedule_create(last + 1);
    for (uint32_t t = 0; s && t < problem->ntasks; t++)
        if (problem->tasks[t].number <= last)
            s->task[problem->tasks[t].number] = schedule->task[t];
    return s;
}

/* --- as text: for each task, by number, a digit or two for the device and three for its rank --- */

enum {
    DIGITS = 64,
    OF_DEVICE = (int)OD_SCHEDULE_OPEN < DIGITS ? 1 : 2,
    OF_RANK = 3,
    LENGTH = OF_DEVICE + OF_RANK,
    MOST_RANKS = DIGITS * DIGITS * DIGITS
};

static const char digits[DIGITS + 1] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_";

static char *write_digits(char *end, uint32_t number, unsigned count)
{
    for (unsigned i = count; i-- > 0; number /= DIGITS)
        end[i] = digits[number % DIGITS];
    return end + count;
}

char *od_schedule_write(const od_schedule *schedule)
{
    enum { MOST_TASKS = 65536 };
    char *text = schedule->ntasks <= MOST_TASKS ? od_malloc((size_t)schedule->ntasks * LENGTH + 1) : NULL;
    char *end = text;
    for (uint32_t t = 0; text && t < schedule->ntasks; t++) {
        od_scheduled place = schedule->task[t];
        if (place.rank >= MOST_RANKS) {
            free(text);
            return NULL;
        }
        end = write_digits(write_digits(end, place.device, OF_DEVICE), place.rank, OF_RANK);
    }
    if (text)
        *end = '\0';
    return text;
}

/* Of so many digits; MOST_RANKS: these are none. */
static uint32_t read_digits(const char *text, unsigned count)
{
    uint32_t number = 0;
    for (unsigned i = 0; i < count; i++) {
        const char *digit = text[i] ? strchr(digits, text[i]) : NULL;
        if (!digit)
            return MOST_RANKS;
        number = number * DIGITS + (uint32_t)(digit - digits);
    }
    return number;
}

od_schedule *od_schedule_read(const char *text)
{
    size_t length = strlen(text);
    bool whole = length && length % LENGTH == 0 && length / LENGTH <= UINT32_MAX;
    od_schedule *s = whole ? od_schedule_create((uint32_t)(length / LENGTH)) : NULL;
    for (uint32_t t = 0; s && t < s->ntasks; t++, text += LENGTH) {
        s->task[t] = (od_scheduled){read_digits(text, OF_DEVICE), read_digits(text + OF_DEVICE, OF_RANK)};
        if (s->task[t].device > OD_SCHEDULE_OPEN || s->task[t].rank >= MOST_RANKS) {
            free(s);
            return NULL;
        }
    }
    return s;
}

/* --- the policy ------------------------------------------------------------------------------ */

/* A task that is ready. */
struct slot {
    od_task *task; /* NULL: free */
    uint32_t rank;
    uint32_t next; /* free one */
};

struct follower {
    od_policy_env env;
    const od_schedule *schedule;
    struct slot *slot;
    uint32_t nslots, free; /* the first free one; nslots: none */
    od_heap queue[OD_MAX_DEVICES + 1]; /* of slots, by device; at OD_SCHEDULE_OPEN those of any */
    uint32_t *order;                   /* the schedule's tasks, those of a device together, by rank */
    uint32_t first[OD_MAX_DEVICES + 2]; /* of each device in it */
    uint64_t batch;                     /* the graph's that comes now; of it, by device: */
    uint32_t begun[OD_MAX_DEVICES];     /* tasks so far, wherever they run */
    uint32_t created[OD_MAX_DEVICES];   /* all before this one in `order` have been created */
};

static bool comes_before(const void *owner, uint32_t a, uint32_t b)
{
    const struct follower *f = owner;
    const struct slot *x = &f->slot[a], *y = &f->slot[b];
    return x->rank != y->rank ? x->rank < y->rank : x->task->id < y->task->id;
}

static uint32_t device_of(const struct follower *f, uint32_t task)
{
    uint32_t k = f->schedule->task[task].device;
    return k < f->env.ndevices ? k : OD_SCHEDULE_OPEN;
}

static int in_order(const void *a, const void *b, void *follower)
{
    const struct follower *f = follower;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b, dx = device_of(f, x), dy = device_of(f, y);
    uint32_t rx = f->schedule->task[x].rank, ry = f->schedule->task[y].rank;
    if (dx != dy)
        return dx < dy ? -1 : 1;
    return rx != ry ? (rx < ry ? -1 : 1) : (x > y) - (x < y);
}

static bool sort(struct follower *f)
{
    uint32_t n = f->schedule->ntasks;
    f->order = od_malloc((n + (size_t)1) * sizeof *f->order);
    if (!f->order)
        return false;
    for (uint32_t t = 0; t < n; t++) {
        f->order[t] = t;
        f->first[device_of(f, t) + 1]++;
    }
    for (unsigned k = 0; k <= OD_SCHEDULE_OPEN; k++)
        f->first[k + 1] += f->first[k];
    qsort_r(f->order, n, sizeof *f->order, in_order, f);
    return true;
}

static void begin_batch(struct follower *f)
{
    f->batch = f->env.known->pattern.batch;
    memset(f->begun, 0, sizeof f->begun);
    memcpy(f->created, f->first, sizeof f->created);
}

static od_status create(const od_policy_env *env, void **state)
{
    struct follower *f = od_calloc(1, sizeof *f);
    if (!f)
        return OD_ENOMEM;
    f->env = *env;
    f->schedule = (const od_schedule *)(uintptr_t)env->values[0]; /* od_schedule_settings() */
    f->env.values = NULL;
    for (unsigned k = 0; k <= OD_SCHEDULE_OPEN; k++)
        od_heap_init(&f->queue[k], comes_before, f);
    if (!sort(f)) {
        free(f);
        return OD_ENOMEM;
    }
    begin_batch(f);
    *state = f;
    return OD_OK;
}

static void destroy(void *state)
{
    struct follower *f = state;
    for (unsigned k = 0; k <= OD_SCHEDULE_OPEN; k++)
        od_heap_free(&f->queue[k]);
    free(f->slot);
    free(f->order);
    free(f);
}

static od_scheduled scheduled(const struct follower *f, const od_known_task *known)
{
    const od_known *all = f->env.known;
    uint64_t first = all->submitted - all->pattern.tasks;
    uint64_t number = known && known->order >= first ? known->order - first : UINT64_MAX;
    od_scheduled open = {OD_SCHEDULE_OPEN, 0};
    if (number >= f->schedule->ntasks || f->schedule->task[number].device >= f->env.ndevices)
        return open;
    return f->schedule->task[number];
}

static od_status make_room(struct follower *f)
{
    uint32_t count = od_array_room(f->nslots, (uint64_t)f->nslots + 1);
    for (unsigned k = 0; count && k <= OD_SCHEDULE_OPEN; k++)
        if ((k < f->env.ndevices || k == OD_SCHEDULE_OPEN) && od_heap_reserve(&f->queue[k], count))
            return OD_ENOMEM;
    if (!count || !od_array_grow(&f->slot, f->nslots, count, sizeof *f->slot))
        return OD_ENOMEM;
    for (uint32_t i = f->nslots; i < count; i++)
        f->slot[i] = (struct slot){.next = i + 1};
    f->nslots = count;
    return OD_OK;
}

static od_status ready(void *state, od_task *task)
{
    struct follower *f = state;
    if (f->batch != f->env.known->pattern.batch)
        begin_batch(f);
    if (f->free == f->nslots && make_room(f))
        return OD_ENOMEM;
    od_scheduled place = scheduled(f, task->known);
    uint32_t slot = f->free;
    f->free = f->slot[slot].next;
    f->slot[slot] = (struct slot){task, place.rank, 0};
    od_heap_push(&f->queue[place.device], slot);
    return OD_OK;
}

/* It has done all that it was to do. One with breaks in its schedule, or that has no part in it, would only disturb. */
static bool is_through(const struct follower *f, unsigned k)
{
    od_device_load load = f->env.load(f->env.engine, k);
    uint32_t tasks = f->first[k + 1] - f->first[k];
    return tasks && f->begun[k] == tasks && load.queued == 0 && load.running == 0;
}

/* Whatever else happens, something will end, and devices ask again. */
static bool goes_on(const struct follower *f)
{
    bool some = false;
    for (unsigned k = 0; !some && k < f->env.ndevices; k++) {
        od_device_load load = f->env.load(f->env.engine, k);
        some = load.running || load.loads;
    }
    return some;
}

/* The program has not created all tasks yet that come before this one on the device: what devices took out of turn they
 * would load in vain. */
static bool is_early(struct follower *f, unsigned k, uint32_t slot)
{
    const od_scheduled *task = f->schedule->task;
    uint32_t *next = &f->created[k], last = f->first[k + 1];
    if (od_engine_is_awaited(f->env.engine))
        return false;
    while (*next < last && f->order[*next] < f->env.known->pattern.tasks)
        ++*next;
    return *next < last && task[f->order[*next]].rank < f->slot[slot].rank && goes_on(f);
}

/* What is ready at a device that has more of it than others, and more than it can begin now. */
static od_heap *fullest(struct follower *f)
{
    od_heap *best = NULL;
    for (unsigned k = 0; k < f->env.ndevices; k++)
        if (f->queue[k].count > 1 && (!best || f->queue[k].count > best->count))
            best = &f->queue[k];
    return best;
}

static od_heap *queue_for(struct follower *f, unsigned k)
{
    bool idle = od_policy_is_idle(&f->env, k);
    if (f->queue[OD_SCHEDULE_OPEN].count && !idle)
        return &f->queue[OD_SCHEDULE_OPEN];
    od_heap *queue = &f->queue[k];
    if (!queue->count && !idle && is_through(f, k))
        queue = fullest(f);
    return queue;
}

static od_task *pop(void *state, unsigned k)
{
    struct follower *f = state;
    od_heap *queue = queue_for(f, k);
    uint32_t slot = queue ? od_heap_first(queue) : OD_HEAP_NONE;
    if (slot == OD_HEAP_NONE || (queue == &f->queue[k] && is_early(f, k, slot)))
        return NULL;
    od_task *task = f->slot[slot].task;
    od_heap_remove(queue, slot);
    f->slot[slot] = (struct slot){.next = f->free};
    f->free = slot;
    return task;
}

static void started(void *state, od_task *task, unsigned k)
{
    struct follower *f = state;
    od_scheduled place = scheduled(f, task->known);
    (void)k;
    if (place.device < OD_SCHEDULE_OPEN)
        f->begun[place.device]++;
}

static uint32_t future_uses(void *state, const od_datum *datum)
{
    const struct follower *f = state;
    const od_known_item *item = od_known_find(f->env.known, datum->base);
    uint32_t uses = 0;
    for (const od_node *it = item ? od_list_first(&item->open) : NULL; it && it != &item->open.root; it = it->next)
        uses += od_container_of(it, const od_known_use, link)->user->task != NULL;
    return uses;
}

static uint64_t next_use(void *state, const od_datum *datum, unsigned k)
{
    const struct follower *f = state;
    const od_known_item *item = od_known_find(f->env.known, datum->base);
    uint64_t first = OD_NEVER;
    for (const od_node *it = item ? od_list_first(&item->open) : NULL; it && it != &item->open.root; it = it->next) {
        od_scheduled place = scheduled(f, od_container_of(it, const od_known_use, link)->user);
        if (place.device == k && place.rank < first)
            first = place.rank;
    }
    return first;
}

static bool is_valid(void *state)
{
    const struct follower *f = state;
    uint32_t taken = 0, queued = 0;
    for (uint32_t i = 0; i < f->nslots; i++)
        taken += f->slot[i].task != NULL;
    for (unsigned k = 0; k <= OD_SCHEDULE_OPEN; k++) {
        queued += f->queue[k].count;
        if (!od_heap_is_valid(&f->queue[k]))
            return false;
    }
    return taken == queued;
}

static const od_policy_ops follower_ops = {
    .interface_version = OD_POLICY_INTERFACE,
    .name = "schedule",
    .description = "carries out a static schedule",
    .default_evict = "belady",
    .wants_known = true,
    .create = create,
    .destroy = destroy,
    .ready = ready,
    .pop = pop,
    .started = started,
    .future_uses = future_uses,
    .next_use = next_use,
    .is_valid = is_valid,
};

od_settings od_schedule_settings(const od_schedule *schedule, const od_settings *others)
{
    od_settings s = *others;
    s.policy = (od_policy_choice){&follower_ops, {(uintptr_t)schedule}, others->policy.ahead};
    s.evict = od_evict_find(follower_ops.default_evict);
    return s;
}

const od_schedule *od_schedule_of(const od_settings *settings)
{
    return settings->policy.ops == &follower_ops ? (const od_schedule *)(uintptr_t)settings->policy.values[0] : NULL;
}
