/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Measured values in a file. See history.h. Rows are kept ordered by name and size. */
#define _GNU_SOURCE
#include "util/file/history.h"

#include "util/container/array.h"
#include "util/file/plain_numbers.h"
#include "util/log.h"
#include "util/memory.h"
#include "util/options.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { MAX_ROWS = 20000, MAX_NAME = 8000, MAX_TEXT = 1 << 20 /* of all rows */, LOCK_TRIES = 200 };
static const char version[] = "ompdarts history 1\n";

typedef struct table {
    od_history_row *rows;
    size_t count;
    uint32_t capacity;
} table;

struct od_history {
    char *path;
    table known; /* what was read, and what was put */
    table added; /* what was put */
    size_t removed; /* rows, by the last removal */
    bool damaged;   /* the file was, which has been said */
};

/* --- tables ----------------------------------------------------------------- */

static int compare(const od_history_row *row, const char *name, uint64_t size)
{
    int order = strcmp(row->name, name);
    return order ? order : row->size < size ? -1 : row->size > size;
}

/* Where a row is, or belongs. */
static size_t position(const table *t, const char *name, uint64_t size)
{
    size_t low = 0, high = t->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (compare(&t->rows[middle], name, size) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static od_history_row *find(const table *t, const char *name, uint64_t size)
{
    size_t i = position(t, name, size);
    return i < t->count && compare(&t->rows[i], name, size) == 0 ? &t->rows[i] : NULL;
}

static od_status grow(table *t)
{
    return od_array_reserve(&t->rows, &t->capacity, t->count + 1, sizeof *t->rows) ? OD_OK : OD_ENOMEM;
}

static od_status set(table *t, const od_history_row *row)
{
    od_history_row copy = *row, *known = find(t, row->name, row->size);
    copy.text = row->text ? strdup(row->text) : NULL;
    copy.name = known ? known->name : strdup(row->name);
    if (!copy.name || (row->text && !copy.text) || (!known && grow(t))) {
        free(copy.text);
        free(known ? NULL : copy.name);
        return OD_ENOMEM;
    }
    if (known) {
        free(known->text);
        *known = copy;
        return OD_OK;
    }
    size_t i = position(t, copy.name, copy.size);
    memmove(&t->rows[i + 1], &t->rows[i], (t->count++ - i) * sizeof *t->rows);
    t->rows[i] = copy;
    return OD_OK;
}

static void free_row(od_history_row *row)
{
    free(row->name);
    free(row->text);
}

static void clear(table *t)
{
    for (size_t i = 0; i < t->count; i++)
        free_row(&t->rows[i]);
    free(t->rows);
    *t = (table){0};
}

/* --- reading ---------------------------------------------------------------- */

static bool parse_row(char *line, od_history_row *row)
{
    int name = 0;
    size_t length = strlen(line);
    if (!length || line[length - 1] != '\n')
        return false;
    line[length - 1] = '\0';
    int fields = sscanf(line, "%" SCNu64 " %" SCNu64 " %lf %lf %" SCNd64 " %n", &row->size, &row->count, &row->mean,
                        &row->deviation, &row->date, &name);
    row->name = line + name;
    row->text = strchr(line, '\t');
    if (row->text)
        *row->text++ = '\0';
    bool numbers = isfinite(row->mean) && isfinite(row->deviation) && row->mean >= 0 && row->deviation >= 0;
    return fields == 5 && name > 0 && *row->name && strlen(row->name) <= MAX_NAME && numbers;
}

/* False: damaged. */
static bool read_lines(table *t, FILE *file, char **line, size_t *size)
{
    unsigned long long count;
    if (getline(line, size, file) < 0 || strcmp(*line, version) != 0)
        return false;
    while (getline(line, size, file) >= 0) {
        od_history_row row;
        if (sscanf(*line, "rows %llu", &count) == 1)
            return count == t->count && getline(line, size, file) < 0;
        if (t->count >= MAX_ROWS || !parse_row(*line, &row) || set(t, &row))
            return false;
    }
    return false;
}

static bool read_rows(table *t, FILE *file)
{
    char *line = NULL;
    size_t size = 0;
    bool whole = read_lines(t, file, &line, &size);
    free(line);
    return whole;
}

static void read_file(od_history *history, table *t)
{
    FILE *file = fopen(history->path, "re");
    if (!file) {
        if (errno != ENOENT)
            od_log(OD_LOG_WARNING, "history", "%s cannot be read: %s", history->path, strerror(errno));
        return;
    }
    locale_t programs = od_plain_numbers_begin();
    bool whole = read_rows(t, file);
    od_plain_numbers_end(programs);
    if (!whole && !history->damaged)
        od_log(OD_LOG_WARNING, "history", "%s is damaged or of another version: started anew", history->path);
    if (!whole)
        clear(t);
    history->damaged |= !whole;
    fclose(file);
}

/* --- writing ---------------------------------------------------------------- */

static int by_date(const void *a, const void *b)
{
    int64_t x = ((const od_history_row *)a)->date, y = ((const od_history_row *)b)->date;
    return x > y ? -1 : x < y;
}

static size_t text_length(const table *t)
{
    size_t length = 0;
    for (size_t i = 0; i < t->count; i++)
        length += t->rows[i].text ? strlen(t->rows[i].text) : 0;
    return length;
}

/* Too many rows, or too long ones: the oldest go. */
static void shrink(table *t)
{
    size_t kept = 0, length = 0;
    if (t->count <= MAX_ROWS && text_length(t) <= MAX_TEXT)
        return;
    qsort(t->rows, t->count, sizeof *t->rows, by_date);
    for (size_t i = 0; i < t->count; i++) {
        od_history_row row = t->rows[i];
        length += row.text ? strlen(row.text) : 0;
        if (kept < MAX_ROWS && (!row.text || length <= MAX_TEXT))
            t->rows[kept++] = row;
        else
            free_row(&row);
    }
    t->count = kept;
}

static bool write_rows(const table *t, FILE *file)
{
    fputs(version, file);
    for (size_t i = 0; i < t->count; i++) {
        const od_history_row *row = &t->rows[i];
        fprintf(file, "%" PRIu64 " %" PRIu64 " %.9g %.9g %" PRId64 " %s%s%s\n", row->size, row->count, row->mean,
                row->deviation, row->date, row->name, row->text ? "\t" : "", row->text ? row->text : "");
    }
    fprintf(file, "rows %zu\n", t->count);
    return !ferror(file);
}

static bool replace(const table *t, const char *path)
{
    char temporary[PATH_MAX];
    if (snprintf(temporary, sizeof temporary, "%s.%ld.tmp", path, (long)getpid()) >= (int)sizeof temporary)
        return false;
    FILE *file = fopen(temporary, "we");
    if (!file)
        return false;
    locale_t programs = od_plain_numbers_begin();
    bool written = write_rows(t, file);
    od_plain_numbers_end(programs);
    written = fclose(file) == 0 && written;
    if (written && rename(temporary, path) == 0)
        return true;
    unlink(temporary);
    return false;
}

/* Waits two seconds at most: a program's end is not held up by another's. -1: not obtained. */
static int lock(const char *path)
{
    char name[PATH_MAX];
    if (snprintf(name, sizeof name, "%s.lock", path) >= (int)sizeof name)
        return -1;
    int file = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    for (int i = 0; file >= 0 && flock(file, LOCK_EX | LOCK_NB); i++) {
        if (i == LOCK_TRIES || errno != EWOULDBLOCK) {
            close(file);
            return -1;
        }
        nanosleep(&(struct timespec){0, 10 * 1000 * 1000}, NULL);
    }
    return file;
}

/* Under the file's lock: what others have saved, with what was added here. */
static bool merge(od_history *history, const void *arg)
{
    (void)arg;
    table t = {0};
    bool ok = true;
    read_file(history, &t);
    for (size_t i = 0; ok && i < history->added.count; i++) {
        od_history_row row = history->added.rows[i];
        row.date = (int64_t)time(NULL);
        ok = !set(&t, &row);
    }
    shrink(&t);
    ok = ok && replace(&t, history->path);
    clear(&t);
    return ok;
}

/* What `change` makes of the file, under its lock. */
static od_status update(od_history *history, bool (*change)(od_history *history, const void *arg), const void *arg)
{
    int locked = lock(history->path);
    bool done = locked >= 0 && change(history, arg);
    if (!done)
        od_log(OD_LOG_WARNING, "history", "%s could not be written: %s", history->path, strerror(errno));
    if (locked >= 0)
        close(locked);
    return done ? OD_OK : OD_EIO;
}

od_status od_history_save(od_history *history)
{
    if (!history->added.count)
        return OD_OK;
    od_status status = update(history, merge, NULL);
    if (!status)
        clear(&history->added);
    return status;
}

static bool remove_rows(od_history *history, const void *text)
{
    table *t = &history->known;
    size_t kept = 0;
    clear(t);
    read_file(history, t); /* others may have saved */
    for (size_t i = 0; i < t->count; i++)
        if (strstr(t->rows[i].name, text))
            free_row(&t->rows[i]);
        else
            t->rows[kept++] = t->rows[i];
    history->removed = t->count - kept;
    t->count = kept;
    return history->removed == 0 || replace(t, history->path);
}

od_status od_history_remove(od_history *history, const char *text, size_t *removed)
{
    od_status status = update(history, remove_rows, text);
    *removed = status ? 0 : history->removed;
    return status;
}

/* --- the rest ----------------------------------------------------------------- */

od_history *od_history_open(const char *path)
{
    od_history *history = od_calloc(1, sizeof *history);
    if (!history)
        return NULL;
    history->path = strdup(path);
    if (!history->path) {
        free(history);
        return NULL;
    }
    read_file(history, &history->known);
    return history;
}

void od_history_close(od_history *history)
{
    if (!history)
        return;
    clear(&history->known);
    clear(&history->added);
    free(history->path);
    free(history);
}

const od_history_row *od_history_find(const od_history *history, const char *name, uint64_t size)
{
    return find(&history->known, name, size);
}

void od_history_visit(const od_history *history, void (*visit)(const od_history_row *row, void *arg), void *arg)
{
    for (size_t i = 0; i < history->known.count; i++)
        visit(&history->known.rows[i], arg);
}

od_status od_history_put(od_history *history, const od_history_row *row)
{
    if (!*row->name || strpbrk(row->name, "\n\t") || strlen(row->name) > MAX_NAME ||
        (row->text && (strpbrk(row->text, "\n\t") || strlen(row->text) > MAX_TEXT)))
        return OD_EINVAL;
    od_status status = set(&history->known, row);
    return status ? status : set(&history->added, row);
}

/* Makes all folders of a path that ends in a file's name. */
static bool make_folders(char *path)
{
    for (char *end = strchr(path + 1, '/'); end; end = strchr(end + 1, '/')) {
        *end = '\0';
        bool made = mkdir(path, 0700) == 0 || errno == EEXIST;
        *end = '/';
        if (!made)
            return false;
    }
    return true;
}

od_status od_history_path(char *path, size_t size)
{
    char host[256] = "localhost";
    const char *cache = od_environment_trusted("XDG_CACHE_HOME"), *home = od_environment_trusted("HOME");
    int length = -1;
    gethostname(host, sizeof host - 1);
    if (cache && *cache == '/')
        length = snprintf(path, size, "%s/ompdarts/%s", cache, host);
    else if (home && *home == '/')
        length = snprintf(path, size, "%s/.cache/ompdarts/%s", home, host);
    if (length < 0 || (size_t)length >= size || strchr(host, '/'))
        return OD_EIO;
    return make_folders(path) ? OD_OK : OD_EIO;
}
