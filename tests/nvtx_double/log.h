/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * What a profiler is told through NVTX, one line per call, appended to the file that NVTX_DOUBLE_LOG names: the
 * process, the call and its arguments, with tabs between. tests/e2e/checks/check_nvtx.py reads it.
 */
#ifndef NVTX_DOUBLE_LOG_H
#define NVTX_DOUBLE_LOG_H

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* The call and its arguments. */
__attribute__((format(printf, 1, 2))) static inline void nvtx_log(const char *format, ...)
{
    char line[512];
    const char *path = getenv("NVTX_DOUBLE_LOG");
    int file = path ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644) : -1;
    int n = snprintf(line, sizeof line, "%d\t", (int)getpid());
    va_list arguments;
    va_start(arguments, format);
    n += vsnprintf(line + n, sizeof line - (size_t)n - 1, format, arguments);
    va_end(arguments);
    line[n++] = '\n';
    if (file < 0 || write(file, line, (size_t)n) != n)
        abort();
    close(file);
}

#endif
