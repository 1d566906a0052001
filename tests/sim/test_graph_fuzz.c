/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Recorded runs whose lines have been moved, repeated, left out, or had words exchanged, with counts at the end that
 * fit: thousands of them, under AddressSanitizer where the compiler has it. Each is refused with one line, or is a
 * recording that can be replayed to an end.
 */
#include "world.h"

#include "sim/graph/graph_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_LINES = 256, MOST_LENGTH = 512, FILES = 6000, REPLAYS = 100, MOST_CHANGES = 3 };

typedef struct document {
    char line[MOST_LINES][MOST_LENGTH]; /* without the newline */
    int count;
} document;

static char path[] = "/tmp/ompdarts-fuzz-XXXXXX";
static uint64_t seed = 1;

static int below(int n)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (int)((seed >> 33) % (uint64_t)n);
}

static document load(void)
{
    document doc = {.count = 0};
    FILE *file = fopen(SIM_DATA "/cholesky.graph", "r");
    assert_non_null(file);
    while (doc.count < MOST_LINES / 2 && fgets(doc.line[doc.count], MOST_LENGTH, file)) {
        doc.line[doc.count][strcspn(doc.line[doc.count], "\n")] = '\0';
        doc.count++;
    }
    fclose(file);
    assert_in_range(doc.count, 30, MOST_LINES / 2 - 1);
    return doc;
}

/* --- changes: the first line and the last stay where they are ------------------------ */

static int any_line(const document *doc)
{
    return 1 + below(doc->count - 2);
}

static void insert(document *doc, int at, const char *text)
{
    char copy[MOST_LENGTH];
    snprintf(copy, sizeof copy, "%s", text);
    if (doc->count == MOST_LINES)
        return;
    memmove(doc->line[at + 1], doc->line[at], (size_t)(doc->count - at) * MOST_LENGTH);
    memcpy(doc->line[at], copy, MOST_LENGTH);
    doc->count++;
}

static void leave_out(document *doc)
{
    int at = any_line(doc);
    memmove(doc->line[at], doc->line[at + 1], (size_t)(doc->count - at - 1) * MOST_LENGTH);
    doc->count--;
}

static void repeat(document *doc)
{
    insert(doc, any_line(doc), doc->line[any_line(doc)]);
}

static void exchange_lines(document *doc)
{
    char copy[MOST_LENGTH];
    int a = any_line(doc), b = any_line(doc);
    memcpy(copy, doc->line[a], MOST_LENGTH);
    memmove(doc->line[a], doc->line[b], MOST_LENGTH);
    memcpy(doc->line[b], copy, MOST_LENGTH);
}

/* Begin of a word of the line other than its first, and its length; 0: it has none. */
static char *any_word(char *line, size_t *length)
{
    int words = 0;
    for (const char *c = line; *c; c++)
        words += *c == ' ';
    char *at = line;
    for (int i = words ? 1 + below(words) : 0; i > 0; i--)
        at = strchr(at, ' ') + 1;
    *length = words ? strcspn(at, " ") : 0;
    return at;
}

static void put_word(char *line, const char *at, size_t length, const char *text)
{
    char changed[2 * MOST_LENGTH];
    int written = snprintf(changed, sizeof changed, "%.*s%s%s", (int)(at - line), line, text, at + length);
    if (written < MOST_LENGTH)
        memcpy(line, changed, (size_t)written + 1);
}

static void copy_word(document *doc)
{
    size_t length, other_length;
    char text[MOST_LENGTH], *line = doc->line[any_line(doc)];
    char *at = any_word(line, &length), *other = any_word(doc->line[any_line(doc)], &other_length);
    snprintf(text, sizeof text, "%.*s", (int)other_length, other);
    put_word(line, at, length, text);
}

static void change_number(document *doc)
{
    static const char *const numbers[] = {"0",          "1",     "2",     "3",          "4",
                                          "7",          "10",    "16384", "4294967295", "4294967294",
                                          "2147483648", "1e8",   "0x10",  "-1",         "18446744073709551615",
                                          "host",       "spill", "0:rw",  "2:w:home",   "nan"};
    size_t length;
    char *line = doc->line[any_line(doc)], *at = any_word(line, &length);
    put_word(line, at, length, numbers[below(sizeof numbers / sizeof *numbers)]);
}

/* `done` instead of `ran`, and so on: the words after it stay. */
static void change_record(document *doc)
{
    char *line = doc->line[any_line(doc)], *other = doc->line[any_line(doc)], text[MOST_LENGTH];
    snprintf(text, sizeof text, "%.*s", (int)strcspn(other, " "), other);
    put_word(line, line, strcspn(line, " "), text);
}

/* One of the lines that tell of a task's life, once more and later. */
static void live_twice(document *doc)
{
    int at = any_line(doc);
    for (int i = 0; i < doc->count; i++, at = at + 2 < doc->count ? at + 1 : 1)
        if (strncmp(doc->line[at], "task ", 5) == 0 || strncmp(doc->line[at], "ran ", 4) == 0 ||
            strncmp(doc->line[at], "done ", 5) == 0)
            break;
    insert(doc, at + below(doc->count - at - 1) + 1, doc->line[at]);
}

static int count_of(const document *doc, const char *record)
{
    int count = 0;
    for (int i = 0; i < doc->count; i++)
        count += strncmp(doc->line[i], record, strlen(record)) == 0;
    return count;
}

static document damaged(const document *doc)
{
    static void (*const changes[])(document *doc) = {leave_out, repeat,        exchange_lines, copy_word,
                                                     copy_word, change_number, change_record,  live_twice};
    document other = *doc;
    for (int n = 1 + below(MOST_CHANGES); n > 0; n--)
        changes[below(sizeof changes / sizeof *changes)](&other);
    snprintf(other.line[other.count - 1], MOST_LENGTH, "end %d %d %d", count_of(&other, "task "),
             count_of(&other, "datum "), other.count);
    return other;
}

/* --- reading and replaying ------------------------------------------------------------- */

static od_status read_document(const document *doc, sim_graph *graph, sim_recording *recording)
{
    char error[512] = "";
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    for (int i = 0; i < doc->count; i++)
        fprintf(file, "%s\n", doc->line[i]);
    fclose(file);
    od_status status = sim_graph_read(path, graph, recording, error, sizeof error);
    if (status && (status != OD_EINVAL || strlen(error) <= 10 || strchr(error, '\n')))
        fail_msg("status %d, '%s'", status, error);
    return status;
}

typedef struct replay {
    const sim_graph *graph;
    const sim_recording *recording;
} replay;

static bool ends(void *argument)
{
    const replay *what = argument;
    sim_platform platform;
    sim_result result;
    char error[512] = "";
    const sim_recording *r = what->recording;
    sim_machine machine = {.platform = &platform,
                           .ndevices = r->ndevices > 4 ? 4 : r->ndevices,
                           .memory = r->memory,
                           .buffer = r->buffer > 100 ? 100 : r->buffer,
                           .seed = r->seed,
                           .policy_text = "darts",
                           .evict = od_evict_find("luf"),
                           .recording = r};
    alarm(60);
    if (sim_platform_load("pcie", &sim_one_node, &platform, error, sizeof error) ||
        od_policy_choose("darts", &machine.policy, error, sizeof error))
        return false;
    return sim_run(what->graph, &machine, &result, error, sizeof error) == OD_OK || strlen(error) > 10;
}

static void test_damage(void **unused)
{
    (void)unused;
    document doc = load();
    int accepted = 0, replayed = 0;
    for (int i = 0; i < FILES; i++) {
        document other = damaged(&doc);
        sim_graph graph = {0};
        sim_recording r = {0};
        if (read_document(&other, &graph, &r) == OD_OK) {
            accepted++;
            bool fits = graph.ntasks > 0 && sim_footprint(&graph) <= r.memory;
            if (fits && replayed++ < REPLAYS && !world_in_child(ends, &(replay){&graph, &r}))
                fail_msg("damaged file %d: its replay did not end; it is in %s", i, path);
        }
        sim_graph_free(&graph);
        sim_recording_free(&r);
    }
    print_message("%d of %d damaged files are recordings\n", accepted, FILES);
    assert_in_range(accepted, FILES / 100, FILES - FILES / 4);
}

int main(void)
{
    int file = mkstemp(path);
    if (file < 0)
        return 1;
    close(file);
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_damage)};
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    if (!failed)
        unlink(path);
    return failed;
}
