/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Relocations: who may use a replica beside whom, and which words are to be written. */
#include "memmgr/data/relocation.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

enum { NDATA = 4, WORDS = 8 };

static od_datum *data[NDATA];
static uintptr_t places[NDATA]; /* of their replicas */

static uintptr_t address_of(void *arg, const od_datum *pointee)
{
    (void)arg;
    return places[pointee->id];
}

static int make_data(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < NDATA; i++) {
        data[i] = calloc(1, sizeof(od_datum));
        data[i]->id = i;
        places[i] = 0x1000 * (i + 1);
    }
    return 0;
}

static int free_data(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < NDATA; i++)
        free(data[i]);
    return 0;
}

/* Word w leads to datum which[w], or (-1) nowhere. */
static od_relocations *wants(const int *which)
{
    od_relocations *r = od_relocations_create(WORDS);
    for (size_t w = WORDS; w-- > 0;)
        if (which[w] >= 0)
            r->at[r->count++] = (od_relocation){8 * w, data[which[w]], 16};
    od_relocations_sort(r);
    return r;
}

static void agrees_where_words_are_the_same(void **state)
{
    (void)state;
    od_relocations *a = wants((const int[WORDS]){0, 1, -1, 2, -1, -1, -1, -1});
    od_relocations *b = wants((const int[WORDS]){-1, 1, 3, 2, 0, -1, -1, -1});
    od_relocations *c = wants((const int[WORDS]){-1, -1, -1, 1, -1, -1, -1, -1});
    od_relocations *d = wants((const int[WORDS]){0, 1, -1, 2, -1, -1, -1, -1});
    assert_true(od_relocations_agree(a, b) && od_relocations_agree(b, a));
    assert_false(od_relocations_agree(a, c) || od_relocations_agree(c, b));
    assert_true(od_relocations_agree(a, a) && od_relocations_agree(NULL, a) && od_relocations_agree(a, NULL));
    d->at[1].delta = 24;
    assert_false(od_relocations_agree(a, d));
    free(a);
    free(b);
    free(c);
    free(d);
}

/* Against a plain table, in random sequences: three kinds of tasks come and go. */
static void keeps_who_wants_what(void **state)
{
    enum { KINDS = 3, STEPS = 2000 };
    const int which[KINDS][WORDS] = {
        {0, 1, -1, 2, -1, -1, 0, -1}, {-1, 1, 3, 2, -1, -1, -1, 0}, {2, -1, 3, -1, 1, -1, 0, -1}};
    unsigned users[KINDS] = {0}, random = 1;
    od_relocations *wanted[KINDS];
    od_patches *patches = NULL;
    (void)state;
    for (int k = 0; k < KINDS; k++)
        wanted[k] = wants(which[k]);
    for (int step = 0; step < STEPS; step++) {
        random = random * 1103515245u + 12345u;
        unsigned k = random / 65536u % KINDS;
        bool allowed = true;
        for (unsigned other = 0; other < KINDS; other++)
            allowed &= !users[other] || od_relocations_agree(wanted[k], wanted[other]);
        assert_int_equal(od_patches_allow(patches, wanted[k]), allowed);
        if (users[k] && random / 1024u % 2) {
            od_patches_leave(patches, wanted[k]);
            users[k]--;
        } else if (allowed) {
            assert_int_equal(od_patches_take(&patches, wanted[k]), OD_OK);
            users[k]++;
        }
    }
    for (int k = 0; k < KINDS; k++)
        free(wanted[k]);
    od_patches_free(patches);
}

static unsigned write_due(od_patches *patches, const od_relocations *wanted, uintptr_t *words, unsigned *copies)
{
    uint32_t next = 0;
    size_t offset;
    uintptr_t values[WORDS];
    unsigned n, all = 0;
    *copies = 0;
    while ((n = od_patches_due(patches, wanted, &next, &offset, values, 3, address_of, NULL))) {
        for (unsigned i = 0; i < n; i++)
            words[offset / 8 + i] = values[i];
        all += n;
        ++*copies;
    }
    return all;
}

static void writes_what_does_not_hold(void **state)
{
    od_relocations *wanted = wants((const int[WORDS]){0, 1, 2, 3, 0, -1, 1, -1});
    od_relocations *part = wants((const int[WORDS]){-1, -1, 2, -1, -1, -1, -1, -1});
    od_patches *patches = NULL;
    uintptr_t words[WORDS] = {0};
    unsigned copies;
    (void)state;
    assert_int_equal(od_patches_take(&patches, wanted), OD_OK);
    assert_int_equal(write_due(patches, wanted, words, &copies), 6);
    assert_int_equal(copies, 3); /* three, two more, one apart */
    for (size_t i = 0; i < wanted->count; i++)
        assert_int_equal(words[wanted->at[i].offset / 8], places[wanted->at[i].pointee->id] + 16);
    assert_int_equal(write_due(patches, wanted, words, &copies), 0);
    places[2] = 0x9000; /* has moved */
    assert_int_equal(od_patches_take(&patches, part), OD_OK);
    assert_int_equal(write_due(patches, part, words, &copies), 1);
    assert_int_equal(words[2], 0x9010);
    assert_int_equal(write_due(patches, wanted, words, &copies), 0);
    od_patches_spoil(patches); /* loaded anew */
    assert_int_equal(write_due(patches, wanted, words, &copies), 6);
    free(wanted);
    free(part);
    od_patches_free(patches);
    od_patches_spoil(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(agrees_where_words_are_the_same, make_data, free_data),
        cmocka_unit_test_setup_teardown(keeps_who_wants_what, make_data, free_data),
        cmocka_unit_test_setup_teardown(writes_what_does_not_hold, make_data, free_data),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
