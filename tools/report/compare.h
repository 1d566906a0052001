/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Several runs side by side, as text. */
#ifndef OD_TOOLS_REPORT_COMPARE_H
#define OD_TOOLS_REPORT_COMPARE_H

#include "tools/report/page/page.h"

/* Prints which of `n` >= 2 runs was the fastest, and for each its time in seconds, the MB that came to devices and went
 * back to the host, and counts; with the differences to the first run in percent. */
void report_compare(const report_run *runs, size_t n);

#endif
