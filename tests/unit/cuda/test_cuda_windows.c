/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Windows on GPUs, on the driver's double, where all addresses of a memory show the same contents: parts of arrays and
 * other data come and go in one pool, and each keeps its contents.
 */
#include "tests/unit/cuda/cuda_world.h"

#include "memmgr/data/pool.h"
#include "memmgr/data/spill.h"
#include "memmgr/device/cuda/cuda.h"
#include "tests/unit/random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { GRANULE = 4096, PAGES = 48, ARRAYS = 3, MOST = 64, STEPS = 3000 };

typedef struct resident {
    od_window *window; /* NULL: it is in the pool alone */
    uintptr_t base;
    size_t size, offset;
    unsigned seed;
} resident;

typedef struct game {
    cuda_world world;
    od_pool *pool;
    od_window *array[ARRAYS];
    resident at[MOST];
    unsigned count, next_seed;
    uint64_t random;
} game;

static cuda_world open_world(unsigned ndevices, size_t pages)
{
    cuda_world w = {.pool_bytes = pages * GRANULE, .ndevices = ndevices, .log = OD_LOG_INFO, .windows = true};
    for (unsigned k = 0; k < ndevices; k++)
        w.ordinals[k] = (int)k;
    cuda_world_open(&w);
    CHECK(!w.status && w.backend.windows);
    return w;
}

static od_window *open_window(const cuda_world *w, uintptr_t base, size_t size)
{
    od_window *window;
    CHECK(!od_window_create(w->backend.windows, w->backend.state, w->ndevices, base, size, &window));
    CHECK(od_window_alignment(window) == GRANULE);
    return window;
}

static unsigned char *bytes_of(const game *g, const resident *r)
{
    return r->window ? (unsigned char *)od_window_copies(r->window, 0, r->base)
                     : cuda_world_pool(&g->world, 0, r->offset);
}

static bool overlaps(const game *g, const resident *r)
{
    for (unsigned i = 0; i < g->count; i++)
        if (g->at[i].window == r->window && r->base < g->at[i].base + g->at[i].size &&
            g->at[i].base < r->base + r->size)
            return true;
    return false;
}

/* A part of an array that shares pages with others, but no bytes. */
static bool add_part(game *g, resident *r)
{
    r->window = g->array[random_below(&g->random, ARRAYS)];
    r->size = 1 + random_below(&g->random, random_below(&g->random, 3) ? GRANULE / 2 : 5 * GRANULE);
    r->base = r->window->base + random_below(&g->random, r->window->size - r->size);
    size_t bytes = od_window_occupies(r->window, r->base, r->size);
    CHECK(bytes % GRANULE == 0 && bytes >= r->size && bytes < r->size + 2 * GRANULE);
    if (overlaps(g, r) || od_pool_alloc_aligned(g->pool, bytes, GRANULE, &r->offset))
        return false;
    CHECK(!od_window_back(r->window, 0, r->base, r->size, r->offset));
    return true;
}

static bool add_other(game *g, resident *r)
{
    r->size = 1 + random_below(&g->random, 3 * GRANULE);
    return !od_pool_alloc(g->pool, r->size, &r->offset);
}

static void add(game *g)
{
    resident r = {.seed = ++g->next_seed};
    if (g->count == MOST || !(random_below(&g->random, 3) ? add_part(g, &r) : add_other(g, &r)))
        return;
    cuda_fill(bytes_of(g, &r), r.size, r.seed);
    g->at[g->count++] = r;
}

static void drop(game *g, unsigned i)
{
    resident r = g->at[i];
    CHECK(cuda_is_filled(bytes_of(g, &r), r.size, r.seed));
    g->at[i] = g->at[--g->count];
    od_pool_free(g->pool, r.offset);
    if (r.window)
        od_window_strip(r.window, 0, r.base, r.size, r.offset);
}

static void play(const void *arg)
{
    static const size_t size[ARRAYS] = {9 * GRANULE + 40, 64 * GRANULE, 20 * GRANULE - 3};
    static const uintptr_t base[ARRAYS] = {1000 * GRANULE + 24, 3000 * GRANULE, 5000 * GRANULE + GRANULE - 8};
    game g = {.world = open_world(1, PAGES), .random = *(const uint64_t *)arg};
    g.pool = od_pool_create(g.world.backend.pool_bytes[0], 256);
    for (unsigned i = 0; i < ARRAYS; i++)
        g.array[i] = open_window(&g.world, base[i], size[i]);
    for (unsigned step = 0; step < STEPS; step++) {
        if (g.count && random_below(&g.random, 5) < 2)
            drop(&g, (unsigned)random_below(&g.random, g.count));
        else
            add(&g);
        for (unsigned i = 0; i < g.count; i++)
            CHECK(cuda_is_filled(bytes_of(&g, &g.at[i]), g.at[i].size, g.at[i].seed));
    }
    while (g.count)
        drop(&g, g.count - 1);
    for (unsigned i = 0; i < ARRAYS; i++)
        od_window_release(g.array[i]);
    od_pool_destroy(g.pool);
    cuda_world_close(&g.world);
}

static void contents_stay(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 6; seed++)
        cuda_expect_clean("CUDA_DOUBLE_GRANULARITY=4096", play, &seed);
}

/* To one device, on to another one, and back, of which the first and last page is shared. */
static void copy_around(const void *arg)
{
    enum { SIZE = 3 * GRANULE };
    (void)arg;
    cuda_world w = open_world(2, PAGES);
    unsigned char *array = cuda_map(8 * GRANULE), back[SIZE];
    uintptr_t base = (uintptr_t)array + 100;
    od_window *window = open_window(&w, (uintptr_t)array, 8 * GRANULE);
    cuda_fill(array + 100, SIZE, 3);
    for (unsigned k = 0; k < 2; k++)
        CHECK(!od_window_back(window, k, base, SIZE, k * GRANULE));
    const od_backend_ops *ops = w.backend.ops;
    void *state = w.backend.state;
    char *first = od_window_copies(window, 0, base), *second = od_window_copies(window, 1, base);
    CHECK(!ops->copy(state, 0, first, OD_HOST, array + 100, SIZE));
    CHECK(!ops->copy(state, 1, second, 0, first, SIZE));
    CHECK(!ops->copy(state, OD_HOST, back, 1, second, SIZE));
    CHECK(cuda_is_filled(back, SIZE, 3));
    CHECK(od_window_kernel(window, 1, base) == second);
    for (unsigned k = 0; k < 2; k++)
        od_window_strip(window, k, base, SIZE, k * GRANULE);
    od_window_release(window);
    cuda_world_close(&w);
}

static void parts_are_copied(void **state)
{
    (void)state;
    cuda_expect_clean("CUDA_DOUBLE_GRANULARITY=4096 CUDA_DOUBLE_DEVICES=2", copy_around, NULL);
    cuda_child child =
        cuda_child_run(CUDA_DOUBLE, "CUDA_DOUBLE_GRANULARITY=4096 CUDA_DOUBLE_DEVICES=2", copy_around, NULL);
    assert_int_equal(cuda_child_calls(&child, "cuMemRelease"), cuda_child_calls(&child, "cuMemCreate"));
    cuda_child_free(&child);
}

/* Pages that could not be mapped are not there, and what others have offered stays. */
static void fail_to_map(const void *arg)
{
    (void)arg;
    cuda_world w = open_world(1, PAGES);
    od_window *window = open_window(&w, 16 * GRANULE, 8 * GRANULE);
    CHECK(!od_window_back(window, 0, 16 * GRANULE, GRANULE + 8, 0));
    cuda_fill(od_window_copies(window, 0, 16 * GRANULE), GRANULE + 8, 1);
    CHECK(od_window_back(window, 0, 17 * GRANULE + 8, 3 * GRANULE, 4 * GRANULE) == OD_EDEVICE);
    od_window_strip(window, 0, 17 * GRANULE + 8, 3 * GRANULE, 4 * GRANULE);
    CHECK(cuda_is_filled(od_window_copies(window, 0, 16 * GRANULE), GRANULE + 8, 1));
    CHECK(od_backend_answers(&w.backend, 0));
    CHECK(!od_window_back(window, 0, 17 * GRANULE + 8, 3 * GRANULE, 4 * GRANULE));
    od_window_strip(window, 0, 16 * GRANULE, GRANULE + 8, 0);
    od_window_strip(window, 0, 17 * GRANULE + 8, 3 * GRANULE, 4 * GRANULE);
    od_window_release(window);
    cuda_world_close(&w);
}

static void pages_that_cannot_be_mapped(void **state)
{
    char rule[128];
    (void)state;
    /* Of the pool, and the piece behind it for questions; then two pages of the first part. */
    enum { FIRST = PAGES + 1 + 2 + 1, OFFERED = 3 };
    snprintf(rule, sizeof rule, "CUDA_DOUBLE_GRANULARITY=4096 CUDA_DOUBLE_FAIL=cuMemMap:%d:2,cuMemMap:%d:2", FIRST,
             FIRST + OFFERED);
    cuda_child child = cuda_child_run(CUDA_DOUBLE, rule, fail_to_map, NULL);
    cuda_child_assert_clean(&child);
    assert_int_equal(cuda_child_lines(&child, "mapping the pages of an array"), 2);
    cuda_child_free(&child);
}

/* Where the driver has got no memory, it gets what is kept for others. */
static void map_again(const void *arg)
{
    (void)arg;
    cuda_world w = open_world(1, PAGES);
    od_window *window = open_window(&w, 16 * GRANULE, 8 * GRANULE);
    CHECK(!od_window_back(window, 0, 16 * GRANULE, 3 * GRANULE, 0));
    cuda_fill(od_window_copies(window, 0, 16 * GRANULE), 3 * GRANULE, 1);
    CHECK(cuda_is_filled(od_window_copies(window, 0, 16 * GRANULE), 3 * GRANULE, 1));
    od_window_strip(window, 0, 16 * GRANULE, 3 * GRANULE, 0);
    od_window_release(window);
    cuda_world_close(&w);
}

static void the_reserve_is_for_mapping_too(void **state)
{
    char rule[128];
    (void)state;
    snprintf(rule, sizeof rule, "CUDA_DOUBLE_GRANULARITY=4096 CUDA_DOUBLE_FAIL=cuMemMap:%d:2", PAGES + 1 + 2);
    cuda_expect_clean(rule, map_again, NULL);
}

/* Others get the end of the pool while parts are resident in front of it. */
static void trim_beside_parts(const void *arg)
{
    (void)arg;
    cuda_world w = open_world(1, PAGES);
    od_window *window = open_window(&w, 16 * GRANULE, 8 * GRANULE);
    CHECK(!od_window_back(window, 0, 16 * GRANULE, 2 * GRANULE, 0));
    cuda_fill(od_window_copies(window, 0, 16 * GRANULE), 2 * GRANULE, 1);
    size_t free_bytes, more, total;
    CHECK(!w.backend.ops->memory(w.backend.state, 0, &free_bytes, &total));
    od_backend_trim(&w.backend, 0, 10 * GRANULE);
    CHECK(!w.backend.ops->memory(w.backend.state, 0, &more, &total));
    CHECK(more == free_bytes + (PAGES - 10) * (size_t)GRANULE);
    CHECK(cuda_is_filled(od_window_copies(window, 0, 16 * GRANULE), 2 * GRANULE, 1));
    od_window_strip(window, 0, 16 * GRANULE, 2 * GRANULE, 0);
    od_window_release(window);
    cuda_world_close(&w);
}

static void pools_are_trimmed_beside_parts(void **state)
{
    (void)state;
    cuda_expect_clean("CUDA_DOUBLE_GRANULARITY=4096", trim_beside_parts, NULL);
}

/* None where memory has no addresses of its own, or so little; the pool is whole pages otherwise. */
static void open_without(const void *arg)
{
    const size_t *bytes = arg;
    cuda_world w = {.pool_bytes = bytes[0], .ndevices = 1, .log = OD_LOG_INFO, .windows = true};
    cuda_world_open(&w);
    CHECK(!w.status);
    CHECK(!!w.backend.windows == !!bytes[1]);
    CHECK(w.backend.pool_bytes[0] == (bytes[1] ? bytes[1] : bytes[0]));
    cuda_world_close(&w);
}

static void windows_need_pages(void **state)
{
    static const size_t few[] = {3 * GRANULE + 100, 0}, none[] = {16 * GRANULE, 0},
                        odd[] = {6 * GRANULE + 100, 6 * GRANULE};
    (void)state;
    cuda_expect_clean("CUDA_DOUBLE_GRANULARITY=4096", open_without, few);
    cuda_expect_clean("CUDA_DOUBLE_GRANULARITY=0", open_without, none);
    cuda_expect_clean("CUDA_DOUBLE_GRANULARITY=4096", open_without, odd);
}

/* --- managed memory --------------------------------------------------------------- */

/* What is there stays through all moves, and goes when the last user does. */
static void move_around(const void *arg)
{
    enum { SIZE = 8 * GRANULE };
    (void)arg;
    cuda_world w = {.pool_bytes = PAGES * GRANULE, .ndevices = 2, .ordinals = {0, 1}, .managed = true};
    cuda_world_open(&w);
    CHECK(!w.status && w.backend.windows && w.backend.windows->share);
    const od_backend_ops *ops = w.backend.ops;
    void *state = w.backend.state, *memory;
    unsigned char *array = cuda_map(SIZE);
    od_window *window;
    od_spill *area = od_spill_create((uintptr_t)array, SIZE, NULL);
    CHECK(!w.backend.windows->share(state, SIZE, &memory));
    od_spill_move(area, memory, w.backend.windows->unshare, state);
    CHECK(!od_window_create_shared(w.backend.windows, state, 2, (uintptr_t)array, SIZE, area, &window));
    od_spill_release(area);
    CHECK(od_window_alignment(window) == 0 && od_window_occupies(window, (uintptr_t)array, GRANULE) == GRANULE);
    char *part = od_window_kernel(window, 0, (uintptr_t)array + GRANULE);
    CHECK(part == (char *)memory + GRANULE && part == od_window_copies(window, 1, (uintptr_t)array + GRANULE));
    cuda_fill(part, 3 * GRANULE, 5);
    CHECK(!ops->copy(state, 0, part, OD_HOST, part, 3 * GRANULE));
    CHECK(!ops->copy(state, 1, part, 0, part, 3 * GRANULE));
    CHECK(!ops->copy(state, OD_HOST, part, 1, part, 3 * GRANULE));
    CHECK(!ops->copy(state, OD_HOST, array, 1, part, GRANULE)); /* and others copy from there as from any memory */
    CHECK(cuda_is_filled(part, 3 * GRANULE, 5) && cuda_is_filled(array, GRANULE, 5));
    od_window_release(window);
    cuda_world_close(&w);
}

static void managed_memory_is_prefetched(void **state)
{
    (void)state;
    cuda_child child =
        cuda_child_run(CUDA_DOUBLE, "CUDA_DOUBLE_GRANULARITY=4096 CUDA_DOUBLE_DEVICES=2", move_around, NULL);
    cuda_child_assert_clean(&child);
    assert_int_equal(cuda_child_calls(&child, "cuMemPrefetchAsync"), 3);
    assert_int_equal(cuda_child_calls(&child, "cuMemAdvise"), 2); /* not on the way to the host */
    cuda_child_free(&child);
}

/* Pools have memory once it is asked for, and give it back from the end. */
static void commit_some(const void *arg)
{
    (void)arg;
    cuda_world w = {.pool_bytes = PAGES * GRANULE, .ndevices = 1, .managed = true};
    cuda_world_open(&w);
    CHECK(!w.status);
    const od_backend_ops *ops = w.backend.ops;
    void *state = w.backend.state;
    size_t before, now, total;
    CHECK(!ops->memory(state, 0, &before, &total));
    for (int twice = 0; twice < 2; twice++) {
        CHECK(!ops->commit(state, 0, GRANULE - 1, 2 * GRANULE));
        CHECK(!ops->memory(state, 0, &now, &total));
        CHECK(now == before - 3 * GRANULE);
    }
    cuda_fill(cuda_world_pool(&w, 0, 0), 3 * GRANULE, 2);
    CHECK(!ops->commit(state, 0, 20 * GRANULE, GRANULE));
    CHECK(od_backend_answers(&w.backend, 0));
    od_backend_trim(&w.backend, 0, 10 * GRANULE);
    CHECK(!ops->memory(state, 0, &now, &total));
    CHECK(now == before - 3 * GRANULE + GRANULE); /* the last piece, too, which was there from the beginning */
    CHECK(cuda_is_filled(cuda_world_pool(&w, 0, 0), 3 * GRANULE, 2));
    cuda_world_close(&w);
}

static void pools_get_memory_where_it_is_needed(void **state)
{
    (void)state;
    cuda_expect_clean("CUDA_DOUBLE_GRANULARITY=4096", commit_some, NULL);
}

static void open_managed(const void *arg)
{
    (void)arg;
    cuda_world w = {.pool_bytes = PAGES * GRANULE, .ndevices = 1, .log = OD_LOG_INFO, .managed = true};
    cuda_world_open(&w);
    CHECK(!w.status && !w.backend.windows);
    cuda_world_close(&w);
}

static void managed_memory_that_kernels_do_not_share(void **state)
{
    (void)state;
    cuda_child child = cuda_child_run(CUDA_DOUBLE, "CUDA_DOUBLE_MANAGED=0", open_managed, NULL);
    cuda_child_assert_clean(&child);
    assert_int_equal(cuda_child_lines(&child, "not all devices share managed memory"), 1);
    cuda_child_free(&child);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(contents_stay),
        cmocka_unit_test(parts_are_copied),
        cmocka_unit_test(pages_that_cannot_be_mapped),
        cmocka_unit_test(the_reserve_is_for_mapping_too),
        cmocka_unit_test(pools_are_trimmed_beside_parts),
        cmocka_unit_test(windows_need_pages),
        cmocka_unit_test(managed_memory_is_prefetched),
        cmocka_unit_test(pools_get_memory_where_it_is_needed),
        cmocka_unit_test(managed_memory_that_kernels_do_not_share),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
