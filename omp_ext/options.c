/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* See options.h. */
#include "omp_ext/options.h"

#include "sched/engine/engine.h"
#include "util/file/name.h"
#include "util/nearest.h"
#include "util/thread.h"

#include <stdio.h>
#include <string.h>

/* --- devices ---------------------------------------------------------------- */

/* Reads NUMBER[*TIMES] of a list of devices, of so many characters. */
static od_status parse_listed(const char *text, size_t length, od_device_choice *devices)
{
    char number[16], *times;
    uint64_t device, count = 1;
    if (length >= sizeof number)
        return OD_EINVAL;
    memcpy(number, text, length);
    number[length] = '\0';
    if ((times = strchr(number, '*')))
        *times++ = '\0';
    if (od_parse_integer(number, 0, INT16_MAX, &device) ||
        (times && od_parse_integer(times, 1, OD_MAX_DEVICES, &count)) || count > OD_MAX_DEVICES - devices->count)
        return OD_EINVAL;
    while (count--)
        devices->number[devices->count++] = (int16_t)device;
    return OD_OK;
}

static od_status parse_devices(const od_option_spec *spec, const char *text, void *value, char *cause, size_t size)
{
    od_device_choice *devices = value;
    char which[512];
    uint64_t count = 0;

    (void)spec, (void)cause, (void)size;
    *devices = (od_device_choice){0};
    if (od_parse_active(text, which, sizeof which, &devices->active))
        return OD_EINVAL;
    devices->listed = strpbrk(which, ",*") != NULL;
    devices->none = strcmp(text, "0") == 0;
    if (!devices->listed && !devices->none && strcmp(which, "all") != 0 &&
        od_parse_integer(which, 1, OD_MAX_DEVICES, &count))
        return OD_EINVAL;
    devices->count = (uint32_t)count;
    for (const char *at = which; devices->listed; at++) {
        size_t length = strcspn(at, ",");
        if (parse_listed(at, length, devices))
            return OD_EINVAL;
        at += length;
        if (!*at)
            break;
    }
    return OD_OK;
}

/* --- CPU workers --------------------------------------------------------------- */

static od_status parse_cpu(const od_option_spec *spec, const char *text, void *value, char *cause, size_t size)
{
    od_cpu_choice *cpu = value;
    unsigned there = od_thread_processors(), most = there < OD_MAX_CPUS ? there : OD_MAX_CPUS;
    (void)spec;
    if (strcmp(text, "auto") == 0) {
        *cpu = (od_cpu_choice){.workers = most, .cores = 1, .automatic = true};
        return OD_OK;
    }
    *cpu = (od_cpu_choice){0};
    if (od_parse_workers(text, &cpu->workers, &cpu->cores))
        return OD_EINVAL;
    if ((uint64_t)cpu->workers * cpu->cores > there)
        snprintf(cause, size, "%u worker%s of %u core%s: this process may use %u; allowed: at most that", cpu->workers,
                 cpu->workers == 1 ? "" : "s", cpu->cores, cpu->cores == 1 ? "" : "s", there);
    else if (cpu->workers > OD_MAX_CPUS)
        snprintf(cause, size, "allowed: at most %d workers; give each of them more cores (N:W)", OD_MAX_CPUS);
    return *cause ? OD_EINVAL : OD_OK;
}

static od_status parse_exclude(const od_option_spec *spec, const char *text, void *value, char *cause, size_t size)
{
    (void)spec, (void)cause, (void)size;
    if (strlen(text) >= OD_OPTION_PATH)
        return OD_EINVAL;
    snprintf(value, OD_OPTION_PATH, "%s", strcmp(text, "0") == 0 ? "" : text);
    return OD_OK;
}

/* --- slices ------------------------------------------------------------------- */

static od_status parse_slice(const od_option_spec *spec, const char *text, void *value, char *cause, size_t size)
{
    static const char prefix[] = "eager:";
    od_slice_option *slice = value;
    uint64_t number = OD_SLICE_OFF;
    (void)spec, (void)cause, (void)size;
    bool is_eager = strcmp(text, "eager") == 0, is_auto = is_eager || strcmp(text, "auto") == 0;
    bool off = strcmp(text, "off") == 0 || strcmp(text, "0") == 0, early = strncmp(text, prefix, strlen(prefix)) == 0;
    if (!is_auto && !off && od_parse_integer(text + (early ? strlen(prefix) : 0), 2, OD_MOST_SLICES, &number))
        return OD_EINVAL;
    *slice = (od_slice_option){is_auto ? OD_SLICE_AUTO : (int)number, is_eager || early};
    return OD_OK;
}

/* --- reports ------------------------------------------------------------------ */

/* A file's name has a folder or a type. */
static bool is_misspelt(const char *text, const char *word)
{
    const char *const words[] = {word, NULL};
    return !strpbrk(text, "./%") && od_nearest_name(text, words);
}

static od_status parse_stats(const od_option_spec *spec, const char *text, void *value, char *cause, size_t size)
{
    static const char summary[] = "summary";
    const size_t length = sizeof summary - 1, all = strlen(text);
    od_stats_choice *stats = value;

    stats->summary = strncmp(text, summary, length) == 0 && (!text[length] || text[length] == ',');
    if (stats->summary)
        text = text[length] ? text + length + 1 : "0";
    else if (all > length && text[all - length - 1] == ',' && strcmp(text + all - length, summary) == 0)
        return OD_EINVAL; /* a file of that name is hardly meant */
    else if (is_misspelt(text, summary)) {
        snprintf(cause, size, "did you mean summary? A file of that name is ./%s", text);
        return OD_EINVAL;
    }
    return *text ? od_option_path(spec, text, stats->file, cause, size) : OD_EINVAL;
}

/* --- debugging ------------------------------------------------------------------ */

static od_status take_check(const char *text, void *value)
{
    od_debug *debug = value;
    if (text && strcmp(text, "warn") != 0)
        return OD_EINVAL;
    debug->check = text ? OD_CHECK_WARN : OD_CHECK_STOP;
    return OD_OK;
}

static od_status take_watchdog(const char *text, void *value)
{
    od_debug *debug = value;
    return text ? od_parse_seconds(text, &debug->watchdog_s) : OD_EINVAL;
}

static od_status take_jitter(const char *text, void *value)
{
    od_debug *debug = value;
    return text ? od_parse_seconds(text, &debug->jitter_s) : OD_EINVAL;
}

static od_status parse_debug(const od_option_spec *spec, const char *text, void *value, char *cause, size_t size)
{
    static const od_option_word words[] = {
        {"check", take_check}, {"watchdog", take_watchdog}, {"jitter", take_jitter}, {0}};

    *(od_debug *)value = (od_debug){0};
    return strcmp(text, "0") == 0 ? OD_OK : od_option_words(spec, text, words, value, cause, size);
}

/* --- the tables ------------------------------------------------------------------- */

_Static_assert(sizeof(od_coherence) == sizeof(unsigned) && sizeof(od_device_clause) == sizeof(unsigned) &&
                   sizeof(od_priority_mode) == sizeof(unsigned) && sizeof(od_oversize) == sizeof(unsigned),
               "od_option_choice() stores unsigned");

#define MEMBER(name) offsetof(od_options, name)

static const od_option_hint cpu_hints[] = {{"CPUS", "N"}, {"CPU_WORKERS", "N"}, {0}};
static const od_option_hint device_hints[] = {{"WORKING", "WHICH:ACTIVE"}, {"ACTIVE", "WHICH:ACTIVE"}, {"GPUS", "N"},
                                              {"NUM_DEVICES", "N"}, {0}};
static const od_option_hint stats_hints[] = {
    {"SUMMARY", "summary"}, {"NO_SUMMARY", "0"}, {"STATISTICS", "FILE"}, {0}};
static const od_option_hint trace_hints[] = {{"REPORT", "FILE.json"}, {0}}; /* for `ompdarts report` */
static const od_option_hint progress_hints[] = {{"NO_PROGRESS", "0"}, {0}};
static const od_option_hint debug_hints[] = {
    {"CHECK", "check"}, {"CHECK_HOST", "check"}, {"WATCHDOG", "watchdog=SECONDS"}, {"JITTER", "jitter=SECONDS"}, {0}};

static const od_option_spec rows[] = {
    {OD_OPTION_PREFIX "DEVICES", "devices", "words", "all", "devices",
     "WHICH, WHICH:ACTIVE, or auto for all:auto; WHICH: all, a whole number from 1 to " OD_MAX_DEVICES_TEXT
     " and at most the devices that "
     "exist, or a list of their numbers such as 0,2 or 2*1 or 0*4; ACTIVE: " OD_ACTIVE_ALLOWED
     "; or 0, with OMPDARTS_CPU: none",
     "How many devices to use, or which (NUMBER*TIMES divides one into logical devices with a share of its memory "
     "each), and how many of these are active at a time, the others idle: auto estimates from the known tasks with how "
     "many they finish soonest; policy, the default, does so for policies that plan with it (stationary), and keeps "
     "all active for the others.",
     device_hints, parse_devices, MEMBER(devices)},
    {OD_OPTION_PREFIX "COHERENCE", "coherence", "choice", "auto", "", "auto|strict|depend",
     "When a device may keep a copy outside a data region: auto if the depend clauses allow it, "
     "strict never, depend always. depend also takes sections of whole arrays in depend clauses for all that a task "
     "touches of them, which the others find out (docs/openmp.md).",
     NULL, od_option_choice, MEMBER(coherence)},
    {OD_OPTION_PREFIX "DEVICE_CLAUSE", "device-clause", "choice", "auto", "", "auto|pin|hint",
     "Constructs with a device clause, or after omp_set_default_device: pin leaves them on the device they name, hint "
     "schedules them like all others; auto does so, too, as long as the program names no device but the default one.",
     NULL, od_option_choice, MEMBER(device_clause)},
    {OD_OPTION_PREFIX "OVERSIZE", "oversize", "choice", "host", "", "host|page",
     "A kernel that uses more of data regions than fits on a device: host runs it in the host's memory, which no limit "
     "counts; page runs it on a device within its limit, page by page as it touches them, and evicts behind it (host "
     "devices only).",
     NULL, od_option_choice, MEMBER(oversize)},
    {OD_OPTION_PREFIX "CPU", "cpu", "words", "0", "",
     "0 (off), auto, N, or N:W; N workers of W cores each (default: 1), as many cores as there are at most",
     "CPU workers, which run host versions of target regions beside the devices: N of W threads each; auto: as many as "
     "there are processors that would be idle (docs/policies.md).",
     cpu_hints, parse_cpu, MEMBER(cpu)},
    {OD_OPTION_PREFIX "CPU_EXCLUDE", "cpu-exclude", "words", "0", "",
     "0 (none), or names of kernels separated by commas: FUNCTION or FUNCTION_lLINE, as clang names them",
     "Target regions that CPU workers leave to the devices.", NULL, parse_exclude, MEMBER(cpu_exclude)},
    {OD_OPTION_PREFIX "PRIORITY", "priority", "choice", "auto", "", "auto|clause|none",
     "Task priorities: clause takes them from the priority clauses; auto does, too, and in programs without any takes "
     "the longest path of tasks that wait for this one; none ignores them.",
     NULL, od_option_choice, MEMBER(priority)},
    {OD_OPTION_PREFIX "SLICE", "slice", "choice", "off", "slices",
     "off, auto, N, eager, or eager:N; N: a whole number from 2 to 64",
     "Synchronous kernels over whole arrays, cut into slices of their iterations that run on several devices at once "
     "(docs/openmp.md): N cuts them into so many, auto into as many as there are devices, as soon as a kernel has run "
     "for long enough to try that, and as long as it is faster. Twice, three times ... as many where a slice would not "
     "fit on a device. On GPUs only kernels that were compiled for it (docs/gpu.md), into as many as there are devices "
     "at most. With eager (like auto) and eager:N (like N) the program does not wait for the end of each launch: "
     "slices of the next one begin as those before end that they depend on. Where they turn out to have begun too "
     "early the program ends with a message.",
     NULL, parse_slice, MEMBER(slice)},
    {OD_OPTION_PREFIX "STATS", "stats", "words", "0", "",
     "0 (off), summary, FILE, or summary,FILE; FILE: " OD_FILE_ALLOWED,
     "Statistics at the end of the program: a summary on standard error, and all of them in a JSON file "
     "(docs/stats-schema.md). `ompdarts run` prints the summary by default.",
     stats_hints, parse_stats, MEMBER(stats)},
    {OD_OPTION_PREFIX "RECORD", "record", "path", "0", "", "0 (off), or a file " OD_FILE_ALLOWED,
     "Records the run for `ompdarts sim --graph` (docs/graph-format.md).", NULL, od_option_path, MEMBER(record)},
    {OD_OPTION_PREFIX "TRACE", "trace", "path", "0", "", "0 (off), or a file " OD_FILE_ALLOWED,
     "Writes tasks, transfers, evictions and decisions to this file, for Perfetto and `ompdarts report`; to FILE.paje "
     "for ViTE (docs/trace-format.md).",
     trace_hints, od_option_path, MEMBER(trace)},
    {OD_OPTION_PREFIX "PROGRESS", "progress", "flag", "0", "", "0|1",
     "Shows progress on standard error: on a terminal one line, refreshed, otherwise a line now and then. "
     "`ompdarts run` does so on a terminal by default.",
     progress_hints, od_option_flag, MEMBER(progress)},
    {OD_OPTION_PREFIX "CACHE", "cache", "flag", "1", "", "0|1",
     "Keeps kernel times, speeds of links and devices, and what auto has found between runs, in "
     "$XDG_CACHE_HOME/ompdarts or ~/.cache/ompdarts; 0 neither reads nor writes them.",
     NULL, od_option_flag, MEMBER(cache)},
    {OD_OPTION_PREFIX "DISABLE", "disable", "flag", "0", "", "0|1",
     "Switches ompdarts off: the program runs as if without it.", NULL, od_option_flag, MEMBER(disable)},
    {OD_OPTION_PREFIX "DEBUG", "debug", "words", "0", "",
     "0 (off), or some of check, check=warn, watchdog=SECONDS and jitter=SECONDS, separated by commas; "
     "SECONDS: 0 (off) or a number up to " OD_MOST_SECONDS,
     "Debugging aids. check finds host accesses to tiles of which a device keeps a copy, and stops the program at the "
     "first one with exit code 88; check=warn reports each tile once. watchdog prints the scheduler's state and ends "
     "the program after this time without progress. (A program whose threads only wait, for tasks and for something "
     "outside, makes none.) jitter is the longest random delay added to each transfer, for tests.",
     debug_hints, parse_debug, MEMBER(debug)},
    {0}};

const od_option_spec *const od_all_options[] = {od_sched_option_rows, od_memory_option_rows, rows,
                                                od_log_option_rows, NULL};

/* No two outputs are one file. */
static od_status check_files(const od_options *options, char *error, size_t size)
{
    const struct {
        const char *name, *path;
    } files[] = {{OD_OPTION_PREFIX "STATS", options->stats.file},
                 {OD_OPTION_PREFIX "TRACE", options->trace},
                 {OD_OPTION_PREFIX "RECORD", options->record}};
    char cause[96];
    for (unsigned i = 0; i < sizeof files / sizeof *files; i++)
        for (unsigned j = 0; j < i; j++)
            if (*files[i].path && *files[j].path && od_file_is_same(files[i].path, files[j].path)) {
                snprintf(cause, sizeof cause, "the same file as %s; allowed: a different file", files[j].name);
                od_option_refuse(files[i].name, od_environment(files[i].name), cause, error, size); /* as typed */
                return OD_EINVAL;
            }
    return OD_OK;
}

od_status od_options_parse(od_options *options, char *error, size_t error_size)
{
    void *const values[] = {&options->sched, &options->memory, options, &options->log};

    memset(options, 0, sizeof *options);
    od_status status = od_option_read(od_all_options, values, error, error_size);
    if (!status)
        status = check_files(options, error, error_size);
    if (!status && options->log >= OD_LOG_WARNING)
        od_option_warn_unknown(od_all_options);
    return status;
}
