/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Presence: all small cases on a line of cells. Every set of up to three mappings with every origin, every section,
 * every construct and modifier, against the rules said in another way: as sets of cells.
 */
#include "memmgr/data/presence.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { CELLS = 6, MAX_MAPPINGS = 3 };
static const uintptr_t base = 0x1000;

typedef struct line {
    od_mapping mapping[MAX_MAPPINGS]; /* in order */
    unsigned count;
} line;

typedef void (*line_visitor)(const line *l, void *arg);

/* --- the rules in another way ------------------------------------------------ */

static bool has_cell(const od_mapping *m, uintptr_t cell)
{
    return cell >= m->begin && cell < m->begin + m->size;
}

/* The mapping's cells and those between it and its origin. */
static bool has_cell_extended(const od_mapping *m, uintptr_t cell)
{
    uintptr_t first = m->origin < m->begin ? m->origin : m->begin;
    uintptr_t end = m->begin + m->size;
    return cell >= first && cell < (m->origin > end ? m->origin : end);
}

static unsigned shared_cells(const od_mapping *m, uintptr_t begin, size_t size)
{
    unsigned n = 0;
    for (uintptr_t cell = begin; cell < begin + size; cell++)
        n += has_cell(m, cell);
    return n;
}

static const od_mapping *expected_of_section(const line *l, uintptr_t begin, size_t size, od_relation *relation)
{
    for (unsigned i = 0; i < l->count; i++) {
        unsigned n = shared_cells(&l->mapping[i], begin, size);
        *relation = n == size ? OD_INSIDE : OD_ACROSS;
        if (n > 0) /* the first of them: the one around its beginning, if there is one */
            return &l->mapping[i];
    }
    *relation = OD_APART;
    return NULL;
}

/* Of mappings around the address in the extended sense, the nearest to the left counts, else the nearest to the
 * right; one that has another between itself and the address does not. */
static const od_mapping *expected_of_address(const line *l, uintptr_t address, od_relation *relation)
{
    const od_mapping *left = NULL, *right = NULL;
    for (unsigned i = 0; i < l->count; i++) {
        if (l->mapping[i].begin <= address)
            left = &l->mapping[i];
        else if (!right)
            right = &l->mapping[i];
    }
    *relation = OD_INSIDE;
    if (left && has_cell_extended(left, address))
        return left;
    if (right && has_cell_extended(right, address))
        return right;
    *relation = OD_APART;
    return NULL;
}

static od_verdict expected_verdict(od_naming naming, od_relation relation, const od_section *s)
{
    bool there = relation == OD_INSIDE, partly = relation == OD_ACROSS;
    switch (naming) {
    case OD_NAMING_ENTER:
        if (partly)
            return s->implicit ? OD_VERDICT_USE : OD_VERDICT_REFUSE; /* what is there cannot be extended */
        if (there)
            return OD_VERDICT_USE;
        return s->present ? OD_VERDICT_REFUSE : s->size > 0 ? OD_VERDICT_MAKE : OD_VERDICT_NOTHING;
    case OD_NAMING_LEAVE:
        if (there || (partly && s->implicit))
            return OD_VERDICT_USE;
        return s->present ? OD_VERDICT_REFUSE : OD_VERDICT_NOTHING;
    case OD_NAMING_MOVE:
        return there ? OD_VERDICT_USE : s->present ? OD_VERDICT_REFUSE : OD_VERDICT_NOTHING;
    default:
        return there || partly ? OD_VERDICT_USE : OD_VERDICT_NOTHING;
    }
}

/* --- all cases --------------------------------------------------------------- */

static void check_verdicts(od_relation relation, uintptr_t begin, size_t size)
{
    for (unsigned bits = 0; bits < 4; bits++) {
        od_section s = {.begin = begin, .size = size, .implicit = bits & 1, .present = bits & 2};
        for (int naming = 0; naming < OD_NAMINGS; naming++)
            assert_int_equal(od_presence_judge((od_naming)naming, relation, &s),
                             expected_verdict((od_naming)naming, relation, &s));
    }
}

static od_neighbours neighbours_of(const line *l, uintptr_t address)
{
    od_neighbours near = {NULL, NULL};
    for (unsigned i = 0; i < l->count; i++)
        if (l->mapping[i].begin <= address)
            near.before = &l->mapping[i];
        else if (!near.after)
            near.after = &l->mapping[i];
    return near;
}

static void check_sections(const line *l, void *arg)
{
    for (uintptr_t begin = base; begin < base + CELLS; begin++)
        for (size_t size = 0; begin + size <= base + CELLS; size++) {
            od_relation relation, found_relation;
            const od_mapping *found = NULL, *expected;
            expected = size ? expected_of_section(l, begin, size, &relation)
                            : expected_of_address(l, begin, &relation);
            found_relation = od_presence_find(neighbours_of(l, begin), begin, size, &found);
            assert_int_equal(found_relation, relation);
            assert_ptr_equal(found, expected);
            check_verdicts(relation, begin, size);
            ++*(unsigned long *)arg;
        }
}

/* Calls visit for all lines whose further mappings begin at `from` or later. */
static void for_all_lines(line *l, uintptr_t from, line_visitor visit, void *arg)
{
    visit(l, arg);
    if (l->count == MAX_MAPPINGS)
        return;
    for (uintptr_t begin = from; begin < base + CELLS; begin++)
        for (uintptr_t end = begin + 1; end <= base + CELLS; end++)
            for (uintptr_t origin = base - 1; origin <= base + CELLS + 1; origin++) {
                l->mapping[l->count++] = (od_mapping){begin, end - begin, origin};
                for_all_lines(l, end, visit, arg);
                l->count--;
            }
}

static void all_small_cases(void **state)
{
    (void)state;
    line l = {.count = 0};
    unsigned long cases = 0;
    for_all_lines(&l, base, check_sections, &cases);
    assert_true(cases > 500000);
}

static void sections_at_the_end_of_the_address_space(void **state)
{
    (void)state;
    const od_mapping last = {UINTPTR_MAX - 15, 16, UINTPTR_MAX - 31};
    const od_neighbours inside = {&last, NULL}, before = {NULL, &last};
    const od_mapping *found;
    assert_int_equal(od_presence_find(inside, UINTPTR_MAX, 1, &found), OD_INSIDE);
    assert_int_equal(od_presence_find(inside, UINTPTR_MAX - 15, 16, &found), OD_INSIDE);
    assert_int_equal(od_presence_find(inside, UINTPTR_MAX, 0, &found), OD_INSIDE);
    assert_int_equal(od_presence_find(before, UINTPTR_MAX - 31, 0, &found), OD_INSIDE);
    assert_int_equal(od_presence_find(before, UINTPTR_MAX - 31, 16, &found), OD_APART);
    assert_int_equal(od_presence_find(before, UINTPTR_MAX - 31, 17, &found), OD_ACROSS);
    assert_int_equal(od_presence_find(before, UINTPTR_MAX - 32, 0, &found), OD_APART);
}

/* --- counts ------------------------------------------------------------------ */

enum { TAKE, TAKE_HOLD, GIVE, GIVE_HOLD, DELETE, DELETE_HOLD, OPERATIONS, LENGTH = 7 };

/* Counts as bags of tokens: what is given back must be there; what is deleted takes all of its kind; the mapping goes
 * when something was given back and nothing is left. */
static bool plain_step(unsigned bag[2], int operation)
{
    unsigned *own = &bag[operation % 2];
    switch (operation) {
    case TAKE:
    case TAKE_HOLD:
        ++*own;
        return false;
    case GIVE:
    case GIVE_HOLD:
        if (*own == 0)
            return false;
        --*own;
        return bag[0] + bag[1] == 0;
    default:
        *own = 0;
        return bag[0] + bag[1] == 0;
    }
}

static bool step(uint32_t count[2], int operation)
{
    uint32_t *own = &count[operation % 2];
    if (operation == TAKE || operation == TAKE_HOLD) {
        ++*own;
        return false;
    }
    return od_presence_give_back(own, count[1 - operation % 2], operation >= DELETE);
}

static unsigned long sequences_from(const uint32_t count[2], const unsigned bag[2], int length)
{
    unsigned long n = 1;
    for (int operation = 0; length > 0 && operation < OPERATIONS; operation++) {
        uint32_t next[2] = {count[0], count[1]};
        unsigned next_bag[2] = {bag[0], bag[1]};
        bool gone = step(next, operation);
        assert_int_equal(gone, plain_step(next_bag, operation));
        assert_int_equal(next[0], next_bag[0]);
        assert_int_equal(next[1], next_bag[1]);
        if (!gone)
            n += sequences_from(next, next_bag, length - 1);
    }
    return n;
}

static void all_short_lives(void **state)
{
    (void)state;
    const uint32_t reference[2] = {1, 0}, hold[2] = {0, 1};
    const unsigned one[2] = {1, 0}, other[2] = {0, 1};
    assert_true(sequences_from(reference, one, LENGTH) + sequences_from(hold, other, LENGTH) > 10000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_small_cases),
        cmocka_unit_test(sections_at_the_end_of_the_address_space),
        cmocka_unit_test(all_short_lives),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
