/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Runs as one page to look at: page.html with its style, its scripts and what describes the runs. */
#ifndef OD_TOOLS_REPORT_PAGE_PAGE_H
#define OD_TOOLS_REPORT_PAGE_PAGE_H

#include "tools/report/run.h"

#include <stdio.h>

enum { PAGE_SPANS = 1000000 };

/* `most` tasks of a run, and as many transfers, are shown one by one: of more, neighbours are joined. Up to a quarter
 * of it each task tells its data and what it waited for. Whether it could be written is up to the caller to ask.
 * OD_ENOMEM */
od_status page_write(FILE *out, const report_run *runs, size_t n, size_t most);

#endif
