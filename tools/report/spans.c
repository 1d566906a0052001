/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* See spans.h. */
#include "tools/report/spans.h"

#include <stdlib.h>

void spans_add(spans *s, double from, double to)
{
    if (to <= from)
        return;
    if (s->n == s->room) {
        size_t room = s->room ? 2 * s->room : 64;
        span *at = realloc(s->at, room * sizeof *at);
        if (!at) {
            s->failed = true;
            return;
        }
        s->at = at;
        s->room = room;
    }
    s->at[s->n++] = (span){from, to};
}

static int by_begin(const void *a, const void *b)
{
    const span *first = a, *second = b;
    return (first->from > second->from) - (first->from < second->from);
}

/* The next span, by its begin: a part of the last one, or one after it. */
static void extend(spans *s, span next)
{
    span *last = s->n ? &s->at[s->n - 1] : NULL;
    if (!last || next.from > last->to)
        s->at[s->n++] = next;
    else if (next.to > last->to)
        last->to = next.to;
}

void spans_settle(spans *s)
{
    size_t n = s->n;
    if (n)
        qsort(s->at, n, sizeof *s->at, by_begin);
    s->n = 0;
    for (size_t i = 0; i < n; i++)
        extend(s, s->at[i]);
}

void spans_join(spans *into, const spans *more)
{
    size_t i = 0, j = 0, room = into->n + more->n;
    spans joined = {.at = malloc((room + 1) * sizeof *joined.at), .room = room + 1};
    if (!joined.at) {
        into->failed = true;
        return;
    }
    while (i < into->n || j < more->n) {
        bool first = j == more->n || (i < into->n && into->at[i].from <= more->at[j].from);
        extend(&joined, first ? into->at[i++] : more->at[j++]);
    }
    joined.failed = into->failed || more->failed;
    spans_free(into);
    *into = joined;
}

double spans_length(const spans *s)
{
    double sum = 0;
    for (size_t i = 0; i < s->n; i++)
        sum += s->at[i].to - s->at[i].from;
    return sum;
}

void spans_free(spans *s)
{
    free(s->at);
    *s = (spans){0};
}
