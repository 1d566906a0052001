/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Data of several pieces in the engine, with real contents: an array in windows, in parts of random pages, which change
 * while tasks go on; little memory; requests for ranges that have some of a part's pieces. Every byte is compared with
 * what serial execution leaves.
 */
#include "memmgr/data/directory.h"
#include "memmgr/window/host.h"
#include "tests/unit/engine/plain_driver.h"
#include "tests/unit/random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { NDEVICES = 2, PAGES = 24, PARTS = 6, OWN = PAGES / PARTS, MOST = 64, STEPS = 600 };

typedef struct world {
    od_engine *engine;
    od_transfer *transfer[MOST];
    unsigned ntransfers;
    od_task task;
    od_access access[2];
    int place;      /* where the task runs, or OD_NOWHERE: it does not yet */
    bool is_done;
    bool asked;     /* a request is under way */
    char *array;    /* pages */
    char *expected;
    unsigned char owner[PAGES]; /* of each page: the part */
    uint64_t random;
} world;

static world w;

static size_t bytes(void)
{
    return PAGES * od_window_page();
}

static void start_transfer(void *driver, od_transfer *x)
{
    (void)driver;
    assert_true(w.ntransfers < MOST);
    w.transfer[w.ntransfers++] = x;
}

static void start_task(void *driver, od_task *task, int place)
{
    (void)driver, (void)task;
    w.place = place;
}

static void complete_task(void *driver, od_task *task)
{
    (void)driver, (void)task;
    w.is_done = true;
}

static void complete_request(void *driver, od_request *request)
{
    w.asked = false;
    plain_complete_request(driver, request);
}

static uint64_t now_ns(void *driver)
{
    (void)driver;
    return 1;
}

static void discard(void *driver, od_datum *d, unsigned k)
{
    od_shape shape = od_datum_shape(d);
    (void)driver;
    for (uint32_t i = 0; i < od_shape_count(shape); i++) {
        od_piece piece = od_shape_piece(shape, i);
        memset(od_window_copies(d->window, k, piece.begin), 0xee, piece.size); /* what is not there must not be seen */
    }
}

static const od_driver_ops ops = {.start_transfer = start_transfer,
                                  .start_task = start_task,
                                  .complete_task = complete_task,
                                  .complete_request = complete_request,
                                  .now_ns = now_ns,
                                  .discard = discard,
                                  .fatal = plain_fatal};

/* Where a place has the datum's first byte. */
static char *place_of(const od_transfer *x, int place)
{
    if (place == OD_HOST)
        return (char *)x->datum->base;
    return place == OD_SPILL ? x->spill : od_window_copies(x->datum->window, (unsigned)place, x->datum->base);
}

static void end_transfer(void)
{
    unsigned i = (unsigned)random_below(&w.random, w.ntransfers);
    od_transfer *x = w.transfer[i];
    w.transfer[i] = w.transfer[--w.ntransfers];
    od_shape_copy(od_datum_shape(x->datum), place_of(x, x->to), place_of(x, x->from),
                   (od_stretch){x->offset, x->bytes});
    od_engine_transfer_done(w.engine, x, OD_OK);
    assert_true(od_engine_is_valid(w.engine));
}

static void end_transfers(void)
{
    while (w.ntransfers)
        end_transfer();
}

static od_pieces *pieces_of(unsigned part)
{
    od_span spans[PAGES];
    uint32_t n = 0;
    for (unsigned i = 0; i < PAGES; i++) {
        uintptr_t page = (uintptr_t)w.array + i * od_window_page(), end = page + od_window_page();
        if (w.owner[i] != part)
            continue;
        if (n && spans[n - 1].end == page)
            spans[n - 1].end = end;
        else
            spans[n++] = (od_span){page, end};
    }
    return n > 1 ? od_pieces_make(spans, n) : NULL;
}

/* Every part has as many pages, which are not next to each other all of them. */
static void divide_anew(void)
{
    for (unsigned i = 0; i < PAGES; i++)
        w.owner[i] = (unsigned char)(i % PARTS);
    for (unsigned i = PAGES; i > 1; i--) {
        unsigned j = (unsigned)random_below(&w.random, i), other = w.owner[j];
        w.owner[j] = w.owner[i - 1];
        w.owner[i - 1] = (unsigned char)other;
    }
}

static void ask(uintptr_t base, size_t size, od_request_kind kind)
{
    od_request *request;
    assert_int_equal(od_engine_range_request(w.engine, base, size, kind, &request), OD_OK);
    if (!request)
        return;
    w.asked = true;
    od_engine_request(w.engine, request);
    end_transfers();
    assert_false(w.asked);
}

static od_datum *part(unsigned i)
{
    od_datum *d = NULL;
    od_pieces *pieces = pieces_of(i);
    if (!pieces)
        return NULL;
    od_status status = od_engine_part(w.engine, pieces, &d);
    if (status == OD_EFULL) { /* another one is in its place */
        ask((uintptr_t)w.array, bytes(), OD_REQUEST_SETTLE);
        status = od_engine_part(w.engine, pieces_of(i), &d);
    }
    assert_int_equal(status, OD_OK);
    assert_int_equal(d->size, OWN * od_window_page());
    d->keep = true;
    return d;
}

/* The kernel: the j-th byte of one part is added to that of another one. `at`: where the array's first byte is. */
static void add_parts(char *at, unsigned from, unsigned to)
{
    const size_t page = od_window_page();
    unsigned f = 0, t = 0;
    for (unsigned n = 0; n < OWN; n++, f++, t++) {
        while (w.owner[f] != from)
            f++;
        while (w.owner[t] != to)
            t++;
        for (size_t i = 0; i < page; i++)
            at[t * page + i] = (char)(at[t * page + i] + at[f * page + i] + 1);
    }
}

static void run_task(void)
{
    unsigned from = (unsigned)random_below(&w.random, PARTS);
    unsigned to = (from + 1 + (unsigned)random_below(&w.random, PARTS - 1)) % PARTS;
    od_datum *source = part(from), *target = source ? part(to) : NULL;
    if (source && !target)
        od_engine_release(w.engine, source);
    if (!target)
        return;
    w.access[0] = (od_access){.datum = source, .mode = OD_READ};
    w.access[1] = (od_access){.datum = target, .mode = OD_READ_WRITE};
    w.task = (od_task){.bound = OD_NOWHERE, .duration = 1, .naccess = 2, .access = w.access};
    w.place = OD_NOWHERE;
    w.is_done = false;
    od_engine_task_ready(w.engine, &w.task);
    end_transfers();
    assert_true(w.place >= 0 && w.place < NDEVICES);
    add_parts(od_window_copies(target->window, (unsigned)w.place, (uintptr_t)w.array), from, to);
    od_engine_task_done(w.engine, &w.task, OD_OK);
    end_transfers();
    assert_true(w.is_done);
    add_parts(w.expected, from, to);
}

/* `target update from` of a range that has some pieces of many parts, and some of a piece. */
static void read_range(void)
{
    size_t from = random_below(&w.random, bytes()), size = 1 + random_below(&w.random, bytes() - from);
    ask((uintptr_t)w.array + from, size, OD_REQUEST_PULL);
    assert_memory_equal(w.array + from, w.expected + from, size);
}

static void write_range(void)
{
    size_t from = random_below(&w.random, bytes()), size = 1 + random_below(&w.random, bytes() - from);
    ask((uintptr_t)w.array + from, size, OD_REQUEST_PULL);
    memset(w.array + from, 77, size);
    memset(w.expected + from, 77, size);
    ask((uintptr_t)w.array + from, size, OD_REQUEST_PUSH);
}

static od_section all_of_it(void)
{
    return (od_section){.begin = (uintptr_t)w.array, .size = bytes(), .origin = (uintptr_t)w.array};
}

static void begin(uint64_t seed, bool spill)
{
    w = (world){.random = seed};
    od_engine_config config = {.ndevices = NDEVICES,
                               .memory = 3 * OWN * od_window_page(), /* of a task, and a half */
                               .alignment = od_window_page(),
                               .buffer = 2,
                               .slots = 1,
                               .spill = spill,
                               .policy = od_policy_find("eager"),
                               .evict = od_evict_find("lru"),
                               .driver_ops = &ops};
    assert_int_equal(od_engine_create(&config, &w.engine), OD_OK);
    w.array = aligned_alloc(od_window_page(), bytes());
    w.expected = malloc(bytes());
    assert_true(w.array && w.expected);
    for (size_t i = 0; i < bytes(); i++)
        w.array[i] = w.expected[i] = (char)(i * 7 / 5);
    divide_anew();
}

static void open_array(void)
{
    od_section section = all_of_it();
    od_window *window;
    assert_int_equal(od_engine_region_open(w.engine, &section, false), OD_OK);
    od_region *region = od_directory_find_region(od_engine_directory(w.engine), section.begin, section.size);
    assert_int_equal(od_window_create(&od_host_windows, NULL, NDEVICES, section.begin, section.size, &window), OD_OK);
    assert_int_equal(od_engine_divide(w.engine, region, window, true), OD_OK);
}

static void close_array(void)
{
    od_section section = all_of_it();
    od_request *request;
    assert_int_equal(od_engine_region_close(w.engine, &section, true, false, &request), OD_OK);
    if (request)
        od_engine_request(w.engine, request);
    end_transfers();
    assert_memory_equal(w.array, w.expected, bytes());
    od_engine_destroy(w.engine);
    free(w.array);
    free(w.expected);
}

static void run(uint64_t seed, bool spill)
{
    begin(seed, spill);
    open_array();
    for (int step = 0; step < STEPS; step++) {
        unsigned what = (unsigned)random_below(&w.random, 100);
        if (what < 80)
            run_task();
        else if (what < 88)
            read_range();
        else if (what < 94)
            write_range();
        else
            divide_anew();
    }
    uint64_t evictions = 0;
    for (unsigned k = 0; k < NDEVICES; k++) {
        od_device_stats stats;
        od_engine_device_stats(w.engine, k, &stats);
        evictions += stats.evictions;
    }
    assert_true(evictions > 0);
    close_array();
}

static void what_serial_execution_leaves(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 8; seed++)
        run(seed, seed % 2);
}

static void what_is_used_stays_whole(void **state)
{
    od_datum *first, *again, *other;
    (void)state;
    begin(1, true);
    for (unsigned i = 0; i < PAGES; i++)
        w.owner[i] = (unsigned char)(i % PARTS);
    open_array();
    first = part(0);
    again = part(0);
    assert_ptr_equal(first, again);
    w.owner[6] = 1; /* a piece of it goes to another part */
    w.owner[7] = 0;
    assert_int_equal(od_engine_part(w.engine, pieces_of(1), &other), OD_EFULL);
    od_engine_release(w.engine, again);
    assert_int_equal(od_engine_part(w.engine, pieces_of(1), &other), OD_EFULL);
    od_engine_release(w.engine, first);
    assert_int_equal(od_engine_part(w.engine, pieces_of(1), &other), OD_OK);
    od_engine_release(w.engine, other);
    close_array();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_serial_execution_leaves),
        cmocka_unit_test(what_is_used_stays_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
