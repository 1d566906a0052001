/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Messages for people, on standard error.
 *
 * A call site is identified by the address of its format string. Each may print
 * LINES_PER_SITE lines; the last one says that more will not be shown. Debug lines are
 * asked for by name and are not capped. Counts live in a small open-addressing table that
 * is filled by compare-and-swap, so that no lock is taken; sites beyond its size share
 * its last entry.
 *
 * This file has state for the whole process: standard error is one per process, too.
 */
#include "util/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

enum {
    LINES_PER_SITE = 20,
    SITES = 128,
    LINE_BYTES = 1024,
};

typedef struct site {
    _Atomic(const char *) format; /* NULL: free */
    atomic_uint lines;
} site;

static site sites[SITES + 1];
static atomic_int current_level = OD_LOG_WARNING;

void od_log_set_level(od_log_level level)
{
    atomic_store_explicit(&current_level, (int)level, memory_order_relaxed);
}

bool od_log_enabled(od_log_level level)
{
    return level != OD_LOG_OFF && (int)level <= atomic_load_explicit(&current_level, memory_order_relaxed);
}

static site *find_site(const char *format)
{
    size_t hash = (size_t)((uintptr_t)format * UINT64_C(0x9E3779B97F4A7C15) >> 32);

    for (size_t i = 0; i < SITES; i++) {
        site *s = &sites[(hash + i) % SITES];
        const char *seen = NULL;
        if (atomic_compare_exchange_strong(&s->format, &seen, format) || seen == format)
            return s;
    }
    return &sites[SITES];
}

/* One write per line, so that lines of several threads do not mix. */
static void print_line(const char *subsystem, const char *text, const char *note)
{
    char line[LINE_BYTES + 128];

    int length = snprintf(line, sizeof line, "ompdarts: %s: %s%s\n", subsystem, text, note);
    size_t bytes = length < (int)sizeof line ? (size_t)length : sizeof line - 1;
    while (write(STDERR_FILENO, line, bytes) < 0 && errno == EINTR) /* not stderr, whose lock a kernel may hold */
        continue;
}

void od_log(od_log_level level, const char *subsystem, const char *format, ...)
{
    char text[LINE_BYTES];
    const char *note = "";
    va_list arguments;

    if (!od_log_enabled(level))
        return;
    if (level != OD_LOG_DEBUG) {
        unsigned earlier = atomic_fetch_add(&find_site(format)->lines, 1);
        if (earlier >= LINES_PER_SITE)
            return;
        if (earlier == LINES_PER_SITE - 1)
            note = " (more messages of this kind are not shown)";
    }
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    print_line(subsystem, text, note);
}
