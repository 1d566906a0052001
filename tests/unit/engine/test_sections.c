/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * `target update` of sections beside tasks that use other sections of the same arrays, in every order of events: tasks
 * and updates are ordered by section alone, as OpenMP lets programs order them, and the engine has the arrays whole.
 * Contents are real. A task checks what it reads when it starts and when it ends, the host what an update has brought.
 */
#include "memmgr/data/spill.h"
#include "tests/unit/engine/plain_driver.h"
#include "tests/unit/random.h"
#include "util/log.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { NDEVICES = 3, ARRAYS = 4, SECTIONS = 6, MOST = 64, AT_ONCE = 8, STEPS = 300, MEMORY = 2 * SECTIONS };

/* A section is a byte. What uses it just now: readers, or one writer. */
typedef struct section {
    unsigned readers;
    bool written;
} section;

typedef struct work {
    bool is_free, is_running, is_done;
    int place;
    unsigned char *copy[2]; /* of each access, while it runs */
    od_task task;
    od_access access[2];
    int array[2]; /* of each access; the second is -1 where there is one access */
    bool reads[ARRAYS][SECTIONS], writes[ARRAYS][SECTIONS];
    od_request *asked; /* by the task, while it runs: it cannot end */
} work;

typedef struct update {
    bool is_free;
    od_request *request;
    od_request_kind kind;
    int array, section;
    work *asker; /* the running task that asked, or NULL: the program beside it */
} update;

typedef struct world {
    od_engine *engine;
    od_transfer *transfer[MOST];
    unsigned ntransfers;
    unsigned char device[NDEVICES][MEMORY];
    od_datum *datum[ARRAYS];
    unsigned char array[ARRAYS][SECTIONS];    /* the program's memory */
    unsigned char expected[ARRAYS][SECTIONS]; /* the contents of the region */
    section section[ARRAYS][SECTIONS];
    work work[AT_ONCE];
    update update[AT_ONCE];
    bool spills; /* else contents come home at any moment, over what the host writes: they say nothing */
    uint64_t random;
} world;

static world w;

static unsigned below(unsigned limit)
{
    return (unsigned)random_below(&w.random, limit);
}

/* --- the driver -------------------------------------------------------------------------- */

static void start_transfer(void *driver, od_transfer *x)
{
    (void)driver;
    assert_true(w.ntransfers < MOST);
    w.transfer[w.ntransfers++] = x;
}

static unsigned char *copy_of(const od_transfer *x, int place, size_t offset)
{
    if (place == OD_HOST)
        return (unsigned char *)x->datum->base;
    return place == OD_SPILL ? x->spill : w.device[place] + offset;
}

static void end_transfer(unsigned i)
{
    od_transfer *x = w.transfer[i];
    w.transfer[i] = w.transfer[--w.ntransfers];
    memcpy(copy_of(x, x->to, x->to_offset) + x->offset, copy_of(x, x->from, x->from_offset) + x->offset, x->bytes);
    od_engine_transfer_done(w.engine, x, OD_OK);
}

/* Where the task finds its i-th array: on its device, or, where it fits on none, in the spill area. */
static unsigned char *copy_for(const work *one, uint32_t i)
{
    const od_datum *d = one->access[i].datum;
    if (one->place != OD_HOST)
        return w.device[one->place] + d->replica[one->place].offset;
    return od_datum_is_spilled(d) ? od_spill_address(d->region->spill, d->base) : (void *)d->base;
}

static void check_reads(const work *one)
{
    if (!w.spills)
        return;
    for (uint32_t i = 0; i < one->task.naccess; i++) {
        const unsigned char *copy = one->copy[i];
        int a = one->array[i];
        for (int s = 0; s < SECTIONS; s++)
            if (one->reads[a][s])
                assert_int_equal(copy[s], w.expected[a][s]);
    }
}

static void start_task(void *driver, od_task *task, int place)
{
    work *one = od_container_of(task, work, task);
    (void)driver;
    one->is_running = true;
    one->place = place;
    for (uint32_t i = 0; i < task->naccess; i++)
        one->copy[i] = copy_for(one, i);
    check_reads(one);
}

static void complete_task(void *driver, od_task *task)
{
    (void)driver;
    od_container_of(task, work, task)->is_done = true;
}

static void complete_request(void *driver, od_request *request)
{
    for (int i = 0; i < AT_ONCE; i++)
        if (w.update[i].request == request) {
            update *u = &w.update[i];
            unsigned char *contents = &w.expected[u->array][u->section], *own = &w.array[u->array][u->section];
            if (u->kind == OD_REQUEST_PUSH)
                *contents = *own;
            if (w.spills)
                assert_int_equal(*own, *contents);
            w.section[u->array][u->section].written = false;
            u->is_free = true;
            u->request = NULL;
            if (u->asker)
                u->asker->asked = NULL;
        }
    plain_complete_request(driver, request);
}

static uint64_t now_ns(void *driver)
{
    (void)driver;
    return 1;
}

static const od_driver_ops ops = {.start_transfer = start_transfer,
                                  .start_task = start_task,
                                  .complete_task = complete_task,
                                  .complete_request = complete_request,
                                  .now_ns = now_ns,
                                  .fatal = plain_fatal};

/* --- tasks and updates -------------------------------------------------------------------- */

static bool take(int a, int s, bool writes)
{
    section *one = &w.section[a][s];
    if (one->written || (writes && one->readers))
        return false;
    one->readers += !writes;
    one->written |= writes;
    return true;
}

/* Some sections of one array, as far as nothing else uses them. True: one of them will be written. */
static bool take_sections(work *one, int a)
{
    bool any = false;
    for (int s = 0; s < SECTIONS; s++) {
        unsigned how = below(4);
        if (how < 2 || !take(a, s, how == 3))
            continue;
        one->reads[a][s] = true;
        one->writes[a][s] = how == 3;
        any |= how == 3;
    }
    return any;
}

static void create_task(work *one)
{
    *one = (work){.array = {(int)below(ARRAYS), -1}};
    if (below(2))
        one->array[1] = (one->array[0] + 1 + (int)below(ARRAYS - 1)) % ARRAYS;
    one->task = (od_task){.bound = OD_NOWHERE,
                          .duration = 1,
                          .host_seconds = -1,
                          .uses_spill = true,
                          .naccess = 1 + (one->array[1] >= 0),
                          .access = one->access};
    for (uint32_t i = 0; i < one->task.naccess; i++) {
        od_datum *d;
        int a = one->array[i];
        bool writes = take_sections(one, a);
        assert_int_equal(od_engine_datum(w.engine, (uintptr_t)w.array[a], SECTIONS, &d), OD_OK);
        d->keep = true;
        one->access[i] = (od_access){.datum = d, .mode = writes ? OD_READ_WRITE : OD_READ};
    }
    od_engine_task_ready(w.engine, &one->task);
}

static void end_task(work *one)
{
    check_reads(one);
    for (uint32_t i = 0; i < one->task.naccess; i++) {
        int a = one->array[i];
        unsigned char *copy = one->copy[i];
        for (int s = 0; s < SECTIONS; s++) {
            if (one->writes[a][s])
                w.expected[a][s] = ++copy[s];
            w.section[a][s].written &= !one->writes[a][s];
            w.section[a][s].readers -= one->reads[a][s] && !one->writes[a][s];
        }
    }
    one->is_running = false;
    od_engine_task_done(w.engine, &one->task, OD_OK);
    assert_true(one->is_done);
    one->is_free = true;
}

/* By a running task of an array that it has, or by the program, of any. */
static void ask(update *u, work *asker)
{
    od_request *request;
    int a = asker ? asker->array[below(asker->task.naccess)] : (int)below(ARRAYS), s = (int)below(SECTIONS);
    if (!take(a, s, true))
        return;
    *u = (update){.kind = below(3) ? OD_REQUEST_PUSH : OD_REQUEST_PULL, .array = a, .section = s, .asker = asker};
    if (u->kind == OD_REQUEST_PUSH)
        w.array[a][s] = (unsigned char)below(256);
    assert_int_equal(od_engine_range_request(w.engine, (uintptr_t)&w.array[a][s], 1, u->kind, &request), OD_OK);
    if (!request) {
        u->is_free = true;
        w.section[a][s].written = false;
        w.expected[a][s] = w.array[a][s];
        return;
    }
    u->request = request;
    request->inside = asker != NULL;
    if (asker)
        asker->asked = request;
    od_engine_request(w.engine, request);
}

/* --- a run --------------------------------------------------------------------------------- */

static void step(bool begin)
{
    work *one = &w.work[below(AT_ONCE)];
    update *u = &w.update[below(AT_ONCE)];
    unsigned what = below(10);
    if (w.ntransfers && what < 5)
        end_transfer(below(w.ntransfers));
    else if (one->is_running && what < 7) {
        if (!one->asked)
            end_task(one);
    } else if (begin && one->is_free && what < 8)
        create_task(one);
    else if (begin && u->is_free && what < 9)
        ask(u, one->is_running && !one->asked ? one : NULL);
    assert_true(od_engine_is_valid(w.engine));
}

static bool is_at_rest(void)
{
    for (int i = 0; i < AT_ONCE; i++)
        if (!w.work[i].is_free || !w.update[i].is_free)
            return false;
    return true;
}

static void run(uint64_t seed)
{
    static const char *const policies[] = {"eager", "darts", "dmdas", "lws", "stationary"};
    w = (world){.random = seed};
    w.spills = below(4);
    od_engine_config config = {.ndevices = NDEVICES,
                               .memory = MEMORY / (1 + below(2)), /* of the largest task, or of the smallest */
                               .alignment = 1,
                               .buffer = 1 + below(3),
                               .slots = 1 + below(2),
                               .peer = below(2),
                               .spill = w.spills,
                               .in_process = true,
                               .policy = od_policy_find(policies[below(sizeof policies / sizeof *policies)]),
                               .evict = od_evict_find(below(2) ? "lru" : "luf"),
                               .driver_ops = &ops};
    od_section all = {.begin = (uintptr_t)w.array, .size = sizeof w.array, .origin = (uintptr_t)w.array};
    od_request *request;
    assert_int_equal(od_engine_create(&config, &w.engine), OD_OK);
    for (int i = 0; i < AT_ONCE; i++)
        w.work[i].is_free = w.update[i].is_free = true;
    for (unsigned i = 0; i < ARRAYS * SECTIONS; i++)
        w.array[i / SECTIONS][i % SECTIONS] = w.expected[i / SECTIONS][i % SECTIONS] = (unsigned char)(3 * i);
    assert_int_equal(od_engine_region_open(w.engine, &all, false), OD_OK);
    for (int a = 0; a < ARRAYS; a++) /* in use all the time: they stay whole */
        assert_int_equal(od_engine_datum(w.engine, (uintptr_t)w.array[a], SECTIONS, &w.datum[a]), OD_OK);
    for (int i = 0; i < STEPS; i++)
        step(true);
    for (int i = 0; i < 100000 && !is_at_rest(); i++)
        step(false);
    if (!is_at_rest()) {
        od_engine_dump(w.engine, stderr);
        fail_msg("seed %llu: stuck", (unsigned long long)seed);
    }
    for (int a = 0; a < ARRAYS; a++)
        od_engine_release(w.engine, w.datum[a]);
    assert_int_equal(od_engine_region_close(w.engine, &all, true, false, &request), OD_OK);
    if (request)
        od_engine_request(w.engine, request);
    while (w.ntransfers)
        end_transfer(0);
    if (w.spills)
        assert_memory_equal(w.array, w.expected, sizeof w.array);
    od_engine_destroy(w.engine);
}

static void updates_beside_tasks(void **state)
{
    (void)state;
    od_log_set_level(OD_LOG_ERROR); /* tasks that fit on no device are meant */
    for (uint64_t seed = 1; seed <= 2000; seed++)
        run(seed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(updates_beside_tasks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
