/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What page faults have shown of kernels, per argument. Kernels that find no room in the table are taken for what they
 * say for ever. Under the lock. */
#include "omp_ext/runtime/internal.h"

#include "memmgr/window/shares.h"
#include "util/log.h"
#include "util/memory.h"

enum { KERNELS = 256, ARGUMENTS = OD_TOUCHED_ARGUMENTS, TRIES = 8, MOST_FAULTS = 64 };

typedef struct known {
    const void *kernel;
    unsigned faults[ARGUMENTS];
    uint64_t writes; /* bit i: it has written to argument i */
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

/* Of the share that the address is in. NULL: the argument is not looked at. */
static od_touched_pages *pages_at(od_touched *touched, int32_t argument, const od_window *window, uintptr_t host)
{
    od_shares shares = {window->base, window->size, touched->shares};
    if ((unsigned)argument >= touched->arguments)
        return NULL;
    return &touched->pages[(unsigned)argument * touched->shares + od_share_of(&shares, host)];
}

/* True once it has been so many pages that the rest need not be counted. */
static bool note_touched(od_touched_pages *pages, bool write, bool all)
{
    uint16_t *count = !pages ? NULL : write ? &pages->written : &pages->read;
    if (count && *count <= OD_FEW_PAGES)
        *count = all ? OD_FEW_PAGES + 1 : *count + 1;
    return !count || *count > OD_FEW_PAGES;
}

static void note(const void *kernel, unsigned argument, bool write)
{
    known *at = find(kernel, true);
    if (!at)
        return;
    if (write)
        at->writes |= UINT64_C(1) << argument;
    if (++at->faults[argument] == MOST_FAULTS)
        od_log(OD_LOG_INFO, "runtime",
               "region %p touches more of its argument %u than depend clauses name: it uses all of it from now on",
               kernel, argument + 1);
}

bool od_runtime_note_fault(const od_task *task, const od_window *window, uintptr_t host, bool write, bool all)
{
    const od_job *job = task->user;
    const od_launch *launch = &job->launch;
    bool enough = false;
    for (int32_t i = 0; i < launch->call.map.count && i < ARGUMENTS; i++) {
        if (launch->access_of[i] < 0 || task->access[launch->access_of[i]].datum->window != window)
            continue;
        if (job->touched)
            enough |= note_touched(pages_at(job->touched, i, window, host), write, all);
        else
            note(launch->call.kernel, (unsigned)i, write);
    }
    return enough;
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
