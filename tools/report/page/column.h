/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Many whole numbers as a short JSON string, which decode() of the page reads: each as itself or, after a
 * tilde, as the difference to the one before; the sign in the lowest bit, seven bits per byte, lowest first, after a
 * zero how many more follow, and the bytes in base 64.
 */
#ifndef OD_TOOLS_REPORT_PAGE_COLUMN_H
#define OD_TOOLS_REPORT_PAGE_COLUMN_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

typedef struct column {
    FILE *out;
    bool differences;
    int64_t last;
    uint64_t zeros; /* that are not written yet */
    uint32_t bits; /* of bytes that are not written yet */
    unsigned nbits;
} column;

void column_begin(column *c, FILE *out, bool differences);
void column_put(column *c, int64_t value);
void column_end(column *c);

#endif
