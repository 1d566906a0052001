/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The back-end in rank 0: devices of all ranks that serve. A copy or a kernel is a message, and its ticket ends with
 * the answer. Bytes go straight from and to the program's memory, in pieces where they are many. A copy between devices
 * of two ranks, or of one, is two messages: the bytes never pass through here.
 *
 * A rank that has not been heard of for long is lost, and all that it was asked for has failed. Late bytes must not
 * arrive in memory that is somebody else's by then: where that cannot be ruled out the job ends.
 */
#include "memmgr/device/mpi/mpi.h"

#include "util/clock.h"
#include "util/container/hash.h"
#include "util/lock.h"
#include "util/memory.h"
#include "util/options.h"
#include "util/thread.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BEAT_NS = 500 * 1000 * 1000 };

struct od_ticket {
    od_node node; /* in client.open while it is under way */
    uint64_t id;
    int rank;   /* that answers */
    int source; /* of bytes between two ranks; else -1 */
    bool source_answers;
    atomic_bool ended;
    bool failed; /* known when it has ended, as the result is */
    pthread_cond_t wake;
    uint64_t result;
    void *into; /* where the answer's bytes belong, or NULL */
    unsigned waits; /* for answers, and the end of a move: which one is known first is open */
    od_move move;
};

typedef struct lap { /* of a rank that serves */
    bool ended;
    uint64_t had_ns;
} lap;

typedef struct client {
    const od_rank *self;
    od_post *post;
    pthread_t thread;
    atomic_bool ending;
    pthread_mutex_t lock; /* protects the rest */
    od_list open;
    uint64_t next_id;
    bool *lost; /* of each rank; written with the post's turn, too */
    bool any_lost;
    int nended; /* ranks that have said their last, or are lost; only with the post's turn, as the next */
    lap *laps;  /* of each rank */
    atomic_uint_least64_t had_ns; /* sum of the shortest laps */
    /* Of the back-end: */
    uint64_t silence_ns; /* 0: nobody minds */
    const int *devices;
    int first; /* of these numbers */
} client;

static client rank0;

/* --- devices ---------------------------------------------------------------------- */

/* The rank that offers device `n`, counted through all ranks; *device is its own number of it. */
static int rank_of(const client *c, unsigned n, uint32_t *device)
{
    for (int rank = 1; rank < c->self->ranks; rank++) {
        if (n < c->self->hello[rank].ndevices) {
            *device = n;
            return rank;
        }
        n -= c->self->hello[rank].ndevices;
    }
    return -1;
}

static int place_of(const client *c, int k, uint32_t *device)
{
    return rank_of(c, (unsigned)(c->devices[k] - c->first), device);
}

unsigned ompdarts_mpi_v1_count(char *why, size_t size)
{
    const client *c = &rank0;
    unsigned count = 0;
    if (!c->self && od_environment(OD_MPI_ROLE))
        snprintf(why, size, "the program offloads before main(), when the ranks have not come together yet");
    else if (!c->self)
        snprintf(why, size,
                 "this process is no rank that runs a program: mpirun starts `ompdarts run --backend=mpi PROGRAM` as "
                 "rank 0");
    for (int rank = 1; c->self && rank < c->self->ranks; rank++)
        count += c->self->hello[rank].ndevices;
    return count;
}

/* Its bytes go through buffers (protocol.h). */
static bool is_staged(const client *c, int rank)
{
    return c->self->hello[rank].staged;
}

/* --- tickets ----------------------------------------------------------------------- */

/* Under the lock. */
static void end_ticket(client *c, od_ticket *ticket)
{
    od_list_remove(&c->open, &ticket->node);
    atomic_store_explicit(&ticket->ended, true, memory_order_release);
    pthread_cond_signal(&ticket->wake);
}

/* Likewise. */
static void end_wait(client *c, od_ticket *ticket)
{
    if (--ticket->waits == 0)
        end_ticket(c, ticket);
}

/* NULL: a rank is lost, or memory is short. */
static od_ticket *open_ticket(client *c, int rank, int source)
{
    od_ticket *ticket = od_calloc(1, sizeof *ticket);
    pthread_mutex_lock(&c->lock);
    bool lost = c->lost[rank] || (source >= 0 && c->lost[source]);
    if (ticket && !lost) {
        ticket->id = ++c->next_id;
        ticket->waits = 1;
        ticket->rank = rank;
        ticket->source = source;
        pthread_cond_init(&ticket->wake, NULL);
        od_list_push_back(&c->open, &ticket->node);
    }
    pthread_mutex_unlock(&c->lock);
    if (!lost)
        return ticket;
    free(ticket);
    return NULL;
}

static od_status give_up_ticket(od_ticket *ticket)
{
    od_status status = ticket->failed ? OD_EDEVICE : OD_OK;
    pthread_cond_destroy(&ticket->wake);
    free(ticket);
    return status;
}

/* One thread looks for answers for a while, the others sleep: many that look would keep kernels from the processors. */
static od_status await(client *c, od_ticket *ticket, uint64_t *result)
{
    int cancellation = od_thread_defer_cancellation();
    od_post_linger(c->post, &ticket->ended);
    pthread_mutex_lock(&c->lock);
    while (!atomic_load(&ticket->ended))
        pthread_cond_wait(&ticket->wake, &c->lock);
    pthread_mutex_unlock(&c->lock);
    od_thread_admit_cancellation(cancellation);
    if (result)
        *result = ticket->result;
    return give_up_ticket(ticket);
}

/* Asks and waits. */
static od_status ask(client *c, int rank, od_mpi_message *message, uint64_t *result)
{
    od_ticket *ticket = open_ticket(c, rank, -1);
    if (!ticket)
        return OD_EDEVICE;
    message->ticket = ticket->id;
    od_post_send(c->post, rank, message, NULL);
    return await(c, ticket, result);
}

/* --- the back-end: memory ------------------------------------------------------------- */

static od_status mpi_alloc(void *state, unsigned k, size_t bytes, void **address)
{
    client *c = state;
    uint64_t result = 0;
    od_mpi_message message = {.kind = OD_MPI_ALLOC, .bytes = bytes, .peer = c->devices[k] - c->first};
    int rank = place_of(c, (int)k, &message.device);
    od_status status = ask(c, rank, &message, &result);
    *address = (void *)(uintptr_t)result; /* there */
    return status;
}

static void mpi_free(void *state, unsigned k, void *address)
{
    client *c = state;
    od_mpi_message message = {.kind = OD_MPI_FREE, .address = (uintptr_t)address};
    int rank = place_of(c, (int)k, &message.device);
    ask(c, rank, &message, NULL);
}

static od_status mpi_memory(void *state, unsigned k, size_t *free_bytes, size_t *total)
{
    const client *c = state;
    uint32_t device = 0;
    *free_bytes = *total = c->self->hello[place_of(c, (int)k, &device)].memory;
    return OD_OK;
}

/* --- the back-end: copies --------------------------------------------------------------- */

/* With the post's turn. */
static void moved(od_move *move)
{
    od_ticket *ticket = move->arg;
    pthread_mutex_lock(&rank0.lock);
    ticket->failed |= move->failed;
    end_wait(&rank0, ticket);
    pthread_mutex_unlock(&rank0.lock);
}

static void move(client *c, od_ticket *ticket, bool sends, void *at, const od_mpi_message *message)
{
    ticket->move = (od_move){.sends = sends,
                             .rank = ticket->rank,
                             .tag = message->tag,
                             .at = at,
                             .bytes = message->bytes,
                             .done = moved,
                             .arg = ticket};
    od_post_move(c->post, &ticket->move);
}

static od_status put(client *c, const od_copy *copy, od_ticket **started)
{
    bool few = copy->bytes <= OD_MPI_FEW;
    void *from = (void *)(uintptr_t)copy->from_address;
    od_mpi_message message = {.kind = OD_MPI_PUT,
                              .address = (uintptr_t)copy->to_address,
                              .bytes = copy->bytes,
                              .tag = few ? 0 : od_post_tag(c->post),
                              .behind = few ? (uint32_t)copy->bytes : 0};
    int rank = place_of(c, copy->to, &message.device);
    od_ticket *ticket = *started = open_ticket(c, rank, -1);
    if (!ticket)
        return OD_EDEVICE;
    message.ticket = ticket->id;
    ticket->waits += !few;
    od_post_send(c->post, rank, &message, from);
    if (!few)
        move(c, ticket, true, from, &message);
    return OD_OK;
}

static od_status get(client *c, const od_copy *copy, od_ticket **started)
{
    bool few = copy->bytes <= OD_MPI_FEW;
    od_mpi_message message = {.kind = OD_MPI_GET,
                              .address = (uintptr_t)copy->from_address,
                              .bytes = copy->bytes,
                              .tag = few ? 0 : od_post_tag(c->post)};
    int rank = place_of(c, copy->from, &message.device);
    od_ticket *ticket = *started = open_ticket(c, rank, -1);
    if (!ticket)
        return OD_EDEVICE;
    message.ticket = ticket->id;
    ticket->into = few ? copy->to_address : NULL;
    ticket->waits += !few && is_staged(c, rank);
    if (!few)
        move(c, ticket, false, copy->to_address, &message);
    od_post_send(c->post, rank, &message, NULL);
    return OD_OK;
}

static od_status within(client *c, const od_copy *copy, od_ticket **started)
{
    od_mpi_message message = {.kind = OD_MPI_MOVE,
                              .address = (uintptr_t)copy->to_address,
                              .bytes = copy->bytes,
                              .behind = sizeof(od_mpi_source)};
    od_mpi_source source = {.address = (uintptr_t)copy->from_address};
    int rank = place_of(c, copy->to, &message.device);
    place_of(c, copy->from, &source.device);
    od_ticket *ticket = *started = open_ticket(c, rank, -1);
    if (!ticket)
        return OD_EDEVICE;
    message.ticket = ticket->id;
    od_post_send(c->post, rank, &message, &source);
    return OD_OK;
}

static od_status between(client *c, const od_copy *copy, od_ticket **started)
{
    od_mpi_message give = {.kind = OD_MPI_GIVE, .address = (uintptr_t)copy->from_address, .bytes = copy->bytes};
    od_mpi_message take = {.kind = OD_MPI_TAKE, .address = (uintptr_t)copy->to_address, .bytes = copy->bytes};
    int from = place_of(c, copy->from, &give.device), to = place_of(c, copy->to, &take.device);
    if (from == to && is_staged(c, from))
        return within(c, copy, started);
    od_ticket *ticket = *started = open_ticket(c, to, from);
    if (!ticket)
        return OD_EDEVICE;
    give.tag = take.tag = od_post_tag(c->post);
    give.peer = to;
    take.peer = from;
    take.ticket = give.ticket = ticket->id;
    ticket->source_answers = is_staged(c, from);
    ticket->waits += ticket->source_answers;
    od_post_send(c->post, to, &take, NULL);
    od_post_send(c->post, from, &give, NULL);
    return OD_OK;
}

static od_status mpi_start(void *state, const od_copy *copy, od_ticket **ticket)
{
    client *c = state;
    if (copy->from == OD_HOST)
        return put(c, copy, ticket);
    return copy->to == OD_HOST ? get(c, copy, ticket) : between(c, copy, ticket);
}

static od_status mpi_copy(void *state, int to, void *to_address, int from, const void *from_address, size_t bytes)
{
    const od_copy copy = {
        .to = to, .from = from, .to_address = to_address, .from_address = from_address, .bytes = bytes};
    od_ticket *ticket;
    if (!bytes)
        return OD_OK;
    od_status status = mpi_start(state, &copy, &ticket);
    return status ? status : await(state, ticket, NULL);
}

static od_status mpi_poll(void *state, od_ticket *ticket)
{
    (void)state;
    if (!atomic_load_explicit(&ticket->ended, memory_order_relaxed))
        od_post_poll(rank0.post);
    if (!atomic_load_explicit(&ticket->ended, memory_order_acquire))
        return OD_EBUSY;
    pthread_mutex_lock(&rank0.lock); /* whoever has ended it may not have let go of it */
    pthread_mutex_unlock(&rank0.lock);
    return give_up_ticket(ticket);
}

/* --- the back-end: kernels, names --------------------------------------------------------- */

static od_status mpi_launch(void *state, unsigned k, const void *call, size_t bytes, od_ticket **started)
{
    client *c = state;
    od_mpi_message message = {.kind = OD_MPI_LAUNCH, .behind = (uint32_t)bytes};
    if (bytes > OD_MPI_LONGEST - sizeof message)
        return OD_EINVAL;
    int rank = place_of(c, (int)k, &message.device);
    od_ticket *ticket = open_ticket(c, rank, -1);
    if (!ticket)
        return OD_EDEVICE;
    message.ticket = ticket->id;
    od_post_send(c->post, rank, &message, call);
    if (!started)
        return await(c, ticket, NULL);
    *started = ticket;
    return OD_OK;
}

static void mpi_name(void *state, unsigned k, char *text, size_t size)
{
    const client *c = state;
    uint32_t device = 0;
    int rank = place_of(c, (int)k, &device);
    snprintf(text, size, "device %u of rank %d", device, rank);
}

static unsigned mpi_rank(void *state, unsigned k, char *host, size_t size)
{
    const client *c = state;
    uint32_t device;
    int rank = place_of(c, (int)k, &device);
    snprintf(host, size, "%s", c->self->hello[rank].machine);
    return (unsigned)rank;
}

static uint32_t mpi_identity(void *state)
{
    const client *c = state;
    uint64_t hash = OD_HASH_START;
    for (int rank = 0; rank < c->self->ranks; rank++) {
        const od_mpi_hello *hello = &c->self->hello[rank];
        hash = od_hash(hash, hello->machine, strlen(hello->machine));
        hash = od_hash(hash, &hello->ndevices, sizeof hello->ndevices);
    }
    return (uint32_t)(hash ^ hash >> 32);
}

static uint64_t mpi_had_ns(void *state)
{
    client *c = state;
    return atomic_load(&c->had_ns);
}

static void mpi_destroy(void *state)
{
    (void)state; /* the rank's, which goes on until it ends */
}

static const od_backend_ops mpi_ops = {
    .interface_version = OD_BACKEND_INTERFACE,
    .name = "mpi",
    .description = "devices of the other ranks of an MPI job",
    .peer = true,
    .alloc = mpi_alloc,
    .free = mpi_free,
    .copy = mpi_copy,
    .destroy = mpi_destroy,
    .start = mpi_start,
    .poll = mpi_poll,
    .memory = mpi_memory,
    .identity = mpi_identity,
    .launch = mpi_launch,
    .name_of = mpi_name,
    .rank_of = mpi_rank,
    .had_ns = mpi_had_ns,
};

static od_status check_kernels(const client *c, const od_mpi_config *config, char *error, size_t size)
{
    for (int rank = 1; rank < c->self->ranks; rank++)
        for (uint32_t i = 0; i < c->self->hello[rank].nkernels; i++)
            if (!config->knows(&c->self->kernels[rank][i])) {
                snprintf(error, size,
                         "rank %d (%s) serves another program, or another build of it: its device code has kernels "
                         "that this one has not",
                         rank, c->self->hello[rank].machine);
                return OD_EINVAL;
            }
    return OD_OK;
}

static od_status check_memory(const client *c, const od_mpi_config *config, char *error, size_t size)
{
    for (int rank = 1; rank < c->self->ranks; rank++)
        if (c->self->hello[rank].ndevices && config->memory > c->self->hello[rank].memory) {
            snprintf(error, size, "each device is to give %.10g MB (OMPDARTS_MEM), those of rank %d (%s) give %.10g MB",
                     (double)config->memory * 1e-6, rank, c->self->hello[rank].machine,
                     (double)c->self->hello[rank].memory * 1e-6);
            return OD_EINVAL;
        }
    return OD_OK;
}

od_status ompdarts_mpi_v1_backend(od_backend *backend, const od_mpi_config *config, char *error, size_t size)
{
    client *c = &rank0;
    if (config->interface_version != OD_BACKEND_INTERFACE) {
        snprintf(error, size, OD_MPI_MODULE " beside libompdarts.so is of another version");
        return OD_EINVAL;
    }
    if (!ompdarts_mpi_v1_count(error, size) || check_kernels(c, config, error, size) ||
        check_memory(c, config, error, size))
        return OD_EINVAL;
    od_log_set_level(config->log);
    c->devices = config->devices;
    c->first = config->first;
    __atomic_store_n(&c->silence_ns, (uint64_t)(config->silence_s * 1e9), __ATOMIC_RELEASE);
    *backend = (od_backend){.ops = &mpi_ops, .state = c, .ndevices = 0};
    return OD_OK;
}

/* --- the post's thread --------------------------------------------------------------------- */

/* Under the lock. */
static od_ticket *find_ticket(client *c, uint64_t id)
{
    od_list_each(node, &c->open) {
        od_ticket *ticket = od_container_of(node, od_ticket, node);
        if (ticket->id == id)
            return ticket;
    }
    return NULL;
}

/* A lap ends when all ranks that are not lost have said what they have had since the last; it is as long as that of the
 * one that had least. */
static void end_lap(client *c)
{
    uint64_t least_ns = UINT64_MAX / 2; /* with no rank left nobody keeps the others waiting */
    for (int rank = 1; rank < c->self->ranks; rank++) {
        if (!c->lost[rank] && !c->laps[rank].ended)
            return;
        if (!c->lost[rank] && c->laps[rank].had_ns < least_ns)
            least_ns = c->laps[rank].had_ns;
    }
    atomic_fetch_add(&c->had_ns, least_ns);
    memset(c->laps, 0, (size_t)c->self->ranks * sizeof *c->laps);
}

static void receive(void *arg, int rank, const od_mpi_message *message, const char *behind)
{
    client *c = arg;
    if (message->kind == OD_MPI_BEAT) {
        c->laps[rank].ended = true;
        c->laps[rank].had_ns += message->bytes;
        end_lap(c);
    }
    c->nended += message->kind == OD_MPI_END && !c->lost[rank];
    if (message->kind != OD_MPI_DONE)
        return;
    pthread_mutex_lock(&c->lock);
    od_ticket *ticket = c->lost[rank] ? NULL : find_ticket(c, message->ticket);
    if (ticket) {
        ticket->result = message->address;
        if (ticket->into && !message->failed)
            memcpy(ticket->into, behind, message->behind);
        ticket->failed |= message->failed != 0;
        ticket->source_answers &= rank != ticket->source;
        end_wait(c, ticket);
    }
    pthread_mutex_unlock(&c->lock);
}

static void lose(client *c, int rank)
{
    const od_mpi_message message = {.kind = OD_MPI_LOST, .peer = rank};
    od_log(OD_LOG_WARNING, "mpi", "rank %d (%s) has not been heard of for %.3g s: it is lost", rank,
           c->self->hello[rank].machine, (double)c->silence_ns * 1e-9);
    pthread_mutex_lock(&c->lock);
    c->lost[rank] = c->any_lost = true;
    c->nended++;
    pthread_mutex_unlock(&c->lock);
    if (!od_post_drop(c->post, rank))
        od_mpi_give_up("was lost in the middle of a copy to rank 0", rank);
    for (int other = 1; other < c->self->ranks; other++)
        if (!c->lost[other])
            od_post_send(c->post, other, &message, NULL);
    pthread_mutex_lock(&c->lock);
    od_list_each(node, &c->open) { /* of copies from there the other rank says what has become */
        od_ticket *ticket = od_container_of(node, od_ticket, node);
        if (ticket->rank == rank) {
            ticket->failed = true;
            end_ticket(c, ticket);
        } else if (ticket->source == rank && ticket->source_answers) {
            ticket->source_answers = false;
            end_wait(c, ticket);
        }
    }
    pthread_mutex_unlock(&c->lock);
    end_lap(c);
}

/* A rank that is lost and is heard of all the same stays lost, but must not take rank 0 for ended. */
static bool tick(void *arg, uint64_t now_ns)
{
    client *c = arg;
    uint64_t silence_ns = __atomic_load_n(&c->silence_ns, __ATOMIC_ACQUIRE);
    bool ends = atomic_load(&c->ending);
    for (int rank = 1; rank < c->self->ranks; rank++) {
        od_mpi_message message = {.kind = ends ? OD_MPI_END : OD_MPI_BEAT, .failed = c->any_lost};
        uint64_t heard_ns = od_post_heard_ns(c->post, rank);
        bool is_silent = silence_ns && heard_ns < now_ns && now_ns - heard_ns > silence_ns;
        if (is_silent && !c->lost[rank])
            lose(c, rank);
        else if (!is_silent && (ends || now_ns > od_post_sent_ns(c->post, rank) + BEAT_NS))
            od_post_send(c->post, rank, &message, NULL);
    }
    return !ends;
}

static bool expects(void *arg)
{
    client *c = arg;
    return c->nended < c->self->ranks - 1;
}

static void *run(void *arg)
{
    client *c = arg;
    od_post_run(c->post);
    return NULL;
}

od_status od_client_start(const od_rank *self)
{
    static const od_post_ops ops = {.receive = receive, .tick = tick, .expects = expects};
    client *c = &rank0;
    c->post = od_post_create(self->comm, &ops, c);
    c->lost = od_calloc((size_t)self->ranks, sizeof *c->lost);
    c->laps = od_calloc((size_t)self->ranks, sizeof *c->laps);
    if (!c->post || !c->lost || !c->laps)
        return OD_ENOMEM;
    c->self = self;
    pthread_mutex_init(&c->lock, NULL);
    od_list_init(&c->open);
    return od_thread_start(&c->thread, "od-mpi", run, c);
}

bool od_client_end(void)
{
    client *c = &rank0;
    atomic_store(&c->ending, true);
    pthread_join(c->thread, NULL);
    od_mpi_say_counts(0, c->post);
    return !c->any_lost;
}
