/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What page faults have shown of kernels, per argument: whether they write to it, and what they use around the
 * addresses by which tasks name it. Kernels that find no room in the table are taken for what they say for ever. Under
 * the lock. */
#include "omp_ext/runtime/internal.h"

#include "util/log.h"
#include "util/memory.h"

enum { KERNELS = 256, ARGUMENTS = OD_TOUCHED_ARGUMENTS, TRIES = 8, MOST_FAULTS = 64 };
enum { MOST_FAILURES = 16 }; /* to learn strides */
enum { ITEMS = 4 }; /* of one argument that have strides of their own */

typedef struct known {
    const void *kernel;
    unsigned faults[ARGUMENTS];
    uint64_t writes; /* bit i: it has written to argument i */
    od_learnt_strides (*strides)[ITEMS]; /* by argument; malloc'ed, NULL: nothing is known */
} known;

static known *table; /* by hash; malloc'ed at the first fault */

static known *find(const void *kernel, bool add)
{
    uintptr_t hash = (uintptr_t)kernel >> 4;
    if (!table && add)
        table = od_calloc(KERNELS, sizeof *table);
    for (unsigned i = 0; table && i < TRIES; i++) {
        known *at = &table[(hash + i) % KERNELS];
        if (!at->kernel && add)
            at->kernel = kernel;
        if (at->kernel == kernel)
            return at;
    }
    return NULL;
}

static void tell_that_it_uses_all(const void *kernel, unsigned argument)
{
    od_log(OD_LOG_INFO, "runtime",
           "region %p touches more of its argument %u than depend clauses name: it uses all of it from now on", kernel,
           argument + 1);
}

void od_runtime_note_more(const void *kernel, unsigned argument, bool named, bool write)
{
    known *at = find(kernel, true);
    if (!at)
        return;
    if (write)
        at->writes |= UINT64_C(1) << argument;
    if (!named && ++at->faults[argument] == MOST_FAULTS)
        tell_that_it_uses_all(kernel, argument);
}

bool od_runtime_names_its_parts(const void *kernel, int32_t argument)
{
    const known *at = argument < ARGUMENTS ? find(kernel, false) : NULL;
    return !at || at->faults[argument] < MOST_FAULTS;
}

bool od_runtime_may_only_read(const void *kernel, int32_t argument)
{
    const known *at = argument < ARGUMENTS ? find(kernel, false) : NULL;
    return argument < ARGUMENTS && (!at || !(at->writes >> argument & 1));
}

void od_runtime_note_failure(const void *kernel, int32_t argument, od_learnt_strides *learnt)
{
    learnt->seen = false;
    if (++learnt->failures != MOST_FAILURES)
        return;
    find(kernel, true)->faults[argument] = MOST_FAULTS;
    tell_that_it_uses_all(kernel, (unsigned)argument);
}

od_learnt_strides *od_runtime_known_strides(const void *kernel, int32_t argument, uint32_t number, bool add)
{
    known *at = argument < ARGUMENTS && number < ITEMS ? find(kernel, add) : NULL;
    if (at && !at->strides && add)
        at->strides = od_calloc(ARGUMENTS, sizeof *at->strides);
    return at && at->strides ? &at->strides[argument][number] : NULL;
}

/* What all items of the argument name. False: it has none. */
static bool state_of(const known *at, unsigned argument, od_footprint_state *state)
{
    bool any = false, all = true;
    for (unsigned i = 0; at->strides && i < ITEMS; i++) {
        const od_learnt_strides *s = &at->strides[argument][i];
        bool is_item = s->seen || s->failures || s->mixed || s->strides.count;
        any |= is_item;
        all &= !is_item || s->seen;
    }
    *state = at->faults[argument] >= MOST_FAULTS ? OD_FOOTPRINT_ALL
             : all                               ? OD_FOOTPRINT_LEARNT
                                                 : OD_FOOTPRINT_LEARNING;
    return any || *state == OD_FOOTPRINT_ALL;
}

void od_runtime_visit_footprints(od_note_footprint *note, void *arg)
{
    od_footprint_state state;
    for (unsigned i = 0; table && i < KERNELS; i++)
        for (unsigned argument = 0; table[i].kernel && argument < ARGUMENTS; argument++)
            if (state_of(&table[i], argument, &state))
                note(table[i].kernel, argument, state, arg);
}
