/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What happened in a run, as columns of numbers for the page's scripts. */
#ifndef OD_TOOLS_REPORT_PAGE_EVENTS_H
#define OD_TOOLS_REPORT_PAGE_EVENTS_H

#include "tools/report/run.h"

#include <stdio.h>

/* Members of a JSON object, each followed by a comma. `most` as in page_write(). OD_ENOMEM */
od_status page_put_events(FILE *out, const report_run *run, size_t most);

#endif
