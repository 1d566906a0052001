/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Portable back-end: calls of a fake OpenMP API, and what happens when they fail; the
 * shared bus, in accounted time.
 */
#include "memmgr/device/backends.h"
#include "memmgr/device/bus.h"
#include "memmgr/device/transfer_queues.h"
#include "util/clock.h"
#include "util/log.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { NDEVICES = 3, POOL = 4096, SIZE = 1000, HOST_NUMBER = 9, MOST_POOLS = 8 };

static const int numbers[NDEVICES] = {4, 2, 7};

/* What the fake OpenMP runtime saw; its functions have no state argument. */
static struct fake {
    void *pools[MOST_POOLS];
    int pool_devices[MOST_POOLS];
    unsigned nallocs, nfrees, ncopies;
    unsigned failing_alloc; /* this one returns NULL; 0: none */
    int memcpy_result;
    int to_device, from_device;
    void *to;
    const void *from;
    size_t bytes;
} fake;

static void *fake_alloc(size_t bytes, int device)
{
    if (++fake.nallocs == fake.failing_alloc)
        return NULL;
    void *address = calloc(1, bytes);
    fake.pools[fake.nallocs - 1] = address;
    fake.pool_devices[fake.nallocs - 1] = device;
    return address;
}

static void fake_free(void *address, int device)
{
    for (unsigned i = 0; i < MOST_POOLS; i++) {
        if (fake.pools[i] != address)
            continue;
        assert_int_equal(fake.pool_devices[i], device);
        fake.pools[i] = NULL;
        fake.nfrees++;
        free(address);
        return;
    }
    fail_msg("freed what was not allocated");
}

static int fake_memcpy(void *to, const void *from, size_t bytes, size_t to_offset, size_t from_offset, int to_device,
                       int from_device)
{
    fake.ncopies++;
    fake.to = (char *)to + to_offset;
    fake.from = (const char *)from + from_offset;
    fake.bytes = bytes;
    fake.to_device = to_device;
    fake.from_device = from_device;
    if (!fake.memcpy_result)
        memcpy(fake.to, fake.from, bytes);
    return fake.memcpy_result;
}

static const od_omptarget_api api = {
    .target_alloc = fake_alloc, .target_free = fake_free, .target_memcpy = fake_memcpy, .host_device = HOST_NUMBER};

typedef struct fixture {
    od_backend backend;
    od_datum *datum;
    unsigned char bytes[SIZE];
} fixture;

static int set_up(void **state)
{
    fake = (struct fake){0};
    od_log_set_level(OD_LOG_OFF); /* failures are expected */
    fixture *f = calloc(1, sizeof *f);
    assert_non_null(f);
    f->datum = calloc(1, sizeof *f->datum);
    assert_non_null(f->datum);
    f->datum->base = (uintptr_t)f->bytes;
    f->datum->size = SIZE;
    assert_int_equal(od_backend_omptarget(&f->backend, &api, numbers, 0), OD_OK);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    fixture *f = *state;
    od_backend_release(&f->backend);
    for (unsigned i = 0; i < MOST_POOLS; i++)
        assert_null(fake.pools[i]);
    free(f->datum);
    free(f);
    return 0;
}

/* malloc() may write to all of it (MALLOC_PERTURB_). */
static void test_pools_of_host_devices_are_mapped(void **state)
{
    od_omptarget_api in_process = api;
    in_process.in_process = true;
    od_backend backend;
    (void)state;
    assert_int_equal(od_backend_omptarget(&backend, &in_process, numbers, 0), OD_OK);
    assert_int_equal(od_backend_take_pools(&backend, NDEVICES, POOL), OD_OK);
    for (unsigned k = 0; k < NDEVICES; k++)
        assert_int_equal(*(char *)backend.pool_address[k], 0);
    od_backend_release(&backend);
    assert_int_equal(fake.nallocs, 0);
    assert_int_equal(fake.nfrees, 0);
}

static void test_pools_come_from_their_devices(void **state)
{
    fixture *f = *state;
    assert_int_equal(od_backend_take_pools(&f->backend, NDEVICES, POOL), OD_OK);
    assert_int_equal(f->backend.ndevices, NDEVICES);
    for (unsigned k = 0; k < NDEVICES; k++) {
        assert_int_equal(fake.pool_devices[k], numbers[k]);
        assert_ptr_equal(f->backend.pool_address[k], fake.pools[k]);
        assert_int_equal(f->backend.pool_bytes[k], POOL);
    }
}

static void test_failing_alloc_gives_all_back(void **state)
{
    fixture *f = *state;
    for (unsigned failing = 1; failing <= NDEVICES; failing++) {
        fake = (struct fake){.failing_alloc = failing};
        assert_int_equal(od_backend_take_pools(&f->backend, NDEVICES, POOL), OD_EDEVICE);
        assert_int_equal(fake.nallocs, failing);
        assert_int_equal(fake.nfrees, failing - 1);
        assert_int_equal(f->backend.ndevices, 0);
    }
    fake = (struct fake){0};
    assert_int_equal(od_backend_take_pools(&f->backend, NDEVICES, POOL), OD_OK);
}

static void test_copies_go_where_they_should(void **state)
{
    fixture *f = *state;
    assert_int_equal(od_backend_take_pools(&f->backend, NDEVICES, POOL), OD_OK);
    memset(f->bytes, 5, SIZE);
    od_transfer in = {.datum = f->datum, .from = OD_HOST, .to = 1, .offset = 10, .bytes = 900, .to_offset = 256};
    assert_int_equal(od_backend_copy(&f->backend, &in), OD_OK);
    assert_ptr_equal(fake.from, f->bytes + 10);
    assert_ptr_equal(fake.to, (char *)fake.pools[1] + 266);
    assert_int_equal(fake.bytes, 900);
    assert_int_equal(fake.from_device, HOST_NUMBER);
    assert_int_equal(fake.to_device, numbers[1]);

    od_transfer across = {.datum = f->datum, .from = 1, .to = 2, .bytes = SIZE, .from_offset = 256, .to_offset = 512};
    assert_int_equal(od_backend_copy(&f->backend, &across), OD_OK);
    assert_ptr_equal(fake.from, (char *)fake.pools[1] + 256);
    assert_ptr_equal(fake.to, (char *)fake.pools[2] + 512);
    assert_int_equal(fake.from_device, numbers[1]);
    assert_int_equal(fake.to_device, numbers[2]);

    od_transfer out = {.datum = f->datum, .from = 2, .to = OD_HOST, .bytes = SIZE, .from_offset = 512};
    assert_int_equal(od_backend_copy(&f->backend, &out), OD_OK);
    assert_int_equal(fake.to_device, HOST_NUMBER);
    for (size_t i = 0; i < SIZE; i++)
        assert_int_equal(f->bytes[i], i >= 10 && i < 910 ? 5 : 0);
}

static void test_failing_copy_is_reported(void **state)
{
    fixture *f = *state;
    assert_int_equal(od_backend_take_pools(&f->backend, NDEVICES, POOL), OD_OK);
    fake.memcpy_result = 1;
    od_transfer in = {.datum = f->datum, .from = OD_HOST, .to = 0, .bytes = SIZE};
    assert_int_equal(od_backend_copy(&f->backend, &in), OD_EDEVICE);
}

static void test_refused_copy_calls_nothing(void **state)
{
    fixture *f = *state;
    assert_int_equal(od_backend_take_pools(&f->backend, NDEVICES, POOL), OD_OK);
    od_transfer in = {.datum = f->datum, .from = OD_HOST, .to = 0, .bytes = SIZE, .to_offset = POOL - SIZE + 1};
    assert_int_equal(od_backend_copy(&f->backend, &in), OD_EDEVICE);
    assert_int_equal(fake.ncopies, 0);
}

/* A copy over a slowed link never ends before its bytes can have passed. */
static void test_slow_link_delays(void **state)
{
    fixture *f = *state;
    od_backend slow;
    assert_int_equal(od_backend_omptarget(&slow, &api, numbers, 1e6), OD_OK);
    assert_int_equal(od_backend_take_pools(&slow, 2, POOL), OD_OK);
    uint64_t start_ns = od_clock_ns();
    for (int k = 0; k < 2; k++) {
        od_transfer in = {.datum = f->datum, .from = OD_HOST, .to = k, .bytes = SIZE};
        assert_int_equal(od_backend_copy(&slow, &in), OD_OK);
    }
    assert_true(od_clock_ns() - start_ns >= 2 * SIZE * UINT64_C(1000));
    od_backend_release(&slow);
}

static void test_bus_is_serial(void **state)
{
    (void)state;
    od_bus bus;
    assert_int_equal(od_bus_init(&bus, 1e9), 0); /* 1 byte per ns */
    assert_int_equal(od_bus_reserve(&bus, 100, 50), 150);
    assert_int_equal(od_bus_reserve(&bus, 100, 10), 160); /* waits for the first */
    assert_int_equal(od_bus_reserve(&bus, 155, 5), 165);
    assert_int_equal(od_bus_reserve(&bus, 1000, 5), 1005); /* the bus was idle */
    assert_int_equal(od_bus_reserve(&bus, 1000, 0), 1005);
    od_bus_destroy(&bus);
}

enum { BUS_THREADS = 4, BUS_COPIES = 500, BUS_BYTES = 7 };

static void *use_bus(void *arg)
{
    for (int i = 0; i < BUS_COPIES; i++)
        od_bus_reserve(arg, 0, BUS_BYTES);
    return NULL;
}

/* However the threads interleave, the bus was occupied for the sum of all copies. */
static void test_bus_is_shared_by_threads(void **state)
{
    (void)state;
    od_bus bus;
    pthread_t threads[BUS_THREADS];
    assert_int_equal(od_bus_init(&bus, 1e9), 0);
    for (int i = 0; i < BUS_THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, use_bus, &bus), 0);
    for (int i = 0; i < BUS_THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(od_bus_reserve(&bus, 0, 0), BUS_THREADS * BUS_COPIES * BUS_BYTES);
    od_bus_destroy(&bus);
}

/* The last word that names a kernel counts, and its last number for all further devices. */
static void test_slow_kernels(void **state)
{
    static const char text[] = "omptarget:slow=2/3,slow=gemm:8/1,slow=task_gemm_d:5";
    char error[OD_OPTION_ERROR] = "";
    od_backend_choice choice;
    od_backend slow;
    (void)state;
    assert_int_equal(od_backend_choose(&(od_option_spec){.name = "BACKEND"}, text, &choice, error, sizeof error),
                     OD_OK);
    od_backend_request request = {.ndevices = NDEVICES, .device_numbers = numbers, .api = &api};
    assert_int_equal(od_backend_open(&slow, &choice, &request, error, sizeof error), OD_OK);
    const struct {
        const char *kernel;
        unsigned times[3];
    } expected[] = {{"__omp_offloading_1_2_task_trsm_l3", {2, 3, 3}},
                    {"__omp_offloading_1_2_task_gemm_float_l3", {8, 1, 1}},
                    {"__omp_offloading_1_2_task_gemm_double_l3", {5, 5, 5}},
                    {"", {2, 3, 3}}};
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
        for (unsigned k = 0; k < 3; k++)
            assert_int_equal(od_backend_slows(&slow, expected[i].kernel, k), expected[i].times[k]);
    od_backend_release(&slow);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_pools_come_from_their_devices, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_pools_of_host_devices_are_mapped, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_failing_alloc_gives_all_back, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_copies_go_where_they_should, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_failing_copy_is_reported, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_refused_copy_calls_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_slow_link_delays, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_slow_kernels, set_up, tear_down),
        cmocka_unit_test(test_bus_is_serial),
        cmocka_unit_test(test_bus_is_shared_by_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
