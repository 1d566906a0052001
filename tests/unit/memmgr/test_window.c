/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Windows in host memory: two views of the same pages, of which one is protected; and where an array lies in them. */
#include "memmgr/window/host.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

enum { NDEVICES = 2, PAGES = 5 };

static od_window *make(uintptr_t base, size_t size)
{
    od_window *w;
    assert_int_equal(od_window_create(&od_host_windows, NULL, NDEVICES, base, size, &w), OD_OK);
    return w;
}

/* Whether a system call may read the byte. */
static bool is_readable(const char *address)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    ssize_t n = write(ends[1], address, 1);
    assert_true(n == 1 || errno == EFAULT);
    close(ends[0]);
    close(ends[1]);
    return n == 1;
}

static bool is_writable(char *address)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], "w", 1), 1);
    ssize_t n = read(ends[0], address, 1);
    assert_true(n == 1 || errno == EFAULT);
    close(ends[0]);
    close(ends[1]);
    return n == 1;
}

static void both_views_show_the_same_pages(void **state)
{
    size_t page = od_window_page(), size = PAGES * page;
    uintptr_t base = 16 * page + 24;
    od_window *w = make(base, size);
    (void)state;
    for (unsigned k = 0; k < NDEVICES; k++)
        for (size_t i = 0; i < size; i++)
            *od_window_copies(w, k, base + i) = (char)(i % 100 + k);
    for (unsigned k = 0; k < NDEVICES; k++) {
        assert_int_equal(od_window_protect(w, k, base, size, OD_WINDOW_READABLE), OD_OK);
        for (size_t i = 0; i < size; i++)
            assert_int_equal(*od_window_kernel(w, k, base + i), (char)(i % 100 + k));
    }
    od_window_release(w);
}

/* A page boundary of the array is one of the window. */
static void pages_begin_where_the_arrays_do(void **state)
{
    size_t page = od_window_page();
    uintptr_t base = 16 * page + 24;
    od_window *w = make(base, 3 * page);
    (void)state;
    for (unsigned k = 0; k < NDEVICES; k++) {
        assert_int_equal((uintptr_t)od_window_kernel(w, k, base) % page, 24);
        assert_int_equal((uintptr_t)od_window_copies(w, k, base + page - 24) % page, 0);
    }
    od_window_release(w);
}

static void only_touched_pages_are_protected(void **state)
{
    size_t page = od_window_page();
    uintptr_t base = 16 * page + 24, second = 17 * page;
    od_window *w = make(base, PAGES * page);
    (void)state;
    assert_false(is_readable(od_window_kernel(w, 1, base)));
    assert_int_equal(od_window_protect(w, 1, second + 5, page - 5, OD_WINDOW_OPEN), OD_OK);
    assert_true(is_writable(od_window_kernel(w, 1, second)));
    assert_true(is_writable(od_window_kernel(w, 1, second + page - 1)));
    assert_false(is_readable(od_window_kernel(w, 1, second - 1)));
    assert_false(is_readable(od_window_kernel(w, 1, second + page)));
    assert_false(is_readable(od_window_kernel(w, 0, second)));
    assert_int_equal(od_window_protect(w, 1, second, 1, OD_WINDOW_READABLE), OD_OK);
    assert_true(is_readable(od_window_kernel(w, 1, second)));
    assert_false(is_writable(od_window_kernel(w, 1, second)));
    assert_int_equal(od_window_protect(w, 1, second, 1, OD_WINDOW_CLOSED), OD_OK);
    assert_false(is_readable(od_window_kernel(w, 1, second)));
    od_window_release(w);
}

static void discarded_pages_are_empty(void **state)
{
    size_t page = od_window_page();
    uintptr_t base = 16 * page;
    od_window *w = make(base, PAGES * page);
    (void)state;
    memset(od_window_copies(w, 0, base), 7, PAGES * page);
    assert_int_equal(od_window_discard(w, 0, base + page, 2 * page), OD_OK);
    for (size_t i = 0; i < PAGES; i++)
        assert_int_equal(*od_window_copies(w, 0, base + i * page), i == 1 || i == 2 ? 0 : 7);
    od_window_release(w);
}

static void spans_count_whole_pages(void **state)
{
    size_t page = od_window_page();
    (void)state;
    assert_int_equal(od_window_span(5 * page, page), page);
    assert_int_equal(od_window_span(5 * page + 1, page), 2 * page);
    assert_int_equal(od_window_span(6 * page - 1, 2), 2 * page);
    assert_int_equal(od_window_span(6 * page - 1, 1), page);
    od_window *w = make(5 * page + 8, 100);
    assert_true(od_window_contains(w, 5 * page + 8, 100));
    assert_false(od_window_contains(w, 5 * page + 8, 101));
    assert_false(od_window_contains(w, 5 * page + 7, 1));
    assert_false(od_window_contains(w, 5 * page + 108, 1));
    od_window_release(w);
}

static void there_is_one_view_outside_of_the_devices(void **state)
{
    size_t page = od_window_page();
    uintptr_t base = 16 * page + 24;
    od_window *w = make(base, 3 * page);
    (void)state;
    assert_null(w->view[NDEVICES].kernel);
    assert_int_equal(od_window_reserve_outside(w), OD_OK);
    char *kernel = w->view[NDEVICES].kernel;
    assert_int_equal(od_window_reserve_outside(w), OD_OK);
    assert_ptr_equal(kernel, w->view[NDEVICES].kernel);
    assert_ptr_equal(kernel + page, od_window_kernel(w, NDEVICES, base + page));
    assert_false(is_readable(kernel));
    *od_window_copies(w, NDEVICES, base) = 7;
    assert_int_equal(od_window_protect(w, NDEVICES, base, 1, OD_WINDOW_READABLE), OD_OK);
    assert_int_equal(*kernel, 7);
    od_window_release(w);
}

static od_status refuse_second(void *state, unsigned k, size_t bytes, od_window_view *view)
{
    return k ? OD_EDEVICE : od_host_windows.reserve(state, k, bytes, view);
}

static void a_window_that_one_device_refuses_is_none(void **state)
{
    od_window_ops ops = od_host_windows;
    od_window *w;
    (void)state;
    ops.reserve = refuse_second;
    assert_int_equal(od_window_create(&ops, NULL, NDEVICES, od_window_page() + 8, 100, &w), OD_EDEVICE);
    assert_int_equal(od_window_create(&od_host_windows, NULL, NDEVICES, 0, SIZE_MAX / 2, &w), OD_EDEVICE);
}

/* At least those of a few tiles; more than the system's limit would be none. */
static void ranges_are_limited(void **state)
{
    size_t most = od_host_windows.most_ranges(NULL);
    (void)state;
    assert_in_range(most, 1000, INT32_MAX / 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_views_show_the_same_pages),
        cmocka_unit_test(pages_begin_where_the_arrays_do),
        cmocka_unit_test(only_touched_pages_are_protected),
        cmocka_unit_test(discarded_pages_are_empty),
        cmocka_unit_test(spans_count_whole_pages),
        cmocka_unit_test(there_is_one_view_outside_of_the_devices),
        cmocka_unit_test(a_window_that_one_device_refuses_is_none),
        cmocka_unit_test(ranges_are_limited),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
