/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A rank that serves. Its main thread is the post; each device has a thread more, which runs its kernels one after the
 * other. Devices are LLVM's host devices, whose memory is the process's own: bytes arrive where they belong.
 *
 * Device memory is taken at addresses that no other rank gives and rank 0 does not use, so that rank 0 can tell from an
 * address alone whose it is.
 */
#define _GNU_SOURCE
#include "memmgr/device/mpi/mpi.h"

#include "util/clock.h"
#include "util/lock.h"
#include "util/memory.h"
#include "util/thread.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { BEAT_NS = 500 * 1000 * 1000 };
#define SILENCE_NS (30 * OD_NS_PER_S) /* rank 0 has ended somehow */

typedef struct call {
    struct call *next;
    uint64_t ticket;
    size_t bytes;
    _Alignas(max_align_t) char content[];
} call;

typedef struct block {
    struct block *next;
    uintptr_t address;
    size_t bytes;
} block;

typedef struct server server;

typedef struct device {
    server *server;
    unsigned k;
    pthread_t thread;
    pthread_mutex_t lock; /* protects the queue */
    pthread_cond_t wake;
    call *first, **last;
    block *blocks; /* the post's thread's own, as the next */
    size_t taken;
} device;

struct server {
    const od_rank *self;
    const od_mpi_offer *offer;
    od_post *post;
    device *devices;
    bool *lost; /* of each rank */
    bool ends, failed; /* failed: without MPI_Finalize(), which a rank that is lost would not reach */
};

static void answer(server *s, uint64_t ticket, bool failed, uint64_t address)
{
    od_mpi_message done = {.kind = OD_MPI_DONE, .ticket = ticket, .failed = failed, .address = address};
    od_post_send(s->post, 0, &done, NULL);
}

/* --- memory -------------------------------------------------------------------------- */

/* Where device `n` of the job has its memory: 256 GB for each, from 16 TB on. */
static void *wanted_address(unsigned n, size_t taken)
{
    const uintptr_t first = (uintptr_t)1 << 44, each = (uintptr_t)1 << 38;
    return (void *)(first + n * each + taken);
}

static uintptr_t take(device *d, size_t bytes, unsigned number)
{
    const size_t page = 4096, whole = (bytes + page - 1) & ~(page - 1);
    block *b = od_malloc(sizeof *b);
    void *at = !b ? MAP_FAILED
                  : mmap(wanted_address(number, d->taken), whole, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) {
        free(b);
        return 0;
    }
    *b = (block){.next = d->blocks, .address = (uintptr_t)at, .bytes = whole};
    d->blocks = b;
    d->taken += whole;
    return b->address;
}

static bool give_back(device *d, uintptr_t address)
{
    block **at = &d->blocks;
    while (*at && (*at)->address != address)
        at = &(*at)->next;
    block *b = *at;
    if (!b)
        return false;
    *at = b->next;
    munmap((void *)b->address, b->bytes);
    free(b);
    return true;
}

/* Bytes are only copied to and from what has been given out. */
static bool is_taken(const device *d, uint64_t address, uint64_t bytes)
{
    const block *b = d->blocks;
    while (b && !(address >= b->address && bytes <= b->bytes && address - b->address <= b->bytes - bytes))
        b = b->next;
    return b;
}

static void alloc(server *s, const od_mpi_message *m)
{
    device *d = &s->devices[m->device];
    uintptr_t address = m->bytes ? take(d, m->bytes, (unsigned)m->peer) : 0;
    answer(s, m->ticket, !address, address);
}

/* --- copies ----------------------------------------------------------------------------- */

typedef struct incoming {
    od_move move;
    server *server;
    uint64_t ticket; /* 0: nobody waits for an answer */
} incoming;

static void moved(od_move *move)
{
    incoming *in = move->arg;
    if (in->ticket)
        answer(in->server, in->ticket, move->failed, 0);
    free(in);
}

static void start_move(server *s, const od_mpi_message *m, bool sends, int rank, uint64_t ticket)
{
    incoming *in = od_calloc(1, sizeof *in);
    if (!in)
        od_mpi_give_up("is out of memory", s->self->rank);
    *in = (incoming){.server = s, .ticket = ticket};
    in->move = (od_move){.sends = sends,
                         .rank = rank,
                         .tag = m->tag,
                         .at = (char *)(uintptr_t)m->address,
                         .bytes = m->bytes,
                         .done = moved,
                         .arg = in};
    od_post_move(s->post, &in->move);
}

static void put(server *s, const od_mpi_message *m, const char *behind)
{
    if (m->tag) {
        start_move(s, m, false, 0, m->ticket);
        return;
    }
    memcpy((void *)(uintptr_t)m->address, behind, m->behind);
    answer(s, m->ticket, false, 0);
}

static void get(server *s, const od_mpi_message *m)
{
    od_mpi_message done = {.kind = OD_MPI_DONE, .ticket = m->ticket, .behind = (uint32_t)m->bytes};
    if (m->tag)
        start_move(s, m, true, 0, 0);
    else
        od_post_send(s->post, 0, &done, (const void *)(uintptr_t)m->address);
}

static void copy(server *s, const od_mpi_message *m, const char *behind)
{
    if (!is_taken(&s->devices[m->device], m->address, m->bytes))
        od_mpi_give_up("was asked to copy what is not its devices' memory", s->self->rank);
    switch (m->kind) {
    case OD_MPI_PUT:
        put(s, m, behind);
        break;
    case OD_MPI_GET:
        get(s, m);
        break;
    case OD_MPI_GIVE:
        start_move(s, m, true, m->peer, 0);
        break;
    default:
        if (s->lost[m->peer])
            answer(s, m->ticket, true, 0);
        else
            start_move(s, m, false, m->peer, m->ticket);
    }
}

static void lose(server *s, int rank)
{
    s->lost[rank] = true;
    if (!od_post_drop(s->post, rank))
        od_mpi_give_up("was lost in the middle of a copy to another rank", rank);
}

/* --- kernels ------------------------------------------------------------------------------ */

static void launch(server *s, const od_mpi_message *m, const char *behind)
{
    device *d = &s->devices[m->device];
    call *c = od_malloc(sizeof *c + m->behind);
    if (!c)
        od_mpi_give_up("is out of memory", s->self->rank);
    *c = (call){.ticket = m->ticket, .bytes = m->behind};
    memcpy(c->content, behind, m->behind);
    pthread_mutex_lock(&d->lock);
    *d->last = c;
    d->last = &c->next;
    pthread_cond_signal(&d->wake);
    pthread_mutex_unlock(&d->lock);
}

static void *run_kernels(void *arg)
{
    device *d = arg;
    for (;;) {
        pthread_mutex_lock(&d->lock);
        while (!d->first)
            pthread_cond_wait(&d->wake, &d->lock);
        call *c = d->first;
        d->first = c->next;
        if (!d->first)
            d->last = &d->first;
        pthread_mutex_unlock(&d->lock);
        int failed = d->server->offer->launch(d->k, c->content, c->bytes);
        answer(d->server, c->ticket, failed, 0);
        free(c);
    }
    return NULL;
}

/* --- the post ------------------------------------------------------------------------------- */

static void receive(void *arg, int rank, const od_mpi_message *m, const char *behind)
{
    server *s = arg;
    bool known = rank == 0 && m->device < s->offer->ndevices && m->peer >= 0;
    switch (known ? (od_mpi_kind)m->kind : OD_MPI_HELLO) {
    case OD_MPI_ALLOC:
        alloc(s, m);
        break;
    case OD_MPI_FREE:
        answer(s, m->ticket, !give_back(&s->devices[m->device], m->address), 0);
        break;
    case OD_MPI_PUT:
    case OD_MPI_GET:
    case OD_MPI_GIVE:
    case OD_MPI_TAKE:
        copy(s, m, behind);
        break;
    case OD_MPI_LAUNCH:
        launch(s, m, behind);
        break;
    case OD_MPI_BEAT:
        break;
    case OD_MPI_LOST:
        lose(s, m->peer);
        break;
    case OD_MPI_END:
        s->ends = true;
        s->failed = m->failed;
        break;
    default:
        od_mpi_give_up("was asked for what it does not know", s->self->rank);
    }
}

static bool tick(void *arg, uint64_t now_ns)
{
    server *s = arg;
    uint64_t heard_ns = od_post_heard_ns(s->post, 0);
    od_mpi_message beat = {.kind = OD_MPI_BEAT};
    if (!s->ends && heard_ns < now_ns && now_ns - heard_ns > SILENCE_NS)
        od_mpi_give_up("has not heard of rank 0 for 30 s", s->self->rank);
    if (!s->ends && now_ns > od_post_sent_ns(s->post, 0) + BEAT_NS)
        od_post_send(s->post, 0, &beat, NULL);
    return !s->ends;
}

static bool start_device(server *s, unsigned k)
{
    device *d = &s->devices[k];
    char name[16];
    *d = (device){.server = s, .k = k, .last = &d->first};
    pthread_mutex_init(&d->lock, NULL);
    pthread_cond_init(&d->wake, NULL);
    snprintf(name, sizeof name, "od-device-%u", k % 100);
    return !od_thread_start_for_program(&d->thread, name, run_kernels, d);
}

bool od_serve(const od_rank *self, const od_mpi_offer *offer)
{
    static const od_post_ops ops = {.receive = receive, .tick = tick};
    server s = {.self = self, .offer = offer};
    s.post = od_post_create(self->comm, &ops, &s);
    s.devices = od_calloc(offer->ndevices, sizeof *s.devices);
    s.lost = od_calloc((size_t)self->ranks, sizeof *s.lost);
    bool ready = s.post && s.devices && s.lost;
    for (unsigned k = 0; ready && k < offer->ndevices; k++)
        ready = start_device(&s, k);
    if (!ready)
        od_mpi_give_up("is out of memory or threads", self->rank);
    od_post_run(s.post);
    od_mpi_say_counts(self->rank, s.post);
    return !s.failed;
}
