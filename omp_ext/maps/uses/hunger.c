/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* See hunger.h. */
#include "omp_ext/maps/uses/hunger.h"

#include "omp_ext/runtime/runtime.h"
#include "util/clock.h"

static const uint64_t starved_ns = UINT64_C(100000000), patience_ns = UINT64_C(2000000000);
enum { STARVED_USES = 100, MOST = 16 };

static od_span starving[MOST]; /* the runtime's lock */
static unsigned nstarving;

static void begin_to_starve(od_hunger *h, od_span range)
{
    if (nstarving == MOST)
        return;
    h->starves = true;
    h->range = starving[nstarving++] = range;
}

void od_hunger_note(od_hunger *h, od_span range)
{
    od_engine *engine = od_runtime_lock();
    const od_region *region =
        od_directory_find_region(od_engine_directory(engine), range.begin, range.end - range.begin);
    uint64_t now_ns = od_clock_ns();
    if (region && !h->since_ns) {
        h->since_ns = now_ns;
        h->uses = region->uses;
    } else if (region && !h->starves && now_ns - h->since_ns > starved_ns && region->uses - h->uses > STARVED_USES) {
        begin_to_starve(h, range);
    }
    od_runtime_unlock();
}

void od_hunger_end(const od_hunger *h)
{
    if (!h->starves)
        return;
    od_runtime_lock();
    unsigned i = 0;
    while (starving[i].begin != h->range.begin || starving[i].end != h->range.end)
        i++;
    starving[i] = starving[--nstarving];
    od_runtime_unlock();
}

bool od_hunger_gives_way(const od_hunger *h, od_span range)
{
    bool is_wanted = false;
    for (unsigned i = 0; i < nstarving; i++)
        is_wanted |= starving[i].begin < range.end && range.begin < starving[i].end;
    return is_wanted && !h->starves && !(h->since_ns && od_clock_ns() - h->since_ns > patience_ns);
}
