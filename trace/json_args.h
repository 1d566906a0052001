/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What events of a trace say of a choice of settings, a data construct, a kernel, a footprint, a device's rank:
 * arguments, without the last brace. */
#ifndef OD_TRACE_JSON_ARGS_H
#define OD_TRACE_JSON_ARGS_H

#include "trace/trace.h"

/* Members of a task's arguments: its data, its depend items if it has any. */
char *od_json_uses(char *at, const od_trace_run *run, const od_task *task);
char *od_json_depends(char *at, const od_trace_run *run, const od_task *task);

char *od_json_rank(char *at, unsigned rank, const char *host);
char *od_json_choice(char *at, const od_choice *choice);
char *od_json_construct(char *at, const od_trace_construct *construct);
char *od_json_kernel(char *at, const od_report_slicing *kernel);
char *od_json_footprint(char *at, const od_report_footprint *footprint);

#endif
