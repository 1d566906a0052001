/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What may be better in a run, in plain language. */
#ifndef OD_TOOLS_REPORT_FINDINGS_H
#define OD_TOOLS_REPORT_FINDINGS_H

#include "tools/report/analysis.h"

/* One line each. */
typedef struct run_findings {
    size_t count;
    char (*text)[500];
} run_findings;

/* The worst first; at least one, if only that nothing was found. OD_ENOMEM */
od_status run_find(const trace_file *trace, const run_figures *figures, run_findings *findings);
void run_findings_free(run_findings *findings);

#endif
