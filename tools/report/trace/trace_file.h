/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Reads a trace; one that was cut off up to there. */
#ifndef OD_TOOLS_REPORT_TRACE_FILE_H
#define OD_TOOLS_REPORT_TRACE_FILE_H

#include "tools/report/trace/trace_types.h"
#include "util/status.h"

/* On failure one line in `error`; nothing is to be freed then. */
od_status trace_file_read(const char *path, trace_file *file, char *error, size_t size);
void trace_file_free(trace_file *file);

#endif
