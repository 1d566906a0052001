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

/* Levenshtein's distance, without regard to case; names longer than OD_NEAREST_LONGEST are far from all. */
static unsigned distance(const char *a, const char *b)
{
    unsigned row[OD_NEAREST_LONGEST + 1];
    size_t length = strlen(b);

    if (length > OD_NEAREST_LONGEST || strlen(a) > OD_NEAREST_LONGEST)
        return UINT_MAX;
    for (unsigned j = 0; j <= length; j++)
        row[j] = j;
    for (unsigned i = 0; a[i]; i++) {
        unsigned diagonal = row[0];
        row[0] = i + 1;
        for (size_t j = 0; j < length; j++) {
            bool same = tolower((unsigned char)a[i]) == tolower((unsigned char)b[j]);
            unsigned replaced = diagonal + (same ? 0 : 1);
            diagonal = row[j + 1];
            row[j + 1] = least(replaced, least(diagonal, row[j]) + 1);
        }
    }
    return row[length];
}

enum { SHORTEST = 3 }; /* beginning that is specific */

/* One of them is the beginning of the other. */
static bool is_beginning(const char *a, const char *b)
{
    unsigned i = 0;
    while (a[i] && tolower((unsigned char)a[i]) == tolower((unsigned char)b[i]))
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
