/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Transfer queues: contents, exactly one `done` per transfer, order, independence of
 * the queues, draining.
 */
#define _GNU_SOURCE 1 /* pthread_getname_np */

#include "memmgr/device/transfer_queues.h"
#include "util/log.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { NDEVICES = 4, JOBS = 500, SIZE = 256, POOL = 2 * JOBS * SIZE, MOST_COPIES = 64 };

/* A back-end on host memory whose copies to one place can be held back, and that notes their order
 * (by size) and on what thread they came. */
typedef struct test_backend {
    pthread_mutex_t lock; /* protects all below */
    pthread_cond_t changed;
    int blocked_to; /* copies to this place wait; OD_NOWHERE: none */
    unsigned waiting, ncopies;
    size_t order[MOST_COPIES];
    char thread_name[16];
    bool signals_blocked;
    od_status result; /* of every copy */
} test_backend;

static od_status test_alloc(void *arg, unsigned k, size_t bytes, void **address)
{
    (void)arg;
    (void)k;
    *address = malloc(bytes);
    return *address ? OD_OK : OD_EDEVICE;
}

static void test_free_pool(void *arg, unsigned k, void *address)
{
    (void)arg;
    (void)k;
    free(address);
}

static od_status test_copy(void *arg, int to, void *to_address, int from, const void *from_address, size_t bytes)
{
    test_backend *b = arg;
    (void)from;
    pthread_mutex_lock(&b->lock);
    b->waiting++;
    pthread_cond_broadcast(&b->changed);
    while (b->blocked_to == to)
        pthread_cond_wait(&b->changed, &b->lock);
    b->waiting--;
    if (b->ncopies < MOST_COPIES)
        b->order[b->ncopies] = bytes;
    b->ncopies++;
    pthread_cond_broadcast(&b->changed);

    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    b->signals_blocked = sigismember(&mask, SIGUSR1) && sigismember(&mask, SIGINT);
    pthread_getname_np(pthread_self(), b->thread_name, sizeof b->thread_name);
    od_status result = b->result;
    pthread_mutex_unlock(&b->lock);

    memcpy(to_address, from_address, bytes);
    return result;
}

static void test_destroy(void *arg)
{
    test_backend *b = arg;
    pthread_cond_destroy(&b->changed);
    pthread_mutex_destroy(&b->lock);
    free(b);
}

static const od_backend_ops test_ops = {
    .interface_version = OD_BACKEND_INTERFACE,
    .name = "test",
    .description = "host memory, with a gate",
    .peer = true,
    .alloc = test_alloc,
    .free = test_free_pool,
    .copy = test_copy,
    .destroy = test_destroy,
};

/* Starting a copy takes as long as it: ended already. */
static od_status test_start(void *arg, const od_copy *copy, od_ticket **ticket)
{
    *ticket = NULL;
    return test_copy(arg, copy->to, copy->to_address, copy->from, copy->from_address, copy->bytes);
}

static test_backend *backend_create(od_backend *backend)
{
    test_backend *b = calloc(1, sizeof *b);
    assert_non_null(b);
    pthread_mutex_init(&b->lock, NULL);
    pthread_cond_init(&b->changed, NULL);
    b->blocked_to = OD_NOWHERE;
    *backend = (od_backend){.ops = &test_ops, .state = b};
    assert_int_equal(od_backend_take_pools(backend, NDEVICES, POOL), OD_OK);
    od_log_set_level(OD_LOG_OFF); /* refusals are expected */
    return b;
}

static void set_gate(test_backend *b, int blocked_to)
{
    pthread_mutex_lock(&b->lock);
    b->blocked_to = blocked_to;
    pthread_cond_broadcast(&b->changed);
    pthread_mutex_unlock(&b->lock);
}

static void await_waiting(test_backend *b, unsigned waiting)
{
    pthread_mutex_lock(&b->lock);
    while (b->waiting < waiting)
        pthread_cond_wait(&b->changed, &b->lock);
    pthread_mutex_unlock(&b->lock);
}

static void await_copies(test_backend *b, unsigned ncopies)
{
    pthread_mutex_lock(&b->lock);
    while (b->ncopies < ncopies)
        pthread_cond_wait(&b->changed, &b->lock);
    pthread_mutex_unlock(&b->lock);
}

static od_datum *datum_create(void *bytes, size_t size)
{
    od_datum *datum = calloc(1, sizeof *datum);
    assert_non_null(datum);
    datum->base = (uintptr_t)bytes;
    datum->size = size;
    return datum;
}

/* --- thousands of transfers ------------------------------------------------ */

/* One datum's way: host to device k, k to its neighbour, from there back to the cleared host. */
typedef struct job {
    od_transfer transfer;
    od_datum *datum;
    unsigned k, i;
    atomic_uint stages_done, failures;
    uint64_t last_end_ns;
    unsigned char bytes[SIZE];
} job;

typedef struct many {
    od_transfer_queues *queues;
    job jobs[NDEVICES][JOBS];
} many;

static unsigned char pattern(const job *j, size_t byte)
{
    return (unsigned char)(byte + 31 * j->i + 7 * j->k);
}

static void submit_stage(many *m, job *j, unsigned stage)
{
    int here = (int)j->k, neighbour = (int)((j->k + 1) % NDEVICES);
    size_t own = (size_t)j->i * SIZE, foreign = (size_t)(JOBS + j->i) * SIZE;
    od_transfer *t = &j->transfer;
    *t = (od_transfer){.datum = j->datum, .bytes = SIZE, .demanded = (j->i + stage) % 3 == 0};
    t->from = stage == 0 ? OD_HOST : stage == 1 ? here : neighbour;
    t->to = stage == 0 ? here : stage == 1 ? neighbour : OD_HOST;
    t->from_offset = stage == 1 ? own : foreign;
    t->to_offset = stage == 0 ? own : foreign;
    od_transfer_submit(m->queues, t);
}

static void stage_done(void *arg, od_transfer *transfer, od_status status)
{
    job *j = od_container_of(transfer, job, transfer);
    unsigned stages = atomic_fetch_add(&j->stages_done, 1) + 1;
    if (status || transfer->end_ns < transfer->start_ns || transfer->start_ns < j->last_end_ns)
        atomic_fetch_add(&j->failures, 1);
    j->last_end_ns = transfer->end_ns;
    if (stages == 1)
        memset(j->bytes, 0, SIZE);
    if (stages < 3)
        submit_stage(arg, j, stages);
}

static void run_many(uint64_t seed, double jitter_s)
{
    od_backend backend;
    backend_create(&backend);
    many *m = calloc(1, sizeof *m);
    assert_non_null(m);
    const od_transfer_config config = {
        .backend = &backend, .seed = seed, .jitter_s = jitter_s, .done = stage_done, .arg = m};
    assert_int_equal(od_transfer_queues_create(&config, &m->queues), OD_OK);
    for (unsigned i = 0; i < JOBS; i++) {
        for (unsigned k = 0; k < NDEVICES; k++) {
            job *j = &m->jobs[k][i];
            j->k = k;
            j->i = i;
            j->datum = datum_create(j->bytes, SIZE);
            for (size_t byte = 0; byte < SIZE; byte++)
                j->bytes[byte] = pattern(j, byte);
            submit_stage(m, j, 0);
        }
    }
    od_transfer_queues_destroy(m->queues);

    for (unsigned i = 0; i < JOBS; i++) {
        for (unsigned k = 0; k < NDEVICES; k++) {
            job *j = &m->jobs[k][i];
            assert_int_equal(atomic_load(&j->stages_done), 3);
            assert_int_equal(atomic_load(&j->failures), 0);
            for (size_t byte = 0; byte < SIZE; byte++)
                assert_int_equal(j->bytes[byte], pattern(j, byte));
            free(j->datum);
        }
    }
    free(m);
    od_backend_release(&backend);
}

static void test_many_transfers(void **state)
{
    (void)state;
    run_many(1, 0);
}

static void test_many_transfers_with_jitter(void **state)
{
    (void)state;
    run_many(2, 40e-6);
    run_many(3, 40e-6);
}

/* --- order, independence, failure -------------------------------------------- */

typedef struct counter {
    atomic_uint done, failed;
} counter;

static void count_done(void *arg, od_transfer *transfer, od_status status)
{
    (void)transfer;
    counter *c = arg;
    atomic_fetch_add(&c->failed, status != OD_OK);
    atomic_fetch_add(&c->done, 1);
}

/* A back-end, queues and one datum, for the small tests. */
typedef struct fixture {
    od_backend backend;
    test_backend *gate;
    od_transfer_queues *queues;
    counter counter;
    od_datum *datum;
    unsigned char bytes[SIZE];
} fixture;

static int set_up_with(void **state, const od_backend_ops *ops)
{
    fixture *f = calloc(1, sizeof *f);
    assert_non_null(f);
    f->gate = backend_create(&f->backend);
    f->backend.ops = ops;
    f->datum = datum_create(f->bytes, SIZE);
    const od_transfer_config config = {.backend = &f->backend, .done = count_done, .arg = &f->counter};
    assert_int_equal(od_transfer_queues_create(&config, &f->queues), OD_OK);
    *state = f;
    return 0;
}

static int set_up(void **state)
{
    return set_up_with(state, &test_ops);
}

static int set_up_asynchronous(void **state)
{
    static od_backend_ops ops;
    ops = test_ops;
    ops.start = test_start;
    return set_up_with(state, &ops);
}

static int tear_down(void **state)
{
    fixture *f = *state;
    set_gate(f->gate, OD_NOWHERE);
    od_transfer_queues_destroy(f->queues);
    od_backend_release(&f->backend);
    free(f->datum);
    free(f);
    return 0;
}

/* Ends the queues, when all that was submitted is done. */
static void drain(fixture *f)
{
    od_transfer_queues_destroy(f->queues);
    f->queues = NULL;
}

static od_transfer load(const fixture *f, int to, size_t bytes, bool demanded)
{
    return (od_transfer){.datum = f->datum, .from = OD_HOST, .to = to, .bytes = bytes, .demanded = demanded};
}

static void test_demanded_go_before_prefetches(void **state)
{
    fixture *f = *state;
    enum { N = 10 };
    od_transfer first = load(f, 0, 1, false), others[N];
    set_gate(f->gate, 0);
    od_transfer_submit(f->queues, &first);
    await_waiting(f->gate, 1);
    for (unsigned i = 0; i < N; i++) {
        others[i] = load(f, 0, 10 + i, i % 2);
        od_transfer_submit(f->queues, &others[i]);
    }
    set_gate(f->gate, OD_NOWHERE);
    drain(f);
    static const size_t expected[N + 1] = {1, 11, 13, 15, 17, 19, 10, 12, 14, 16, 18};
    assert_int_equal(f->gate->ncopies, N + 1);
    assert_memory_equal(f->gate->order, expected, sizeof expected);
    assert_int_equal(atomic_load(&f->counter.done), N + 1);
}

/* While device 0's loads are held up, its write-backs and other devices' loads go on. */
static void test_queues_are_independent(void **state)
{
    fixture *f = *state;
    od_transfer held = load(f, 0, 1, true), other = load(f, 1, 2, true), across = load(f, 2, 3, true);
    od_transfer back = {.datum = f->datum, .from = 0, .to = OD_HOST, .offset = 128, .bytes = 4};
    across.from = 0;
    across.from_offset = across.to_offset = SIZE;
    set_gate(f->gate, 0);
    od_transfer_submit(f->queues, &held);
    await_waiting(f->gate, 1);
    od_transfer_submit(f->queues, &other);
    od_transfer_submit(f->queues, &across);
    od_transfer_submit(f->queues, &back);

    await_copies(f->gate, 3);
    set_gate(f->gate, OD_NOWHERE);
    drain(f);
    assert_int_equal(f->gate->order[3], 1);
    assert_int_equal(atomic_load(&f->counter.done), 4);
}

/* One thread starts those of all devices, unless these are many. */
static void test_many_devices_are_independent(void **state)
{
    fixture *f = *state;
    od_transfer held = load(f, 0, 1, true), other = load(f, 3, 2, true);
    set_gate(f->gate, 0);
    od_transfer_submit(f->queues, &held);
    await_waiting(f->gate, 1);
    od_transfer_submit(f->queues, &other);
    await_copies(f->gate, 1);
    assert_string_equal(f->gate->thread_name, "od-copies-3");
    set_gate(f->gate, OD_NOWHERE);
    drain(f);
    assert_int_equal(atomic_load(&f->counter.done), 2);
}

static void test_refused_transfer_is_done_with_an_error(void **state)
{
    fixture *f = *state;
    od_transfer good = load(f, 3, SIZE, true), outside = load(f, 3, SIZE, true), too_long = load(f, 3, SIZE + 1, true);
    outside.to_offset = POOL - SIZE + 1;
    od_transfer_submit(f->queues, &outside);
    od_transfer_submit(f->queues, &too_long);
    od_transfer_submit(f->queues, &good);
    drain(f);
    assert_int_equal(atomic_load(&f->counter.done), 3);
    assert_int_equal(atomic_load(&f->counter.failed), 2);
    assert_int_equal(f->gate->ncopies, 1);
}

static void test_failed_copy_is_done_with_an_error(void **state)
{
    fixture *f = *state;
    f->gate->result = OD_EDEVICE;
    od_transfer t = load(f, 0, SIZE, true);
    od_transfer_submit(f->queues, &t);
    drain(f);
    assert_int_equal(atomic_load(&f->counter.done), 1);
    assert_int_equal(atomic_load(&f->counter.failed), 1);
}

static void test_threads_have_names_and_no_signals(void **state)
{
    fixture *f = *state;
    od_transfer t = load(f, 2, SIZE, true);
    od_transfer_submit(f->queues, &t);
    drain(f);
    assert_string_equal(f->gate->thread_name, "od-h2d-2");
    assert_true(f->gate->signals_blocked);
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    assert_false(sigismember(&mask, SIGUSR1));
}

static void test_idle_queues_end(void **state)
{
    fixture *f = *state;
    drain(f);
    assert_int_equal(atomic_load(&f->counter.done), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_many_transfers),
        cmocka_unit_test(test_many_transfers_with_jitter),
        cmocka_unit_test_setup_teardown(test_demanded_go_before_prefetches, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_queues_are_independent, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_many_devices_are_independent, set_up_asynchronous, tear_down),
        cmocka_unit_test_setup_teardown(test_refused_transfer_is_done_with_an_error, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_failed_copy_is_done_with_an_error, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_threads_have_names_and_no_signals, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_idle_queues_end, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
