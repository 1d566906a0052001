/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Links of a machine that is all model, its clock included: what is measured, and how many seconds of a slow network that
 * takes. */
#include "omp_ext/services/machine/links.h"
#include "omp_ext/services/profile.h"
#include "util/clock.h"
#include "util/memory.h"

#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { NODES = 4, OF_NODE = 8, DEVICES = NODES * OF_NODE, POOL = 32 << 20 };

static struct {
    pthread_mutex_t lock;
    uint64_t now_ns;
    double rate;  /* bytes/s of the network, which all copies share */
    double moved; /* bytes */
} model = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* The C library's, for all that is linked with the test. */
int clock_gettime(clockid_t clock, struct timespec *now)
{
    (void)clock;
    pthread_mutex_lock(&model.lock);
    *now = od_clock_time(model.now_ns);
    pthread_mutex_unlock(&model.lock);
    return 0;
}

/* --- what is kept of earlier runs: nothing ------------------------------------------------- */

bool od_profile_is_on(void)
{
    return true;
}

double od_profile_find_link(const char *link, od_link_row row)
{
    (void)link;
    (void)row;
    return 0;
}

void od_profile_put_link(const char *link, od_link_row row, double value)
{
    assert_true(value > 0 || row == OD_LINK_LATENCY);
    (void)link;
}

/* --- a back-end of several nodes ------------------------------------------------------------- */

static od_status copy(void *state, int to, void *to_address, int from, const void *from_address, size_t bytes)
{
    static const uint64_t latency_ns = 20000;
    (void)state;
    assert_true(to != from && to_address && from_address);
    pthread_mutex_lock(&model.lock);
    model.now_ns += latency_ns + (uint64_t)((double)bytes / model.rate * 1e9);
    model.moved += (double)bytes;
    pthread_mutex_unlock(&model.lock);
    return OD_OK;
}

static unsigned rank_of(void *state, unsigned k, char *host, size_t size)
{
    (void)state;
    snprintf(host, size, "node%u", k / OF_NODE);
    return 1 + k / OF_NODE;
}

static const od_backend_ops ops = {.name = "model", .peer = true, .copy = copy, .rank_of = rank_of};

/* Seconds that it takes to measure a network of so many bytes/s; *found: what was measured. */
static double seconds_to_measure(double rate, od_link *found)
{
    od_backend backend = {.ops = &ops, .ndevices = DEVICES};
    model.rate = rate;
    model.moved = 0;
    uint64_t start_ns = od_clock_ns();
    for (unsigned k = 0; k < DEVICES; k++) {
        backend.pool_address[k] = (void *)(uintptr_t)((k + 1) * (uint64_t)POOL);
        backend.pool_bytes[k] = POOL;
    }
    od_topology *topology = od_links_find(&backend, true);
    assert_non_null(topology);
    *found = od_topology_link(topology, OD_HOST, 0, 1);
    od_topology_destroy(topology);
    return (double)(od_clock_ns() - start_ns) * 1e-9;
}

static void test_rates(void **state)
{
    static const double rates[] = {0.05e9, 0.117e9, 1.2e9, 12e9};
    od_link found;
    (void)state;
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) {
        double seconds = seconds_to_measure(rates[i], &found);
        printf("%g bytes/s: measured %g, in %g s\n", rates[i], found.bandwidth, seconds);
        assert_true(fabs(found.bandwidth / rates[i] - 1) < 0.02);
        assert_true(fabs(found.latency - 20e-6) < 2e-6);
    }
}

static void test_bounded(void **state)
{
    od_link found;
    (void)state;
    assert_true(seconds_to_measure(0.117e9, &found) < 5);
    assert_true(seconds_to_measure(12e9, &found) < 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_rates), cmocka_unit_test(test_bounded)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
