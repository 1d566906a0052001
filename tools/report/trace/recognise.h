/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Files of ompdarts that are no trace, as users give them. */
#ifndef OD_TOOLS_REPORT_RECOGNISE_H
#define OD_TOOLS_REPORT_RECOGNISE_H

#include <stdio.h>

/* What the file is, and what is needed instead; NULL: not known, or a pipe, whose beginning is gone. */
const char *report_recognise(FILE *file);

#endif
