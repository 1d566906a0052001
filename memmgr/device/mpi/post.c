/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* See post.h. */
#include "memmgr/device/mpi/post.h"

#include "util/clock.h"
#include "util/lock.h"
#include "util/log.h"
#include "util/memory.h"
#include "util/thread.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum {
    SPIN_NS = 100000,     /* after something has happened, the next may be near */
    LINGER_NS = 1000000,  /* likewise, with naps */
    CROWDED_NS = 20000,   /* a yield takes so long where others want the processor; naps get it back sooner */
    FORGET_NS = 10000000, /* after that a yield is tried again */
    POLLED_NS = 1000,     /* it is too early to look again */
    POLLERS_NS = 200000,  /* who has looked so short a time ago will again */
    SHORTEST_NAP_NS = 10000,
    POLLERS_NAP_NS = 200000,
    LONGEST_NAP_NS = 500000,
    TICK_NS = 10 * 1000 * 1000,
    END_NAP_NS = 50 * 1000,         /* between two looks at the end */
    STOPPED_NS = 500 * 1000 * 1000, /* without a tick: the process was stopped, or the machine, or had no processor */
};

#define PATIENCE_NS (2 * OD_NS_PER_S) /* with what is still to be sent, or heard, at the end */

typedef struct letter {
    od_node node;
    int rank;
    MPI_Request request;
    size_t bytes, copied; /* copied: of a copy */
    char content[];
} letter;

struct od_post {
    MPI_Comm comm;
    const od_post_ops *ops;
    void *arg;
    int ranks, most_tag;
    atomic_int next_tag;
    uint64_t *heard_ns, *sent_ns; /* of each rank */
    pthread_mutex_t lock;         /* protects the two lists of what is new; taken last */
    pthread_cond_t wake;
    atomic_bool rests, sleeps;      /* sleeps: until something happens, or for long */
    od_list new_letters, new_moves; /* letter.node, od_move.node */
    atomic_bool has_new;            /* one of them is not empty: a look at it needs no lock */
    /* When something has happened last, somebody else has polled, a yield has taken long: */
    atomic_uint_least64_t busy_ns, polled_ns, crowded_ns;
    atomic_bool lingers;    /* somebody */
    uint64_t ticked_ns;     /* the post's thread's own */
    pthread_mutex_t turn;   /* to call MPI; recursive, taken first. Protects the rest */
    bool ended;             /* MPI is called no more */
    od_list letters, moves; /* under way */
    MPI_Request incoming;
    char *inbox; /* OD_MPI_LONGEST bytes */
    od_post_counts counts;
};

/* --- the turn ---------------------------------------------------------------------- */

/* The caller may be a thread of the program, which may cancel it. */
static bool take_turn(od_post *post, int *cancellation)
{
    *cancellation = od_thread_defer_cancellation();
    if (!pthread_mutex_trylock(&post->turn))
        return true;
    od_thread_admit_cancellation(*cancellation);
    return false;
}

static void give_turn(od_post *post, int cancellation)
{
    pthread_mutex_unlock(&post->turn);
    od_thread_admit_cancellation(cancellation);
}

/* --- out ---------------------------------------------------------------------------- */

static void hand_in(od_post *post, od_list *list, od_node *node)
{
    pthread_mutex_lock(&post->lock);
    od_list_push_back(list, node);
    atomic_store(&post->has_new, true);
    if (atomic_load(&post->rests))
        pthread_cond_signal(&post->wake);
    pthread_mutex_unlock(&post->lock);
}

static void take_all(od_list *from, od_list *into)
{
    for (od_node *node; (node = od_list_pop_front(from));)
        od_list_push_back(into, node);
}

static bool has_ended(letter *l)
{
    int ended = 0;
    MPI_Test(&l->request, &ended, MPI_STATUS_IGNORE);
    return ended;
}

static void send(od_post *post, letter *l)
{
    MPI_Isend(l->content, (int)l->bytes, MPI_BYTE, l->rank, OD_MPI_TAG_MESSAGE, post->comm, &l->request);
    post->counts.messages++;
    post->counts.bytes += l->bytes;
    post->counts.data_bytes += l->copied;
    post->sent_ns[l->rank] = od_clock_ns();
    if (has_ended(l))
        free(l);
    else
        od_list_push_back(&post->letters, &l->node);
}

/* Sends the letters that have been handed in; moves begin when they are advanced. True: there were any. */
static bool take_new(od_post *post)
{
    od_list letters;
    if (!atomic_load_explicit(&post->has_new, memory_order_relaxed))
        return false;
    od_list_init(&letters);
    pthread_mutex_lock(&post->lock);
    atomic_store_explicit(&post->has_new, false, memory_order_relaxed);
    take_all(&post->new_letters, &letters);
    take_all(&post->new_moves, &post->moves);
    pthread_mutex_unlock(&post->lock);
    for (od_node *node; (node = od_list_pop_front(&letters));)
        send(post, od_container_of(node, letter, node));
    return true;
}

/* An answer is to come. */
static void expect(od_post *post)
{
    atomic_store_explicit(&post->busy_ns, od_clock_ns(), memory_order_relaxed);
    if (!atomic_load_explicit(&post->sleeps, memory_order_relaxed))
        return;
    pthread_mutex_lock(&post->lock);
    pthread_cond_signal(&post->wake);
    pthread_mutex_unlock(&post->lock);
}

/* False: somebody else has the turn. */
static bool send_now(od_post *post, letter *l)
{
    int cancellation;
    if (!take_turn(post, &cancellation))
        return false;
    take_new(post);
    if (post->ended)
        free(l);
    else
        send(post, l);
    give_turn(post, cancellation);
    expect(post);
    return true;
}

void od_post_send(od_post *post, int rank, const od_mpi_message *message, const void *behind)
{
    letter *l = od_malloc(sizeof *l + sizeof *message + message->behind);
    if (!l) {
        od_log(OD_LOG_ERROR, "mpi", "out of memory");
        abort();
    }
    *l = (letter){.rank = rank, .request = MPI_REQUEST_NULL, .bytes = sizeof *message + message->behind};
    memcpy(l->content, message, sizeof *message);
    if (message->kind != OD_MPI_LAUNCH && message->kind != OD_MPI_MOVE)
        l->copied = message->behind;
    if (message->behind)
        memcpy(l->content + sizeof *message, behind, message->behind);
    if (!send_now(post, l))
        hand_in(post, &post->new_letters, &l->node);
}

void od_post_move(od_post *post, od_move *move)
{
    move->failed = false;
    move->begun = move->ended = 0;
    for (int i = 0; i < OD_MOVE_PIECES; i++)
        move->request[i] = MPI_REQUEST_NULL;
    hand_in(post, &post->new_moves, &move->node);
}

int od_post_tag(od_post *post)
{
    unsigned n = (unsigned)atomic_fetch_add(&post->next_tag, 1);
    return OD_MPI_TAG_PIECES + (int)(n % (unsigned)(post->most_tag - OD_MPI_TAG_PIECES));
}

/* --- a step ------------------------------------------------------------------------- */

static bool end_letters(od_post *post)
{
    bool any = false;
    od_list_each(node, &post->letters) {
        letter *l = od_container_of(node, letter, node);
        if (!has_ended(l))
            continue;
        od_list_remove(&post->letters, node);
        free(l);
        any = true;
    }
    return any;
}

static size_t piece_of(const od_move *m, size_t at)
{
    return m->bytes - at < OD_MPI_PIECE ? m->bytes - at : OD_MPI_PIECE;
}

/* Pieces of one move arrive in their order. */
static void begin_pieces(od_post *post, od_move *m)
{
    while (m->begun < m->bytes && m->begun - m->ended < OD_MOVE_PIECES * (size_t)OD_MPI_PIECE) {
        MPI_Request *request = &m->request[m->begun / OD_MPI_PIECE % OD_MOVE_PIECES];
        int bytes = (int)piece_of(m, m->begun);
        if (m->sends)
            MPI_Isend(m->at + m->begun, bytes, MPI_BYTE, m->rank, m->tag, post->comm, request);
        else
            MPI_Irecv(m->at + m->begun, bytes, MPI_BYTE, m->rank, m->tag, post->comm, request);
        m->begun += (size_t)bytes;
        if (m->sends) {
            post->counts.data_bytes += (size_t)bytes;
            post->counts.pieces++;
            post->counts.bytes += (size_t)bytes;
            post->sent_ns[m->rank] = od_clock_ns();
        }
    }
}

/* True where a piece has ended. */
static bool end_pieces(od_post *post, od_move *m)
{
    bool any = false;
    while (m->ended < m->begun) {
        int ended = 0;
        MPI_Test(&m->request[m->ended / OD_MPI_PIECE % OD_MOVE_PIECES], &ended, MPI_STATUS_IGNORE);
        if (!ended)
            break;
        m->ended += piece_of(m, m->ended);
        if (!m->sends)
            post->heard_ns[m->rank] = od_clock_ns();
        any = true;
    }
    return any;
}

static bool advance_moves(od_post *post)
{
    bool any = false;
    od_list_each(node, &post->moves) {
        od_move *m = od_container_of(node, od_move, node);
        any |= end_pieces(post, m);
        begin_pieces(post, m);
        if (m->ended == m->bytes) {
            od_list_remove(&post->moves, node);
            m->done(m);
        }
    }
    return any;
}

static void await_message(od_post *post)
{
    MPI_Irecv(post->inbox, OD_MPI_LONGEST, MPI_BYTE, MPI_ANY_SOURCE, OD_MPI_TAG_MESSAGE, post->comm, &post->incoming);
}

static bool receive(od_post *post)
{
    int ended = 0, bytes = 0;
    MPI_Status status;
    od_mpi_message message;
    MPI_Test(&post->incoming, &ended, &status);
    if (!ended)
        return false;
    MPI_Get_count(&status, MPI_BYTE, &bytes);
    memcpy(&message, post->inbox, sizeof message);
    if ((size_t)bytes < sizeof message || message.behind != (size_t)bytes - sizeof message) {
        od_log(OD_LOG_ERROR, "mpi", "a message of rank %d is damaged", status.MPI_SOURCE);
        abort();
    }
    post->heard_ns[status.MPI_SOURCE] = od_clock_ns();
    post->ops->receive(post->arg, status.MPI_SOURCE, &message, post->inbox + sizeof message);
    await_message(post);
    return true;
}

/* With the turn. True: something has happened. */
static bool step(od_post *post)
{
    bool any = receive(post);
    any |= take_new(post);
    any |= end_letters(post);
    any |= advance_moves(post);
    any |= post->ops->work && post->ops->work(post->arg);
    if (any)
        atomic_store_explicit(&post->busy_ns, od_clock_ns(), memory_order_relaxed);
    return any;
}

/* --- waiting ------------------------------------------------------------------------ */

static uint64_t since(const atomic_uint_least64_t *then_ns, uint64_t now_ns)
{
    uint64_t then = atomic_load_explicit(then_ns, memory_order_relaxed);
    return now_ns > then ? now_ns - then : 0;
}

static bool may_spin(const od_post *post, uint64_t now_ns)
{
    return since(&post->busy_ns, now_ns) < SPIN_NS && since(&post->crowded_ns, now_ns) >= FORGET_NS;
}

static void yield(od_post *post)
{
    uint64_t begin_ns = od_clock_ns();
    sched_yield();
    uint64_t now_ns = od_clock_ns();
    if (now_ns - begin_ns > CROWDED_NS)
        atomic_store_explicit(&post->crowded_ns, now_ns, memory_order_relaxed);
}

static bool poll(od_post *post)
{
    int cancellation;
    if (!take_turn(post, &cancellation))
        return false;
    bool any = !post->ended && step(post);
    give_turn(post, cancellation);
    return any;
}

void od_post_poll(od_post *post)
{
    uint64_t now_ns = od_clock_ns();
    if (since(&post->polled_ns, now_ns) < POLLED_NS)
        return;
    atomic_store_explicit(&post->polled_ns, now_ns, memory_order_relaxed);
    poll(post);
}

/* The longer nothing has happened the longer, and shorter than others can wait for. */
static uint64_t nap_of(const od_post *post, uint64_t now_ns)
{
    uint64_t nap_ns = since(&post->busy_ns, now_ns) / 8;
    if (nap_ns < SHORTEST_NAP_NS)
        return SHORTEST_NAP_NS;
    return nap_ns < LONGEST_NAP_NS ? nap_ns : LONGEST_NAP_NS;
}

static void nap(od_post *post, uint64_t nap_ns, uint64_t now_ns)
{
    struct timespec end = od_clock_time(now_ns + nap_ns);
    pthread_mutex_lock(&post->lock);
    atomic_store(&post->rests, true);
    atomic_store(&post->sleeps, nap_ns == LONGEST_NAP_NS);
    if (!atomic_load_explicit(&post->has_new, memory_order_relaxed))
        pthread_cond_timedwait(&post->wake, &post->lock, &end);
    atomic_store(&post->rests, false);
    atomic_store(&post->sleeps, false);
    pthread_mutex_unlock(&post->lock);
}

static void rest(od_post *post)
{
    uint64_t now_ns = od_clock_ns();
    if (atomic_load_explicit(&post->lingers, memory_order_relaxed) || since(&post->polled_ns, now_ns) < POLLERS_NS)
        nap(post, POLLERS_NAP_NS, now_ns);
    else if (may_spin(post, now_ns))
        yield(post);
    else
        nap(post, nap_of(post, now_ns), now_ns);
}

void od_post_linger(od_post *post, const atomic_bool *until)
{
    if (atomic_exchange(&post->lingers, true))
        return; /* one is enough */
    for (uint64_t now_ns; now_ns = od_clock_ns(), !atomic_load(until) && since(&post->busy_ns, now_ns) < LINGER_NS;) {
        if (poll(post) || atomic_load(until))
            continue;
        if (may_spin(post, now_ns))
            yield(post);
        else
            od_thread_nap((long)nap_of(post, now_ns));
    }
    atomic_store(&post->lingers, false);
}

/* --- the thread --------------------------------------------------------------------- */

/* What others have said meanwhile has still to be read. */
static void leave_out(od_post *post, uint64_t time_ns, uint64_t now_ns)
{
    for (int rank = 0; rank < post->ranks; rank++) {
        uint64_t later_ns = post->heard_ns[rank] + time_ns;
        post->heard_ns[rank] = later_ns < now_ns ? later_ns : now_ns;
    }
}

/* False: the last one. */
static bool tick(od_post *post, uint64_t now_ns)
{
    uint64_t since_ns = now_ns - post->ticked_ns;
    if (since_ns > STOPPED_NS)
        leave_out(post, since_ns, now_ns);
    post->ticked_ns = now_ns;
    return post->ops->tick(post->arg, now_ns);
}

/* MPI is called no more. */
static void end(od_post *post)
{
    post->ended = true;
    MPI_Cancel(&post->incoming);
    MPI_Wait(&post->incoming, MPI_STATUS_IGNORE);
}

/* After the last tick. */
static bool is_left(const od_post *post)
{
    return post->letters.count || atomic_load(&post->has_new) || (post->ops->expects && post->ops->expects(post->arg));
}

void od_post_run(od_post *post)
{
    uint64_t now = od_clock_ns(), end_ns = now;
    bool works = true, goes_on = true;
    od_thread_nap_short();
    post->ticked_ns = now;
    while (goes_on) {
        pthread_mutex_lock(&post->turn);
        bool any = step(post);
        now = od_clock_ns();
        end_ns = works ? now + PATIENCE_NS : end_ns;
        if (works && now >= post->ticked_ns + TICK_NS)
            works = tick(post, now);
        goes_on = works || (is_left(post) && now < end_ns);
        if (!goes_on)
            end(post);
        pthread_mutex_unlock(&post->turn);
        if (!any && works)
            rest(post);
        else if (!any)
            od_thread_nap(END_NAP_NS);
    }
}

/* --- a rank that is lost --------------------------------------------------------------- */

/* False: it can be neither cancelled nor ended now. */
static bool cancel(MPI_Request *request)
{
    int ended = 0;
    if (*request == MPI_REQUEST_NULL)
        return true;
    MPI_Cancel(request);
    MPI_Test(request, &ended, MPI_STATUS_IGNORE);
    return ended;
}

bool od_post_drop(od_post *post, int rank)
{
    bool clean = true;
    take_new(post);
    od_list_each(node, &post->letters) { /* what MPI may still read stays */
        if (od_container_of(node, letter, node)->rank == rank)
            od_list_remove(&post->letters, node);
    }
    od_list_each(node, &post->moves) {
        od_move *m = od_container_of(node, od_move, node);
        if (m->rank != rank)
            continue;
        od_list_remove(&post->moves, node);
        for (int i = 0; i < OD_MOVE_PIECES; i++)
            clean &= m->sends || cancel(&m->request[i]);
        m->failed = true;
        m->done(m);
    }
    return clean;
}

/* --- life -------------------------------------------------------------------------------- */

static int most_tag(MPI_Comm comm)
{
    int *most, known = 0;
    MPI_Comm_get_attr(comm, MPI_TAG_UB, &most, &known);
    return known ? *most : 32767;
}

od_post *od_post_create(MPI_Comm comm, const od_post_ops *ops, void *arg)
{
    pthread_condattr_t monotonic;
    pthread_mutexattr_t recursive;
    od_post *post = od_calloc(1, sizeof *post);
    if (!post)
        return NULL;
    post->comm = comm;
    post->ops = ops;
    post->arg = arg;
    post->most_tag = most_tag(comm);
    MPI_Comm_size(comm, &post->ranks);
    post->heard_ns = od_calloc((size_t)post->ranks, sizeof *post->heard_ns);
    post->sent_ns = od_calloc((size_t)post->ranks, sizeof *post->sent_ns);
    post->inbox = od_malloc(OD_MPI_LONGEST);
    if (!post->heard_ns || !post->sent_ns || !post->inbox) {
        od_post_free(post);
        return NULL;
    }
    for (int i = 0; i < post->ranks; i++)
        post->heard_ns[i] = post->sent_ns[i] = od_clock_ns();
    pthread_mutexattr_init(&recursive);
    pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&post->turn, &recursive);
    pthread_mutexattr_destroy(&recursive);
    pthread_mutex_init(&post->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&post->wake, &monotonic);
    pthread_condattr_destroy(&monotonic);
    od_list_init(&post->new_letters);
    od_list_init(&post->new_moves);
    od_list_init(&post->letters);
    od_list_init(&post->moves);
    await_message(post);
    return post;
}

void od_post_free(od_post *post)
{
    free(post->heard_ns);
    free(post->sent_ns);
    free(post->inbox);
    free(post);
}

uint64_t od_post_heard_ns(const od_post *post, int rank)
{
    return post->heard_ns[rank];
}

uint64_t od_post_sent_ns(const od_post *post, int rank)
{
    return post->sent_ns[rank];
}

od_post_counts od_post_counted(const od_post *post)
{
    return post->counts;
}
