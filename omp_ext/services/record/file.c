/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The text of a recording, written to its file in pieces. See internal.h. */
#define _GNU_SOURCE
#include "omp_ext/services/record/internal.h"

#include "util/file/plain_numbers.h"
#include "util/log.h"
#include "util/memory.h"
#include "util/options.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FLUSH_BYTES = 1 << 16 };

atomic_bool od_recording_on;
static struct {
    int file;
    char path[OD_OPTION_PATH];
    char *text; /* not written yet */
    size_t length, capacity;
    uint64_t lines;
} recording = {.file = -1};

bool od_recording_open(const char *path)
{
    snprintf(recording.path, sizeof recording.path, "%s", path);
    recording.file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    atomic_store(&od_recording_on, recording.file >= 0);
    return recording.file >= 0;
}

void od_recording_give_up(const char *why)
{
    od_log(OD_LOG_WARNING, "record", "%s: %s; the recording ends here and cannot be replayed", recording.path, why);
    atomic_store(&od_recording_on, false);
    close(recording.file);
    recording.file = -1;
}

void od_recording_flush(void)
{
    size_t done = 0;
    while (done < recording.length && od_recording_is_on()) {
        ssize_t n = write(recording.file, recording.text + done, recording.length - done);
        if (n >= 0)
            done += (size_t)n;
        else if (errno != EINTR)
            od_recording_give_up(strerror(errno));
    }
    recording.length = 0;
}

static bool make_room(size_t bytes)
{
    size_t capacity = recording.capacity ? recording.capacity : 2 * (size_t)FLUSH_BYTES;
    while (capacity - recording.length <= bytes)
        capacity *= 2;
    if (capacity == recording.capacity)
        return true;
    char *text = od_realloc(recording.text, capacity);
    if (!text) {
        od_recording_give_up("out of memory");
        return false;
    }
    recording.text = text;
    recording.capacity = capacity;
    return true;
}

void od_recording_put(const char *format, ...)
{
    va_list list, again;
    locale_t programs = od_plain_numbers_begin();
    va_start(list, format);
    va_copy(again, list);
    int length = vsnprintf(NULL, 0, format, list);
    if (length >= 0 && od_recording_is_on() && make_room((size_t)length)) {
        vsnprintf(recording.text + recording.length, (size_t)length + 1, format, again);
        recording.length += (size_t)length;
    }
    va_end(again);
    va_end(list);
    od_plain_numbers_end(programs);
}

void od_recording_end_line(void)
{
    od_recording_put("\n");
    recording.lines++;
    if (recording.length >= FLUSH_BYTES)
        od_recording_flush();
}

uint64_t od_recording_lines(void)
{
    return recording.lines;
}

void od_recording_close(void)
{
    od_recording_flush();
    if (od_recording_is_on() && close(recording.file)) {
        od_log(OD_LOG_WARNING, "record", "%s: %s; the recording may be incomplete", recording.path, strerror(errno));
        recording.file = -1;
    }
    atomic_store(&od_recording_on, false);
}
