/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Tables of options and their parser.
 *
 * A row names the function that turns its text into a member of its layer's struct; defaults go
 * through the same function, so a default can never be something that a user may not
 * write. Numbers are read by hand, not by strtod and its kin: those take signs, exponents,
 * "inf" and the locale's decimal point. Text that reaches a message is cut and cleaned, so
 * that an error is always one line.
 */
#include "util/options.h"

#include "util/file/name.h"
#include "util/nearest.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    MAX_DIGITS = 24, /* of a number: 10^24 times the largest unit fits 128 bits */
    MAX_SECONDS = 1000000, /* OD_MOST_SECONDS */
    SHOWN_BYTES = 100,     /* of a user's text in a message */
};

extern char **environ;

__extension__ typedef unsigned __int128 wide;

/* A decimal number: digits / scale. */
typedef struct decimal {
    wide digits;
    wide scale; /* power of ten */
} decimal;

/* --- numbers and sizes ------------------------------------------------------ */

/* Reads DIGITS[.DIGITS]; returns what follows, or NULL when malformed. */
static const char *parse_decimal(const char *text, decimal *number)
{
    const wide ten = 10;
    int count = 0;
    bool fraction = false;

    *number = (decimal){.digits = 0, .scale = 1};
    for (; isdigit((unsigned char)*text) || (*text == '.' && !fraction && count > 0); text++) {
        if (*text == '.') {
            fraction = true;
            if (!isdigit((unsigned char)text[1]))
                return NULL;
            continue;
        }
        number->digits = number->digits * ten + (unsigned)(*text - '0');
        if (fraction)
            number->scale *= ten;
        if (++count > MAX_DIGITS)
            return NULL;
    }
    return count > 0 ? text : NULL;
}

/* Reads an optional K, M, G or T, with or without i; returns what follows. */
static const char *parse_multiple(const char *text, wide *multiple)
{
    static const char letters[] = "KMGT";
    const char *letter = *text ? strchr(letters, toupper((unsigned char)*text)) : NULL;
    wide base = 1000;

    *multiple = 1;
    if (!letter)
        return text;
    text++;
    if (*text == 'i') {
        base = 1024;
        text++;
    }
    for (const char *l = letters; l <= letter; l++)
        *multiple *= base;
    return text;
}

od_status od_parse_size(const char *text, size_t *bytes)
{
    decimal number;
    wide multiple;

    text = parse_decimal(text, &number);
    if (!text)
        return OD_EINVAL;
    text = parse_multiple(text, &multiple);
    if (*text == 'B')
        text++;
    wide value = number.digits * multiple / number.scale;
    if (*text || value > SIZE_MAX)
        return OD_EINVAL;
    *bytes = (size_t)value;
    return OD_OK;
}

od_status od_parse_integer(const char *text, uint64_t least, uint64_t most, uint64_t *value)
{
    decimal number;
    const char *rest = parse_decimal(text, &number);

    if (!rest || *rest || number.scale != 1 || number.digits < least || number.digits > most)
        return OD_EINVAL;
    *value = (uint64_t)number.digits;
    return OD_OK;
}

od_status od_parse_count(const char *text, uint32_t most, uint32_t *count)
{
    uint64_t number;
    od_status status = od_parse_integer(text, 1, most, &number);
    if (!status)
        *count = (uint32_t)number;
    return status;
}

od_status od_parse_seconds(const char *text, double *seconds)
{
    decimal number;
    const char *rest = parse_decimal(text, &number);

    if (!rest || *rest || number.digits > MAX_SECONDS * number.scale)
        return OD_EINVAL;
    *seconds = (double)number.digits / (double)number.scale;
    return OD_OK;
}

/* --- values of rows ----------------------------------------------------------- */

od_status od_option_seconds(const od_option_spec *spec, const char *text, void *value, char *cause, size_t size)
{
    (void)spec, (void)cause, (void)size;
    return od_parse_seconds(text, value);
}

od_status od_option_flag(const od_option_spec *spec, const char *text, void *value, char *cause, size_t size)
{
    (void)spec, (void)cause, (void)size;
    if (strcmp(text, "0") != 0 && strcmp(text, "1") != 0)
        return OD_EINVAL;
    *(bool *)value = *text == '1';
    return OD_OK;
}

od_status od_option_choice(const od_option_spec *spec, const char *text, void *value, char *cause, size_t size)
{
    const char *word = spec->allowed;

    (void)cause, (void)size;
    _Static_assert(sizeof(od_log_level) == sizeof(unsigned), "a choice is stored as unsigned");
    if (strcmp(text, "0") == 0)
        text = "off";
    for (unsigned position = 0;; position++) {
        size_t length = strcspn(word, "|");
        if (strlen(text) == length && memcmp(text, word, length) == 0) {
            memcpy(value, &position, sizeof position);
            return OD_OK;
        }
        if (!word[length])
            return OD_EINVAL;
        word += length + 1;
    }
}

/* Writes nothing, but tries: only making a file shows whether it can be made. A file that
 * is not a plain one (a terminal, /dev/stdout) is written in place, all others through a
 * temporary file beside them (sched/report/report.c). */
static bool is_writable(const char *path)
{
    struct stat info;
    char trial[OD_OPTION_PATH + sizeof ".XXXXXX"];

    if (lstat(path, &info) == 0 && !S_ISREG(info.st_mode)) {
        if (stat(path, &info) == 0 && S_ISDIR(info.st_mode)) {
            errno = EISDIR;
            return false;
        }
        return access(path, W_OK) == 0;
    }
    snprintf(trial, sizeof trial, "%s.XXXXXX", path);
    int file = mkstemp(trial);
    if (file < 0)
        return false;
    close(file);
    unlink(trial);
    return true;
}

/* NULL: `path`, of which `status` says whether it is a name at all, can be written. */
static const char *why_not_written(const char *path, od_status status)
{
    if (status || !is_writable(path))
        return strerror(errno);
    return od_file_is_program(path) ? OD_FILE_IS_PROGRAM : NULL;
}

/* "--trace=on": a flag's value, which has no file's name. */
static bool is_flag(const char *text)
{
    static const char *const words[] = {"1", "off", "on", "no", "yes", "false", "true"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(text, words[i]) == 0)
            return true;
    return false;
}

od_status od_option_path(const od_option_spec *spec, const char *text, void *value, char *cause, size_t size)
{
    char path[OD_OPTION_PATH] = "", why[160];
    if (is_flag(text)) {
        snprintf(cause, size, "a file's name is missing; allowed: %s", spec->allowed);
        return OD_EINVAL;
    }
    if (strcmp(text, "0") != 0) {
        od_status status = od_file_name(path, sizeof path, text, od_environment_trusted);
        const char *problem = status == OD_EINVAL ? od_file_name_error(text, od_environment_trusted, why, sizeof why)
                                                  : why_not_written(path, status);
        if (problem) {
            snprintf(cause, size, "%s; allowed: %s", problem, spec->allowed);
            return OD_EINVAL;
        }
    }
    memcpy(value, path, sizeof path);
    return OD_OK;
}

od_status od_option_words(const od_option_spec *spec, const char *text, const od_option_word *words, void *value,
                          char *cause, size_t size)
{
    char part[64]; /* longer ones are not allowed */

    for (;; text++) {
        size_t length = strcspn(text, ",");
        snprintf(part, sizeof part, "%.*s", (int)length, text);
        char *argument = strchr(part, '=');
        if (argument)
            *argument++ = '\0';
        const od_option_word *word = words;
        while (word->name && strcmp(word->name, part) != 0)
            word++;
        if (length >= sizeof part || !word->name || word->take(argument, value)) {
            snprintf(cause, size, "'%.*s' is not a valid part; allowed: %s", (int)length, text, spec->allowed);
            return OD_EINVAL;
        }
        text += length;
        if (!*text)
            return OD_OK;
    }
}

/* --- tables ----------------------------------------------------------------------- */

static const od_option_hint log_hints[] = {{"VERBOSE", "info"}, {"QUIET", "error"}, {0}};

const od_option_spec od_log_option_rows[] = {
    {OD_OPTION_PREFIX "LOG", "log", "choice", "warning", "", "off|error|warning|info|debug",
     "Messages on standard error: this level and the graver ones.", log_hints, od_option_choice, 0},
    {0}};

const od_option_spec *od_option_row(od_option_tables tables, size_t number)
{
    for (; *tables; tables++)
        for (const od_option_spec *row = *tables; row->name; row++)
            if (number-- == 0)
                return row;
    return NULL;
}

/* --- messages ---------------------------------------------------------------------- */

/* `text` fit for a one-line message: cut, and without control characters. */
typedef struct shown {
    char text[SHOWN_BYTES + sizeof "..."];
} shown;

static shown show(const char *text)
{
    shown s;
    bool cut = strlen(text) > SHOWN_BYTES;

    snprintf(s.text, sizeof s.text, "%.*s%s", SHOWN_BYTES, text, cut ? "..." : "");
    for (char *c = s.text; *c; c++)
        if (iscntrl((unsigned char)*c))
            *c = '?';
    return s;
}

/* At its beginning or end. */
static bool has_blanks(const char *text)
{
    return *text && (*text == ' ' || text[strlen(text) - 1] == ' ');
}

void od_option_refuse(const char *name, const char *text, const char *cause, char *error, size_t size)
{
    const char *quote = has_blanks(text) ? "'" : ""; /* else nobody sees them */
    snprintf(error, size, "%s=%s%s%s: %s", name, quote, show(text).text, quote, cause);
    for (char *c = error; *c; c++)
        if (iscntrl((unsigned char)*c))
            *c = '?';
}

/* Capitals and small letters are the same, as are `_` and `-`. */
static bool is_same_name(const char *a, const char *b)
{
    for (; *a && *b; a++, b++)
        if (tolower((unsigned char)*a) != tolower((unsigned char)*b) && !(strchr("_-", *a) && strchr("_-", *b)))
            return false;
    return *a == *b;
}

bool od_option_replacement(od_option_tables tables, const char *name, char *text, size_t size)
{
    const od_option_spec *row;
    bool is_long = strncmp(name, "--", 2) == 0;
    const char *word = name + (is_long ? 2 : sizeof OD_OPTION_PREFIX - 1);

    for (size_t i = 0; (row = od_option_row(tables, i)); i++)
        for (const od_option_hint *hint = row->hints; hint && hint->name; hint++) {
            if (!is_same_name(word, hint->name))
                continue;
            snprintf(text, size, "%s%s=%s", is_long ? "--" : "", is_long ? row->long_option : row->name, hint->value);
            return true;
        }
    return false;
}

/* --- the environment -------------------------------------------------------- */

const char *od_environment(const char *name)
{
    return getenv(name);
}

static bool is_trusted(void)
{
    return getauxval(AT_SECURE) == 0;
}

const char *od_environment_trusted(const char *name)
{
    return is_trusted() ? getenv(name) : NULL;
}

void od_environment_default(const char *name, const char *value)
{
    setenv(name, value, 0);
}

enum { MOST_ROWS = 64 };

static void warn_unknown(od_option_tables tables, const char *name)
{
    const size_t prefix = sizeof OD_OPTION_PREFIX - 1;
    const char *names[MOST_ROWS + 1] = {NULL};
    char instead[128];
    const od_option_spec *row;

    for (size_t i = 0; i < MOST_ROWS && (row = od_option_row(tables, i)); i++) {
        if (strcmp(name, row->name) == 0)
            return;
        names[i] = row->name + prefix;
    }
    const char *nearest = od_nearest_name(name + prefix, names);
    if (od_option_replacement(tables, name, instead, sizeof instead))
        od_log(OD_LOG_WARNING, "options", "unknown variable %s is ignored: set %s; `ompdarts env` lists all",
               show(name).text, instead);
    else
        od_log(OD_LOG_WARNING, "options", "unknown variable %s is ignored%s%s%s; `ompdarts env` lists all",
               show(name).text, nearest ? " (did you mean " OD_OPTION_PREFIX : "", nearest ? nearest : "",
               nearest ? "?)" : "");
}

void od_option_warn_unknown(od_option_tables tables)
{
    for (char **entry = environ; entry && *entry; entry++) {
        char name[OD_NEAREST_LONGEST + 1];
        size_t length = strcspn(*entry, "=");
        if (strncmp(*entry, OD_OPTION_PREFIX, sizeof OD_OPTION_PREFIX - 1) != 0)
            continue;
        if (!is_trusted()) {
            od_log(OD_LOG_WARNING, "options",
                   "the program runs with other rights than its caller's: all " OD_OPTION_PREFIX
                   " variables are ignored");
            return;
        }
        snprintf(name, sizeof name, "%.*s", (int)(length < OD_NEAREST_LONGEST ? length : OD_NEAREST_LONGEST), *entry);
        warn_unknown(tables, name);
    }
}

static od_status read_row(const od_option_spec *row, void *values, char *error, size_t size)
{
    const char *text = od_environment_trusted(row->name);
    char cause[OD_OPTION_ERROR] = "";

    if (!text || !*text)
        text = row->default_value;
    od_status status = row->parse(row, text, (char *)values + row->member, cause, sizeof cause);
    if (!status)
        return OD_OK;
    if (!*cause)
        snprintf(cause, sizeof cause, "not a valid value; allowed: %s", row->allowed);
    od_option_refuse(row->name, text, cause, error, size);
    return OD_EINVAL;
}

od_status od_option_read(od_option_tables tables, void *const *values, char *error, size_t error_size)
{
    for (; *tables; tables++, values++)
        for (const od_option_spec *row = *tables; row->name; row++)
            if (read_row(row, *values, error, error_size))
                return OD_EINVAL;
    return OD_OK;
}
