/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Threads that run started jobs. See workers.h. */
#define _GNU_SOURCE
#include "omp_ext/runtime/workers.h"

#include "omp_ext/process/memory.h"
#include "util/clock.h"
#include "util/container/list.h"
#include "util/lock.h"
#include "util/memory.h"
#include "util/thread.h"
#include "util/tsan.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

typedef struct queue {
    od_job *first, **last;
    od_job *under_way; /* that go on by themselves, the oldest first; while a thread asks them it has them to itself */
    unsigned idle;     /* threads that will look at the queue before they sleep */
    unsigned asking;   /* of these, one that will ask the jobs under way, or look whether they are asked */
    const void *asker; /* a thread that waits and will ask them until this time, or NULL */
    uint64_t asks_until_ns;
    uint64_t end_ns; /* of the last one of these jobs: the next one begins then */
    pthread_cond_t wake;
    int place;
    od_workers *workers;
} queue;

typedef struct worker {
    od_node node;
    pthread_t thread;
    queue *queue;
} worker;

struct od_workers {
    od_lock *lock;
    od_list all, ended; /* worker.node */
    bool ends;          /* those that have nothing to do are to end */
    pthread_cond_t ended_one;
    const od_workers_ops *ops;
    atomic_uint going; /* jobs under way, of all queues */
    uint64_t wakes;    /* bit i: queue i has a new job */
    unsigned nplaces;
    queue queue[];
};

enum {
    NAP_NS = 5000,           /* the shortest between two questions */
    NEAR_NS = 20000,         /* about what it takes to wake a thread */
    REMOTE_NEAR_NS = 200000, /* likewise with messages to another rank and back, and threads that wake up there */
    PROMISE_NS = 300000,     /* a thread that waits and has not asked for so long is in a task of the program's */
    WORKER_SPACE = 64 << 20, /* bytes: its stack, and some for what its jobs call (OpenBLAS: up to 128 MB a caller) */
};

static void *work(void *arg);

static od_status spawn(queue *q)
{
    char name[16] = "od-host";
    if (q->workers->all.count && !od_space_admits(WORKER_SPACE))
        return OD_ENOMEM;
    worker *new = od_alloc(sizeof *new);
    if (q->place != OD_HOST)
        snprintf(name, sizeof name, "od-device-%d", q->place % 100);
    *new = (worker){.queue = q};
    od_status status = od_thread_start_for_program(&new->thread, name, work, new);
    if (status) {
        free(new);
        return status;
    }
    od_list_push_back(&q->workers->all, &new->node);
    q->idle++;
    return OD_OK;
}

static od_job *take(queue *q)
{
    od_job *job = q->first;
    q->first = job->next;
    if (!q->first)
        q->last = &q->first;
    job->next = NULL;
    return job;
}

static void append(od_job **list, od_job *jobs)
{
    while (*list)
        list = &(*list)->next;
    *list = jobs;
}

static void add_under_way(queue *q, od_job *job)
{
    append(&q->under_way, job);
    atomic_fetch_add_explicit(&q->workers->going, 1, memory_order_relaxed);
}

/* The calling thread may be away until others' jobs have ended: another one has to look after these. Where no more
 * threads can be had they wait for it. */
static void leave_to_others(queue *q)
{
    if (!q->first && !q->under_way)
        return;
    if (q->idle)
        pthread_cond_signal(&q->wake);
    else
        spawn(q);
}

/* Runs a job as far as its thread is needed; it comes to the jobs under way if it goes on without. */
static void run(queue *q, od_job *job)
{
    od_workers *w = q->workers;
    int place = job->granted_place;
    bool blocks = w->ops->blocks(job, place);
    q->idle -= blocks;
    if (blocks)
        leave_to_others(q);
    od_lock_give(w->lock);
    od_status status = w->ops->run(job, place);
    od_lock_take(w->lock);
    q->idle += blocks; /* before the next job is started: it may be for this thread */
    if (status == OD_EBUSY) {
        add_under_way(q, job);
        return;
    }
    w->ops->done(job, status);
    w->ops->unlock();
    od_lock_take(w->lock);
}

/* Asks each job under way whether it has ended. `unlock` gives the lock back between the answers. */
static void poll_all(queue *q, void (*unlock)(void))
{
    od_workers *w = q->workers;
    od_job *jobs = q->under_way;
    q->under_way = NULL;
    od_lock_give(w->lock);
    for (od_job **at = &jobs; *at;) {
        od_job *job = *at;
        od_status status = w->ops->poll(job);
        if (status == OD_EBUSY) {
            at = &job->next;
            continue;
        }
        *at = job->next;
        atomic_fetch_sub_explicit(&w->going, 1, memory_order_relaxed);
        od_lock_take(w->lock);
        q->end_ns = od_clock_ns();
        w->ops->done(job, status);
        unlock();
    }
    od_lock_take(w->lock);
    append(&jobs, q->under_way); /* others have started these meanwhile */
    q->under_way = jobs;
}

/* Until the oldest job is to end, as predicted. */
static double left_ns(const queue *q)
{
    const od_job *job = q->under_way;
    uint64_t start_ns = job->start_ns > q->end_ns ? job->start_ns : q->end_ns;
    return (double)start_ns + job->task.duration * (double)OD_NS_PER_S - (double)od_clock_ns();
}

/* Until it is asked again. */
static long nap_of(const queue *q)
{
    return od_nap_until_asked(left_ns(q), NAP_NS);
}

static od_status give(od_workers *w, queue *q)
{
    if (q)
        w->wakes |= UINT64_C(1) << (q - w->queue);
    return q ? OD_OK : OD_ENOMEM;
}

/* --- threads that wait --------------------------------------------------------- */

static _Thread_local struct {
    unsigned waits;   /* that the thread is in, one inside of the other */
    bool promised;    /* to ask some queue */
    int slack_before; /* of its naps; 0: it has not had any */
} waiting;

static bool is_promised(const queue *q)
{
    return q->asker && q->asks_until_ns > od_clock_ns();
}

/* True: the calling thread waits, and will ask. */
static bool promise(queue *q)
{
    if (!waiting.waits || (q->asker != &waiting && is_promised(q)))
        return false;
    q->asker = &waiting;
    q->asks_until_ns = od_clock_ns() + PROMISE_NS;
    return waiting.promised = true;
}

void od_workers_begin_wait(void)
{
    waiting.waits++;
}

static void have_looked_after(queue *q)
{
    if (q->idle)
        give(q->workers, q);
    else
        spawn(q);
}

/* Nanoseconds until the next question, without a nap where the end is near: it would be seen as late as a thread takes
 * to wake up. 0: none is needed. */
static long ask(queue *q)
{
    if (!q->under_way || !promise(q))
        return 0;
    poll_all(q, q->workers->ops->release); /* what may follow it could be waiting for the other jobs */
    promise(q);
    if (!q->under_way)
        return 0;
    if (!q->asking) /* meanwhile the jobs were out of sight, perhaps for longer than the promise */
        have_looked_after(q);
    double left = left_ns(q), near = q->workers->ops->is_remote() ? REMOTE_NEAR_NS : NEAR_NS;
    return left < near && left > -near ? 1 : nap_of(q);
}

bool od_workers_have_jobs_going(const od_workers *w)
{
    return atomic_load_explicit(&w->going, memory_order_relaxed) > 0;
}

long od_workers_ask(od_workers *w)
{
    long nap_ns = 0;
    od_lock_take(w->lock);
    for (unsigned i = 0; i < w->nplaces; i++) {
        long own_ns = ask(&w->queue[i]);
        if (own_ns && (!nap_ns || own_ns < nap_ns))
            nap_ns = own_ns;
    }
    w->ops->unlock();
    if (nap_ns && !waiting.slack_before)
        waiting.slack_before = od_thread_nap_short();
    return nap_ns;
}

void od_workers_end_wait(od_workers *w)
{
    waiting.waits--;
    if (waiting.slack_before)
        od_thread_nap_as_before(waiting.slack_before);
    waiting.slack_before = 0;
    if (!waiting.promised)
        return;
    waiting.promised = false;
    if (!w) /* the child of a fork in this wait goes on without */
        return;
    od_lock_take(w->lock);
    for (unsigned i = 0; i < w->nplaces; i++) {
        queue *q = &w->queue[i];
        if (q->asker != &waiting)
            continue;
        q->asker = NULL;
        if (q->under_way)
            pthread_cond_signal(&q->wake);
    }
    od_lock_give(w->lock);
}

/* --- workers --------------------------------------------------------------------- */

/* Until there is something to do: one thread asks the jobs under way now and then, or looks whether one that waits
 * does. */
static void rest(queue *q)
{
    od_workers *w = q->workers;
    bool promised = is_promised(q);
    if ((!q->under_way && !promised) || q->asking) {
        pthread_cond_wait(&q->wake, &w->lock->mutex);
        return;
    }
    q->asking++;
    od_condition_nap(&q->wake, w->lock, promised ? PROMISE_NS : nap_of(q));
    q->asking--;
}

static _Thread_local bool is_worker;
static _Thread_local int own_place;

static void *work(void *arg)
{
    worker *self = arg;
    queue *q = self->queue;
    od_workers *w = q->workers;
    is_worker = true;
    own_place = q->place;
    od_thread_nap_short();
    od_lock_take(w->lock);
    while (!w->ends || q->first || q->under_way) {
        if (q->first)
            run(q, take(q));
        else
            rest(q);
        if (q->under_way && !is_promised(q))
            poll_all(q, w->ops->unlock);
    }
    q->idle--;
    pthread_cond_broadcast(&q->wake); /* of others, who have seen jobs that were still under way */
    od_list_remove(&w->all, &self->node);
    od_list_push_back(&w->ended, &self->node);
    pthread_cond_signal(&w->ended_one);
    od_lock_give(w->lock);
    return NULL;
}

static bool any_is_idle(const od_workers *w)
{
    for (unsigned i = 0; i < w->nplaces; i++)
        if (w->queue[i].idle)
            return true;
    return false;
}

/* Until it has left libomp, too, as ending threads do. */
static void join(worker *ended, uint64_t end_ns)
{
    struct timespec end = od_clock_time(end_ns);
    if (OD_JOIN_UNTIL(ended->thread, &end))
        pthread_detach(ended->thread);
    free(ended);
}

void od_workers_end(od_workers *w, double seconds)
{
    uint64_t end_ns = od_clock_ns() + (uint64_t)(seconds * 1e9);
    bool late = false;
    w->ends = true;
    for (unsigned i = 0; i < w->nplaces; i++)
        pthread_cond_broadcast(&w->queue[i].wake);
    while (!late && (any_is_idle(w) || w->ended.count)) {
        od_node *node = od_list_pop_front(&w->ended);
        if (!node) {
            late = !od_condition_wait_until(&w->ended_one, w->lock, end_ns);
            continue;
        }
        od_lock_give(w->lock);
        join(od_container_of(node, worker, node), end_ns);
        od_lock_take(w->lock);
    }
    w->ends = false;
}

static void init_queue(od_workers *w, unsigned index)
{
    queue *q = &w->queue[index];
    q->last = &q->first;
    q->workers = w;
    q->place = index + 1 < w->nplaces ? (int)index : OD_HOST;
    pthread_cond_init(&q->wake, NULL);
}

od_workers *od_workers_create(od_lock *lock, unsigned nplaces, const od_workers_ops *ops)
{
    od_workers *w = od_calloc(1, sizeof *w + nplaces * sizeof(queue));
    if (!w)
        return NULL;
    w->lock = lock;
    od_list_init(&w->all);
    od_list_init(&w->ended);
    pthread_cond_init(&w->ended_one, NULL);
    w->ops = ops;
    w->nplaces = nplaces;
    for (unsigned i = 0; i < nplaces; i++)
        init_queue(w, i);
    if (!spawn(&w->queue[0]))
        return w;
    free(w);
    return NULL;
}

bool od_workers_have_me(void)
{
    return is_worker;
}

int od_workers_place(void)
{
    return is_worker ? own_place : OD_NOWHERE;
}

void od_workers_abandon(od_workers *w)
{
    for (od_node *node; (node = od_list_pop_front(&w->all)) || (node = od_list_pop_front(&w->ended));)
        free(od_container_of(node, worker, node));
    free(w);
}

/* One with a thread that has, or will have, time for a job of the place. NULL: there are no threads. */
static queue *find_queue(od_workers *w, int place)
{
    queue *own = &w->queue[place == OD_HOST ? w->nplaces - 1 : (unsigned)place], *other = NULL;
    if (own->idle || !spawn(own))
        return own;
    od_list_each(node, &w->all) {
        other = od_container_of(node, worker, node)->queue;
        if (other == own)
            break;
    }
    return other;
}

od_status od_workers_submit(od_workers *w, od_job *job)
{
    queue *q = find_queue(w, job->granted_place);
    job->next = NULL;
    if (q) {
        *q->last = job;
        q->last = &job->next;
    }
    return give(w, q);
}

od_status od_workers_watch(od_workers *w, od_job *job)
{
    queue *q = find_queue(w, job->granted_place);
    job->next = NULL;
    if (!q)
        return OD_ENOMEM;
    add_under_way(q, job);
    return promise(q) && q->asking ? OD_OK : give(w, q);
}

uint64_t od_workers_take_wakes(od_workers *w)
{
    uint64_t wakes = w->wakes;
    w->wakes = 0;
    return wakes;
}

void od_workers_wake(od_workers *w, uint64_t queues)
{
    for (; queues; queues &= queues - 1)
        pthread_cond_signal(&w->queue[__builtin_ctzll(queues)].wake);
}
