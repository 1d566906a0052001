/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The nearest word by edit distance, or by a common beginning; see nearest.h. */
#include "util/nearest.h"

#include <ctype.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static unsigned least(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

static bool is_same(char a, char b)
{
    return tolower((unsigned char)a) == tolower((unsigned char)b);
}

/* Edits from `a` to `b`, without regard to case: a letter more, less or other, or two neighbours swapped (optimal
 * string alignment). Names longer than OD_NEAREST_LONGEST are far from all. */
static unsigned distance(const char *a, const char *b)
{
    unsigned rows[3][OD_NEAREST_LONGEST + 1];
    size_t length = strlen(b);

    if (length > OD_NEAREST_LONGEST || strlen(a) > OD_NEAREST_LONGEST)
        return UINT_MAX;
    for (unsigned j = 0; j <= length; j++)
        rows[0][j] = j;
    for (unsigned i = 1; i <= strlen(a); i++) {
        const unsigned *above = rows[(i - 1) % 3], *two_above = rows[(i + 1) % 3];
        unsigned *row = rows[i % 3];
        row[0] = i;
        for (unsigned j = 1; j <= length; j++) {
            row[j] = least(above[j - 1] + !is_same(a[i - 1], b[j - 1]), least(above[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && is_same(a[i - 1], b[j - 2]) && is_same(a[i - 2], b[j - 1]))
                row[j] = least(row[j], two_above[j - 2] + 1);
        }
    }
    return rows[strlen(a) % 3][length];
}

enum { SHORTEST = 3 }; /* beginning that is specific */

/* One of them is the beginning of the other. */
static bool is_beginning(const char *a, const char *b)
{
    unsigned i = 0;
    while (a[i] && is_same(a[i], b[i]))
        i++;
    return i >= SHORTEST && (!a[i] || !b[i]);
}

const char *od_nearest_name(const char *text, const char *const *known)
{
    const char *nearest = NULL;
    unsigned closest = least((unsigned)strlen(text) / 3, 3) + 1, best = UINT_MAX;

    for (; *known; known++) {
        unsigned edits = distance(text, *known), d = is_beginning(text, *known) ? least(edits, 1) : edits;
        if (d < closest || (d == closest && nearest && edits < best)) {
            closest = d;
            best = edits;
            nearest = *known;
        }
    }
    return nearest;
}

static void append(char *text, size_t size, const char *before, const char *more)
{
    size_t length = strlen(text);

    if (length < size)
        snprintf(text + length, size - length, "%s%s", before, more);
}

void od_nearest_explain(const char *text, const char *extra, const char *const *known, char *cause, size_t size)
{
    const char *nearest = od_nearest_name(text, known);

    snprintf(cause, size, "unknown name; allowed: %s", extra ? extra : "");
    for (const char *const *k = known; *k; k++)
        append(cause, size, extra || k > known ? ", " : "", *k);
    if (nearest) {
        append(cause, size, "; did you mean ", nearest);
        append(cause, size, "?", "");
    }
}
