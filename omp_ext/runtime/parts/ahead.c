/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* See ahead.h. */
#include "omp_ext/runtime/parts/ahead.h"

static od_stream *find(od_ahead *a, const void *of, uintptr_t page)
{
    for (unsigned i = 0; i < OD_AHEAD_STREAMS; i++) {
        od_stream *s = &a->stream[i];
        if (s->of == of && page >= s->begin && page <= s->end)
            return s;
    }
    return NULL;
}

static od_stream *least_recently_used(od_ahead *a)
{
    od_stream *least = &a->stream[0];
    for (unsigned i = 1; i < OD_AHEAD_STREAMS; i++)
        if (a->stream[i].used < least->used)
            least = &a->stream[i];
    return least;
}

/* It has what it asks for, but only to read, or it has lost it again. */
static unsigned again(od_stream *s, uintptr_t page, size_t page_size, bool write)
{
    bool all = write && !s->writes;
    s->writes |= write;
    return all ? (unsigned)((s->end - page) / page_size) : 1;
}

static unsigned go_on(od_stream *s, size_t page_size, unsigned most, bool *write)
{
    size_t n = 2 * (s->end - s->begin) / page_size;
    n = n < most ? n : most;
    s->begin = s->end;
    s->end += n * page_size;
    s->writes |= *write;
    *write = s->writes;
    return (unsigned)n;
}

unsigned od_ahead_note(od_ahead *a, const void *of, uintptr_t page, size_t page_size, unsigned most, bool *write)
{
    od_stream *s = find(a, of, page);
    bool known = s;
    s = known ? s : least_recently_used(a);
    s->used = ++a->faults;
    if (known && page < s->end)
        return again(s, page, page_size, *write);
    if (known)
        return go_on(s, page_size, most, write);
    *s = (od_stream){of, page, page + page_size, *write, a->faults};
    return 1;
}
