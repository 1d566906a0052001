/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A rank that serves. Its main thread is the post's; each device has a thread more, which runs its kernels one after
 * the other and looks for the next one itself. The memory of LLVM's host devices is the process's own: bytes arrive
 * where they belong. Others' is the local back-end's (copies.c).
 *
 * Device memory is taken at addresses that no other rank gives and rank 0 does not use, so that rank 0 can tell from an
 * address alone whose it is.
 */
#define _GNU_SOURCE
#include "memmgr/device/mpi/served.h"

#include "util/clock.h"
#include "util/lock.h"
#include "util/memory.h"
#include "util/thread.h"

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

/* --- memory -------------------------------------------------------------------------- */

/* Where device `n` of the job has its memory: each has 1 TB of the addresses from 16 to 120 TB, less where there may be
 * many devices. NULL: it has had all of them. */
static void *wanted_address(unsigned n, size_t taken, size_t bytes)
{
    const uintptr_t tb = (uintptr_t)1 << 40, share = 104 * tb / OD_MAX_DEVICES, most = share < tb ? share : tb;
    const uintptr_t each = most & ~(uintptr_t)(OD_CHOSEN - 1);
    return bytes <= each && taken <= each - bytes ? (void *)(16 * tb + n * each + taken) : NULL;
}

static void *take_here(void *at, size_t bytes)
{
    void *taken = mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return taken == MAP_FAILED ? NULL : taken;
}

static uintptr_t take(od_served *d, size_t bytes, unsigned number)
{
    const od_backend *local = d->server->offer->local;
    const size_t unit = local ? OD_CHOSEN : 4096, whole = (bytes + unit - 1) / unit * unit;
    od_block *b = od_malloc(sizeof *b);
    void *at = b ? wanted_address(number, d->taken, whole) : NULL;
    if (at && local)
        at = local->ops->alloc_at(local->state, d->k, whole, at) ? NULL : at;
    else if (at)
        at = take_here(at, whole);
    if (!at) {
        free(b);
        return 0;
    }
    *b = (od_block){.next = d->blocks, .address = (uintptr_t)at, .bytes = whole};
    d->blocks = b;
    d->taken += whole;
    return b->address;
}

static bool give_back(od_served *d, uintptr_t address)
{
    const od_backend *local = d->server->offer->local;
    od_block **at = &d->blocks;
    while (*at && (*at)->address != address)
        at = &(*at)->next;
    od_block *b = *at;
    if (!b)
        return false;
    *at = b->next;
    if (local)
        local->ops->free(local->state, d->k, (void *)b->address);
    else
        munmap((void *)b->address, b->bytes);
    free(b);
    return true;
}

static void alloc(od_server *s, const od_mpi_message *m)
{
    od_served *d = &s->devices[m->device];
    uintptr_t address = m->bytes ? take(d, m->bytes, (unsigned)m->peer) : 0;
    od_server_answer(s, m->ticket, !address, address);
}

/* --- ranks that are lost ------------------------------------------------------------------ */

static void lose(od_server *s, int rank)
{
    s->lost[rank] = true;
    if (!od_post_drop(s->post, rank))
        od_mpi_give_up("was lost in the middle of a copy to another rank", rank);
}

/* --- kernels ------------------------------------------------------------------------------ */

static void launch(od_server *s, const od_mpi_message *m, const char *behind)
{
    od_served *d = &s->devices[m->device];
    call *c = od_malloc(sizeof *c + m->behind);
    if (!c)
        od_mpi_give_up("is out of memory", s->self->rank);
    *c = (call){.ticket = m->ticket, .bytes = m->behind};
    memcpy(c->content, behind, m->behind);
    pthread_mutex_lock(&d->lock);
    *d->last = c;
    d->last = &c->next;
    atomic_store(&d->called, true);
    pthread_cond_signal(&d->wake);
    pthread_mutex_unlock(&d->lock);
}

static call *next_call(od_served *d)
{
    pthread_mutex_lock(&d->lock);
    while (!d->first)
        pthread_cond_wait(&d->wake, &d->lock);
    call *c = d->first;
    d->first = c->next;
    atomic_store(&d->called, d->first != NULL);
    if (!d->first)
        d->last = &d->first;
    pthread_mutex_unlock(&d->lock);
    return c;
}

static void *run_kernels(void *arg)
{
    od_served *d = arg;
    od_thread_nap_short();
    for (;;) {
        call *c = next_call(d);
        int failed = d->server->offer->launch(d->k, c->content, c->bytes);
        od_server_answer(d->server, c->ticket, failed, 0);
        free(c);
        od_post_linger(d->server->post, &d->called); /* the next one may be near */
    }
    return NULL;
}

/* --- the post ------------------------------------------------------------------------------- */

static void receive(void *arg, int rank, const od_mpi_message *m, const char *behind)
{
    od_server *s = arg;
    bool known = rank == 0 && m->device < s->offer->ndevices && m->peer >= 0;
    switch (known ? (od_mpi_kind)m->kind : OD_MPI_HELLO) {
    case OD_MPI_ALLOC:
        alloc(s, m);
        break;
    case OD_MPI_FREE:
        od_server_answer(s, m->ticket, !give_back(&s->devices[m->device], m->address), 0);
        break;
    case OD_MPI_PUT:
    case OD_MPI_GET:
    case OD_MPI_GIVE:
    case OD_MPI_TAKE:
    case OD_MPI_MOVE:
        od_server_copy(s, m, behind);
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
        od_post_send(s->post, 0, &(od_mpi_message){.kind = OD_MPI_END}, NULL);
        break;
    default:
        od_mpi_give_up("was asked for what it does not know", s->self->rank);
    }
}

static bool work(void *arg)
{
    od_server *s = arg;
    return s->staging && od_staging_poll(s->staging);
}

/* Seconds in which the rank was stopped are none that it has had. */
static void beat(od_server *s, uint64_t now_ns)
{
    uint64_t had_ns = od_fair_lap(&s->had);
    od_mpi_message message = {.kind = OD_MPI_BEAT, .bytes = had_ns < 2 * BEAT_NS ? had_ns : 2 * BEAT_NS};
    od_post_send(s->post, 0, &message, NULL);
    s->beat_ns = now_ns;
}

static bool tick(void *arg, uint64_t now_ns)
{
    od_server *s = arg;
    uint64_t heard_ns = od_post_heard_ns(s->post, 0);
    if (!s->ends && heard_ns < now_ns && now_ns - heard_ns > SILENCE_NS)
        od_mpi_give_up("has not heard of rank 0 for 30 s", s->self->rank);
    if (!s->ends && now_ns > s->beat_ns + BEAT_NS)
        beat(s, now_ns);
    return !s->ends;
}

static bool start_device(od_server *s, unsigned k)
{
    od_served *d = &s->devices[k];
    char name[16];
    *d = (od_served){.server = s, .k = k, .last = &d->first};
    pthread_mutex_init(&d->lock, NULL);
    pthread_cond_init(&d->wake, NULL);
    snprintf(name, sizeof name, "od-device-%u", k % 100);
    return !od_thread_start_for_program(&d->thread, name, run_kernels, d);
}

bool od_serve(const od_rank *self, const od_mpi_offer *offer)
{
    static const od_post_ops ops = {.receive = receive, .work = work, .tick = tick};
    od_server s = {.self = self, .offer = offer};
    s.post = od_post_create(self->comm, &ops, &s);
    s.staging = offer->local ? od_staging_create(offer->local) : NULL;
    s.devices = od_calloc(offer->ndevices, sizeof *s.devices);
    s.lost = od_calloc((size_t)self->ranks, sizeof *s.lost);
    bool ready = s.post && s.devices && s.lost && (s.staging || !offer->local);
    for (unsigned k = 0; ready && k < offer->ndevices; k++)
        ready = start_device(&s, k);
    if (!ready)
        od_mpi_give_up("is out of memory or threads", self->rank);
    od_fair_begin(&s.had, 0, false);
    od_post_run(s.post);
    od_mpi_say_counts(self->rank, s.post);
    return !s.failed;
}
