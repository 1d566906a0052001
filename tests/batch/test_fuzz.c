/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Damaged logs: bytes exchanged, lines moved, cut off, numbers replaced; thousands of them, under AddressSanitizer
 * where the compiler has it. Each is refused with one line, or is a log that can be simulated.
 */
#include "world.h"

#include "batch/log/read.h"
#include "tests/unit/random.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 8192, LOGS = 6000, SIMULATED = 300 };

static uint64_t seed = 1;
static od_batch_node nodes[] = {{20, 128, 0.1}, {20, 256, 0.1}};
static const od_batch_cluster cluster = {.nodes = nodes, .count = 2};

typedef struct document {
    char text[MOST];
    size_t length;
} document;

static size_t below(size_t n)
{
    return n ? (size_t)random_below(&seed, n) : 0;
}

static document load(const char *path)
{
    document doc;
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    doc.length = fread(doc.text, 1, MOST / 2, file);
    fclose(file);
    assert_true(doc.length > 500);
    return doc;
}

static void splice(document *doc, size_t at, size_t removed, const char *text, size_t length)
{
    if (at + removed > doc->length || doc->length + length > MOST)
        return;
    memmove(doc->text + at + length, doc->text + at + removed, doc->length - at - removed);
    memcpy(doc->text + at, text, length);
    doc->length += length - removed;
}

static void change_byte(document *doc)
{
    static const char bytes[] = ",,;#\n -.e0123456789ax:\0";
    if (doc->length)
        doc->text[below(doc->length)] = bytes[below(sizeof bytes)];
}

static void cut(document *doc)
{
    doc->length = below(doc->length + 1);
}

static void leave_out(document *doc)
{
    splice(doc, below(doc->length), below(40), "", 0);
}

static void copy(document *doc)
{
    char piece[200];
    size_t length = below(sizeof piece), from = below(doc->length);
    if (from + length > doc->length)
        return;
    memcpy(piece, doc->text + from, length);
    splice(doc, below(doc->length), 0, piece, length);
}

static void change_number(document *doc)
{
    static const char *const numbers[] = {"0", "-1", "1e9", "1e300", "-1e300", "nan", "inf", "0x10", "4097", "20", "21",
                                          "128", "129", "18446744073709551616", "1.5", "", "  ", "\"7\"", "9999999999"};
    size_t at = below(doc->length), end;
    const char *text = numbers[below(sizeof numbers / sizeof *numbers)];
    while (at > 0 && !strchr(", \n", doc->text[at - 1]))
        at--;
    for (end = at; end < doc->length && !strchr(", \n", doc->text[end]);)
        end++;
    splice(doc, at, end - at, text, strlen(text));
}

static document damaged(const document *doc)
{
    static void (*const changes[])(document *) = {change_byte, cut, leave_out, copy, change_number, change_number,
                                                  change_number};
    document other = *doc;
    for (size_t n = 1 + below(3); n > 0; n--)
        changes[below(sizeof changes / sizeof *changes)](&other);
    return other;
}

static bool read_and_complete(document *doc, od_batch_log *log)
{
    char error[512] = "";
    od_batch_rules rules = od_batch_usual_rules();
    FILE *file = doc->length ? fmemopen(doc->text, doc->length, "r") : fopen("/dev/null", "r");
    assert_non_null(file);
    od_status status = od_batch_log_read(file, log, error, sizeof error);
    fclose(file);
    if (!status)
        status = od_batch_log_complete(log, &cluster, &rules, error, sizeof error);
    if (status && (status != OD_EINVAL || strncmp(error, "line ", 5) != 0 || strlen(error) < 15 || strchr(error, '\n')))
        fail_msg("status %d, '%s'", status, error);
    return !status;
}

static int try_all(const char *path)
{
    document doc = load(path);
    int accepted = 0;
    for (int i = 0; i < LOGS; i++) {
        document other = damaged(&doc);
        od_batch_log log = {0};
        if (read_and_complete(&other, &log) && accepted++ < SIMULATED)
            free(world_simulate(&log, &cluster, &world_variants[i % WORLD_VARIANTS], false));
        od_batch_log_free(&log);
    }
    return accepted;
}

static void test_csv(void **unused)
{
    (void)unused;
    assert_in_range(try_all(BATCH_DATA "/small.csv"), LOGS / 100, LOGS - LOGS / 10);
}

static void test_swf(void **unused)
{
    (void)unused;
    assert_in_range(try_all(BATCH_DATA "/small.swf"), LOGS / 100, LOGS - LOGS / 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_csv), cmocka_unit_test(test_swf)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
