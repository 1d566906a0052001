/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* See turns.h. */
#include "omp_ext/runtime/parts/turns.h"

static void wait(od_turns *turns, unsigned k, uint64_t since_ns)
{
    if (turns->awaited && turns->since_ns <= since_ns)
        return;
    turns->awaited = true;
    turns->next = k;
    turns->since_ns = since_ns;
}

bool od_turns_take(od_turns *turns, unsigned k, uint64_t since_ns, uint64_t now_ns)
{
    bool over = now_ns >= turns->until_ns;
    if (!over && turns->holder == k)
        return true;
    bool missed = now_ns >= turns->until_ns + OD_TURN_NS; /* who was next does not wait any more */
    if (!over || (turns->awaited && turns->next != k && !missed)) {
        wait(turns, k, since_ns);
        return false;
    }
    *turns = (od_turns){.holder = k, .until_ns = now_ns + OD_TURN_NS};
    return true;
}

void od_turns_end(od_turns *turns, unsigned k, uint64_t now_ns)
{
    if (turns->holder == k && turns->until_ns > now_ns)
        turns->until_ns = now_ns;
}
