/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Threads that sleep or spin are told from those that only wait for a processor. */
#define _GNU_SOURCE 1 /* affinity, SCHED_IDLE */

#include "omp_ext/process/quiet.h"

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

static atomic_bool stop;
static atomic_long spinner;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void *sleep_long(void *arg)
{
    (void)arg;
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
    return NULL;
}

static void *spin(void *arg)
{
    (void)arg;
    atomic_store(&spinner, gettid());
    while (!atomic_load(&stop))
        continue;
    return NULL;
}

static void nap_ms(long ms)
{
    nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL);
}

/* Sooner or later: it needs a processor for that. */
static bool becomes_quiet(const od_quiet *quiet)
{
    for (unsigned i = 0; i < 6000; i++, nap_ms(10))
        if (od_quiet_lasts(quiet))
            return true;
    return false;
}

static void test_asleep(void **unused)
{
    (void)unused;
    pthread_t thread;
    od_quiet quiet = {0};
    pthread_mutex_lock(&mutex);
    assert_int_equal(pthread_create(&thread, NULL, sleep_long, NULL), 0);
    od_quiet_begin(&quiet);
    assert_int_equal(quiet.count, 1);
    assert_true(becomes_quiet(&quiet));
    pthread_mutex_unlock(&mutex);
    pthread_join(thread, NULL);
    od_quiet_end(&quiet);
}

static void test_spins(void **unused)
{
    (void)unused;
    pthread_t thread;
    od_quiet quiet = {0};
    atomic_store(&stop, false);
    assert_int_equal(pthread_create(&thread, NULL, spin, NULL), 0);
    od_quiet_begin(&quiet);
    assert_false(od_quiet_lasts(&quiet));
    assert_true(becomes_quiet(&quiet));
    od_quiet_begin(&quiet); /* from here on it has not run for long */
    assert_false(od_quiet_lasts(&quiet));
    atomic_store(&stop, true);
    pthread_join(thread, NULL);
    od_quiet_end(&quiet);
}

/* Beside a thread on the same processor that leaves it next to nothing, a thread is not quiet, however long it takes. */
static void test_starved(void **unused)
{
    (void)unused;
    pthread_t starved, greedy;
    od_quiet quiet = {0};
    cpu_set_t mine, one;
    assert_int_equal(sched_getaffinity(0, sizeof mine, &mine), 0);
    CPU_ZERO(&one);
    for (size_t cpu = 0; !CPU_COUNT(&one); cpu++)
        if (CPU_ISSET(cpu, &mine))
            CPU_SET(cpu, &one);
    atomic_store(&stop, false);
    atomic_store(&spinner, 0);
    assert_int_equal(pthread_create(&starved, NULL, spin, NULL), 0);
    while (!atomic_load(&spinner))
        nap_ms(1);
    assert_int_equal(sched_setscheduler((pid_t)atomic_load(&spinner), SCHED_IDLE, &(struct sched_param){0}), 0);
    assert_int_equal(pthread_setaffinity_np(starved, sizeof one, &one), 0);
    assert_int_equal(pthread_create(&greedy, NULL, spin, NULL), 0);
    assert_int_equal(pthread_setaffinity_np(greedy, sizeof one, &one), 0);
    od_quiet_begin(&quiet);
    for (unsigned i = 0; i < 20; i++, nap_ms(30))
        assert_false(od_quiet_lasts(&quiet));
    atomic_store(&stop, true);
    pthread_join(greedy, NULL);
    pthread_join(starved, NULL);
    od_quiet_end(&quiet);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_asleep), cmocka_unit_test(test_spins),
                                       cmocka_unit_test(test_starved)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
