/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * What all back-ends share, shown on the template back-end: pools, copies, and every
 * transfer that must be refused.
 */
#include "examples/backend/template_backend.c" /* no part of the library */

#include "memmgr/data/transfer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

enum { NDEVICES = 2, POOL = 4096, SIZE = 1024 };

typedef struct fixture {
    od_backend backend;
    unsigned char bytes[SIZE];
    od_datum *datum;
} fixture;

static int set_up(void **state)
{
    fixture *f = calloc(1, sizeof *f);
    assert_non_null(f);
    f->datum = calloc(1, sizeof *f->datum);
    assert_non_null(f->datum);
    f->datum->base = (uintptr_t)f->bytes;
    f->datum->size = SIZE;
    assert_int_equal(template_backend(&f->backend), OD_OK);
    assert_int_equal(od_backend_take_pools(&f->backend, NDEVICES, POOL), OD_OK);
    for (size_t i = 0; i < SIZE; i++)
        f->bytes[i] = (unsigned char)(i % 251);
    od_log_set_level(OD_LOG_OFF); /* refusals are expected */
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    fixture *f = *state;
    od_backend_release(&f->backend);
    od_backend_release(&f->backend);
    free(f->datum);
    free(f);
    return 0;
}

/* All of the datum from the host to offset 512 of device 0. */
static od_transfer whole(const fixture *f)
{
    return (od_transfer){.datum = f->datum, .from = OD_HOST, .to = 0, .bytes = SIZE, .to_offset = 512};
}

static void test_round_trip_over_two_devices(void **state)
{
    fixture *f = *state;
    od_transfer in = whole(f);
    od_transfer across = {.datum = f->datum, .from = 0, .to = 1, .bytes = SIZE, .from_offset = 512};
    od_transfer out = {.datum = f->datum, .from = 1, .to = OD_HOST, .offset = 100, .bytes = 50};
    assert_int_equal(od_backend_copy(&f->backend, &in), OD_OK);
    assert_int_equal(od_backend_copy(&f->backend, &across), OD_OK);
    memset(f->bytes, 0, SIZE);
    assert_int_equal(od_backend_copy(&f->backend, &out), OD_OK);
    for (size_t i = 0; i < SIZE; i++)
        assert_int_equal(f->bytes[i], i >= 100 && i < 150 ? i % 251 : 0);
}

static void test_outside_the_pool_is_refused(void **state)
{
    fixture *f = *state;
    od_transfer t = whole(f);
    t.to_offset = POOL - SIZE;
    assert_int_equal(od_backend_copy(&f->backend, &t), OD_OK);
    t.to_offset = POOL - SIZE + 1;
    assert_int_equal(od_backend_copy(&f->backend, &t), OD_EDEVICE);
    t.to_offset = SIZE_MAX - 10;
    assert_int_equal(od_backend_copy(&f->backend, &t), OD_EDEVICE);
    t.to_offset = POOL - 10;
    t.offset = 20;
    t.bytes = 1;
    assert_int_equal(od_backend_copy(&f->backend, &t), OD_EDEVICE);

    od_transfer out = {.datum = f->datum, .from = 1, .to = OD_HOST, .bytes = SIZE, .from_offset = POOL - SIZE + 1};
    assert_int_equal(od_backend_copy(&f->backend, &out), OD_EDEVICE);
    od_transfer across = {.datum = f->datum, .from = 0, .to = 1, .bytes = SIZE, .to_offset = POOL - SIZE + 1};
    assert_int_equal(od_backend_copy(&f->backend, &across), OD_EDEVICE);
}

static void test_outside_the_datum_is_refused(void **state)
{
    fixture *f = *state;
    od_transfer t = whole(f);
    t.offset = 1;
    assert_int_equal(od_backend_copy(&f->backend, &t), OD_EDEVICE);
    t.offset = SIZE;
    t.bytes = 0;
    assert_int_equal(od_backend_copy(&f->backend, &t), OD_OK);
    t.offset = SIZE_MAX;
    t.bytes = 2;
    assert_int_equal(od_backend_copy(&f->backend, &t), OD_EDEVICE);
    t.offset = 0;
    t.bytes = SIZE + 1;
    assert_int_equal(od_backend_copy(&f->backend, &t), OD_EDEVICE);
}

static void test_wrong_places_are_refused(void **state)
{
    fixture *f = *state;
    static const int pairs[][2] = {{OD_HOST, OD_HOST}, {0, 0}, {OD_HOST, NDEVICES}, {OD_NOWHERE, 0}, {64, OD_HOST}};
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        od_transfer t = whole(f);
        t.from = pairs[i][0];
        t.to = pairs[i][1];
        assert_int_equal(od_backend_copy(&f->backend, &t), OD_EDEVICE);
    }
}

static void test_no_peer_copies_without_peer(void **state)
{
    fixture *f = *state;
    od_backend_ops ops = *f->backend.ops;
    ops.peer = false;
    od_backend lonely = f->backend;
    lonely.ops = &ops;
    od_transfer across = {.datum = f->datum, .from = 0, .to = 1, .bytes = SIZE};
    assert_int_equal(od_backend_copy(&lonely, &across), OD_EDEVICE);
    assert_int_equal(od_backend_copy(&f->backend, &across), OD_OK);
}

static void test_strange_requests_for_pools(void **state)
{
    fixture *f = *state;
    od_backend_ops newer = *f->backend.ops;
    newer.interface_version = OD_BACKEND_INTERFACE + 1;
    od_backend other = {.ops = &newer, .state = f->backend.state};
    assert_int_equal(od_backend_take_pools(&other, 1, POOL), OD_EINVAL);
    other.ops = f->backend.ops;
    assert_int_equal(od_backend_take_pools(&other, OD_MAX_DEVICES + 1, POOL), OD_EINVAL);
    assert_int_equal(other.ndevices, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_round_trip_over_two_devices, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_outside_the_pool_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_outside_the_datum_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_wrong_places_are_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_no_peer_copies_without_peer, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_strange_requests_for_pools, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
