/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What is heard of memory that is watched, whoever gives it back and how. */
#define _GNU_SOURCE
#include "memmgr/device/cuda/watch.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { PAGE = 4096, PAGES = 64, SKIPPED = 77 };

static atomic_uint calls;
static atomic_bool busy; /* whoever is told of it cannot listen now */

static bool heard(void *arg)
{
    (void)arg;
    if (atomic_load(&busy))
        return false;
    atomic_fetch_add(&calls, 1);
    return true;
}

typedef struct gone {
    uintptr_t begin, end; /* of all */
    unsigned count;
} gone;

static void note(void *arg, uintptr_t begin, uintptr_t end)
{
    gone *g = arg;
    g->begin = g->count && g->begin < begin ? g->begin : begin;
    g->end = g->count && g->end > end ? g->end : end;
    g->count++;
}

static gone ask(od_watch *w)
{
    gone g = {0};
    assert_true(od_watch_ask(w, note, &g));
    return g;
}

static char *map(void)
{
    char *memory = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(memory, MAP_FAILED);
    memset(memory, 1, PAGES * PAGE);
    return memory;
}

static od_watch *watch_of(const char *memory, unsigned first, unsigned end)
{
    od_watch *w = od_watch_create(heard, NULL);
    assert_non_null(w);
    assert_true(od_watch_begin(w, (uintptr_t)memory + first * PAGE, (uintptr_t)memory + end * PAGE));
    return w;
}

/* Between pages 8 and 24, which are watched, `change` touches the pages from 16 to 20. */
static void expect_gone(void (*change)(char *memory))
{
    char *memory = map();
    od_watch *w = watch_of(memory, 8, 24);
    assert_int_equal(ask(w).count, 0);
    change(memory);
    gone g = ask(w);
    assert_true(g.count && g.begin <= (uintptr_t)memory + 16 * PAGE && g.end >= (uintptr_t)memory + 20 * PAGE);
    assert_true(g.begin >= (uintptr_t)memory && g.end <= (uintptr_t)memory + PAGES * PAGE);
    assert_int_equal(ask(w).count, 0);
    munmap(memory, PAGES * PAGE);
    od_watch_destroy(w);
}

static void unmap(char *memory)
{
    munmap(memory + 16 * PAGE, 4 * PAGE);
}

static void map_over(char *memory)
{
    assert_ptr_equal(
        mmap(memory + 16 * PAGE, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
        memory + 16 * PAGE);
}

static void throw_away(char *memory)
{
    assert_int_equal(madvise(memory + 16 * PAGE, 4 * PAGE, MADV_DONTNEED), 0);
    assert_int_equal(memory[16 * PAGE], 0);
}

static void move(char *memory)
{
    void *moved = mremap(memory + 16 * PAGE, 4 * PAGE, 8 * PAGE, MREMAP_MAYMOVE);
    assert_ptr_not_equal(moved, MAP_FAILED);
    munmap(moved, 8 * PAGE);
}

static void all_ways(void **state)
{
    (void)state;
    expect_gone(unmap);
    expect_gone(map_over);
    expect_gone(throw_away);
}

/* The pages have left their addresses; what is unmapped at their new ones is told, too. */
static void moved_memory(void **state)
{
    (void)state;
    char *memory = map();
    od_watch *w = watch_of(memory, 8, 24);
    move(memory);
    gone g = ask(w);
    assert_true(g.count >= 1 && g.begin <= (uintptr_t)memory + 20 * PAGE);
    munmap(memory, PAGES * PAGE);
    od_watch_destroy(w);
}

/* What nobody watches is not told, and accesses, also those of the kernel, are what they were. */
static void nothing_else(void **state)
{
    int ends[2];
    (void)state;
    char *memory = map();
    od_watch *w = watch_of(memory, 8, 24);
    munmap(memory, 8 * PAGE);
    munmap(memory + 24 * PAGE, 8 * PAGE);
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], memory + 8 * PAGE, PAGE), PAGE);
    assert_int_equal(read(ends[0], memory + 9 * PAGE, PAGE), PAGE);
    close(ends[0]);
    close(ends[1]);
    assert_int_equal(mprotect(memory + 8 * PAGE, PAGE, PROT_READ), 0);
    assert_int_equal(ask(w).count, 0);
    od_watch_end(w, (uintptr_t)memory + 8 * PAGE, (uintptr_t)memory + 24 * PAGE);
    munmap(memory + 8 * PAGE, 16 * PAGE);
    assert_int_equal(ask(w).count, 0);
    munmap(memory + 32 * PAGE, 32 * PAGE);
    od_watch_destroy(w);
}

/* free() of much memory unmaps it. */
static void freed(void **state)
{
    (void)state;
    enum { BYTES = 64 << 20 };
    char *memory = malloc(BYTES);
    assert_non_null(memory);
    memset(memory, 1, BYTES);
    uintptr_t begin = ((uintptr_t)memory + PAGE - 1) / PAGE * PAGE;
    od_watch *w = od_watch_create(heard, NULL);
    assert_non_null(w);
    assert_true(od_watch_begin(w, begin, begin + 4 * PAGE));
    free(memory);
    gone g = ask(w);
    assert_true(g.count && g.begin <= begin && g.end >= begin + 4 * PAGE);
    od_watch_destroy(w);
}

/* The thread hears of it without being asked, again until somebody listens; nobody waits for that who unmaps. */
static void heard_by_itself(void **state)
{
    (void)state;
    char *memory = map();
    od_watch *w = watch_of(memory, 8, 24);
    atomic_store(&calls, 0);
    atomic_store(&busy, true);
    unmap(memory);
    assert_int_equal(atomic_load(&calls), 0);
    atomic_store(&busy, false);
    while (!atomic_load(&calls))
        usleep(100);
    assert_true(ask(w).count > 0);
    munmap(memory, PAGES * PAGE);
    od_watch_destroy(w);
}

static void forks_end_it(void **state)
{
    gone g = {0};
    int status;
    (void)state;
    char *memory = map();
    od_watch *w = watch_of(memory, 8, 24);
    pid_t child = fork();
    if (!child)
        _exit(0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_false(od_watch_ask(w, note, &g));
    assert_int_equal(g.count, 0);
    assert_true(od_watch_ask(w, note, &g));
    munmap(memory, PAGES * PAGE);
    od_watch_destroy(w);
}

/* More than can be remembered. */
static void too_many(void **state)
{
    enum { MANY = 2000 };
    gone g = {0};
    (void)state;
    char *memory = map();
    od_watch *w = watch_of(memory, 0, PAGES);
    for (unsigned i = 0; i < MANY; i++)
        assert_int_equal(madvise(memory, PAGE, MADV_DONTNEED), 0);
    assert_false(od_watch_ask(w, note, &g));
    assert_int_equal(ask(w).count, 0);
    munmap(memory, PAGES * PAGE);
    od_watch_destroy(w);
}

/* --- two threads: one gives memory back, the other gets the addresses --------------------------- */

enum { ROUNDS = 3000 };

static _Atomic(char *) wanted; /* the address that the other thread is to get */
static atomic_bool over;

/* Unmaps at once what it is shown. */
static void *unmap_shown(void *arg)
{
    (void)arg;
    while (!atomic_load(&over)) {
        char *memory = atomic_load(&wanted);
        if (memory) {
            munmap(memory, 4 * PAGE);
            atomic_store(&wanted, NULL);
        }
    }
    return NULL;
}

/* Whoever has the addresses anew, though munmap() has not returned on the other thread, is told that they are gone. */
static void told_before_it_returns(void **state)
{
    pthread_t thread;
    unsigned early = 0;
    (void)state;
    od_watch *w = od_watch_create(heard, NULL);
    assert_non_null(w);
    atomic_store(&over, false);
    assert_int_equal(pthread_create(&thread, NULL, unmap_shown, NULL), 0);
    for (unsigned i = 0; i < ROUNDS; i++) {
        char *memory = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *got;
        memset(memory, 1, 4 * PAGE);
        assert_true(od_watch_begin(w, (uintptr_t)memory, (uintptr_t)memory + 4 * PAGE));
        gone g = {0};
        while (!od_watch_ask(w, note, &g)) /* of the round before */
            ;
        g = (gone){0};
        atomic_store(&wanted, memory);
        do
            got = mmap(memory, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1,
                       0);
        while (got == MAP_FAILED);
        early += atomic_load(&wanted) != NULL;
        assert_ptr_equal(got, memory);
        if (od_watch_ask(w, note, &g)) /* else it is not known, which is as good */
            assert_true(g.count && g.begin <= (uintptr_t)memory && g.end >= (uintptr_t)memory + 4 * PAGE);
        while (atomic_load(&wanted))
            sched_yield();
        munmap(memory, 4 * PAGE);
    }
    atomic_store(&over, true);
    pthread_join(thread, NULL);
    od_watch_destroy(w);
    print_message("the addresses were there %u times before munmap() returned\n", early);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_ways), cmocka_unit_test(moved_memory),           cmocka_unit_test(nothing_else),
        cmocka_unit_test(freed),    cmocka_unit_test(heard_by_itself),        cmocka_unit_test(forks_end_it),
        cmocka_unit_test(too_many), cmocka_unit_test(told_before_it_returns),
    };
    od_watch *w = od_watch_create(heard, NULL);
    if (!w) {
        print_message("skipped: the system allows no userfaultfd\n");
        return SKIPPED;
    }
    od_watch_destroy(w);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
