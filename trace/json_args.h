/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What events of a trace say of a choice of settings, a data construct, a kernel, a footprint: arguments, without the
 * last brace. */
#ifndef OD_TRACE_JSON_ARGS_H
#define OD_TRACE_JSON_ARGS_H

#include "trace/trace.h"

char *od_json_choice(char *at, const od_choice *choice);
char *od_json_construct(char *at, const od_trace_construct *construct);
char *od_json_kernel(char *at, const od_report_slicing *kernel);
char *od_json_footprint(char *at, const od_report_footprint *footprint);

#endif
