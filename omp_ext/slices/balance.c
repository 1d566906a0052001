/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* See balance.h. */
#include "omp_ext/slices/balance.h"

enum { FIRST = 32, MOST = 4096, SETTLED = 64 }; /* launches: arrays are in one piece again after the last */

/* Looked at after 32 launches, 64, and so on: sooner what comes seldom would decide, later much would be lost. */
static void add(od_balance *b, double before_s, double seconds)
{
    b->before_s += before_s;
    b->now_s += seconds;
    b->launches++;
    if (b->launches < FIRST || (b->launches & (b->launches - 1)))
        return;
    bool loses = b->now_s > b->before_s;
    if (loses) {
        b->losses++;
        b->lost_s = b->now_s - b->before_s;
    }
    if (loses || b->launches >= MOST)
        b->launches = 0, b->before_s = b->now_s = 0;
}

void od_balance_note_sliced(od_balance *b, bool settled, double before_s, double seconds)
{
    b->whole = 0;
    b->disturbed = true;
    if (settled)
        add(b, before_s, seconds);
}

void od_balance_note_whole(od_balance *b, double before_s, double seconds)
{
    if (b->launches && before_s > 0)
        add(b, before_s, seconds);
    if (++b->whole < SETTLED)
        return;
    b->disturbed = false;
    b->launches = 0;
    b->before_s = b->now_s = 0;
}
