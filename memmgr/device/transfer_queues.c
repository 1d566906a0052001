/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Transfer queues: per device and direction two lists, demanded transfers and prefetches, served by carriers. A
 * carrier is a thread with one or more queues. Where copies block, each queue has its own, so copies of different
 * devices and directions overlap, unless address space is scarce; where they do not, one carrier starts them all, a few
 * per queue so that the device's own queue never runs dry, and asks for their ends; with many devices each has its own.
 *
 * One lock serves all: it is held for list operations only, never during a copy or a call of `done`. A `done` may
 * submit further transfers, even while the queues are being destroyed; they end when nothing is left anywhere.
 */
#include "memmgr/device/transfer_queues.h"

#include "util/clock.h"
#include "util/lock.h"
#include "util/memory.h"
#include "util/thread.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

typedef enum direction { HOST_TO_DEVICE, DEVICE_TO_HOST, DEVICE_TO_DEVICE, NDIRECTIONS } direction;

static const char *const direction_names[NDIRECTIONS] = {"h2d", "d2h", "d2d"};

enum {
    UNDER_WAY = 3,  /* asynchronous copies per queue: one runs, one is next, one is being waited for */
    NAP_NS = 10000, /* between two questions for ends, unless something is submitted */
    MANY = 4,       /* devices whose copies one thread would start too late: each takes it some microseconds */
};

typedef struct carrier carrier;

typedef struct queue {
    carrier *carrier;
    od_list demanded, prefetches; /* protected by all->lock, like the rest */
    unsigned under_way;
} queue;

struct carrier {
    od_transfer_queues *all;
    unsigned first, count, next; /* its queues, and the one to look at first */
    pthread_cond_t work;         /* something was queued here, or the thread may end */
    pthread_t thread;
    od_list under_way; /* od_transfer.node, with a ticket; the thread's own */
    uint64_t random;   /* the thread's own */
};

struct od_transfer_queues {
    od_transfer_config config;
    od_lock lock;      /* protects the lists, `unfinished` and `closing` */
    size_t unfinished; /* transfers submitted whose `done` has not returned */
    bool closing;
    atomic_bool halted;
    unsigned nqueues, ncarriers;
    carrier *carrier; /* ncarriers */
    queue queue[];    /* NDIRECTIONS per device */
};

/* splitmix64, as a number in [0, 1). */
static double random_fraction(uint64_t *state)
{
    uint64_t x = *state += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    x ^= x >> 31;
    return (double)(x >> 11) * 0x1p-53;
}

static queue *queue_of(od_transfer_queues *queues, const od_transfer *transfer)
{
    direction way = transfer->to >= OD_SPILL     ? DEVICE_TO_HOST
                    : transfer->from >= OD_SPILL ? HOST_TO_DEVICE
                                                 : DEVICE_TO_DEVICE;
    int device = way == DEVICE_TO_HOST ? transfer->from : transfer->to;
    unsigned i = NDIRECTIONS * (unsigned)device + way;
    assert(device >= 0 && i < queues->nqueues);
    return &queues->queue[i];
}

static void wake_all(od_transfer_queues *queues)
{
    for (unsigned i = 0; i < queues->ncarriers; i++)
        pthread_cond_signal(&queues->carrier[i].work);
}

/* --- a carrier's thread ---------------------------------------------------- */

/* The next transfer to start, or NULL. The caller holds the lock. */
static od_transfer *next_transfer(carrier *c)
{
    for (unsigned i = 0; i < c->count; i++) {
        queue *q = &c->all->queue[c->first + (c->next + i) % c->count];
        if (q->under_way == UNDER_WAY)
            continue;
        od_node *node = od_list_pop_front(&q->demanded);
        if (!node)
            node = od_list_pop_front(&q->prefetches);
        if (!node)
            continue;
        q->under_way++;
        c->next = (c->next + i + 1) % c->count;
        return od_container_of(node, od_transfer, node);
    }
    return NULL;
}

static void finish(carrier *c, od_transfer *transfer, od_status status)
{
    od_transfer_queues *all = c->all;
    queue *q = queue_of(all, transfer);
    transfer->end_ns = od_clock_ns();
    od_lock_take(&all->lock);
    q->under_way--;
    od_lock_give(&all->lock);
    all->config.done(all->config.arg, transfer, status);
    od_lock_take(&all->lock);
    if (--all->unfinished == 0 && all->closing)
        wake_all(all);
    od_lock_give(&all->lock);
}

/* No copy begins once the process ends. */
static void await_the_end(od_transfer_queues *queues)
{
    while (atomic_load(&queues->halted))
        pause();
}

static void start(carrier *c, od_transfer *transfer)
{
    const od_transfer_config *config = &c->all->config;
    if (config->jitter_s > 0) {
        double delay_ns = random_fraction(&c->random) * config->jitter_s * (double)OD_NS_PER_S;
        od_clock_sleep_until(od_clock_ns() + (uint64_t)delay_ns);
    }
    await_the_end(c->all);
    transfer->start_ns = od_clock_ns();
    od_status status = od_backend_start(config->backend, transfer, &transfer->ticket);
    if (status || !transfer->ticket)
        finish(c, transfer, status);
    else
        od_list_push_back(&c->under_way, &transfer->node);
}

/* True where at least one copy has ended. */
static bool poll_all(carrier *c)
{
    od_backend *backend = c->all->config.backend;
    bool ended = false;
    for (size_t n = c->under_way.count; n; n--) {
        od_transfer *transfer = od_container_of(od_list_pop_front(&c->under_way), od_transfer, node);
        od_status status = backend->ops->poll(backend->state, transfer->ticket);
        if (status == OD_EBUSY) {
            od_list_push_back(&c->under_way, &transfer->node);
            continue;
        }
        finish(c, transfer, status);
        ended = true;
    }
    return ended;
}

/* Waits until there is a transfer to start, or for a moment while some are under way. False: closing, and none is left.
 * The caller holds the lock. */
static bool await_work(carrier *c, bool ended, od_transfer **transfer)
{
    while (!(*transfer = next_transfer(c))) {
        if (c->under_way.count && !ended)
            od_condition_nap(&c->work, &c->all->lock, NAP_NS);
        if (c->under_way.count)
            return true;
        if (c->all->closing && c->all->unfinished == 0)
            return false;
        pthread_cond_wait(&c->work, &c->all->lock.mutex);
    }
    return true;
}

static void *carry(void *arg)
{
    carrier *c = arg;
    od_transfer_queues *all = c->all;
    od_transfer *transfer;
    bool ended = false;

    od_thread_nap_short();
    od_lock_take(&all->lock);
    while (await_work(c, ended, &transfer)) {
        od_lock_give(&all->lock);
        if (transfer)
            start(c, transfer);
        ended = poll_all(c);
        od_lock_take(&all->lock);
    }
    od_lock_give(&all->lock);
    return NULL;
}

/* --- life ------------------------------------------------------------------ */

static od_status start_carrier(od_transfer_queues *all, unsigned i)
{
    char name[16] = "od-copies";
    carrier *c = &all->carrier[i];
    c->all = all;
    c->random = all->config.seed + i * UINT64_C(0xd1342543de82ef95);
    od_list_init(&c->under_way);
    pthread_cond_init(&c->work, NULL);
    if (all->ncarriers == all->nqueues)
        snprintf(name, sizeof name, "od-%s-%u", direction_names[i % NDIRECTIONS], i / NDIRECTIONS);
    else if (all->ncarriers > 1)
        snprintf(name, sizeof name, "od-copies-%u", i % 100);
    od_status status = od_thread_start(&c->thread, name, carry, c);
    if (status)
        pthread_cond_destroy(&c->work);
    return status;
}

static unsigned count_carriers(const od_backend *backend)
{
    unsigned each = NDIRECTIONS * backend->ndevices;
    if (!backend->ops->start)
        return od_space_admits(each * (size_t)OD_THREAD_SMALL_STACK) ? each : 1;
    return backend->ndevices < MANY ? 1 : backend->ndevices;
}

static od_transfer_queues *allocate(const od_transfer_config *config)
{
    unsigned nqueues = NDIRECTIONS * config->backend->ndevices, ncarriers = count_carriers(config->backend);
    unsigned share = nqueues / ncarriers;
    od_transfer_queues *all = od_calloc(1, sizeof *all + nqueues * sizeof all->queue[0]);
    if (!all || !(all->carrier = od_calloc(ncarriers + 1, sizeof *all->carrier)) ||
        od_lock_init(&all->lock, OD_LOCK_TRANSFERS)) {
        free(all ? all->carrier : NULL);
        free(all);
        return NULL;
    }
    all->config = *config;
    all->nqueues = nqueues;
    all->ncarriers = ncarriers;
    for (unsigned i = 0; i < nqueues; i++) {
        queue *q = &all->queue[i];
        q->carrier = &all->carrier[i / share];
        od_list_init(&q->demanded);
        od_list_init(&q->prefetches);
    }
    for (unsigned i = 0; i < ncarriers; i++) {
        all->carrier[i].first = i * share;
        all->carrier[i].count = share;
    }
    return all;
}

od_status od_transfer_queues_create(const od_transfer_config *config, od_transfer_queues **queues)
{
    od_transfer_queues *all = allocate(config);
    if (!all)
        return OD_ENOMEM;
    unsigned ncarriers = all->ncarriers;
    for (unsigned i = 0; i < ncarriers; i++) {
        od_status status = start_carrier(all, i);
        if (status) {
            all->ncarriers = i;
            od_transfer_queues_destroy(all);
            return status;
        }
    }
    *queues = all;
    return OD_OK;
}

void od_transfer_queues_destroy(od_transfer_queues *queues)
{
    if (!queues)
        return;
    od_lock_take(&queues->lock);
    queues->closing = true;
    wake_all(queues);
    od_lock_give(&queues->lock);

    for (unsigned i = 0; i < queues->ncarriers; i++)
        pthread_join(queues->carrier[i].thread, NULL);
    for (unsigned i = 0; i < queues->ncarriers; i++)
        pthread_cond_destroy(&queues->carrier[i].work);
    od_lock_destroy(&queues->lock);
    od_transfer_queues_abandon(queues);
}

void od_transfer_queues_halt(od_transfer_queues *queues)
{
    atomic_store(&queues->halted, true);
}

void od_transfer_queues_abandon(od_transfer_queues *queues)
{
    free(queues->carrier);
    free(queues);
}

void od_transfer_submit(od_transfer_queues *queues, od_transfer *transfer)
{
    queue *q = queue_of(queues, transfer);
    od_lock_take(&queues->lock);
    od_list_push_back(transfer->demanded ? &q->demanded : &q->prefetches, &transfer->node);
    queues->unfinished++;
    pthread_cond_signal(&q->carrier->work);
    od_lock_give(&queues->lock);
}

bool od_transfer_queues_may_lend(const od_transfer_queues *queues)
{
    return !queues->config.backend->ops->start && !(queues->config.jitter_s > 0);
}

od_status od_transfer_make(od_transfer_queues *queues, od_transfer *transfer)
{
    await_the_end(queues);
    transfer->start_ns = od_clock_ns();
    od_status status = od_backend_copy(queues->config.backend, transfer);
    transfer->end_ns = od_clock_ns();
    return status;
}
