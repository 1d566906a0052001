/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Sets of moments, as spans of time. Filled in any order, settled once, then joined and measured. */
#ifndef OD_TOOLS_REPORT_SPANS_H
#define OD_TOOLS_REPORT_SPANS_H

#include <stdbool.h>
#include <stddef.h>

typedef struct span {
    double from, to;
} span;

typedef struct spans {
    span *at; /* settled: ordered, and none touches the next */
    size_t n, room;
    bool failed; /* out of memory: some are missing */
} spans;

/* Nothing, where it is empty. */
void spans_add(spans *s, double from, double to);
void spans_settle(spans *s);
/* Both are settled; so is the result. */
void spans_join(spans *into, const spans *more);
double spans_length(const spans *s);
void spans_free(spans *s);

#endif
