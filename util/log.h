/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Messages for people: one function, a subsystem prefix, a cap per call site
 * class so that a fault in a loop cannot fill a disk.
 *
 * Lines go to standard error as "ompdarts: <subsystem>: <text>". The level is
 * the option OMPDARTS_LOG; errors and warnings are shown by default.
 */
#ifndef OD_UTIL_LOG_H
#define OD_UTIL_LOG_H

#include <stdbool.h>

typedef enum od_log_level {
    OD_LOG_OFF = 0,
    OD_LOG_ERROR,
    OD_LOG_WARNING,
    OD_LOG_INFO,
    OD_LOG_DEBUG,
} od_log_level;

void od_log_set_level(od_log_level level);
bool od_log_enabled(od_log_level level);

/* Thread-safe. `subsystem` is a short lower-case word: "engine", "omp", "pool". */
__attribute__((format(printf, 3, 4))) void od_log(od_log_level level, const char *subsystem, const char *format, ...);

#endif
