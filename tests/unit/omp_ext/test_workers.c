/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Jobs that go on by themselves are asked for their ends by threads that wait, and by workers when these are in a task
 * of the program's: whatever both do, and however long a question takes, each end is seen.
 */
#include "omp_ext/runtime/workers.h"

#include "tests/unit/random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

enum { PLACES = 3, THREADS = 3, ROUNDS = 300, LATE_NS = 400000 /* longer than a promise to ask lasts */ };

static od_lock lock = OD_LOCK_OF(OD_LOCK_RUNTIME);
static od_workers *workers;

typedef struct device_job {
    od_job job;
    atomic_int questions; /* after which it has ended */
    atomic_bool done;
    long answer_ns; /* a question takes so long */
} device_job;

static void nap_ns(long ns)
{
    nanosleep(&(struct timespec){0, ns}, NULL);
}

static bool blocks(const od_job *job, int place)
{
    (void)job;
    (void)place;
    return false;
}

static od_status run(od_job *job, int place)
{
    (void)job;
    (void)place;
    return OD_OK;
}

static od_status poll(od_job *job)
{
    device_job *own = (device_job *)job;
    nap_ns(own->answer_ns);
    return atomic_fetch_sub(&own->questions, 1) > 1 ? OD_EBUSY : OD_OK;
}

static void done(od_job *job, od_status status)
{
    device_job *own = (device_job *)job;
    if (status || atomic_exchange(&own->done, true))
        abort(); /* cmocka's checks are for the test's own thread */
}

static void unlock(void)
{
    uint64_t wakes = od_workers_take_wakes(workers);
    od_lock_give(&lock);
    od_workers_wake(workers, wakes);
}

static bool is_remote(void)
{
    return false;
}

static const od_workers_ops ops = {.blocks = blocks,
                                   .run = run,
                                   .poll = poll,
                                   .done = done,
                                   .is_remote = is_remote,
                                   .release = unlock,
                                   .unlock = unlock};

static void watch(device_job *job)
{
    od_lock_take(&lock);
    if (od_workers_watch(workers, &job->job))
        abort();
    unlock();
}

/* As a task of the program's that waits in its body, without any asking by this thread. */
static bool ends(const device_job *job)
{
    for (unsigned i = 0; i < 600000; i++, nap_ns(100000))
        if (atomic_load(&job->done))
            return true;
    return false;
}

static int set_up(void **state)
{
    (void)state;
    od_lock_take(&lock);
    workers = od_workers_create(&lock, PLACES, &ops);
    unlock();
    return !workers;
}

static int tear_down(void **state)
{
    (void)state;
    od_lock_take(&lock);
    od_workers_end(workers, 60);
    od_lock_give(&lock);
    od_workers_abandon(workers);
    return 0;
}

/* The worker looks after the promise while the jobs are with the one who asks, and finds none. */
static void a_question_longer_than_the_promise(void **state)
{
    (void)state;
    for (int n = 0; n < 20; n++) {
        device_job job = {.questions = 3, .answer_ns = 4 * LATE_NS};
        od_workers_begin_wait();
        watch(&job);
        od_workers_ask(workers);
        assert_true(ends(&job));
        od_workers_end_wait(workers);
    }
}

/* One thread of the program: waits in which it asks, or does not, for as long as it likes. */
static void *wait_now_and_then(void *arg)
{
    uint64_t random = (uint64_t)(uintptr_t)arg;
    for (int n = 0; n < ROUNDS; n++) {
        device_job job = {.questions = 1 + (int)random_below(&random, 4),
                          .answer_ns = (long)random_below(&random, 4) * LATE_NS / 2,
                          .job.granted_place = (int)random_below(&random, PLACES) - 1};
        bool waits = random_below(&random, 4);
        job.job.granted_place = job.job.granted_place < 0 ? OD_HOST : job.job.granted_place;
        if (waits)
            od_workers_begin_wait();
        watch(&job);
        for (uint64_t asks = random_below(&random, 4); waits && asks; asks--)
            od_workers_ask(workers);
        bool leaves = waits && random_below(&random, 2);
        if (leaves)
            od_workers_end_wait(workers);
        if (!ends(&job))
            return arg;
        if (waits && !leaves)
            od_workers_end_wait(workers);
    }
    return NULL;
}

static void every_end_is_seen(void **state)
{
    pthread_t thread[THREADS];
    (void)state;
    for (uintptr_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, wait_now_and_then, (void *)(i + 1)), 0);
    for (int i = 0; i < THREADS; i++) {
        void *unseen = NULL;
        pthread_join(thread[i], &unseen);
        assert_null(unseen);
    }
    assert_false(od_workers_have_jobs_going(workers));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_question_longer_than_the_promise, set_up, tear_down),
        cmocka_unit_test_setup_teardown(every_end_is_seen, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
