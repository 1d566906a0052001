/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Bytes to and from the devices of a rank that serves. Where their memory is the process's own, MPI reads and writes
 * it. Else each copy has a buffer: bytes that arrive go from there to the device, and bytes that leave have come there
 * before.
 */
#include "memmgr/device/mpi/served.h"

#include "util/memory.h"

#include <stdlib.h>
#include <string.h>

void od_server_answer(od_server *s, uint64_t ticket, bool failed, uint64_t address)
{
    od_mpi_message done = {.kind = OD_MPI_DONE, .ticket = ticket, .failed = failed, .address = address};
    od_post_send(s->post, 0, &done, NULL);
}

typedef struct carried {
    od_server *server;
    od_mpi_message m;
    uint64_t ticket; /* 0: nobody waits for an answer */
    od_move move;    /* between ranks */
    od_stage *stage; /* NULL: without a buffer */
} carried;

static carried *begin(od_server *s, const od_mpi_message *m, uint64_t ticket)
{
    carried *c = od_calloc(1, sizeof *c);
    od_stage *stage = c && s->staging ? od_stage_take(s->staging, m->bytes) : NULL;
    if (!c || (s->staging && !stage))
        od_mpi_give_up("is out of memory", s->self->rank);
    *c = (carried){.server = s, .m = *m, .ticket = ticket, .stage = stage};
    if (stage)
        stage->arg = c;
    return c;
}

static void end(carried *c)
{
    if (c->stage)
        od_stage_give(c->server->staging, c->stage);
    free(c);
}

static void end_with(carried *c, bool failed)
{
    if (c->ticket)
        od_server_answer(c->server, c->ticket, failed, 0);
    end(c);
}

static void move(carried *c, bool sends, int rank, void (*done)(od_move *))
{
    c->move = (od_move){.sends = sends,
                        .rank = rank,
                        .tag = c->m.tag,
                        .at = c->stage ? c->stage->buffer : (char *)(uintptr_t)c->m.address,
                        .bytes = c->m.bytes,
                        .done = done,
                        .arg = c};
    od_post_move(c->server->post, &c->move);
}

/* --- to a device ---------------------------------------------------------------------- */

static void loaded(od_stage *stage, bool failed)
{
    end_with(stage->arg, failed);
}

static void load(carried *c)
{
    c->stage->done = loaded;
    od_stage_load(c->server->staging, c->stage, c->m.device, (void *)(uintptr_t)c->m.address);
}

static void arrived(od_move *move)
{
    carried *c = move->arg;
    if (c->stage && !move->failed)
        load(c);
    else
        end_with(c, move->failed);
}

static void put(od_server *s, const od_mpi_message *m, const char *behind)
{
    if (m->tag) {
        move(begin(s, m, m->ticket), false, 0, arrived);
    } else if (s->staging) {
        carried *c = begin(s, m, m->ticket);
        memcpy(c->stage->buffer, behind, m->behind);
        load(c);
    } else {
        memcpy((void *)(uintptr_t)m->address, behind, m->behind);
        od_server_answer(s, m->ticket, false, 0);
    }
}

/* --- from a device --------------------------------------------------------------------- */

static void sent(od_move *move)
{
    end(move->arg);
}

/* The other rank gets bytes even if they could not be had, or it would wait for ever. Rank 0 is told. */
static void saved(od_stage *stage, bool failed)
{
    carried *c = stage->arg;
    od_server_answer(c->server, c->ticket, failed, 0);
    move(c, true, c->m.kind == OD_MPI_GIVE ? c->m.peer : 0, sent);
}

static void saved_few(od_stage *stage, bool failed)
{
    carried *c = stage->arg;
    od_mpi_message done = {
        .kind = OD_MPI_DONE, .ticket = c->ticket, .failed = failed, .behind = failed ? 0 : (uint32_t)c->m.bytes};
    od_post_send(c->server->post, 0, &done, stage->buffer);
    end(c);
}

static void send(od_server *s, const od_mpi_message *m)
{
    carried *c = begin(s, m, m->ticket);
    if (!c->stage) {
        move(c, true, m->kind == OD_MPI_GIVE ? m->peer : 0, sent);
        return;
    }
    c->stage->done = m->tag ? saved : saved_few;
    od_stage_save(s->staging, c->stage, m->device, (const void *)(uintptr_t)m->address);
}

static void get(od_server *s, const od_mpi_message *m)
{
    od_mpi_message done = {.kind = OD_MPI_DONE, .ticket = m->ticket, .behind = (uint32_t)m->bytes};
    if (m->tag || s->staging)
        send(s, m);
    else
        od_post_send(s->post, 0, &done, (const void *)(uintptr_t)m->address);
}

/* --- between two devices ------------------------------------------------------------------ */

static void fetched(od_stage *stage, bool failed)
{
    if (failed)
        end_with(stage->arg, true);
    else
        load(stage->arg);
}

static void pass(od_server *s, const od_mpi_message *m, const od_mpi_source *source)
{
    const od_backend *local = s->offer->local;
    carried *c = begin(s, m, m->ticket);
    const void *from = (const void *)(uintptr_t)source->address;
    if (local->ops->is_peer && local->ops->is_peer(local->state, source->device, m->device)) {
        c->stage->done = loaded;
        od_stage_pass(s->staging, c->stage, m->device, (void *)(uintptr_t)m->address, source->device, from);
    } else {
        c->stage->done = fetched;
        od_stage_save(s->staging, c->stage, source->device, from);
    }
}

/* --- messages --------------------------------------------------------------------------------- */

/* Bytes are only copied to and from what has been given out. */
static bool is_taken(const od_served *d, uint64_t address, uint64_t bytes)
{
    const od_block *b = d->blocks;
    while (b && !(address >= b->address && bytes <= b->bytes && address - b->address <= b->bytes - bytes))
        b = b->next;
    return b;
}

/* Of a message that says where bytes of the rank's own come from. */
static bool has_source(const od_server *s, const od_mpi_message *m, const char *behind, od_mpi_source *source)
{
    if (!s->staging || m->behind != sizeof *source)
        return false;
    memcpy(source, behind, sizeof *source);
    return source->device < s->offer->ndevices && is_taken(&s->devices[source->device], source->address, m->bytes);
}

void od_server_copy(od_server *s, const od_mpi_message *m, const char *behind)
{
    od_mpi_source source;
    bool known = is_taken(&s->devices[m->device], m->address, m->bytes);
    if (!known || (m->kind == OD_MPI_MOVE && !has_source(s, m, behind, &source)))
        od_mpi_give_up("was asked to copy what is not its devices' memory", s->self->rank);
    switch (m->kind) {
    case OD_MPI_PUT:
        put(s, m, behind);
        break;
    case OD_MPI_GET:
        get(s, m);
        break;
    case OD_MPI_GIVE:
        send(s, m);
        break;
    case OD_MPI_MOVE:
        pass(s, m, &source);
        break;
    default:
        if (s->lost[m->peer])
            od_server_answer(s, m->ticket, true, 0);
        else
            move(begin(s, m, m->ticket), false, m->peer, arrived);
    }
}
