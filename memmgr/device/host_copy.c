/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Copies within host memory. A copy stays in the list until all its pieces have been begun. See host_copy.h. */
#include "memmgr/device/host_copy.h"

#include "util/clock.h"
#include "util/lock.h"
#include "util/memory.h"
#include "util/thread.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

enum {
    PIECE = 2 << 20, /* bytes: worth the time of a thread */
    MOST_THREADS = 7, /* more than that, with the one that helps, wait for memory */
};

struct od_host_copies {
    void (*done)(void *arg, od_transfer *transfer, od_status status);
    void *arg;
    od_lock lock;         /* protects the rest */
    pthread_cond_t work;  /* a piece is to be carried, or the threads may end */
    od_list copies;       /* od_transfer.node: with pieces not begun */
    atomic_size_t pieces; /* of these; read without the lock, too */
    unsigned nthreads, idle, allowed;
    bool closing;
    pthread_t thread[MOST_THREADS];
};

static size_t pieces_of(size_t bytes)
{
    return bytes / PIECE + (bytes % PIECE > 0);
}

/* Where the datum's first byte is. */
static char *address_at(const od_transfer *x, int place)
{
    if (place == x->to && x->landing)
        return (char *)x->landing - x->offset;
    return place == OD_HOST ? (char *)x->datum->base : (char *)x->spill;
}

/* Carries the next piece, if there is one. Locked; the lock is given away meanwhile. */
static bool carry_piece(od_host_copies *c)
{
    od_node *node = od_list_first(&c->copies);
    if (!node)
        return false;
    od_transfer *x = od_container_of(node, od_transfer, node);
    size_t begin = x->begun, bytes = x->bytes - begin < PIECE ? x->bytes - begin : PIECE;
    if (!begin)
        x->start_ns = od_clock_ns();
    x->begun += bytes;
    c->pieces--;
    if (x->begun == x->bytes)
        od_list_remove(&c->copies, node);
    od_lock_give(&c->lock);
    od_shape_copy(od_datum_shape(x->datum), address_at(x, x->to), address_at(x, x->from),
                   (od_stretch){x->offset + begin, bytes});
    od_lock_take(&c->lock);
    x->ended += bytes;
    if (x->ended < x->bytes)
        return true;
    od_lock_give(&c->lock);
    x->end_ns = od_clock_ns();
    c->done(c->arg, x, OD_OK);
    od_lock_take(&c->lock);
    return true;
}

static void *run(void *arg)
{
    od_host_copies *c = arg;
    od_lock_take(&c->lock);
    for (;;) {
        if (carry_piece(c))
            continue;
        if (c->closing)
            break;
        c->idle++;
        pthread_cond_wait(&c->work, &c->lock.mutex);
        c->idle--;
    }
    od_lock_give(&c->lock);
    return NULL;
}

static bool add_thread(od_host_copies *c)
{
    bool started = !od_thread_start(&c->thread[c->nthreads], "od-host-copies", run, c);
    c->nthreads += started;
    return started;
}

/* Threads for what the caller itself will not carry. Locked. */
static void call_threads(od_host_copies *c, bool helped)
{
    size_t wanted = helped ? c->pieces - 1 : c->pieces;
    for (size_t i = 0; i < wanted && i < c->idle; i++)
        pthread_cond_signal(&c->work);
    while (c->nthreads < c->allowed && c->nthreads < wanted && add_thread(c))
        ;
}

void od_host_copies_submit(od_host_copies *c, od_transfer *x, bool helped)
{
    x->begun = x->ended = 0;
    od_lock_take(&c->lock);
    od_list_push_back(&c->copies, &x->node);
    c->pieces += pieces_of(x->bytes);
    call_threads(c, helped);
    od_lock_give(&c->lock);
}

void od_host_copies_help(od_host_copies *c)
{
    if (!atomic_load(&c->pieces))
        return;
    od_lock_take(&c->lock);
    while (carry_piece(c))
        ;
    od_lock_give(&c->lock);
}

void od_host_copies_abandon(od_host_copies *c)
{
    free(c);
}

od_host_copies *od_host_copies_create(void (*done)(void *arg, od_transfer *transfer, od_status status), void *arg)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    od_host_copies *c = od_calloc(1, sizeof *c);
    if (!c || od_lock_init(&c->lock, OD_LOCK_HOST_COPIES)) {
        free(c);
        return NULL;
    }
    pthread_cond_init(&c->work, NULL);
    c->done = done;
    c->arg = arg;
    c->allowed = cores > MOST_THREADS ? MOST_THREADS : cores > 2 ? (unsigned)cores - 1 : 1;
    od_list_init(&c->copies);
    if (add_thread(c))
        return c;
    od_host_copies_abandon(c);
    return NULL;
}

void od_host_copies_destroy(od_host_copies *c)
{
    if (!c)
        return;
    od_lock_take(&c->lock);
    c->closing = true;
    pthread_cond_broadcast(&c->work);
    od_lock_give(&c->lock);
    for (unsigned i = 0; i < c->nthreads; i++)
        pthread_join(c->thread[i], NULL);
    pthread_cond_destroy(&c->work);
    od_lock_destroy(&c->lock);
    od_host_copies_abandon(c);
}
