/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Slices of kernels: which iterations and which shares of arrays are whose, what is learnt of them, and turns. */
#include "memmgr/window/shares.h"
#include "memmgr/window/window.h"
#include "omp_ext/slices/slice.h"
#include "omp_ext/runtime/parts/turns.h"
#include "omp_ext/slices/kernels.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

_Thread_local od_thread od_self;

/* Teams as libomp divides them, evenly or in any other way: each iteration is in one team of one slice. */
static void each_iteration_is_in_one_slice(void **state)
{
    (void)state;
    for (unsigned n = 1; n < 40; n++)
        for (unsigned count = 1; count < 12; count++)
            for (unsigned teams = 1; teams < 7; teams++) {
                unsigned seen[40] = {0};
                for (unsigned s = 0; s < count; s++)
                    for (unsigned t = 0; t < teams; t++) {
                        od_slice slice = {.index = s, .count = count};
                        od_iterations team = {1, 0};
                        if (n * t / teams < n * (t + 1) / teams)
                            team = (od_iterations){n * t / teams, n * (t + 1) / teams - 1};
                        od_iterations own = od_slice_cut(&slice, n, team);
                        for (uint64_t i = own.first; i <= own.last; i++)
                            seen[i]++;
                    }
                for (unsigned i = 0; i < n; i++)
                    assert_int_equal(seen[i], 1);
            }
}

static void slices_of_huge_loops_do_not_overflow(void **state)
{
    uint64_t next = 0;
    (void)state;
    for (unsigned s = 0; s < 64; s++) {
        od_iterations own = od_slice_of(&(od_slice){.index = s, .count = 64}, UINT64_MAX);
        assert_true(own.first == next && own.last >= own.first);
        next = own.last + 1;
    }
    assert_true(next == UINT64_MAX);
}

static void shares_cover_an_array_in_pages(void **state)
{
    size_t page = od_window_page();
    (void)state;
    for (size_t offset = 0; offset < page; offset += 808)
        for (unsigned count = 2; count < 9; count++) {
            od_shares shares = {64 * page + offset, 2 * page * count + 5 * offset, count};
            assert_true(od_shares_are_pages(&shares));
            assert_true(od_share_begin(&shares, 0) == shares.base);
            assert_true(od_share_begin(&shares, count) == shares.base + shares.size);
            for (unsigned j = 0; j < count; j++) {
                uintptr_t begin = od_share_begin(&shares, j), end = od_share_begin(&shares, j + 1);
                assert_true(end > begin && (j == 0 || begin % page == 0));
                assert_int_equal(od_share_of(&shares, begin), j);
                assert_int_equal(od_share_of(&shares, end - 1), j);
            }
        }
    od_shares small = {64 * page + 8, 3 * page, 2};
    assert_false(od_shares_are_pages(&small));
    assert_true(od_share_begin(&small, 1) == small.base + small.size);
}

/* --- footprints ------------------------------------------------------------------ */

enum { SLICES = 4 };

static void touch(od_footprint *f, unsigned slice, unsigned share, unsigned read, unsigned written)
{
    od_touched *touched = calloc(1, sizeof *touched + SLICES * sizeof touched->pages[0]);
    assert_non_null(touched);
    touched->arguments = 1;
    touched->shares = SLICES;
    touched->pages[share] = (od_touched_pages){(uint16_t)read, (uint16_t)written};
    od_footprint_add(f, slice, touched);
    free(touched);
}

static void expect_uses(const od_footprint *f, unsigned slice, const char *uses)
{
    for (unsigned j = 0; j < SLICES; j++)
        assert_int_equal(".ro"[od_footprint_use(f, 0, slice, j)], uses[j]);
}

static void unknown_slices_have_their_own_shares_to_read(void **state)
{
    od_footprint *f = od_footprint_create(1, SLICES);
    (void)state;
    assert_false(od_footprint_is_known(f));
    expect_uses(f, 0, "r...");
    expect_uses(f, 3, "...r");
    free(f);
}

/* Backwards, with a few pages over the border: whoever writes most of a share has it, and the rest are page faults. */
static void who_writes_most_of_a_share_owns_it(void **state)
{
    od_footprint *f = od_footprint_create(1, SLICES);
    (void)state;
    for (unsigned s = 0; s < SLICES; s++) {
        touch(f, s, SLICES - 1 - s, 0, OD_FEW_PAGES + 1);
        touch(f, s, (SLICES - s) % SLICES, OD_FEW_PAGES, OD_FEW_PAGES);
    }
    expect_uses(f, 0, "...o");
    expect_uses(f, 3, "o...");
    assert_false(od_footprint_clashes(f));
    touch(f, 1, 3, OD_FEW_PAGES + 1, 0);
    assert_true(od_footprint_clashes(f)); /* it reads much of what slice 0 writes */
    free(f);
}

static void what_nobody_writes_is_shared(void **state)
{
    od_footprint *f = od_footprint_create(1, SLICES);
    (void)state;
    for (unsigned j = 0; j < SLICES; j++)
        touch(f, 2, j, OD_FEW_PAGES + 1, 0);
    touch(f, 1, 1, OD_FEW_PAGES, 0);
    expect_uses(f, 2, "rrrr");
    expect_uses(f, 1, "....");
    assert_false(od_footprint_clashes(f));
    free(f);
}

/* --- kernels --------------------------------------------------------------------- */

static void expect_decision(unsigned seen, od_whole reason)
{
    od_slicing s = {.watched = true};
    atomic_init(&s.seen, seen);
    assert_int_equal(od_slicing_decide(&s, false), reason);
    assert_true(od_whole_text(reason)[0] || !reason);
}

static void what_a_kernel_does_decides(void **state)
{
    od_slicing fresh = {0};
    (void)state;
    assert_int_equal(od_slicing_decide(&fresh, false), OD_WHOLE_WATCHED);
    expect_decision(OD_SEEN_LOOP, OD_WHOLE_NOT);
    expect_decision(0, OD_WHOLE_NO_LOOP);
    expect_decision(OD_SEEN_LOOP | OD_SEEN_OTHER, OD_WHOLE_NO_LOOP);
    expect_decision(OD_SEEN_LOOP | OD_SEEN_REDUCTION, OD_WHOLE_REDUCTION);
    expect_decision(OD_SEEN_LOOP | OD_SEEN_CRITICAL, OD_WHOLE_CRITICAL);
    expect_decision(OD_SEEN_LOOP | OD_SEEN_LIBRARY, OD_WHOLE_LIBRARY);
    expect_decision(OD_SEEN_CHUNKS, OD_WHOLE_CHUNKS);
}

/* Where slices are to pay: two whole launches, three in slices, then whichever was faster, looked at again later. */
static void slices_that_are_slower_are_given_up_for_a_while(void **state)
{
    od_slicing s = {0};
    unsigned whole = 0;
    (void)state;
    atomic_init(&s.seen, OD_SEEN_LOOP);
    od_slicing_note_whole(&s, 1);
    assert_int_equal(od_slicing_decide(&s, true), OD_WHOLE_WATCHED);
    od_slicing_note_whole(&s, 0.01);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(od_slicing_decide(&s, true), OD_WHOLE_NOT);
        od_slicing_note_sliced(&s, SLICES, 0.02);
    }
    while (od_slicing_decide(&s, true) == OD_WHOLE_SLOWER && whole < 1000) {
        od_slicing_note_whole(&s, 0.01);
        whole++;
    }
    assert_in_range(whole, 16, 18);
    od_slicing_note_sliced(&s, SLICES, 0.005);
    od_slicing_note_sliced(&s, SLICES, 0.005);
    od_slicing_note_sliced(&s, SLICES, 0.005);
    assert_int_equal(od_slicing_decide(&s, true), OD_WHOLE_NOT);
}

static void short_kernels_stay_whole(void **state)
{
    od_slicing s = {0};
    (void)state;
    atomic_init(&s.seen, OD_SEEN_LOOP);
    for (int i = 0; i < 3; i++)
        od_slicing_note_whole(&s, 50e-6);
    assert_int_equal(od_slicing_decide(&s, true), OD_WHOLE_SHORT);
    assert_int_equal(od_slicing_decide(&s, false), OD_WHOLE_NOT);
}

/* --- turns ----------------------------------------------------------------------- */

static void devices_take_turns_in_the_order_in_which_they_wait(void **state)
{
    od_turns turns = {0};
    const uint64_t turn = OD_TURN_NS, start = 1000;
    (void)state;
    assert_true(od_turns_take(&turns, 2, start, start));
    assert_true(od_turns_take(&turns, 2, start + 10, start + 10));
    assert_false(od_turns_take(&turns, 0, start + 20, start + 30));
    assert_false(od_turns_take(&turns, 1, start + 15, start + 40)); /* it has waited longer */
    assert_false(od_turns_take(&turns, 0, start + 20, start + turn));
    assert_false(od_turns_take(&turns, 2, start + turn, start + turn));
    assert_true(od_turns_take(&turns, 1, start + 15, start + turn));
    od_turns_end(&turns, 1, start + turn + 1);
    assert_true(od_turns_take(&turns, 0, start + 20, start + turn + 2));
    assert_false(od_turns_take(&turns, 3, start + turn, start + turn + 3)); /* and then does not come back */
    assert_false(od_turns_take(&turns, 1, start + 2 * turn, start + 2 * turn + 2));
    assert_true(od_turns_take(&turns, 1, start + 2 * turn, start + 3 * turn + 2));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_iteration_is_in_one_slice),
        cmocka_unit_test(slices_of_huge_loops_do_not_overflow),
        cmocka_unit_test(shares_cover_an_array_in_pages),
        cmocka_unit_test(unknown_slices_have_their_own_shares_to_read),
        cmocka_unit_test(who_writes_most_of_a_share_owns_it),
        cmocka_unit_test(what_nobody_writes_is_shared),
        cmocka_unit_test(what_a_kernel_does_decides),
        cmocka_unit_test(slices_that_are_slower_are_given_up_for_a_while),
        cmocka_unit_test(short_kernels_stay_whole),
        cmocka_unit_test(devices_take_turns_in_the_order_in_which_they_wait),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
