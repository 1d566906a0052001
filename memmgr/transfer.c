/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Transfer queues: per device and direction one thread with two lists, demanded
 * transfers and prefetches. A back-end's copy blocks its thread, so copies of different devices
 * and directions overlap, and each queue keeps its order.
 *
 * One lock serves all queues: it is held for list operations only, never
 * during a copy or a call of `done`. A `done` may submit further transfers, even while
 * the queues are being destroyed; they end when nothing is left anywhere.
 */
#include "memmgr/transfer.h"

#include "memmgr/clock.h"
#include "util/thread.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

typedef enum direction { HOST_TO_DEVICE, DEVICE_TO_HOST, DEVICE_TO_DEVICE, NDIRECTIONS } direction;

static const char *const direction_names[NDIRECTIONS] = {"h2d", "d2h", "d2d"};

typedef struct queue {
    od_transfer_queues *all;
    od_list demanded, prefetches; /* protected by all->lock */
    pthread_cond_t work;          /* something was queued here, or the thread may end */
    pthread_t thread;
    uint64_t random; /* the thread's own */
} queue;

struct od_transfer_queues {
    od_transfer_config config;
    pthread_mutex_t lock; /* protects the lists, `unfinished` and `closing`; taken after the engine's lock */
    size_t unfinished;    /* transfers submitted whose `done` has not returned */
    bool closing;
    atomic_bool halted;
    unsigned nqueues;
    queue queue[]; /* NDIRECTIONS per device */
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

static void wake_all(od_transfer_queues *queues)
{
    for (unsigned i = 0; i < queues->nqueues; i++)
        pthread_cond_signal(&queues->queue[i].work);
}

/* Waits for the next transfer. NULL: closing, and none is left. The caller holds the lock. */
static od_transfer *next_transfer(queue *q)
{
    od_transfer_queues *all = q->all;
    for (;;) {
        od_node *node = od_list_pop_front(&q->demanded);
        if (!node)
            node = od_list_pop_front(&q->prefetches);
        if (node)
            return od_container_of(node, od_transfer, node);
        if (all->closing && all->unfinished == 0)
            return NULL;
        pthread_cond_wait(&q->work, &all->lock);
    }
}

static void carry_out(queue *q, od_transfer *transfer)
{
    const od_transfer_config *config = &q->all->config;
    if (config->jitter_s > 0) {
        double delay_ns = random_fraction(&q->random) * config->jitter_s * (double)OD_NS_PER_S;
        od_clock_sleep_until(od_clock_ns() + (uint64_t)delay_ns);
    }
    while (atomic_load(&q->all->halted))
        pause();
    transfer->start_ns = od_clock_ns();
    od_status status = od_backend_copy(config->backend, transfer);
    transfer->end_ns = od_clock_ns();
    config->done(config->arg, transfer, status);
}

static void *queue_main(void *arg)
{
    queue *q = arg;
    od_transfer_queues *all = q->all;

    pthread_mutex_lock(&all->lock);
    for (od_transfer *transfer; (transfer = next_transfer(q));) {
        pthread_mutex_unlock(&all->lock);
        carry_out(q, transfer);
        pthread_mutex_lock(&all->lock);
        if (--all->unfinished == 0 && all->closing)
            wake_all(all);
    }
    pthread_mutex_unlock(&all->lock);
    return NULL;
}

static od_status start_queue(od_transfer_queues *queues, unsigned i)
{
    char name[16];
    queue *q = &queues->queue[i];
    q->all = queues;
    q->random = queues->config.seed + i * UINT64_C(0xd1342543de82ef95);
    od_list_init(&q->demanded);
    od_list_init(&q->prefetches);
    if (pthread_cond_init(&q->work, NULL))
        return OD_ENOMEM;
    snprintf(name, sizeof name, "od-%s-%u", direction_names[i % NDIRECTIONS], i / NDIRECTIONS);
    od_status status = od_thread_start(&q->thread, name, queue_main, q);
    if (status)
        pthread_cond_destroy(&q->work);
    return status;
}

od_status od_transfer_queues_create(const od_transfer_config *config, od_transfer_queues **queues)
{
    unsigned nqueues = NDIRECTIONS * config->backend->ndevices;
    od_transfer_queues *all = calloc(1, sizeof *all + nqueues * sizeof all->queue[0]);
    if (!all)
        return OD_ENOMEM;
    all->config = *config;
    if (pthread_mutex_init(&all->lock, NULL)) {
        free(all);
        return OD_ENOMEM;
    }
    for (unsigned i = 0; i < nqueues; i++) {
        od_status status = start_queue(all, i);
        if (status) {
            od_transfer_queues_destroy(all);
            return status;
        }
        all->nqueues = i + 1;
    }
    *queues = all;
    return OD_OK;
}

void od_transfer_queues_destroy(od_transfer_queues *queues)
{
    if (!queues)
        return;
    pthread_mutex_lock(&queues->lock);
    queues->closing = true;
    wake_all(queues);
    pthread_mutex_unlock(&queues->lock);

    for (unsigned i = 0; i < queues->nqueues; i++)
        pthread_join(queues->queue[i].thread, NULL);
    for (unsigned i = 0; i < queues->nqueues; i++)
        pthread_cond_destroy(&queues->queue[i].work);
    pthread_mutex_destroy(&queues->lock);
    free(queues);
}

void od_transfer_queues_halt(od_transfer_queues *queues)
{
    atomic_store(&queues->halted, true);
}

void od_transfer_queues_abandon(od_transfer_queues *queues)
{
    free(queues);
}

static queue *queue_of(od_transfer_queues *queues, const od_transfer *transfer)
{
    direction way = transfer->to >= OD_SPILL     ? DEVICE_TO_HOST
                    : transfer->from >= OD_SPILL ? HOST_TO_DEVICE
                                                 : DEVICE_TO_DEVICE;
    int device = way == DEVICE_TO_HOST ? transfer->from : transfer->to;
    if (device >= OD_SPILL)
        device = 0;
    unsigned i = NDIRECTIONS * (unsigned)device + way;
    assert(device >= 0 && i < queues->nqueues);
    return &queues->queue[i];
}

void od_transfer_submit(od_transfer_queues *queues, od_transfer *transfer)
{
    queue *q = queue_of(queues, transfer);
    pthread_mutex_lock(&queues->lock);
    od_list_push_back(transfer->demanded ? &q->demanded : &q->prefetches, &transfer->node);
    queues->unfinished++;
    pthread_cond_signal(&q->work);
    pthread_mutex_unlock(&queues->lock);
}
