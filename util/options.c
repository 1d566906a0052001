/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The option table and its parser.
 *
 * A row names the function that turns its text into a member of od_options; defaults go
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
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#define PREFIX "OMPDARTS_"

enum {
    MAX_DIGITS = 24, /* of a number: 10^24 times the largest unit fits 128 bits */
    MAX_SECONDS = 1000000,
    SHOWN_BYTES = 100, /* of a user's text in a message */
};

extern char **environ;

__extension__ typedef unsigned __int128 wide;

/* A decimal number: digits / scale. */
typedef struct decimal {
    wide digits;
    wide scale; /* power of ten */
} decimal;

/* --- parsing of one value ------------------------------------------------- */

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

static od_status parse_integer(const char *text, uint64_t least, uint64_t most, uint64_t *value)
{
    decimal number;
    const char *rest = parse_decimal(text, &number);

    if (!rest || *rest || number.scale != 1 || number.digits < least || number.digits > most)
        return OD_EINVAL;
    *value = (uint64_t)number.digits;
    return OD_OK;
}

static od_status parse_seed(const od_option_spec *spec, const char *text, void *value)
{
    (void)spec;
    return parse_integer(text, 0, UINT64_MAX, value);
}

static od_status parse_count(const od_option_spec *spec, const char *text, void *value)
{
    uint64_t count;
    od_status status = parse_integer(text, 1, UINT32_MAX, &count);

    (void)spec;
    if (!status)
        *(uint32_t *)value = (uint32_t)count;
    return status;
}

/* Reads NUMBER[*TIMES] at the beginning of a list of devices; returns what follows, or NULL. */
static const char *parse_listed(const char *text, od_device_choice *devices)
{
    decimal number, times = {.digits = 1, .scale = 1};
    text = parse_decimal(text, &number);
    if (text && *text == '*')
        text = parse_decimal(text + 1, &times);
    if (!text || number.scale != 1 || times.scale != 1 || number.digits > INT16_MAX || times.digits == 0 ||
        times.digits > OD_MAX_LISTED - devices->count)
        return NULL;
    for (unsigned i = 0; i < (unsigned)times.digits; i++)
        devices->number[devices->count++] = (int16_t)number.digits;
    return text;
}

static od_status parse_devices(const od_option_spec *spec, const char *text, void *value)
{
    od_device_choice *devices = value;
    *devices = (od_device_choice){.listed = strpbrk(text, ",*") != NULL};
    if (strcmp(text, "all") == 0)
        return OD_OK;
    if (!devices->listed)
        return parse_count(spec, text, &devices->count);
    while ((text = parse_listed(text, devices)) && *text == ',')
        text++;
    return text && !*text ? OD_OK : OD_EINVAL;
}

static od_status parse_pin(const od_option_spec *spec, const char *text, void *value)
{
    size_t bytes = OD_PIN_AUTO;
    (void)spec;
    if (strcmp(text, "off") == 0)
        bytes = 0;
    else if (strcmp(text, "auto") != 0 && od_parse_size(text, &bytes))
        return OD_EINVAL;
    *(size_t *)value = bytes;
    return OD_OK;
}

static od_status parse_memory(const od_option_spec *spec, const char *text, void *value)
{
    size_t bytes = 0;

    (void)spec;
    if (strcmp(text, "auto") != 0 && (od_parse_size(text, &bytes) || bytes == 0))
        return OD_EINVAL;
    *(size_t *)value = bytes;
    return OD_OK;
}

static od_status parse_rate(const od_option_spec *spec, const char *text, void *value)
{
    size_t bytes;
    od_status status = od_parse_size(text, &bytes);

    (void)spec;
    if (!status)
        *(double *)value = (double)bytes;
    return status;
}

static od_status parse_seconds(const od_option_spec *spec, const char *text, void *value)
{
    decimal number;
    const char *rest = parse_decimal(text, &number);

    (void)spec;
    if (!rest || *rest || number.digits > MAX_SECONDS * number.scale)
        return OD_EINVAL;
    *(double *)value = (double)number.digits / (double)number.scale;
    return OD_OK;
}

od_status od_parse_working(const char *text, int *count)
{
    uint64_t number;
    if (strcmp(text, "policy") == 0)
        *count = 0;
    else if (strcmp(text, "auto") == 0)
        *count = -1;
    else if (strcmp(text, "all") == 0)
        *count = INT_MAX;
    else if (parse_integer(text, 1, INT_MAX, &number) == OD_OK)
        *count = (int)number;
    else
        return OD_EINVAL;
    return OD_OK;
}

static od_status parse_working(const od_option_spec *spec, const char *text, void *value)
{
    (void)spec;
    return od_parse_working(text, value);
}

static od_status parse_flag(const od_option_spec *spec, const char *text, void *value)
{
    (void)spec;
    if (strcmp(text, "0") != 0 && strcmp(text, "1") != 0)
        return OD_EINVAL;
    *(bool *)value = *text == '1';
    return OD_OK;
}

/* The value of a choice is the position of its word in `spec->allowed`: the enums follow that order. */
static od_status parse_choice(const od_option_spec *spec, const char *text, void *value)
{
    const char *word = spec->allowed;

    _Static_assert(sizeof(od_coherence) == sizeof(unsigned) && sizeof(od_log_level) == sizeof(unsigned) &&
                       sizeof(od_check) == sizeof(unsigned),
                   "a choice is stored as unsigned");
    if (strcmp(text, "0") == 0 && *word != '0')
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

static od_status copy_text(char *to, size_t size, const char *text)
{
    size_t length = strlen(text);

    if (length >= size)
        return OD_EINVAL;
    memcpy(to, text, length + 1);
    return OD_OK;
}

static od_status parse_sched(const od_option_spec *spec, const char *text, void *value)
{
    (void)spec;
    return copy_text(value, sizeof((od_options *)0)->sched, text);
}

static od_status parse_evict(const od_option_spec *spec, const char *text, void *value)
{
    (void)spec;
    return copy_text(value, sizeof((od_options *)0)->evict, text);
}

/* Writes nothing, but tries: only making a file tells whether it can be made. A file that
 * is not a plain one (a terminal, /dev/stdout) is written in place, all others through a
 * temporary file beside them (sched/report/report.c). */
static bool is_writable(const char *path)
{
    struct stat info;
    char trial[sizeof((od_options *)0)->stats + sizeof ".XXXXXX"];

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

static od_status parse_path(const od_option_spec *spec, const char *text, void *value)
{
    char path[sizeof((od_options *)0)->stats];

    (void)spec;
    if (!*text || strcmp(text, "0") == 0)
        return copy_text(value, sizeof path, "");
    od_status status = od_file_name(path, sizeof path, text, od_environment_trusted);
    if (status)
        return status;
    return is_writable(path) ? copy_text(value, sizeof path, path) : OD_EIO;
}

/* --- the table ------------------------------------------------------------ */

#define FILE_ALLOWED                                                                                                   \
    "0 (off), or a file in a folder that can be written; in its name %p is the process, %h the machine, %q{NAME} the " \
    "environment variable NAME"

#define MEMBER(name) offsetof(od_options, name)

/* Columns: name, type, default, unit, allowed, help, long option, parser, member. */
static const od_option_spec table[] = {
    {PREFIX "SCHED", "name", "darts", "",
     "a policy that `ompdarts info` lists, perhaps with options: NAME:OPTION,OPTION=NUMBER; or plugin:FILE",
     "Scheduling policy: which ready task goes to which device next (docs/policies.md).", "sched", parse_sched,
     MEMBER(sched)},
    {PREFIX "EVICT", "name", "auto", "", "auto, or an eviction rule that `ompdarts info` lists",
     "Eviction rule: which tile leaves a full device; auto takes what suits the policy.", "evict", parse_evict,
     MEMBER(evict)},
    {PREFIX "DEVICES", "list", "all", "devices",
     "all, or a whole number >= 1 and at most the devices that exist, or a list of their numbers such as 0,2 or 2*1 or "
     "0*4",
     "How many of the devices to use, or which; NUMBER*TIMES divides one into logical devices with a share of its "
     "memory "
     "each.",
     "devices", parse_devices, MEMBER(devices)},
    {PREFIX "BACKEND", "choice", "auto", "", "auto|omptarget|cuda",
     "How bytes get to the devices: by the CUDA driver (asynchronous, pinned memory, between GPUs) or through "
     "libomptarget; auto takes cuda where all devices are NVIDIA's.",
     "backend", parse_choice, MEMBER(backend)},
    {PREFIX "PIN", "size", "auto", "bytes", "auto, off, or a size such as 8G",
     "Host memory that the back-end cuda may pin for fast copies; auto takes half of the machine's.", "pin", parse_pin,
     MEMBER(pin)},
    {PREFIX "MEM_LIMIT", "size", "auto", "bytes", "auto, or a size > 0 such as 500M, 1.5G or 512Mi",
     "Memory that each device may hold tiles in; auto takes most of what is free.", "mem", parse_memory,
     MEMBER(mem_limit)},
    {PREFIX "TASK_BUFFER", "integer", "3", "tasks", "a whole number >= 1",
     "Tasks whose placement is fixed and whose data are prefetched, per device.", "buffer", parse_count,
     MEMBER(task_buffer)},
    {PREFIX "LOOKAHEAD", "number", "0", "s", "0 (off), or a number <= 1000000",
     "Work that the task buffer of a device may hold in addition while nothing is being loaded there and ready tasks "
     "abound.",
     "lookahead", parse_seconds, MEMBER(lookahead_s)},
    {PREFIX "WORKING", "choice", "policy", "devices", "policy, auto, all, or a whole number >= 1",
     "How many devices work, the others rest: auto estimates from the known tasks with how many they finish soonest; "
     "policy does so for policies that plan with it (stationary), the others use all.",
     "working", parse_working, MEMBER(working)},
    {PREFIX "COHERENCE", "choice", "auto", "", "auto|strict|depend",
     "When a device may keep a copy outside a data region: auto where the depend clauses allow it, "
     "strict never, depend always.",
     "coherence", parse_choice, MEMBER(coherence)},
    {PREFIX "SPILL", "flag", "1", "", "0|1",
     "Inside a data region evicted tiles go to a spill area in host memory, as large as the region; 0 sends them to "
     "the "
     "program's own arrays, which then change before the region closes.",
     "spill", parse_flag, MEMBER(spill)},
    {PREFIX "DEVICE_CLAUSE", "choice", "pin", "", "pin|hint",
     "Constructs with a device clause: pin leaves them on the device they name, hint schedules them like all others.",
     "device-clause", parse_choice, MEMBER(device_clause)},
    {PREFIX "PRIORITY", "choice", "auto", "", "auto|clause|none",
     "Task priorities: those of the priority clauses, in programs without them (auto) the longest path of tasks that "
     "wait for this one; or none.",
     "priority", parse_choice, MEMBER(priority)},
    {PREFIX "LINK_BANDWIDTH", "size", "0", "bytes/s", "0 (off), or a size such as 12G",
     "Slows all transfers to and from LLVM's host devices to one shared bus of this bandwidth.", "link-bandwidth",
     parse_rate, MEMBER(link_bandwidth)},
    {PREFIX "STATS", "path", "0", "", FILE_ALLOWED,
     "Writes the figures of the run to this JSON file (docs/stats-schema.md).", "stats", parse_path, MEMBER(stats)},
    {PREFIX "RECORD", "path", "0", "", FILE_ALLOWED,
     "Records the run for `ompdarts sim --graph` (docs/graph-format.md).", "record", parse_path, MEMBER(record)},
    {PREFIX "TRACE", "path", "0", "", FILE_ALLOWED,
     "Writes tasks, transfers, evictions and decisions to this file, for Perfetto and `ompdarts report`; to FILE.paje "
     "for "
     "ViTE (docs/trace-format.md).",
     "trace", parse_path, MEMBER(trace)},
    {PREFIX "SUMMARY", "flag", "0", "", "0|1", "Prints a summary on standard error when the program ends.", "summary",
     parse_flag, MEMBER(summary)},
    {PREFIX "PROGRESS", "flag", "0", "", "0|1",
     "Tells on standard error how far the program is: on a terminal one line, refreshed, else a line now and then.",
     "progress", parse_flag, MEMBER(progress)},
    {PREFIX "CACHE", "flag", "1", "", "0|1",
     "Kernel times and link speeds are kept between runs, in $XDG_CACHE_HOME/ompdarts or ~/.cache/ompdarts; 0 neither "
     "reads nor writes them.",
     "cache", parse_flag, MEMBER(cache)},
    {PREFIX "SEED", "integer", "1", "", "a whole number >= 0", "Seed of all random choices.", "seed", parse_seed,
     MEMBER(seed)},
    {PREFIX "LOG", "choice", "warning", "", "off|error|warning|info|debug",
     "Messages on standard error: this level and the graver ones.", "log", parse_choice, MEMBER(log)},
    {PREFIX "DISABLE", "flag", "0", "", "0|1", "Switches ompdarts off: the program runs as without it.", "disable",
     parse_flag, MEMBER(disable)},
    {PREFIX "CHECK", "choice", "0", "", "0|1|warn",
     "Finds host accesses to tiles of which a device keeps a copy: 1 stops the program at the first one with exit code "
     "88, warn tells each tile once.",
     "check-host", parse_choice, MEMBER(check)},
    {PREFIX "WATCHDOG", "number", "0", "s", "0 (off), or a number <= 1000000",
     "Seconds without progress after which the state is printed and the program ends. (A program whose threads only "
     "wait, "
     "for tasks and for something outside, makes none.)",
     "watchdog", parse_seconds, MEMBER(watchdog_s)},
    {PREFIX "JITTER", "number", "0", "s", "0 (off), or a number <= 1000000",
     "Longest random delay added to each transfer, for tests.", "jitter", parse_seconds, MEMBER(jitter_s)},
};

enum { ROWS = sizeof table / sizeof *table };

const od_option_spec *od_option_table(size_t *count)
{
    *count = ROWS;
    return table;
}

/* --- messages -------------------------------------------------------------- */

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

static void explain(const od_option_spec *spec, const char *text, const char *cause, char *error, size_t size)
{
    snprintf(error, size, "%s=%s: %s; allowed: %s", spec->name, show(text).text, cause, spec->allowed);
}

static void append(char *text, size_t size, const char *more)
{
    size_t length = strlen(text);

    if (length < size)
        snprintf(text + length, size - length, "%s", more);
}

/* A name may be `extra` (or NULL), or one of `known`. */
static od_status check_name(const char *variable, const char *text, const char *extra, const char *const *known,
                            char *error, size_t size)
{
    if (extra && strcmp(text, extra) == 0)
        return OD_OK;
    for (const char *const *k = known; *k; k++)
        if (strcmp(text, *k) == 0)
            return OD_OK;
    snprintf(error, size, "%s=%s: unknown name; allowed: %s", variable, show(text).text, extra ? extra : "");
    for (const char *const *k = known; *k; k++) {
        append(error, size, extra || k > known ? ", " : "");
        append(error, size, *k);
    }
    const char *nearest = od_nearest_name(text, known);
    if (nearest) {
        append(error, size, "; did you mean ");
        append(error, size, nearest);
        append(error, size, "?");
    }
    return OD_EINVAL;
}

static od_status check_policy(const char *text, const char *const *known, char *error, size_t size)
{
    char name[sizeof((od_options *)0)->sched];

    if (strncmp(text, "plugin:", sizeof "plugin:" - 1) == 0)
        return OD_OK;
    snprintf(name, sizeof name, "%.*s", (int)strcspn(text, ":"), text);
    return check_name(PREFIX "SCHED", name, NULL, known, error, size);
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

static void warn_unknown(const char *name)
{
    const char *names[ROWS + 1] = {NULL};

    for (size_t i = 0; i < ROWS; i++) {
        if (strcmp(name, table[i].name) == 0)
            return;
        names[i] = table[i].name;
    }
    const char *nearest = od_nearest_name(name, names);
    od_log(OD_LOG_WARNING, "options", "unknown variable %s is ignored%s%s%s; `ompdarts env` lists all", show(name).text,
           nearest ? " (did you mean " : "", nearest ? nearest : "", nearest ? "?)" : "");
}

static void warn_about_unknown_variables(void)
{
    for (char **entry = environ; entry && *entry; entry++) {
        char name[OD_NEAREST_LONGEST + 1];
        size_t length = strcspn(*entry, "=");
        if (strncmp(*entry, PREFIX, sizeof PREFIX - 1) != 0)
            continue;
        if (!is_trusted()) {
            od_log(OD_LOG_WARNING, "options",
                   "the program runs with other rights than its caller's: all " PREFIX " variables are ignored");
            return;
        }
        snprintf(name, sizeof name, "%.*s", (int)(length < OD_NEAREST_LONGEST ? length : OD_NEAREST_LONGEST), *entry);
        warn_unknown(name);
    }
}

static od_status parse_row(const od_option_spec *spec, od_options *options, char *error, size_t size)
{
    const char *text = od_environment_trusted(spec->name);

    if (!text || !*text)
        text = spec->default_value;
    od_status status = spec->parse(spec, text, (char *)options + spec->member);
    if (status == OD_EIO)
        explain(spec, text, strerror(errno), error, size);
    else if (status)
        explain(spec, text, "not a valid value", error, size);
    return status ? OD_EINVAL : OD_OK;
}

/* No two outputs are one file. */
static od_status check_files(const od_options *options, char *error, size_t size)
{
    const struct {
        const char *name, *path;
    } files[] = {{"STATS", options->stats}, {"TRACE", options->trace}, {"RECORD", options->record}};
    for (unsigned i = 0; i < sizeof files / sizeof *files; i++)
        for (unsigned j = 0; j < i; j++)
            if (*files[i].path && *files[j].path && od_file_is_same(files[i].path, files[j].path)) {
                snprintf(error, size, PREFIX "%s=%s: the same file as " PREFIX "%s; allowed: a file of its own", files[i].name,
                         show(files[i].path).text, files[j].name);
                return OD_EINVAL;
            }
    return OD_OK;
}

od_status od_options_parse(od_options *options, const char *const *known_policies, const char *const *known_rules,
                           char *error, size_t error_size)
{
    memset(options, 0, sizeof *options);
    for (size_t i = 0; i < ROWS; i++)
        if (parse_row(&table[i], options, error, error_size))
            return OD_EINVAL;
    if (check_files(options, error, error_size))
        return OD_EINVAL;
    if (known_policies && check_policy(options->sched, known_policies, error, error_size))
        return OD_EINVAL;
    if (known_rules && check_name(PREFIX "EVICT", options->evict, "auto", known_rules, error, error_size))
        return OD_EINVAL;
    if (options->log >= OD_LOG_WARNING)
        warn_about_unknown_variables();
    return OD_OK;
}
