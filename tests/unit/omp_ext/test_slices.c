/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Slices of kernels: which iterations and which shares of arrays are whose, what is learnt of them, and turns. */
#include "memmgr/window/cut.h"
#include "memmgr/window/window.h"
#include "omp_ext/slices/slice.h"
#include "omp_ext/runtime/parts/turns.h"
#include "omp_ext/slices/kernels.h"

#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

_Thread_local od_thread od_self;

/* Teams as libomp divides them, evenly or in any other way: each iteration is in one team of one slice, and all of a
 * team's are where teams stay together. */
static void each_iteration_is_in_one_slice(void **state)
{
    (void)state;
    for (unsigned n = 1; n < 40; n++)
        for (unsigned count = 1; count < 12; count++)
            for (unsigned teams = 1; teams < 14; teams++) {
                unsigned seen[40] = {0};
                bool together = teams > 6;
                for (unsigned s = 0; s < count; s++)
                    for (unsigned t = 0; t < teams; t++) {
                        od_slice slice = {.index = s, .count = count, .together = together};
                        od_iterations team = {1, 0};
                        if (n * t / teams < n * (t + 1) / teams)
                            team = (od_iterations){n * t / teams, n * (t + 1) / teams - 1};
                        od_iterations own = od_slice_cut(&slice, n, team);
                        for (uint64_t i = own.first; i <= own.last; i++)
                            seen[i]++;
                        if (together && own.first <= own.last)
                            assert_true(own.first == team.first && own.last == team.last);
                    }
                for (unsigned i = 0; i < n; i++)
                    assert_int_equal(seen[i], 1);
            }
}

/* Each iteration is in one slice, and all slices but the first begin where they are to. */
static void slices_begin_at_their_grain(void **state)
{
    (void)state;
    for (uint64_t every = 1; every < 9; every++)
        for (uint64_t phase = 0; phase < every; phase++)
            for (uint64_t n = 1; n < 60; n++)
                for (unsigned count = 1; count < 9; count++) {
                    uint64_t next = 0;
                    for (unsigned s = 0; s < count; s++) {
                        od_slice slice = {.index = s, .count = count, .grain = {every, phase}};
                        od_iterations own = od_slice_of(&slice, n);
                        if (own.first > own.last)
                            continue;
                        assert_int_equal(own.first, next);
                        assert_true(s == 0 || own.first % every == phase);
                        next = own.last + 1;
                    }
                    assert_int_equal(next, n);
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

/* --- sections and numbers ---------------------------------------------------------- */

enum { THREADS = 4, TIMES = 20000 };
static atomic_uint in_section, by_number; /* threads; by_number: of slices */
static atomic_bool clashed;
static pthread_barrier_t together_now;

/* Of a parallel region that a thread has begun in a section. */
static void *run_inside(void *arg)
{
    od_self.kernels = 1;
    od_self.slice = arg;
    bool joined = od_slice_join_section(true);
    od_slice_begin_section();
    od_slice_asks_number();
    od_slice_end_section();
    od_slice_part_from_section(joined);
    if (!joined || od_slice_in_section())
        clashed = true;
    return NULL;
}

static void run_region(const od_slice *slice)
{
    pthread_t thread;
    pthread_create(&thread, NULL, run_inside, (void *)(uintptr_t)slice);
    if (od_slice_join_section(true))
        clashed = true;
    pthread_join(thread, NULL);
}

/* A slice that asks for a number now and then, in sections and outside of them, at random. */
static void *run_slice(void *arg)
{
    const od_slice *slice = arg;
    unsigned random = slice->index + 1;
    bool asked = false;
    pthread_barrier_wait(&together_now);
    for (int i = 0; i < TIMES; i++) {
        od_self.slice = slice;
        od_self.kernels = 1;
        random = random * 1103515245 + 12345;
        unsigned depth = random / 65536 % 3;
        for (unsigned d = 0; d < depth; d++)
            od_slice_begin_section();
        if (depth && atomic_fetch_add(&in_section, 1))
            clashed = true;
        bool region = depth && random / 32768 % 128 == 0;
        if (region)
            run_region(slice);
        if (region || random / 1024 % 4 == 0) {
            od_slice_asks_number();
            if (!asked && atomic_fetch_add(&by_number, 1))
                clashed = true;
            asked = true;
        }
        if (depth)
            atomic_fetch_sub(&in_section, 1);
        for (unsigned d = 0; d < depth; d++)
            od_slice_end_section();
        if (random / 4096 % 8 == 0) { /* its run has ended, and the next one begins */
            if (asked)
                atomic_fetch_sub(&by_number, 1);
            asked = false;
            od_slice_leave(slice);
        }
    }
    if (asked)
        atomic_fetch_sub(&by_number, 1);
    od_slice_leave(slice);
    if (od_self.slice_locks || od_self.sections)
        clashed = true;
    return NULL;
}

/* None waits for ever, in whatever order sections are entered and numbers asked for. */
static void sections_and_numbers_exclude_others(void **state)
{
    static atomic_uint seen;
    od_slice slice[THREADS];
    pthread_t thread[THREADS];
    (void)state;
    pthread_barrier_init(&together_now, NULL, THREADS);
    od_slices_begin();
    for (unsigned s = 0; s < THREADS; s++) {
        slice[s] = (od_slice){.index = s, .count = THREADS, .seen = &seen};
        pthread_create(&thread[s], NULL, run_slice, &slice[s]);
    }
    for (unsigned s = 0; s < THREADS; s++)
        pthread_join(thread[s], NULL);
    od_slices_end();
    pthread_barrier_destroy(&together_now);
    assert_false(clashed);
    assert_int_equal(seen, OD_SEEN_NUMBERS);
}

/* A section that began before slices did excludes nobody, nor do those inside it; whoever is in it goes on. */
static void sections_from_before_slices_go_on(void **state)
{
    (void)state;
    od_self.kernels = 1;
    od_slice_begin_section();
    od_slices_begin();
    od_slice_begin_section();
    assert_int_equal(od_self.slice_locks, 0);
    od_slice_end_section();
    od_slice_end_section();
    assert_int_equal(od_self.sections, 0);
    od_slice_begin_section();
    assert_int_equal(od_self.slice_locks, 1);
    od_slices_end();
    od_slice_begin_section();
    od_slice_end_section();
    assert_int_equal(od_self.slice_locks, 1);
    od_slice_end_section();
    assert_true(od_self.slice_locks == 0 && od_self.sections == 0);
}

/* A reduction by atomic operations is said to have ended, too; it has not begun. */
static void reductions_end_what_they_have_begun(void **state)
{
    enum { COMBINES = 1, ATOMIC = 2 };
    (void)state;
    od_self.kernels = 1;
    od_slices_begin();
    od_slice_begin_section();
    assert_int_equal(od_slice_reduces(ATOMIC), ATOMIC);
    od_slice_has_reduced();
    assert_int_equal(od_self.slice_locks, 1);
    assert_int_equal(od_slice_reduces(COMBINES), COMBINES);
    assert_int_equal(od_self.slice_locks, 2);
    od_slice_has_reduced();
    assert_int_equal(od_self.slice_locks, 1);
    od_slice_end_section();
    assert_false(od_slice_in_section());
    od_slice_has_reduced();
    assert_false(od_slice_in_section());
    od_slices_end();
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

/* --- sets of pages ----------------------------------------------------------------- */

/* Against a mark for each page. */
static void sets_of_pages_have_what_was_added(void **state)
{
    enum { MARKS = 80 };
    (void)state;
    for (unsigned seed = 1; seed < 200; seed++) {
        od_page_set set = {0}, copy = {0};
        bool has[MARKS + 1] = {0};
        unsigned random = seed;
        for (unsigned n = 0; n < seed % 30; n++) {
            random = random * 1103515245 + 12345;
            unsigned first = random / 65536 % MARKS, end = first + random / 1024 % 5;
            bool more = false;
            end = end < MARKS ? end : MARKS;
            for (unsigned i = first; i < end; i++)
                more |= !has[i], has[i] = true;
            assert_int_equal(od_page_set_add(&set, (od_page_range){first, end}), more);
        }
        unsigned count = 0;
        for (uint32_t i = 0; i < MARKS; i++) {
            count += has[i];
            assert_int_equal(od_page_set_common(&set, (od_page_range){i, i + 1}), has[i]);
            od_page_range around = od_page_set_around(&set, i);
            assert_true(around.first <= i && around.end > i);
            for (uint32_t j = around.first; j < around.end; j++)
                assert_true(has[j] || j == i);
            assert_true(around.first == 0 || !has[around.first - 1]);
            assert_false(has[around.end]);
        }
        assert_int_equal(od_page_set_length(&set), count);
        for (uint32_t i = 0; i + 1 < set.count; i++)
            assert_true(set.range[i].end < set.range[i + 1].first);
        assert_int_equal(od_page_set_add_all(&copy, &set), count > 0);
        assert_false(od_page_set_add_all(&copy, &set));
        assert_int_equal(od_page_set_common_all(&copy, &set), count);
        od_page_set_free(&set);
        od_page_set_free(&copy);
    }
}

/* --- cuts ------------------------------------------------------------------------ */

enum { SLICES = 4, SHARE = 100, PAGES = SLICES * SHARE };

static od_cut *cut_from(size_t offset)
{
    size_t page = od_window_page();
    od_cut *cut = od_cut_create(&(od_shares){64 * page + offset, PAGES * page - offset, SLICES});
    assert_non_null(cut);
    return cut;
}

/* Against a mark for each page in which a cell begins. */
static void cells_are_what_lies_between_the_pages_added(void **state)
{
    (void)state;
    for (unsigned seed = 1; seed < 50; seed++) {
        od_cut *cut = cut_from(seed % 2 * 808);
        bool begins[PAGES] = {0};
        unsigned cells = SLICES, random = seed;
        for (unsigned j = 0; j < SLICES; j++)
            begins[j * SHARE] = true;
        for (unsigned i = 0; i < 2 * seed; i++) {
            random = random * 1103515245 + 12345;
            unsigned page = random / 65536 % (PAGES + 20);
            bool adds = page > 0 && page < PAGES && !begins[page] && cells < cut->most;
            assert_int_equal(od_cut_add(cut, page), adds);
            if (adds)
                begins[page] = true, cells++;
        }
        assert_int_equal(cut->cells, cells);
        uintptr_t at = cut->shares.base;
        for (unsigned i = 0; i < cells; i++) {
            od_cell cell = od_cut_cell(cut, i);
            assert_true(cell.base == at && begins[cell.pages.first]);
            assert_int_equal(cell.share, cell.pages.first / SHARE);
            assert_int_equal(od_cut_find(cut, at), i);
            at += cell.size;
            assert_int_equal(od_cut_find(cut, at - 1), i);
        }
        assert_true(at == cut->shares.base + cut->shares.size);
        free(cut);
    }
}

static void small_arrays_are_one_cell(void **state)
{
    size_t page = od_window_page();
    od_cut *cut = od_cut_create(&(od_shares){64 * page + 8, 3 * page, 2});
    (void)state;
    assert_non_null(cut);
    assert_int_equal(cut->cells, 1);
    assert_true(od_cut_cell(cut, 0).size == 3 * page);
    free(cut);
}

/* --- footprints ------------------------------------------------------------------ */

/* Pages of the array, counted from the first one. */
static void touch(od_footprint *f, unsigned slice, od_page_range read, od_page_range written)
{
    od_touched *touched = od_touched_create(f);
    assert_non_null(touched);
    assert_int_equal(touched->learns, !od_footprint_is_known(f));
    od_page_set_add(&touched->pages[0].read, read);
    od_page_set_add(&touched->pages[0].written, written);
    od_page_set_add(&touched->pages[0].opened, written);
    od_footprint_add(f, slice, touched);
    od_touched_destroy(touched);
}

/* One character for each cell: what the slice has of it. */
static void expect_uses(const od_footprint *f, const od_cut *cut, unsigned slice, const char *uses)
{
    assert_int_equal(cut->cells, strlen(uses));
    for (unsigned i = 0; i < cut->cells; i++) {
        od_cell cell = od_cut_cell(cut, i);
        assert_int_equal(".ro"[od_footprint_use(f, 0, slice, &cell)], uses[i]);
    }
}

static void unknown_slices_have_their_own_shares_to_read(void **state)
{
    od_footprint *f = od_footprint_create(1, SLICES);
    od_cut *cut = cut_from(0);
    (void)state;
    assert_false(od_footprint_is_known(f));
    assert_false(od_footprint_divide(f, 0, cut));
    expect_uses(f, cut, 0, "r...");
    expect_uses(f, cut, 3, "...r");
    free(cut);
    od_footprint_destroy(f);
}

/* A slice of each of several fields in one array: no share is any slice's. */
static void several_fields_in_one_array_are_divided(void **state)
{
    enum { FIELDS = 10, FIELD = PAGES / FIELDS };
    od_footprint *f = od_footprint_create(1, SLICES);
    od_cut *cut = cut_from(0);
    (void)state;
    for (unsigned s = 0; s < SLICES; s++)
        for (uint32_t i = 0; i < FIELDS; i++) {
            uint32_t first = i * FIELD + s * (FIELD / SLICES);
            touch(f, s, (od_page_range){0, 0}, (od_page_range){first, first + FIELD / SLICES});
        }
    assert_false(od_footprint_clashes(f));
    assert_true(od_footprint_divide(f, 0, cut));
    assert_int_equal(cut->cells, FIELDS * SLICES);
    for (unsigned i = 0; i < cut->cells; i++) {
        od_cell cell = od_cut_cell(cut, i);
        for (unsigned s = 0; s < SLICES; s++)
            assert_int_equal(od_footprint_use(f, 0, s, &cell), i % SLICES == s ? OD_CELL_OWNED : OD_CELL_UNUSED);
    }
    free(cut);
    od_footprint_destroy(f);
}

/* Rows of 4 pages of which slices have 26, 25, 25 and 24: shares are of 25. */
static void who_writes_a_cell_owns_it(void **state)
{
    static const uint32_t begin[] = {0, 104, 204, 304, PAGES};
    od_footprint *f = od_footprint_create(1, SLICES);
    od_cut *cut = cut_from(0);
    (void)state;
    for (unsigned s = 0; s < SLICES; s++)
        touch(f, s, (od_page_range){0, 0}, (od_page_range){begin[s], begin[s + 1]});
    assert_true(od_footprint_divide(f, 0, cut));
    assert_false(od_footprint_divide(f, 0, cut));
    expect_uses(f, cut, 0, "oo.....");
    expect_uses(f, cut, 1, "..oo...");
    expect_uses(f, cut, 3, "......o");
    assert_false(od_footprint_clashes(f));
    free(cut);
    od_footprint_destroy(f);
}

/* Large ones, too: 20 pages on each side. */
static void halos_are_cells_of_both_neighbours(void **state)
{
    od_footprint *f = od_footprint_create(1, SLICES);
    od_cut *cut = cut_from(0);
    (void)state;
    for (unsigned s = 0; s < SLICES; s++)
        touch(f, s, (od_page_range){s ? s * SHARE - 20 : 0, (s + 1) * SHARE + (s + 1 < SLICES ? 20 : 0)},
              (od_page_range){0, 0});
    assert_true(od_footprint_divide(f, 0, cut));
    expect_uses(f, cut, 0, "rrr.......");
    expect_uses(f, cut, 1, ".rrrrr....");
    expect_uses(f, cut, 3, ".......rrr");
    assert_false(od_footprint_clashes(f));
    free(cut);
    od_footprint_destroy(f);
}

/* A page that two slices write to is in no task: whoever had it would not begin while the other one's fault has it. */
static void pages_of_two_slices_are_left_to_page_faults(void **state)
{
    od_footprint *f = od_footprint_create(1, SLICES);
    od_cut *cut = cut_from(0);
    (void)state;
    touch(f, 0, (od_page_range){0, 0}, (od_page_range){0, 101});
    touch(f, 1, (od_page_range){0, 0}, (od_page_range){100, 200});
    od_footprint_divide(f, 0, cut);
    expect_uses(f, cut, 0, "o....");
    expect_uses(f, cut, 1, "..o..");
    assert_false(od_footprint_clashes(f));
    free(cut);
    od_footprint_destroy(f);
}

static void slices_that_use_what_others_write_clash(void **state)
{
    od_footprint *f = od_footprint_create(1, SLICES);
    (void)state;
    touch(f, 0, (od_page_range){0, 0}, (od_page_range){0, SHARE});
    touch(f, 1, (od_page_range){0, OD_FEW_PAGES}, (od_page_range){0, 0});
    assert_false(od_footprint_clashes(f));
    touch(f, 1, (od_page_range){SHARE, 2 * SHARE}, (od_page_range){0, 0});
    assert_false(od_footprint_clashes(f)); /* not most of what it reads */
    touch(f, 1, (od_page_range){0, SHARE / 2 + 1}, (od_page_range){0, 0});
    assert_true(od_footprint_clashes(f));
    od_footprint_destroy(f);
}

/* What one slice reads of a table, whether or not another one reads some of it, too. */
/* The lowest address that each slice of n iterations writes, iteration i at `from` + i * `stride`. */
static od_footprint *written_from(uintptr_t from, uint64_t stride, uint64_t n)
{
    od_footprint *f = od_footprint_create(2, SLICES);
    assert_non_null(f);
    od_touched *touched = od_touched_create(f);
    assert_non_null(touched);
    for (unsigned s = 0; s < SLICES; s++) {
        uint64_t first = od_slice_of(&(od_slice){.index = s, .count = SLICES}, n).first;
        touched->pages[1].lowest = from + first * stride;
        od_footprint_add(f, s, touched);
    }
    od_touched_destroy(touched);
    return f;
}

static void slices_are_aligned_with_what_they_write(void **state)
{
    const size_t page = od_window_page(), n = 10000;
    od_grain grain;
    (void)state;
    for (uint64_t stride = 1; stride < 40; stride++)
        for (uintptr_t offset = 0; offset < 200; offset += stride > 1 ? 8 : 1) {
            od_footprint *f = written_from(64 * page + offset, stride, n);
            bool found = od_footprint_grain(f, n, &grain);
            bool coarse = grain.every * SLICES * 4 > n;
            for (unsigned s = 1; found && s < SLICES; s++) {
                od_slice slice = {.index = s, .count = SLICES, .grain = grain};
                assert_int_equal((offset + od_slice_of(&slice, n).first * stride) % page, 0);
            }
            assert_true(found || coarse || offset % (stride & -stride));
            od_footprint_destroy(f);
        }
    const uint64_t iterations = 64 * 8 * SLICES;
    od_footprint *aligned = written_from(64 * page, page / 64, iterations);
    assert_false(od_footprint_grain(aligned, iterations, &grain));
    od_footprint_destroy(aligned);
    aligned = written_from(64 * page, page / 64, iterations + 1);
    assert_true(od_footprint_grain(aligned, iterations + 1, &grain));
    assert_true(grain.every == 64 && grain.phase == 0);
    od_footprint_destroy(aligned);
}

static void what_is_not_written_in_order_has_no_grain(void **state)
{
    const size_t page = od_window_page(), n = 100000;
    od_grain grain;
    (void)state;
    od_footprint *f = written_from(64 * page + 8, 8, n);
    f->pages[SLICES + 2].lowest += 8;
    assert_false(od_footprint_grain(f, n, &grain));
    f->pages[SLICES + 2].lowest = 0;
    assert_false(od_footprint_grain(f, n, &grain));
    od_footprint_destroy(f);
    f = written_from(64 * page + 8, page, n); /* no iteration begins a page */
    assert_false(od_footprint_grain(f, n, &grain));
    od_footprint_destroy(f);
}

static void what_nobody_writes_is_shared(void **state)
{
    od_footprint *f = od_footprint_create(1, SLICES);
    od_cut *cut = cut_from(0);
    (void)state;
    touch(f, 2, (od_page_range){0, PAGES}, (od_page_range){0, 0});
    touch(f, 1, (od_page_range){SHARE, SHARE + 1}, (od_page_range){0, 0});
    expect_uses(f, cut, 2, "rrrr");
    expect_uses(f, cut, 1, "....");
    expect_uses(f, cut, 3, "....");
    assert_true(od_footprint_divide(f, 0, cut));
    expect_uses(f, cut, 1, ".r...");
    assert_false(od_footprint_clashes(f));
    free(cut);
    od_footprint_destroy(f);
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
    expect_decision(OD_SEEN_LOOP | OD_SEEN_NUMBERS, OD_WHOLE_NOT);
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
    for (int i = 0; i < 2000; i++)
        od_slicing_note_whole(&s, 0.01);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(od_slicing_decide(&s, true), OD_WHOLE_NOT);
        od_slicing_note_sliced(&s, SLICES, 0.02, false);
    }
    while (od_slicing_decide(&s, true) == OD_WHOLE_SLOWER && whole < 1000) {
        od_slicing_note_whole(&s, 0.01);
        whole++;
    }
    assert_in_range(whole, 16, 18);
    od_slicing_note_sliced(&s, SLICES, 0.005, false);
    od_slicing_note_sliced(&s, SLICES, 0.005, false);
    od_slicing_note_sliced(&s, SLICES, 0.005, false);
    assert_int_equal(od_slicing_decide(&s, true), OD_WHOLE_NOT);
}

/* Launches whose slices take `sliced_s`, those that learn ten times as long, and which take a millisecond whole: how many
 * seconds more than whole ones n of them take. */
static double seconds_lost(unsigned n, double sliced_s)
{
    enum { LEARNING = 2 };
    od_slicing s = {0};
    unsigned learnt = 0;
    double lost_s = 0;
    atomic_init(&s.seen, OD_SEEN_LOOP);
    for (unsigned i = 0; i < n; i++) {
        bool learns = learnt < LEARNING;
        if (od_slicing_decide(&s, true)) {
            od_slicing_note_whole(&s, 0.001);
            continue;
        }
        double seconds = learns ? 10 * sliced_s : sliced_s;
        od_slicing_note_sliced(&s, SLICES, seconds, learns);
        lost_s += seconds - 0.001;
        learnt += learns;
    }
    return lost_s;
}

static void trials_take_little_of_the_time(void **state)
{
    (void)state;
    for (double sliced_s = 0.0011; sliced_s < 0.1; sliced_s *= 1.7)
        for (unsigned n = 10; n < 300000; n *= 3) {
            double lost_s = seconds_lost(n, sliced_s), whole_s = n * 0.001, first_s = (2 * 10 + 3) * sliced_s;
            assert_true(whole_s < 5 ? lost_s <= 0 : lost_s <= fmax(first_s, 0.02 * whole_s));
        }
    assert_true(seconds_lost(30000, 0.0005) < -10); /* where they pay */
}

/* A kernel that takes 1 ms, and 0.4 ms in slices, and one that cannot be in slices and takes 0.5 ms, or `others_s` where
 * the former has been in slices since its last time: seconds of n steps. */
static double seconds_of_steps(unsigned n, double others_s)
{
    static const double whole_s = 0.001, sliced_s = 0.0004, other_s = 0.0005;
    od_balance balance = {0};
    od_slicing one = {.balance = &balance}, other = {.balance = &balance};
    double total_s = 0;
    atomic_init(&one.seen, OD_SEEN_LOOP);
    atomic_init(&other.seen, OD_SEEN_CHUNKS);
    for (unsigned i = 0; i < n; i++) {
        bool in_slices = !od_slicing_decide(&one, true);
        if (in_slices)
            od_slicing_note_sliced(&one, SLICES, sliced_s, false);
        else
            od_slicing_note_whole(&one, whole_s);
        assert_int_not_equal(od_slicing_decide(&other, true), OD_WHOLE_NOT);
        od_slicing_note_whole(&other, in_slices ? others_s : other_s);
        total_s += (in_slices ? sliced_s : whole_s) + (in_slices ? others_s : other_s);
    }
    return total_s;
}

static void what_slices_cost_others_counts(void **state)
{
    (void)state;
    for (unsigned n = 1000; n <= 1000000; n *= 10) {
        double off_s = n * 0.0015;
        assert_true(seconds_of_steps(n, 0.0015) < 1.03 * off_s);
        assert_true(seconds_of_steps(n, 0.0107) < 1.20 * off_s);
        assert_true(n < 100000 || seconds_of_steps(n, 0.0010) < 0.96 * off_s);
    }
}

/* What one run has come to the next one need not find out; with slices that were not faster it tries again later. */
static void verdicts_are_recalled(void **state)
{
    od_slicing clashes = {0}, slower = {.watched = true};
    unsigned whole = 0;
    (void)state;
    atomic_init(&clashes.seen, OD_SEEN_LOOP);
    atomic_init(&slower.seen, OD_SEEN_LOOP);
    assert_int_equal(od_slicing_verdict(&clashes), OD_SLICES_UNKNOWN);
    od_slicing_recall(&clashes, OD_SLICES_CLASH);
    assert_int_equal(od_slicing_decide(&clashes, false), OD_WHOLE_CLASHED);
    assert_int_equal(od_slicing_verdict(&clashes), OD_SLICES_CLASH);
    od_slicing_recall(&slower, OD_SLICES_SLOWER);
    assert_int_equal(od_slicing_decide(&slower, false), OD_WHOLE_NOT);
    assert_int_equal(od_slicing_verdict(&slower), OD_SLICES_SLOWER);
    while (od_slicing_decide(&slower, true) == OD_WHOLE_WAS_SLOWER && whole < 1000) {
        od_slicing_note_whole(&slower, 0.01);
        whole++;
    }
    assert_in_range(whole, 16, 18);
    for (int i = 0; i < 3; i++)
        od_slicing_note_sliced(&slower, SLICES, 0.005, false);
    assert_int_equal(od_slicing_decide(&slower, true), OD_WHOLE_NOT);
    assert_int_equal(od_slicing_verdict(&slower), OD_SLICES_FASTER);
}

static void what_was_faster_is_tried_at_once(void **state)
{
    od_slicing s = {0};
    unsigned whole = 0;
    (void)state;
    atomic_init(&s.seen, OD_SEEN_LOOP);
    od_slicing_recall(&s, OD_SLICES_FASTER);
    for (; od_slicing_decide(&s, true); whole++)
        od_slicing_note_whole(&s, 0.001);
    assert_int_equal(whole, 2);
    for (int i = 0; i < 3 && !od_slicing_decide(&s, true); i++)
        od_slicing_note_sliced(&s, SLICES, 0.002, false);
    assert_int_equal(od_slicing_decide(&s, true), OD_WHOLE_SLOWER);
    assert_int_equal(od_slicing_verdict(&s), OD_SLICES_SLOWER);
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

/* Slices of a GPU's kernel: the first launch is compared with a whole one, then after 1, 2, 4, ... others. */
static void comparisons_become_fewer(void **state)
{
    (void)state;
    od_slicing s = {.by_teams = true};
    unsigned compared = 0, last = 0;
    od_slicing_note_whole(&s, 1);
    assert_int_equal(od_slicing_decide(&s, false), OD_WHOLE_NOT);
    for (unsigned launch = 1; launch <= 100; launch++) {
        if (!od_slicing_should_compare(&s)) {
            od_slicing_note_sliced(&s, 2, 1, false);
            continue;
        }
        od_slicing_note_compared(&s, 2);
        assert_int_equal(launch - last, compared ? (1u << (compared - 1)) + 1 : 1);
        last = launch;
        compared++;
    }
    assert_int_equal(compared, 7);
    s.reason = OD_WHOLE_WORDS;
    assert_int_equal(od_slicing_decide(&s, false), OD_WHOLE_WORDS);
    assert_int_equal(od_slicing_verdict(&s), OD_SLICES_CLASH);
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

/* --- launches that begin early ----------------------------------------------------- */

enum { FEW = 24 };

static uint32_t bits_of(const od_page_set *set)
{
    uint32_t bits = 0;
    for (uint32_t page = 0; page < FEW; page++)
        bits |= od_page_set_common(set, (od_page_range){page, page + 1}) << page;
    return bits;
}

static od_page_range draw_range(void)
{
    uint32_t first = (uint32_t)rand() % FEW;
    return (od_page_range){first, rand() % 3 ? first : first + 1 + (uint32_t)rand() % (FEW - first)};
}

/* Of two kernels' slices, by what they have been seen to use. */
static void slices_exclude_each_other_where_one_writes(void **state)
{
    unsigned excluded = 0;
    (void)state;
    srand(7);
    for (unsigned n = 0; n < 2000; n++) {
        od_footprint *f = od_footprint_create(1, 2), *g = od_footprint_create(1, 2);
        for (unsigned i = 0; i < 4; i++) {
            touch(f, i % 2, draw_range(), draw_range());
            touch(g, i % 2, draw_range(), draw_range());
        }
        uint32_t written = bits_of(&f->pages[1].written), used = written | bits_of(&f->pages[1].read);
        uint32_t theirs = bits_of(&g->pages[0].written), all_theirs = theirs | bits_of(&g->pages[0].read);
        bool excludes = (written & all_theirs) || (theirs & used);
        assert_int_equal(od_footprint_excludes(f, 0, 1, g, 0, 0), excludes);
        assert_int_equal(od_footprint_excludes(g, 0, 0, f, 0, 1), excludes);
        for (uint32_t page = 0; page < FEW; page++) {
            assert_int_equal(od_footprint_has(f, 0, 1, page, true), written >> page & 1);
            assert_int_equal(od_footprint_has(f, 0, 1, page, false), used >> page & 1);
        }
        excluded += excludes;
        od_footprint_destroy(f);
        od_footprint_destroy(g);
    }
    assert_true(excluded > 200 && excluded < 1800);
}

/* For longer each time that it has been taken to be known, and was not. */
static void what_slices_use_is_known_for_a_while(void **state)
{
    od_slicing s = {0};
    unsigned last = 0;
    (void)state;
    for (unsigned surprises = 0; surprises < 6; surprises++) {
        unsigned launches = 0;
        for (; !od_slicing_is_steady(&s); launches++)
            od_slicing_note_surprises(&s, false);
        assert_true(launches > last);
        last = launches;
        od_slicing_note_surprises(&s, true);
        assert_false(od_slicing_is_steady(&s));
        od_slicing_note_surprises(&s, true); /* nobody counted on it */
    }
    assert_true(od_slicing_plan(&s, 1, 2) && !od_slicing_is_steady(&s));
    od_footprint_destroy(s.footprint);
}

static unsigned turns_awaited;

static void await_turn(const od_slice *slice)
{
    assert_ptr_equal(slice, od_self.slice);
    turns_awaited++;
}

/* Whatever slices of the launch before may want, too. */
static void slices_await_their_turn_to_be_alone(void **state)
{
    atomic_uint seen = 0;
    od_slice slice = {.count = 2, .seen = &seen, .await_turn = await_turn};
    (void)state;
    od_self = (od_thread){.kernels = 1, .slice = &slice};
    od_slices_begin();
    turns_awaited = 0;
    od_slice_begin_section();
    assert_int_equal(turns_awaited, 1);
    od_slice_end_section();
    assert_int_equal(od_slice_reduces(OD_COMBINES), OD_COMBINES);
    assert_int_equal(turns_awaited, 2);
    od_slice_has_reduced();
    od_slice_asks_number();
    assert_int_equal(turns_awaited, 3);
    od_slice_leave(&slice);
    od_slices_end();
    od_self = (od_thread){0};
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_iteration_is_in_one_slice),
        cmocka_unit_test(slices_begin_at_their_grain),
        cmocka_unit_test(slices_of_huge_loops_do_not_overflow),
        cmocka_unit_test(sections_and_numbers_exclude_others),
        cmocka_unit_test(sections_from_before_slices_go_on),
        cmocka_unit_test(reductions_end_what_they_have_begun),
        cmocka_unit_test(shares_cover_an_array_in_pages),
        cmocka_unit_test(sets_of_pages_have_what_was_added),
        cmocka_unit_test(cells_are_what_lies_between_the_pages_added),
        cmocka_unit_test(small_arrays_are_one_cell),
        cmocka_unit_test(unknown_slices_have_their_own_shares_to_read),
        cmocka_unit_test(several_fields_in_one_array_are_divided),
        cmocka_unit_test(who_writes_a_cell_owns_it),
        cmocka_unit_test(halos_are_cells_of_both_neighbours),
        cmocka_unit_test(pages_of_two_slices_are_left_to_page_faults),
        cmocka_unit_test(slices_that_use_what_others_write_clash),
        cmocka_unit_test(slices_are_aligned_with_what_they_write),
        cmocka_unit_test(what_is_not_written_in_order_has_no_grain),
        cmocka_unit_test(what_nobody_writes_is_shared),
        cmocka_unit_test(what_a_kernel_does_decides),
        cmocka_unit_test(slices_that_are_slower_are_given_up_for_a_while),
        cmocka_unit_test(trials_take_little_of_the_time),
        cmocka_unit_test(what_slices_cost_others_counts),
        cmocka_unit_test(what_was_faster_is_tried_at_once),
        cmocka_unit_test(verdicts_are_recalled),
        cmocka_unit_test(short_kernels_stay_whole),
        cmocka_unit_test(comparisons_become_fewer),
        cmocka_unit_test(slices_exclude_each_other_where_one_writes),
        cmocka_unit_test(what_slices_use_is_known_for_a_while),
        cmocka_unit_test(slices_await_their_turn_to_be_alone),
        cmocka_unit_test(devices_take_turns_in_the_order_in_which_they_wait),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
