/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The CUDA back-end on the driver's double: contents of random copies, pinned memory, staging, queues, and the transfer
 * queues above it. Failures have a test of their own, test_cuda_faults.c.
 */
#include "tests/unit/cuda/cuda_world.h"

#include "memmgr/device/cuda/cuda.h"
#include "memmgr/device/transfer_queues.h"
#include "tests/unit/random.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

enum { KIB = 1 << 10, MIB = 1 << 20 };

static const size_t ample = (size_t)1 << 30;

/* --- random copies --------------------------------------------------------------- */

/*
 * Each player has data of its own and slots of its own in every pool. It knows what all of them should hold: a copy
 * under way holds its two ends, as their only writer or as one of several readers.
 */
enum {
    PLAYERS = 2,
    DATA = 6, /* the first half in mappings of their own, the others side by side in a block that all share */
    SLOTS = 3,
    MOST = 3 * MIB,
    MAPPED = MOST + 4 * OD_PAGE,
    SHARED = 200 * KIB,
    UNDER_WAY = 10,
    MARGIN = 8 * KIB, /* is compared around what has been written */
};

typedef struct place {
    unsigned char *bytes, *expected;
    size_t size; /* of the datum, or of the slot */
    unsigned readers;
    bool written;
    unsigned char *mapping; /* a datum's own, or NULL */
    unsigned k;             /* a slot's */
} place;

typedef struct flight {
    od_ticket *ticket;
    place *from, *to;
    size_t from_at, to_at, bytes;
} flight;

typedef struct player {
    cuda_world *world;
    uint64_t random;
    unsigned steps, nslots, nflights;
    place data[DATA], slot[8 * SLOTS];
    flight flight[UNDER_WAY];
    pthread_t thread;
} player;

typedef struct game {
    unsigned ndevices;
    int ordinals[4];
    size_t budget;
    uint64_t seed;
    unsigned steps;
    bool keep; /* pins */
} game;

static void scribble(player *p, place *d)
{
    uint64_t seed = random_next(&p->random);
    for (size_t i = 0; i < d->size; i++)
        d->bytes[i] = (unsigned char)(seed >> (i & 7) * 8 ^ i);
    memcpy(d->expected, d->bytes, d->size);
}

static bool differs(const place *x, size_t at, size_t bytes)
{
    size_t begin = at > MARGIN ? at - MARGIN : 0;
    size_t end = x->size - at - bytes > MARGIN ? at + bytes + MARGIN : x->size;
    return memcmp(x->bytes + begin, x->expected + begin, end - begin) != 0;
}

static void land(flight *f)
{
    memcpy(f->to->expected + f->to_at, f->from->expected + f->from_at, f->bytes);
    CHECK(!differs(f->to, f->to_at, f->bytes));
    CHECK(!differs(f->from, f->from_at, f->bytes));
    f->from->readers--;
    f->to->written = false;
}

/* Asks once for each copy under way, or until all have ended. */
static void poll_flights(player *p, bool all)
{
    od_backend *b = &p->world->backend;
    for (unsigned i = 0; i < p->nflights;) {
        od_status status = b->ops->poll(b->state, p->flight[i].ticket);
        CHECK(status == OD_OK || status == OD_EBUSY);
        if (status) {
            i += !all;
            continue;
        }
        land(&p->flight[i]);
        p->flight[i] = p->flight[--p->nflights];
    }
}

static size_t random_size(player *p, size_t most)
{
    size_t bytes = 1 + random_below(&p->random, (uint64_t)1 << random_below(&p->random, 23));
    return bytes < most ? bytes : most;
}

static void fly(player *p, place *from, place *to)
{
    od_backend *b = &p->world->backend;
    flight f = {.from = from, .to = to};
    if (from == to || from->written || to->written || to->readers)
        return;
    f.bytes = random_size(p, from->size < to->size ? from->size : to->size);
    f.from_at = random_below(&p->random, from->size - f.bytes + 1);
    f.to_at = random_below(&p->random, to->size - f.bytes + 1);
    bool from_host = from->k == OD_HOST, to_host = to->k == OD_HOST;
    const place *host = from_host ? from : to;
    od_copy copy = {.to = (int)to->k,
                    .from = (int)from->k,
                    .to_address = to->bytes + f.to_at,
                    .from_address = from->bytes + f.from_at,
                    .bytes = f.bytes,
                    .host_base = from_host || to_host ? (uintptr_t)host->bytes : 0,
                    .host_bytes = from_host || to_host ? host->size : 0};
    from->readers++;
    to->written = true;
    if (random_below(&p->random, 16) == 0)
        CHECK(!b->ops->copy(b->state, copy.to, copy.to_address, copy.from, copy.from_address, copy.bytes));
    else
        CHECK(!b->ops->start(b->state, &copy, &f.ticket));
    if (f.ticket)
        p->flight[p->nflights++] = f;
    else
        land(&f);
}

/* A new datum where another one was: of another size, and in the mapping also elsewhere. */
static void remake(player *p, place *d)
{
    if (d->mapping) {
        CHECK(mmap(d->mapping, MAPPED, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) ==
              d->mapping);
        size_t at = random_below(&p->random, 3 * OD_PAGE);
        d->bytes = d->mapping + (random_below(&p->random, 4) ? at : 0);
        d->size = random_below(&p->random, 2) ? MOST : random_size(p, MOST);
    }
    scribble(p, d);
}

static void release_host(player *p, place *d)
{
    od_backend *b = &p->world->backend;
    if (d->written || d->readers)
        return;
    b->ops->release_host(b->state, (uintptr_t)d->bytes, d->size);
    b->ops->reclaim(b->state);
    for (size_t at = OD_PAGE; at + OD_PAGE < d->size && !p->world->pin_keep;
         at += 16 * OD_PAGE) /* other data may begin and end in its pages */
        CHECK(!cuda_is_pinned(d->bytes + at));
    remake(p, d);
}

static void step(player *p)
{
    place *datum = &p->data[random_below(&p->random, DATA)];
    place *slot = &p->slot[random_below(&p->random, p->nslots)];
    while (p->nflights == UNDER_WAY)
        poll_flights(p, false);
    switch (random_below(&p->random, 8)) {
    case 0:
        release_host(p, datum);
        break;
    case 1:
    case 2:
        fly(p, slot, datum);
        break;
    case 3:
    case 4:
        fly(p, slot, &p->slot[random_below(&p->random, p->nslots)]);
        break;
    default:
        fly(p, datum, slot);
    }
    if (random_below(&p->random, 4) == 0)
        poll_flights(p, false);
}

static void *play(void *arg)
{
    player *p = arg;
    for (unsigned i = 0; i < p->steps; i++)
        step(p);
    poll_flights(p, true);
    for (unsigned i = 0; i < p->nslots; i++)
        CHECK(!memcmp(p->slot[i].bytes, p->slot[i].expected, MOST));
    for (unsigned i = 0; i < DATA; i++)
        CHECK(!memcmp(p->data[i].bytes, p->data[i].expected, p->data[i].size));
    return NULL;
}

static player *seat(cuda_world *w, const game *g, unsigned number, unsigned char *shared)
{
    player *p = calloc(1, sizeof *p);
    CHECK(p);
    *p = (player){.world = w, .random = g->seed + number, .steps = g->steps, .nslots = SLOTS * w->ndevices};
    for (unsigned i = 0; i < p->nslots; i++) {
        unsigned k = i / SLOTS;
        p->slot[i] = (place){.bytes = cuda_world_pool(w, k, (size_t)(number * SLOTS + i % SLOTS) * MOST),
                             .expected = calloc(1, MOST),
                             .size = MOST,
                             .k = k};
        CHECK(p->slot[i].expected);
    }
    for (unsigned i = 0; i < DATA; i++) {
        place *d = &p->data[i];
        *d = (place){.bytes = shared + (size_t)(i * PLAYERS + number) * SHARED + 100, .size = SHARED, .k = OD_HOST};
        if (i < DATA / 2)
            d->mapping = cuda_map(MAPPED);
        d->expected = malloc(MOST);
        CHECK(d->expected);
        remake(p, d);
    }
    return p;
}

static void rise(player *p)
{
    for (unsigned i = 0; i < p->nslots; i++)
        free(p->slot[i].expected);
    for (unsigned i = 0; i < DATA; i++) {
        free(p->data[i].expected);
        if (p->data[i].mapping)
            munmap(p->data[i].mapping, MAPPED);
    }
    free(p);
}

static void random_copies(const void *arg)
{
    const game *g = arg;
    cuda_world w = {.pin_budget = g->budget,
                    .pin_first = 1 + g->ndevices % 3,
                    .pin_keep = g->keep,
                    .pool_bytes = (size_t)PLAYERS * SLOTS * MOST,
                    .ndevices = g->ndevices,
                    .log = OD_LOG_ERROR};
    memcpy(w.ordinals, g->ordinals, sizeof g->ordinals);
    cuda_world_open(&w);
    CHECK(!w.status);
    unsigned char *shared = malloc((size_t)PLAYERS * DATA * SHARED + 100);
    player *players[PLAYERS];
    CHECK(shared);
    for (unsigned i = 0; i < PLAYERS; i++)
        players[i] = seat(&w, g, i, shared);
    for (unsigned i = 0; i < PLAYERS; i++)
        CHECK(!pthread_create(&players[i]->thread, NULL, play, players[i]));
    for (unsigned i = 0; i < PLAYERS; i++)
        pthread_join(players[i]->thread, NULL);
    cuda_world_close(&w);
    for (unsigned i = 0; i < PLAYERS; i++)
        rise(players[i]);
    free(shared);
}

static void test_random_copies(void **state)
{
    (void)state;
    static const struct {
        game game;
        const char *variables;
    } games[] = {
        {{1, {0}, 1 << 30, 1, 500, false}, "CUDA_DOUBLE_JITTER=0.0003"},
        {{2, {0, 0}, 1 << 30, 2, 500, false}, "CUDA_DOUBLE_JITTER=0.0003"},
        {{4, {0, 1, 0, 2}, 1 << 22, 3, 500, false}, "CUDA_DOUBLE_JITTER=0.0002"},
        {{4, {0, 1, 2, 3}, 1 << 30, 4, 600, false}, "CUDA_DOUBLE_JITTER=0.0003 CUDA_DOUBLE_PEER=0"},
        {{3, {2, 1, 1}, 0, 5, 400, false}, "CUDA_DOUBLE_JITTER=0.0002"},
        {{2, {0, 1}, 1 << 30, 6, 400, false}, "CUDA_DOUBLE_PIN_LIMIT=12Mi"},
        {{2, {0, 1}, 1 << 30, 7, 500, true}, "CUDA_DOUBLE_WATCH_PINS=1"},
        {{1, {0}, 1 << 22, 8, 500, true}, "CUDA_DOUBLE_JITTER=0.0003"},
    };
    for (size_t i = 0; i < sizeof games / sizeof *games; i++) {
        char variables[256];
        snprintf(variables, sizeof variables, "CUDA_DOUBLE_MEMORY=128Mi %s", games[i].variables);
        cuda_expect_clean(variables, random_copies, &games[i].game);
    }
}

/* --- pinned memory ---------------------------------------------------------------- */

/* Whole pages and half of one. */
enum { TILE = 40 * OD_PAGE + OD_PAGE / 2, PAIR = 2 * TILE };

static void load(cuda_world *w, const void *base, size_t size)
{
    od_copy copy = cuda_to_device(w, 0, 0, base, size);
    CHECK(!cuda_world_copy(w, &copy));
    CHECK(!memcmp(cuda_world_pool(w, 0, 0), base, size));
}

/* There and back. */
static void swap(cuda_world *w, unsigned char *base, size_t size, unsigned seed)
{
    cuda_fill(base, size, seed);
    load(w, base, size);
    memset(base, 0, size);
    od_copy back = cuda_to_host(w, 0, 0, base, size);
    CHECK(!cuda_world_copy(w, &back));
    CHECK(cuda_is_filled(base, size, seed));
}

/* As soon as the thread that pins has come to it. */
#define COMES(condition)                                                                                               \
    do {                                                                                                               \
        for (int i_ = 0; i_ < 60000 && !(condition); i_++)                                                             \
            nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);                                                   \
        CHECK(condition);                                                                                              \
    } while (0)

static void drop(cuda_world *w, const void *base, size_t size)
{
    w->backend.ops->release_host(w->backend.state, (uintptr_t)base, size);
    w->backend.ops->reclaim(w->backend.state);
}

/* Two data share a page: it is nobody's, and one's end leaves the other pinned. */
static void pin_neighbours(const void *arg)
{
    (void)arg;
    cuda_world w = cuda_world_make(1, ample, PAIR);
    unsigned char *bytes = cuda_map(PAIR), *middle = bytes + TILE;
    swap(&w, bytes, TILE, 1);
    swap(&w, middle, TILE, 2);
    CHECK(cuda_is_filled(bytes, TILE, 1));
    COMES(cuda_is_pinned(middle + OD_PAGE) && cuda_is_pinned(bytes + PAIR - 1));
    CHECK(cuda_is_pinned(bytes) && cuda_is_pinned(bytes + TILE - OD_PAGE) && !cuda_is_pinned(middle));
    drop(&w, bytes, TILE);
    CHECK(!cuda_is_pinned(bytes) && cuda_is_pinned(middle + OD_PAGE));
    drop(&w, middle, TILE);
    CHECK(!cuda_is_pinned(middle + OD_PAGE));
    cuda_world_close(&w);
}

/* A datum inside a former one uses its pin; one around it replaces it. */
static void pin_inside(const void *arg)
{
    (void)arg;
    cuda_world w = cuda_world_make(1, ample, 2 * PAIR);
    unsigned char *bytes = cuda_map(2 * PAIR);
    swap(&w, bytes + TILE, PAIR, 1);
    COMES(cuda_is_pinned(bytes + PAIR));
    swap(&w, bytes + TILE + OD_PAGE, TILE, 2);
    swap(&w, bytes + TILE + 3, PAIR - 5, 3);
    swap(&w, bytes, 2 * PAIR, 4);
    COMES(!cuda_is_pinned(bytes + PAIR));
    swap(&w, bytes, 2 * PAIR, 5);
    COMES(cuda_is_pinned(bytes + PAIR));
    swap(&w, bytes + 2 * PAIR - TILE, TILE, 6);
    w.backend.ops->report(w.backend.state); /* nothing */
    drop(&w, bytes, 1);
    CHECK(!cuda_is_pinned(bytes + 2 * PAIR - 1));
    cuda_world_close(&w);
}

/* What is let go while it is copied stays pinned until then, is not used by others, and is not pinned afterwards. */
static void pin_released_under_way(const void *arg)
{
    (void)arg;
    cuda_world w = cuda_world_make(1, ample, 4 * TILE);
    unsigned char *bytes = cuda_map(TILE);
    od_ticket *first, *second, *third;
    od_copy copies[] = {cuda_to_device(&w, 0, 0, bytes, TILE), cuda_to_device(&w, 0, TILE, bytes, TILE),
                        cuda_to_device(&w, 0, 2 * (size_t)TILE, bytes, TILE)};
    cuda_fill(bytes, TILE, 1);
    load(&w, bytes, TILE);
    COMES(cuda_is_pinned(bytes));
    CHECK(!cuda_world_start(&w, &copies[0], &first));
    CHECK(!cuda_world_start(&w, &copies[1], &second));
    drop(&w, bytes, TILE);
    CHECK(cuda_is_pinned(bytes));
    CHECK(!cuda_world_start(&w, &copies[2], &third)); /* staged */
    CHECK(!cuda_world_await(&w, first) && !cuda_world_await(&w, second));
    COMES(!cuda_is_pinned(bytes));
    CHECK(!cuda_world_await(&w, third));
    CHECK(cuda_is_filled(cuda_world_pool(&w, 0, 0), TILE, 1));
    CHECK(cuda_is_filled(cuda_world_pool(&w, 0, TILE), TILE, 1));
    CHECK(cuda_is_filled(cuda_world_pool(&w, 0, 2 * (size_t)TILE), TILE, 1));
    munmap(bytes, TILE);
    CHECK(mmap(bytes, TILE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == bytes);
    swap(&w, bytes, TILE, 2);
    COMES(cuda_is_pinned(bytes));
    w.backend.ops->report(w.backend.state);
    cuda_world_close(&w);
}

/* Room for two and not a page more, or a page less; then what is let go makes room. */
static void pin_budget(const void *arg)
{
    enum { DATUM = 20 * OD_PAGE };
    const size_t *missing = arg;
    cuda_world w = cuda_world_make(1, 2 * DATUM - *missing, DATUM);
    unsigned char *bytes = cuda_map(3 * DATUM);
    for (unsigned i = 0; i < 3; i++)
        swap(&w, bytes + (size_t)i * DATUM, DATUM, i);
    COMES(cuda_is_pinned(bytes) && cuda_is_pinned(bytes + DATUM) == !*missing);
    CHECK(!cuda_is_pinned(bytes + 2 * DATUM));
    drop(&w, bytes, DATUM);
    swap(&w, bytes + 2 * DATUM, DATUM, 7);
    COMES(!cuda_is_pinned(bytes) && cuda_is_pinned(bytes + 2 * DATUM));
    cuda_world_close(&w);
}

/* At the second transfer, not at the first; and no transfer counts as staged for want of pinning. */
static void pin_second(const void *arg)
{
    (void)arg;
    cuda_world w = {.pin_budget = ample, .pin_first = 2, .pool_bytes = TILE, .ndevices = 1, .log = OD_LOG_INFO};
    cuda_world_open(&w);
    CHECK(!w.status);
    unsigned char *bytes = cuda_map(TILE);
    cuda_fill(bytes, TILE, 1);
    load(&w, bytes, TILE);
    CHECK(!cuda_is_pinned(bytes));
    swap(&w, bytes, TILE, 2);
    COMES(cuda_is_pinned(bytes));
    drop(&w, bytes, TILE);
    swap(&w, bytes, TILE, 3);
    CHECK(!cuda_is_pinned(bytes));
    w.backend.ops->report(w.backend.state);
    cuda_world_close(&w);
}

/* What the system lets a process watch stays pinned while the program may do with it what it likes, until it gives the
 * memory back: then its contents count, not those of the pages that are still pinned. */
static void pin_keep(const void *arg)
{
    enum { ROUNDS = 20 };
    (void)arg;
    cuda_world w = {.pin_budget = ample, .pin_keep = true, .pool_bytes = TILE, .ndevices = 1, .log = OD_LOG_INFO};
    cuda_world_open(&w);
    CHECK(!w.status);
    unsigned char *bytes = cuda_map(TILE);
    for (unsigned i = 0; i < ROUNDS; i++) {
        swap(&w, bytes, TILE, i);
        COMES(cuda_is_pinned(bytes));
        drop(&w, bytes, TILE);
        CHECK(cuda_is_pinned(bytes));
    }
    for (unsigned i = 0; i < ROUNDS; i++) {
        CHECK(mmap(bytes, TILE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == bytes);
        swap(&w, bytes, TILE, ROUNDS + i);
        drop(&w, bytes, TILE);
    }
    COMES(!cuda_is_pinned(bytes) || (swap(&w, bytes, TILE, 0), cuda_is_pinned(bytes)));
    munmap(bytes, TILE + OD_PAGE / 2);
    COMES(!cuda_is_pinned(bytes));
    w.backend.ops->report(w.backend.state);
    cuda_world_close(&w);
}

/* The oldest of those that nobody is known to use make way. */
static void pin_keep_budget(const void *arg)
{
    (void)arg;
    cuda_world w = {.pin_budget = 50 * OD_PAGE, .pin_keep = true, .pool_bytes = TILE, .ndevices = 1, .log = OD_LOG_INFO};
    cuda_world_open(&w);
    CHECK(!w.status);
    unsigned char *one = cuda_map(TILE), *other = cuda_map(TILE);
    swap(&w, one, TILE, 1);
    COMES(cuda_is_pinned(one));
    drop(&w, one, TILE);
    swap(&w, other, TILE, 2);
    COMES(!cuda_is_pinned(one));
    swap(&w, other, TILE, 3);
    COMES(cuda_is_pinned(other));
    cuda_world_close(&w);
}

/* The system, or a container, may not allow it. */
static bool can_watch(void)
{
    return syscall(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY) >= 0;
}

static void test_kept_pins(void **state)
{
    (void)state;
    if (!can_watch())
        skip();
    cuda_child child = cuda_child_run(CUDA_DOUBLE, "CUDA_DOUBLE_WATCH_PINS=1", pin_keep, NULL);
    cuda_child_assert_clean(&child);
    assert_true(cuda_child_calls(&child, "cuMemHostRegister") <= 2 + 20); /* one for all rounds, then one for each mapping */
    cuda_child_free(&child);
    cuda_expect_clean("", pin_keep_budget, NULL);
}

static void test_pins(void **state)
{
    (void)state;
    cuda_child child = cuda_child_run(CUDA_DOUBLE, "", pin_neighbours, NULL);
    cuda_child_assert_clean(&child);
    assert_int_equal(cuda_child_calls(&child, "cuMemHostRegister"), 2);
    cuda_child_free(&child);
    child = cuda_child_run(CUDA_DOUBLE, "", pin_inside, NULL);
    cuda_child_assert_clean(&child);
    assert_int_equal(cuda_child_calls(&child, "cuMemHostRegister"), 2);
    assert_int_equal(cuda_child_calls(&child, "cuMemHostUnregister"), 2);
    assert_int_equal(cuda_child_lines(&child, "staged through buffers"), 0);
    cuda_child_free(&child);
    child = cuda_child_run(CUDA_DOUBLE, "CUDA_DOUBLE_BANDWIDTH=4Mi", pin_released_under_way, NULL);
    cuda_child_assert_clean(&child);
    assert_int_equal(cuda_child_lines(&child, "staged through buffers"), 0); /* it will be pinned again */
    cuda_child_free(&child);
    child = cuda_child_run(CUDA_DOUBLE, "", pin_second, NULL);
    cuda_child_assert_clean(&child);
    assert_int_equal(cuda_child_calls(&child, "cuMemHostRegister"), 1);
    assert_int_equal(cuda_child_lines(&child, "staged through buffers"), 0);
    cuda_child_free(&child);
    const size_t enough = 0, too_little = OD_PAGE;
    cuda_expect_clean("", pin_budget, &enough);
    cuda_expect_clean("", pin_budget, &too_little);
}

/* Without pinned memory for the ring the driver must not see the stale pin either. */
static void test_stale_pin_without_ring(void **state)
{
    (void)state;
    cuda_expect_clean("CUDA_DOUBLE_BANDWIDTH=4Mi CUDA_DOUBLE_FAIL=cuMemHostAlloc:2:2", pin_released_under_way, NULL);
}

/* A datum that the program has pinned itself, in as many pieces. */
static void pinned_by_program(const void *arg)
{
    const size_t pieces = *(const size_t *)arg;
    enum { DATUM = 66 * OD_PAGE };
    cuda_world w = cuda_world_make(1, ample, DATUM);
    const od_queue_ops *queues = w.backend.ops->queues;
    unsigned char *bytes = cuda_map(DATUM);
    CHECK(!queues->enter(w.backend.state, 0));
    for (size_t i = 0; i < pieces; i++)
        CHECK(!cuda_double.host_register(bytes + i * DATUM / pieces, DATUM / pieces, 0));
    swap(&w, bytes + 5, DATUM - 10, 1);
    drop(&w, bytes + 5, DATUM - 10);
    CHECK(cuda_is_pinned(bytes) && cuda_is_pinned(bytes + DATUM - 1));
    swap(&w, bytes, DATUM, 2);
    drop(&w, bytes, DATUM);
    for (size_t i = 0; i < pieces; i++)
        CHECK(!cuda_double.host_unregister(bytes + i * DATUM / pieces));
    swap(&w, bytes, DATUM, 3);
    COMES(cuda_is_pinned(bytes));

    void *allocated;
    CHECK(!cuda_double.host_alloc(&allocated, DATUM, 0));
    swap(&w, allocated, DATUM, 4);
    swap(&w, (unsigned char *)allocated + 1, DATUM - 2, 5);
    drop(&w, allocated, DATUM);
    CHECK(cuda_is_pinned(allocated));
    CHECK(!cuda_double.host_free(allocated));
    queues->leave(w.backend.state, 0);
    w.backend.ops->report(w.backend.state);
    cuda_world_close(&w);
}

static void test_memory_pinned_by_the_program(void **state)
{
    (void)state;
    for (size_t pieces = 1; pieces <= 3; pieces++) {
        cuda_child child = cuda_child_run(CUDA_DOUBLE, "", pinned_by_program, &pieces);
        cuda_child_assert_clean(&child);
        assert_int_equal(cuda_child_lines(&child, " 4 of 10 copies"), pieces > 1);
        cuda_child_free(&child);
        if (pieces > 1) /* no ring */
            cuda_expect_clean("CUDA_DOUBLE_FAIL=cuMemHostAlloc:2:2,cuMemHostAlloc:3:2", pinned_by_program, &pieces);
    }
}

/* A range that could not be unpinned is copied through buffers as long as that is so. */
static void unpin_fails(const void *arg)
{
    const bool *once = arg;
    cuda_world w = cuda_world_make(1, ample, TILE);
    unsigned char *bytes = cuda_map(TILE);
    swap(&w, bytes, TILE, 1);
    COMES(cuda_is_pinned(bytes));
    drop(&w, bytes, TILE);
    swap(&w, bytes, TILE, 2);
    COMES(cuda_is_pinned(bytes) != *once);
    if (*once) {
        swap(&w, bytes, TILE, 3);
        COMES(cuda_is_pinned(bytes));
    }
    w.backend.ops->report(w.backend.state);
    cuda_world_close(&w);
}

static void test_unpin_fails(void **state)
{
    (void)state;
    const bool once = true, always = false;
    cuda_child child = cuda_child_run(CUDA_DOUBLE, "CUDA_DOUBLE_FAIL=cuMemHostUnregister:1:999", unpin_fails, &once);
    cuda_child_assert_clean(&child);
    assert_int_equal(cuda_child_calls(&child, "cuMemHostRegister"), 2);
    cuda_child_free(&child);
    child = cuda_child_run(CUDA_DOUBLE, "CUDA_DOUBLE_FAIL=cuMemHostUnregister:1+:999", unpin_fails, &always);
    assert_int_equal(child.status, 0);
    assert_int_equal(cuda_child_calls(&child, "cuMemHostRegister"), 1);
    assert_int_equal(cuda_child_lines(&child, " 2 of 4 copies"), 1);
    cuda_child_free(&child);
}

/* --- staging ----------------------------------------------------------------------- */

static void stage_sizes(const void *arg)
{
    (void)arg;
    static const size_t sizes[] = {OD_BOUNCE,       OD_BOUNCE + 1, OD_STAGE - 1,         OD_STAGE,
                                   OD_STAGE + 1,    2 * OD_STAGE,  OD_STAGES * OD_STAGE, OD_STAGES * OD_STAGE + 1,
                                   5 * OD_STAGE - 3};
    const size_t n = sizeof sizes / sizeof *sizes;
    cuda_world w = cuda_world_make(1, 0, sizes[n - 1]);
    unsigned char *bytes = malloc(sizes[n - 1] + 1);
    CHECK(bytes);
    for (size_t i = 0; i < n; i++) {
        memset(cuda_world_pool(&w, 0, 0), 0x5a, sizes[n - 1]);
        swap(&w, bytes + 1, sizes[i], (unsigned)i);
        for (size_t at = sizes[i]; at < sizes[n - 1] && at < sizes[i] + OD_PAGE; at++)
            CHECK(*cuda_world_pool(&w, 0, at) == 0x5a);
    }
    w.backend.ops->report(w.backend.state);
    free(bytes);
    cuda_world_close(&w);
}

static void test_staged_sizes(void **state)
{
    (void)state;
    cuda_child child = cuda_child_run(CUDA_DOUBLE, "CUDA_DOUBLE_JITTER=0.001", stage_sizes, NULL);
    cuda_child_assert_clean(&child);
    assert_int_equal(cuda_child_lines(&child, "16 of 18 copies (134.3 of 134.5 MB)"), 1);
    assert_int_equal(cJSON_GetObjectItem(child.stats, "pageable_copies")->valuedouble, 0);
    cuda_child_free(&child);
    /* The ticket takes the first one, each of the two threads up to three: rings of 0 to 3 buffers. */
    for (unsigned n = 2; n <= 7; n++) {
        char variables[80];
        snprintf(variables, sizeof variables, "CUDA_DOUBLE_FAIL=cuMemHostAlloc:%u+:2", n);
        child = cuda_child_run(CUDA_DOUBLE, variables, stage_sizes, NULL);
        cuda_child_assert_clean(&child);
        assert_int_equal(cJSON_GetObjectItem(child.stats, "pageable_copies")->valuedouble > 0, n <= 5);
        cuda_child_free(&child);
    }
}

static void stage_many(const void *arg)
{
    enum { N = 6, DEVICES = 4, DATUM = MIB + 4321 };
    (void)arg;
    cuda_world w = cuda_world_make(DEVICES, 0, (size_t)2 * N * DATUM);
    unsigned char *bytes = malloc((size_t)DEVICES * 2 * N * DATUM);
    od_ticket *tickets[DEVICES * 2 * N];
    unsigned n = 0;
    CHECK(bytes);
    for (unsigned k = 0; k < DEVICES; k++) {
        for (unsigned i = 0; i < N; i++) {
            cuda_fill(cuda_world_pool(&w, k, (size_t)(N + i) * DATUM), DATUM, n);
            cuda_fill(bytes + (size_t)n * DATUM, DATUM, n + 100);
            od_copy in = cuda_to_device(&w, k, (size_t)i * DATUM, bytes + (size_t)n * DATUM, DATUM);
            CHECK(!cuda_world_start(&w, &in, &tickets[n++]));
            od_copy out = cuda_to_host(&w, k, (size_t)(N + i) * DATUM, bytes + (size_t)n * DATUM, DATUM);
            CHECK(!cuda_world_start(&w, &out, &tickets[n++]));
        }
    }
    for (unsigned i = n; i-- > 0;)
        CHECK(!cuda_world_await(&w, tickets[i]));
    for (unsigned i = 0; i < n; i += 2) {
        size_t offset = (size_t)(i / 2 % N) * DATUM;
        CHECK(cuda_is_filled(cuda_world_pool(&w, i / (2 * N), offset), DATUM, i + 100));
        CHECK(cuda_is_filled(bytes + (size_t)(i + 1) * DATUM, DATUM, i));
    }
    free(bytes);
    cuda_world_close(&w);
}

static void test_many_staged(void **state)
{
    (void)state;
    cuda_expect_clean("CUDA_DOUBLE_JITTER=0.001", stage_many, NULL);
    cuda_expect_clean("CUDA_DOUBLE_BANDWIDTH=200Mi", stage_many, NULL);
}

/* --- queues ---------------------------------------------------------------------------- */

static atomic_bool gate;

static void wait_for_gate(void *arg)
{
    (void)arg;
    while (!atomic_load(&gate))
        nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
}

static void open_late(void *arg)
{
    nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    atomic_store((atomic_bool *)arg, true);
}

static void use_queues(const void *arg)
{
    (void)arg;
    cuda_world w = cuda_world_make(2, ample, MIB);
    const od_queue_ops *queues = w.backend.ops->queues;
    void *state = w.backend.state;
    od_queue *one, *other;
    od_ticket *ticket;
    CHECK(!queues->enter(state, 1));
    CHECK(!queues->take(state, 1, &one) && !queues->take(state, 1, &other));
    od_cu_stream stream = queues->handle(one);
    CHECK(stream && stream != queues->handle(other));
    CHECK(!queues->drain(state, one)); /* nothing */
    CHECK(!cuda_double.launch_host(stream, wait_for_gate, NULL));
    CHECK(!queues->mark(state, one, &ticket));
    CHECK(w.backend.ops->poll(state, ticket) == OD_EBUSY);
    atomic_store(&gate, true);
    CHECK(!cuda_world_await(&w, ticket));
    CHECK(!queues->take(state, 1, &one) && queues->handle(one) == stream); /* the same, used again */
    atomic_bool done = false;
    CHECK(!cuda_double.launch_host(stream, open_late, &done));
    CHECK(!queues->drain(state, one) && atomic_load(&done));
    CHECK(!queues->mark(state, one, &ticket) && !cuda_world_await(&w, ticket));
    CHECK(!queues->mark(state, other, &ticket) && !cuda_world_await(&w, ticket));
    queues->leave(state, 1);
    cuda_world_close(&w);
}

static void test_queues(void **state)
{
    (void)state;
    cuda_child child = cuda_child_run(CUDA_DOUBLE, "CUDA_DOUBLE_JITTER=0.002", use_queues, NULL);
    cuda_child_assert_clean(&child);
    assert_int_equal(cuda_child_calls(&child, "cuStreamCreate"), 2 * 3 + 2);
    cuda_child_free(&child);
}

static void *blas_of(const cuda_world *w, od_queue *queue)
{
    od_status status;
    return w->backend.ops->queues->blas(w->backend.state, queue, &status);
}

static bool has_default_modes(void *blas, void *stream)
{
    int math = -1, pointers = -1, atomics = -1;
    od_cu_stream own = NULL;
    CHECK(!cuda_blas.get_math_mode(blas, &math) && !cuda_blas.get_pointer_mode(blas, &pointers));
    CHECK(!cuda_blas.get_atomics_mode(blas, &atomics) && !cuda_blas.get_stream(blas, &own));
    return !math && !pointers && !atomics && own == stream;
}

/* A product on the queue is there when its ticket has ended. What the task sets its handle to is not the next one's. */
static void multiply(const void *arg)
{
    enum { N = 32, BYTES = N * N * sizeof(double) };
    (void)arg;
    cuda_world w = cuda_world_make(1, ample, (size_t)3 * BYTES);
    const od_queue_ops *queues = w.backend.ops->queues;
    double matrix[N * N], one = 1, zero = 0;
    for (unsigned i = 0; i < N * N; i++)
        matrix[i] = i % 7;
    load(&w, matrix, sizeof matrix);
    void *a = cuda_world_pool(&w, 0, 0), *c = cuda_world_pool(&w, 0, 2 * (size_t)BYTES);
    void *handle = NULL;
    for (int round = 0; round < 3; round++) {
        od_queue *queue;
        od_ticket *ticket;
        CHECK(!queues->enter(w.backend.state, 0));
        CHECK(!queues->take(w.backend.state, 0, &queue));
        void *blas = blas_of(&w, queue);
        CHECK(blas && blas_of(&w, queue) == blas && (!handle || handle == blas));
        handle = blas;
        CHECK(has_default_modes(blas, queues->handle(queue)));
        CHECK(!cuda_blas.dgemm(blas, CD_CUBLAS_N, CD_CUBLAS_T, N, N, N, &one, a, N, a, N, &zero, c, N));
        CHECK(!cuda_blas.set_math_mode(blas, 3) && !cuda_blas.set_pointer_mode(blas, 1));
        CHECK(!cuda_blas.set_atomics_mode(blas, 1) && !cuda_blas.set_stream(blas, NULL));
        CHECK(!queues->mark(w.backend.state, queue, &ticket));
        queues->leave(w.backend.state, 0);
        CHECK(!cuda_world_await(&w, ticket));
        double sum = 0;
        for (unsigned i = 0; i < N; i++)
            sum += matrix[3 + i * N] * matrix[5 + i * N];
        CHECK(((double *)c)[3 + 5 * N] == sum);
        memset(c, 0, BYTES);
    }
    cuda_world_close(&w);
}

static void test_product_on_a_queue(void **state)
{
    (void)state;
    cuda_child child = cuda_child_run(CUDA_DOUBLE_AND_BLAS, "CUDA_DOUBLE_JITTER=0.005", multiply, NULL);
    cuda_child_assert_clean(&child);
    cuda_child_free(&child);
}

static void ask_for_blas(const void *arg)
{
    (void)arg;
    cuda_world w = cuda_world_make(1, ample, MIB);
    const od_queue_ops *queues = w.backend.ops->queues;
    od_queue *queue[2];
    od_ticket *ticket;
    CHECK(!queues->enter(w.backend.state, 0));
    for (int i = 0; i < 2; i++) {
        CHECK(!queues->take(w.backend.state, 0, &queue[i]));
        CHECK(!blas_of(&w, queue[i]) && !blas_of(&w, queue[i]));
    }
    for (int i = 0; i < 2; i++)
        CHECK(!queues->mark(w.backend.state, queue[i], &ticket) && !cuda_world_await(&w, ticket));
    queues->leave(w.backend.state, 0);
    cuda_world_close(&w);
}

/* Others have taken all that was free: cuBLAS gets what was kept, once. */
static void ask_for_memory(const void *arg)
{
    (void)arg;
    cuda_world w = {.pool_bytes = 8 * MIB, .ndevices = 1, .log = OD_LOG_INFO};
    cuda_world_open(&w);
    CHECK(!w.status);
    const od_queue_ops *queues = w.backend.ops->queues;
    od_queue *queue[2];
    od_ticket *ticket;
    od_cu_address others;
    size_t free_bytes, total;
    CHECK(!queues->enter(w.backend.state, 0));
    CHECK(!cuda_double.memory_info(&free_bytes, &total) && !cuda_double.alloc(&others, free_bytes - 4096));
    for (int i = 0; i < 2; i++) {
        CHECK(!queues->take(w.backend.state, 0, &queue[i]));
        CHECK((blas_of(&w, queue[i]) != NULL) == (i == 0));
    }
    CHECK(!w.backend.ops->spare(w.backend.state, 0) && !cuda_double.free(others));
    for (int i = 0; i < 2; i++)
        CHECK(!queues->mark(w.backend.state, queue[i], &ticket) && !cuda_world_await(&w, ticket));
    queues->leave(w.backend.state, 0);
    cuda_world_close(&w);
}

static void test_memory_for_others(void **state)
{
    (void)state;
    cuda_child child = cuda_child_run(CUDA_DOUBLE_AND_BLAS, "CUDA_DOUBLE_MEMORY=12Mi CUDA_DOUBLE_BLAS_MEMORY=120000",
                                      ask_for_memory, NULL);
    cuda_child_assert_clean(&child);
    assert_int_equal(cuda_child_lines(&child, "its memory is short, others get what was kept for them"), 1);
    cuda_child_free(&child);
}

static size_t free_memory(const cuda_world *w, unsigned k)
{
    size_t free_bytes, total;
    CHECK(!w->backend.ops->memory(w->backend.state, k, &free_bytes, &total));
    return free_bytes;
}

/* A pool ends earlier: others can have the rest, what is before it stays, and the device still answers. */
static void make_pool_smaller(const void *arg)
{
    (void)arg;
    static unsigned char bytes[MIB], back[MIB];
    const size_t pool = 32 * MIB;
    cuda_world w = cuda_world_make(2, 0, pool);
    size_t piece = w.backend.ops->piece(w.backend.state, 0), before = free_memory(&w, 0), of_other = free_memory(&w, 1);
    CHECK(piece == 2 * MIB);
    cuda_fill(bytes, MIB, 1);
    od_copy in = cuda_to_device(&w, 0, pool - 4 * piece - MIB, bytes, MIB);
    CHECK(!cuda_world_copy(&w, &in));
    static const unsigned steps[][2] = {{1, 1}, {0, 1}, {3, 3}, {3, 3}, {4, 4}};
    for (unsigned i = 0; i < sizeof steps / sizeof *steps; i++) {
        od_backend_trim(&w.backend, 0, pool - steps[i][0] * piece);
        CHECK(free_memory(&w, 0) == before + steps[i][1] * piece);
        CHECK(w.backend.pool_bytes[0] == pool - steps[i][1] * piece && od_backend_answers(&w.backend, 0));
    }
    CHECK(free_memory(&w, 1) == of_other && w.backend.pool_bytes[1] == pool);
    od_copy out = cuda_to_host(&w, 0, pool - 4 * piece - MIB, back, MIB);
    CHECK(!cuda_world_copy(&w, &out) && cuda_is_filled(back, MIB, 1));
    od_backend_trim(&w.backend, 0, pool - 5 * piece - MIB); /* in whole pieces */
    CHECK(free_memory(&w, 0) == before + 6 * piece && od_backend_answers(&w.backend, 0));
    cuda_world_close(&w);
}

/* What is free is enough, or the rest of it is what is kept; then something is lacking. */
static void lack_memory(const void *arg)
{
    (void)arg;
    cuda_world w = cuda_world_make(1, 0, 32 * MIB);
    const od_backend_ops *ops = w.backend.ops;
    od_cu_address others;
    CHECK(ops->lack(w.backend.state, 0) == 0);
    size_t all = free_memory(&w, 0), part = MIB; /* a 64th of 64 MiB */
    CHECK(!ops->queues->enter(w.backend.state, 0) && !cuda_double.alloc(&others, all - part / 4));
    CHECK(ops->lack(w.backend.state, 0) == 0 && free_memory(&w, 0) == part / 4 + part);
    CHECK(!cuda_double.free(others) && !cuda_double.alloc(&others, all + part - part / 4));
    CHECK(ops->lack(w.backend.state, 0) == part - part / 4);
    od_backend_trim(&w.backend, 0, 30 * MIB);
    CHECK(ops->lack(w.backend.state, 0) == 0 && !cuda_double.free(others));
    ops->queues->leave(w.backend.state, 0);
    cuda_world_close(&w);
}

static void test_pools_that_end_earlier(void **state)
{
    (void)state;
    cuda_expect_clean("", make_pool_smaller, NULL);
    cuda_expect_clean("", lack_memory, NULL);
}

/* In one piece, which stays as it is. */
static void take_at_once(const void *arg)
{
    cuda_world w = cuda_world_make(2, 0, *(const size_t *)arg);
    size_t before = free_memory(&w, 0);
    CHECK(w.backend.ops->piece(w.backend.state, 0) == 0);
    od_backend_trim(&w.backend, 0, *(const size_t *)arg / 2);
    CHECK(free_memory(&w, 0) == before && od_backend_answers(&w.backend, 0));
    cuda_world_close(&w);
}

static void fail_to_take(const void *arg)
{
    (void)arg;
    cuda_world w = {.pool_bytes = 32 * MIB, .ndevices = 1, .log = OD_LOG_ERROR};
    cuda_world_open(&w);
    CHECK(w.status);
    cuda_world_close(&w);
}

/* Where the driver has no such memory, where devices do not reach each other, where a pool is small. */
static void test_pools_in_one_piece(void **state)
{
    (void)state;
    const size_t large = 32 * MIB, small = 4 * MIB;
    cuda_expect_clean("CUDA_DOUBLE_GRANULARITY=0", take_at_once, &large);
    cuda_expect_clean("CUDA_DOUBLE_PEER=0", take_at_once, &large);
    cuda_expect_clean("CUDA_DOUBLE_FAIL=cuMemCreate:5+:801", take_at_once, &large);
    cuda_expect_clean("CUDA_DOUBLE_FAIL=cuMemAddressReserve:1+:999", take_at_once, &large);
    cuda_expect_clean("", take_at_once, &small);
    cuda_expect_clean("CUDA_DOUBLE_MEMORY=30Mi", fail_to_take, NULL);
}

static void test_no_blas(void **state)
{
    (void)state;
    if (dlopen("libcublas.so.12", RTLD_LAZY) || dlopen("libcublas.so.11", RTLD_LAZY))
        skip(); /* this machine has an older one, which would be found */
    cuda_child child = cuda_child_run(CUDA_DOUBLE_AND_OLD_BLAS, "", ask_for_blas, NULL);
    cuda_child_assert_clean(&child);
    assert_int_equal(cuda_child_lines(&child, "no libcublas.so"), 1);
    cuda_child_free(&child);
}

/* --- transfer queues ------------------------------------------------------------------------ */

enum { DEVICES = 4, JOBS = 300, ROOM = 96 * KIB, STAGES = 3 };

/* One datum's way: host to device k, k to its neighbour, from there back to the cleared host. */
typedef struct job {
    od_transfer transfer;
    od_datum *datum;
    unsigned k, i, stages_done;
    unsigned char *bytes;
} job;

typedef struct traffic {
    od_transfer_queues *queues;
    atomic_uint done;
    job jobs[DEVICES][JOBS];
} traffic;

static void submit(traffic *t, job *j, unsigned stage)
{
    int here = (int)j->k, next = (here + 1) % DEVICES;
    size_t own = (size_t)j->i * ROOM, foreign = (size_t)(JOBS + j->i) * ROOM;
    od_transfer *x = &j->transfer;
    *x = (od_transfer){.datum = j->datum, .bytes = j->datum->size, .demanded = (j->i + stage) % 3 == 0};
    x->from = stage == 0 ? OD_HOST : stage == 1 ? here : next;
    x->to = stage == 0 ? here : stage == 1 ? next : OD_HOST;
    x->from_offset = stage == 1 ? own : foreign;
    x->to_offset = stage == 0 ? own : foreign;
    od_transfer_submit(t->queues, x);
}

static void stage_done(void *arg, od_transfer *transfer, od_status status)
{
    traffic *t = arg;
    job *j = od_container_of(transfer, job, transfer);
    CHECK(!status && transfer->end_ns >= transfer->start_ns);
    atomic_fetch_add(&t->done, 1);
    if (++j->stages_done == 1)
        memset(j->bytes, 0, j->datum->size);
    if (j->stages_done < STAGES)
        submit(t, j, j->stages_done);
}

static void transfer_many(const void *arg)
{
    cuda_world w = cuda_world_make(DEVICES, *(const size_t *)arg, (size_t)2 * JOBS * ROOM);
    traffic *t = calloc(1, sizeof *t);
    uint64_t random = 1;
    CHECK(t);
    const od_transfer_config config = {.backend = &w.backend, .done = stage_done, .arg = t};
    CHECK(!od_transfer_queues_create(&config, &t->queues));
    for (unsigned i = 0; i < JOBS; i++) {
        for (unsigned k = 0; k < DEVICES; k++) {
            job *j = &t->jobs[k][i];
            size_t size = 1 + random_below(&random, i % 4 ? 2000 : ROOM);
            *j = (job){.k = k, .i = i, .bytes = malloc(size), .datum = calloc(1, sizeof *j->datum)};
            CHECK(j->bytes && j->datum);
            j->datum->base = (uintptr_t)j->bytes;
            j->datum->size = size;
            cuda_fill(j->bytes, size, i + k);
            submit(t, j, 0);
        }
    }
    od_transfer_queues_destroy(t->queues);
    CHECK(atomic_load(&t->done) == DEVICES * JOBS * STAGES);
    for (unsigned i = 0; i < JOBS; i++) {
        for (unsigned k = 0; k < DEVICES; k++) {
            job *j = &t->jobs[k][i];
            CHECK(j->stages_done == STAGES && cuda_is_filled(j->bytes, j->datum->size, i + k));
        }
    }
    cuda_world_close(&w);
    for (unsigned i = 0; i < JOBS * DEVICES; i++) {
        free(t->jobs[i % DEVICES][i / DEVICES].bytes);
        free(t->jobs[i % DEVICES][i / DEVICES].datum);
    }
    free(t);
}

static void test_many_transfers(void **state)
{
    (void)state;
    const size_t none = 0;
    cuda_expect_clean("CUDA_DOUBLE_MEMORY=128Mi CUDA_DOUBLE_JITTER=0.0001", transfer_many, &ample);
    cuda_expect_clean("CUDA_DOUBLE_MEMORY=128Mi", transfer_many, &none);
}

/* In what order transfers end; the first is long enough for all others to be queued behind it. */
enum { FIRST = 60000, AT_ONCE = 3, OTHERS = 20, SMALL = 64 };

typedef struct order {
    od_transfer transfer[AT_ONCE + OTHERS];
    unsigned ended[AT_ONCE + OTHERS], n;
} order;

static void note_end(void *arg, od_transfer *transfer, od_status status)
{
    order *o = arg;
    CHECK(!status);
    o->ended[o->n++] = (unsigned)(transfer - o->transfer);
}

static void transfer_in_order(const void *arg)
{
    (void)arg;
    cuda_world w = cuda_world_make(1, ample, MIB);
    order o = {0};
    od_datum datum = {.size = FIRST};
    od_transfer_queues *queues;
    const od_transfer_config config = {.backend = &w.backend, .done = note_end, .arg = &o};
    unsigned char *bytes = malloc(FIRST);
    CHECK(bytes);
    cuda_fill(bytes, FIRST, 1);
    datum.base = (uintptr_t)bytes;
    CHECK(!od_transfer_queues_create(&config, &queues));
    for (unsigned i = 0; i < AT_ONCE + OTHERS; i++) {
        if (i == AT_ONCE) /* these have begun; the first takes six times as long */
            nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
        o.transfer[i] = (od_transfer){
            .datum = &datum, .from = OD_HOST, .bytes = i ? SMALL : FIRST, .demanded = i >= AT_ONCE && i % 2};
        od_transfer_submit(queues, &o.transfer[i]);
    }
    od_transfer_queues_destroy(queues);
    CHECK(o.n == AT_ONCE + OTHERS);
    for (unsigned i = 0; i < AT_ONCE; i++)
        CHECK(o.ended[i] == i);
    for (unsigned i = 0; i < OTHERS; i++) /* the odd ones, then the even ones */
        CHECK(o.ended[AT_ONCE + i] == AT_ONCE + (i < OTHERS / 2 ? 2 * i : 2 * (i - OTHERS / 2) + 1));
    CHECK(cuda_is_filled(cuda_world_pool(&w, 0, 0), FIRST, 1));
    free(bytes);
    cuda_world_close(&w);
}

static void test_demanded_go_before_prefetches(void **state)
{
    (void)state;
    cuda_expect_clean("CUDA_DOUBLE_BANDWIDTH=100Ki", transfer_in_order, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_copies),
        cmocka_unit_test(test_pins),
        cmocka_unit_test(test_kept_pins),
        cmocka_unit_test(test_stale_pin_without_ring),
        cmocka_unit_test(test_memory_pinned_by_the_program),
        cmocka_unit_test(test_unpin_fails),
        cmocka_unit_test(test_staged_sizes),
        cmocka_unit_test(test_many_staged),
        cmocka_unit_test(test_queues),
        cmocka_unit_test(test_product_on_a_queue),
        cmocka_unit_test(test_memory_for_others),
        cmocka_unit_test(test_pools_that_end_earlier),
        cmocka_unit_test(test_pools_in_one_piece),
        cmocka_unit_test(test_no_blas),
        cmocka_unit_test(test_many_transfers),
        cmocka_unit_test(test_demanded_go_before_prefetches),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
