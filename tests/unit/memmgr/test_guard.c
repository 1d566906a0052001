/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Guard: which pages the kernel lets be read and written, asked with system calls, which fail where code would be
 * interrupted by a signal.
 */
#define _GNU_SOURCE
#include "memmgr/data/guard.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

enum { PAGES = 16 };

typedef struct world {
    uintptr_t page; /* bytes */
    uintptr_t memory;
    int pipe[2];
    od_directory *directory;
    od_guard *guard;
} world;

static int setup(void **state)
{
    world *w = calloc(1, sizeof *w);
    assert_non_null(w);
    w->page = (uintptr_t)sysconf(_SC_PAGESIZE);
    void *memory = mmap(NULL, PAGES * w->page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(memory, MAP_FAILED);
    w->memory = (uintptr_t)memory;
    assert_int_equal(pipe(w->pipe), 0);
    w->directory = od_directory_create(2);
    w->guard = od_guard_create();
    assert_true(w->directory && w->guard);
    *state = w;
    return 0;
}

static bool is_readable(const world *w, uintptr_t address)
{
    char byte;
    bool readable = write(w->pipe[1], (const void *)address, 1) == 1;
    if (readable)
        assert_int_equal(read(w->pipe[0], &byte, 1), 1);
    return readable;
}

/* Leaves what is there. */
static bool is_writable(const world *w, uintptr_t address)
{
    if (!is_readable(w, address))
        return false;
    char byte = *(const char *)address;
    assert_int_equal(write(w->pipe[1], &byte, 1), 1);
    if (read(w->pipe[0], (void *)address, 1) == 1)
        return true;
    assert_int_equal(read(w->pipe[0], &byte, 1), 1);
    return false;
}

static bool all_open(const world *w)
{
    for (uintptr_t i = 0; i < PAGES; i++)
        if (!is_writable(w, w->memory + i * w->page) || !is_writable(w, w->memory + (i + 1) * w->page - 1))
            return false;
    return true;
}

static int teardown(void **state)
{
    world *w = *state;
    od_guard_destroy(w->guard);
    assert_true(all_open(w));
    od_directory_destroy(w->directory);
    munmap((void *)w->memory, PAGES * w->page);
    close(w->pipe[0]);
    close(w->pipe[1]);
    free(w);
    return 0;
}

/* A datum of whose contents device 1 keeps a copy. */
static od_datum *add_kept(const world *w, uintptr_t offset, size_t size)
{
    od_datum *d;
    assert_int_equal(od_directory_add(w->directory, w->memory + offset, size, &d), OD_OK);
    d->valid = od_placeset_with(od_placeset_of(OD_HOST), 1);
    d->keep = true;
    return d;
}

static void update(const world *w)
{
    assert_int_equal(od_guard_update(w->guard, w->directory), OD_OK);
}

static void a_kept_copy_makes_pages_readable_only(void **state)
{
    world *w = *state;
    od_datum *d = add_kept(w, 0, 2 * w->page);
    update(w);
    assert_true(is_readable(w, w->memory + w->page));
    assert_false(is_writable(w, w->memory + w->page));
    assert_true(is_writable(w, w->memory + 2 * w->page));
    d->valid = od_placeset_of(1);
    update(w);
    assert_false(is_readable(w, w->memory));
    d->valid = od_placeset_of(OD_HOST);
    update(w);
    assert_true(all_open(w));
}

static void only_whole_pages_are_protected(void **state)
{
    world *w = *state;
    add_kept(w, w->page / 2, 3 * w->page);
    add_kept(w, 5 * w->page + 8, w->page);
    add_kept(w, 8 * w->page, w->page - 1);
    update(w);
    assert_true(is_writable(w, w->memory + w->page - 1));
    assert_false(is_writable(w, w->memory + w->page));
    assert_false(is_writable(w, w->memory + 3 * w->page - 1));
    assert_true(is_writable(w, w->memory + 3 * w->page));
    for (uintptr_t i = 4; i < PAGES; i++)
        assert_true(is_writable(w, w->memory + i * w->page));
}

/* Each of these means that the host may use the datum, or that the library does. */
static void what_the_host_may_use_is_open(void **state)
{
    world *w = *state;
    od_region region = {0};
    od_datum *d = add_kept(w, 0, 4 * w->page);
    for (int i = 0; i < 7; i++) {
        update(w);
        assert_false(is_writable(w, w->memory));
        d->region = i == 0 ? &region : NULL;
        d->keep = i != 1;
        d->stores = i == 2;
        d->host_users = i == 3;
        d->discarding = i == 4;
        d->items = i == 5 ? (od_request_item *)w : NULL;
        d->spill = i == 6 ? (od_spill *)w : NULL;
        update(w);
        assert_true(all_open(w));
        d->region = NULL;
        d->keep = true;
        d->stores = d->host_users = 0;
        d->discarding = false;
        d->items = NULL;
        d->spill = NULL;
    }
}

static void lifting_lasts_until_the_next_update(void **state)
{
    world *w = *state;
    add_kept(w, 0, w->page);
    add_kept(w, 2 * w->page, 2 * w->page);
    add_kept(w, 4 * w->page, w->page);
    update(w);
    od_guard_lift(w->guard, w->memory + 3 * w->page, 1);
    assert_true(is_writable(w, w->memory + 2 * w->page));
    assert_false(is_writable(w, w->memory));
    assert_false(is_writable(w, w->memory + 4 * w->page));
    update(w);
    assert_false(is_writable(w, w->memory + 2 * w->page));
    od_guard_lift_all(w->guard);
    assert_true(all_open(w));
}

static void protected_data_are_found_by_address(void **state)
{
    world *w = *state;
    od_guarded found;
    od_datum *d = add_kept(w, w->page - 16, 2 * w->page);
    d->user = w;
    update(w);
    assert_false(od_guard_find(w->guard, w->memory + w->page - 1, &found));
    assert_true(od_guard_find(w->guard, w->memory + w->page, &found));
    assert_true(found.base == d->base && found.size == d->size && found.user == w);
    assert_int_equal(found.access, OD_GUARD_READABLE);
    assert_false(od_guard_find(w->guard, w->memory + 2 * w->page, &found));
    od_guard_lift(w->guard, d->base, d->size);
    assert_false(od_guard_find(w->guard, w->memory + w->page, &found));
}

static void exempt_data_stay_open(void **state)
{
    world *w = *state;
    od_datum *d = add_kept(w, 0, w->page);
    add_kept(w, w->page, w->page);
    update(w);
    assert_true(od_guard_exempt(w->guard, d->base));
    assert_true(is_writable(w, w->memory));
    update(w);
    assert_true(is_writable(w, w->memory));
    assert_false(is_writable(w, w->memory + w->page));
    unsigned others = 0;
    while (od_guard_exempt(w->guard, 1))
        others++;
    assert_true(others > 10 && others < 10000);
}

/* Data of other sizes take the place of old ones, which may be gone with their memory. */
static void data_come_and_go(void **state)
{
    world *w = *state;
    od_datum *d = add_kept(w, 0, 4 * w->page);
    update(w);
    od_directory_remove(w->directory, d);
    add_kept(w, w->page, w->page);
    add_kept(w, 3 * w->page, 3 * w->page);
    update(w);
    assert_true(is_writable(w, w->memory));
    assert_false(is_writable(w, w->memory + w->page));
    assert_true(is_writable(w, w->memory + 2 * w->page));
    assert_false(is_writable(w, w->memory + 5 * w->page));
    void *again = mmap((void *)w->memory, PAGES * w->page, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    assert_true((uintptr_t)again == w->memory);
    assert_true(all_open(w));
}

static unsigned random_below(unsigned *seed, unsigned n)
{
    *seed = *seed * 1103515245u + 12345u;
    return (*seed >> 16) % n;
}

/* Whatever changes, after an update exactly the pages of kept data are protected. */
static void random_states(void **state)
{
    world *w = *state;
    od_datum *d[PAGES / 2];
    unsigned seed = 1;
    for (uintptr_t i = 0; i < PAGES / 2; i++)
        d[i] = add_kept(w, 2 * i * w->page, 2 * w->page);
    for (int step = 0; step < 2000; step++) {
        od_datum *one = d[random_below(&seed, PAGES / 2)];
        const od_placeset host = od_placeset_of(OD_HOST);
        const od_placeset states[] = {host, od_placeset_with(host, 0), od_placeset_of(1), OD_NO_PLACES};
        one->valid = states[random_below(&seed, 4)];
        one->keep = random_below(&seed, 4) > 0;
        if (random_below(&seed, 3) == 0)
            od_guard_lift(w->guard, one->base, one->size);
        update(w);
        for (uintptr_t i = 0; i < PAGES / 2; i++) {
            bool kept = d[i]->keep && od_placeset_intersect(d[i]->valid, od_placeset_below(2));
            assert_int_equal(is_writable(w, d[i]->base + w->page), !kept);
            assert_int_equal(is_readable(w, d[i]->base), !kept || od_placeset_has(d[i]->valid, OD_HOST));
        }
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_kept_copy_makes_pages_readable_only),
        TEST(only_whole_pages_are_protected),
        TEST(what_the_host_may_use_is_open),
        TEST(lifting_lasts_until_the_next_update),
        TEST(protected_data_are_found_by_address),
        TEST(exempt_data_stay_open),
        TEST(data_come_and_go),
        TEST(random_states),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
