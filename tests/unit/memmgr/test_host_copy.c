/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Copies within host memory: all bytes arrive, each copy ends once, with and without the help of who asks for them. */
#include "memmgr/device/host_copy.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { COPIES = 24, LARGEST = 9 << 20 };

typedef struct job {
    od_datum datum;
    od_transfer transfer;
    unsigned char *program, *spill;
    size_t size;
} job;

static job jobs[COPIES];
static atomic_uint ended[COPIES], nended;

static void done(void *arg, od_transfer *x, od_status status)
{
    const job *j = od_container_of(x, job, transfer);
    assert_ptr_equal(arg, jobs);
    assert_int_equal(status, OD_OK);
    atomic_fetch_add(&ended[j - jobs], 1);
    atomic_fetch_add(&nended, 1);
}

static void make_job(unsigned i)
{
    job *j = &jobs[i];
    size_t offset = i % 3;
    bool out = i % 2;
    j->size = i < 4 ? LARGEST - i : i * 1000 + 1;
    j->program = malloc(j->size);
    j->spill = malloc(j->size);
    assert_true(j->program && j->spill);
    memset(j->program, out ? 1 : 2, j->size);
    memset(j->spill, out ? 2 : 1, j->size);
    j->datum = (od_datum){.base = (uintptr_t)j->program, .size = j->size};
    j->transfer = (od_transfer){.datum = &j->datum,
                                .from = out ? OD_HOST : OD_SPILL,
                                .to = out ? OD_SPILL : OD_HOST,
                                .offset = offset,
                                .bytes = j->size - offset,
                                .spill = j->spill};
    ended[i] = 0;
}

static void check_job(unsigned i)
{
    const job *j = &jobs[i];
    const unsigned char *to = j->transfer.to == OD_HOST ? j->program : j->spill;
    assert_int_equal(ended[i], 1);
    for (size_t at = 0; at < j->size; at++)
        assert_int_equal(to[at], at < j->transfer.offset ? 2 : 1);
    free(j->program);
    free(j->spill);
}

static void copy_all(bool helped)
{
    od_host_copies *copies = od_host_copies_create(done, jobs);
    assert_non_null(copies);
    nended = 0;
    for (unsigned i = 0; i < COPIES; i++) {
        make_job(i);
        od_host_copies_submit(copies, &jobs[i].transfer, helped);
        if (helped && i % 4 == 3)
            od_host_copies_help(copies);
    }
    od_host_copies_destroy(copies); /* lets them end */
    assert_int_equal(nended, COPIES);
    for (unsigned i = 0; i < COPIES; i++)
        check_job(i);
}

static void the_caller_helps(void **state)
{
    (void)state;
    copy_all(true);
}

static void the_caller_goes_on(void **state)
{
    (void)state;
    copy_all(false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_caller_helps),
        cmocka_unit_test(the_caller_goes_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
