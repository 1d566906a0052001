/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What page faults have shown of kernels, per argument. Kernels that find no room in the table are taken for what they
 * say for ever. Under the lock. */
#include "omp_ext/runtime/internal.h"

#include "memmgr/window/cut.h"
#include "memmgr/window/window.h"
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

static uint32_t page_of(const od_window *window, uintptr_t host)
{
    return (uint32_t)((host - od_window_page_begin(window->base)) / od_window_page());
}

/* Of the share that the address is in. NULL: the argument is not looked at. */
static od_touched_pages *pages_at(od_touched *touched, int32_t argument, const od_touch *touch)
{
    od_shares shares = {touch->window->base, touch->window->size, touched->shares};
    if ((unsigned)argument >= touched->arguments)
        return NULL;
    return &touched->pages[(unsigned)argument * touched->shares + od_share_of(&shares, touch->host)];
}

static void note_touched(od_touched_pages *pages, const od_touch *touch)
{
    uint32_t page = page_of(touch->window, touch->host);
    od_page_range opened = {page_of(touch->window, touch->opened),
                            page_of(touch->window, touch->opened + touch->size - 1) + 1};
    if (!touch->write) {
        pages->read = od_page_range_around(pages->read, opened);
        return;
    }
    pages->written = od_page_range_around(pages->written, (od_page_range){page, page + 1});
    pages->opened = od_page_range_around(pages->opened, opened);
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

static bool is_argument(const od_task *task, int32_t i, const od_touch *touch)
{
    int32_t access = ((const od_job *)task->user)->launch.access_of[i];
    return access >= 0 && task->access[access].datum->window == touch->window;
}

void od_runtime_note_fault(const od_task *task, const od_touch *touch)
{
    const od_job *job = task->user;
    for (int32_t i = 0; i < job->launch.call.map.count && i < ARGUMENTS; i++) {
        if (!is_argument(task, i, touch))
            continue;
        od_touched_pages *pages = job->touched ? pages_at(job->touched, i, touch) : NULL;
        if (pages)
            note_touched(pages, touch);
        else if (!job->touched)
            note(job->launch.call.kernel, (unsigned)i, touch->write);
    }
}

uint32_t od_runtime_pages_around(const od_task *task, const od_touch *touch)
{
    const od_job *job = task->user;
    uint32_t most = 0;
    for (int32_t i = 0; i < job->launch.call.map.count && i < ARGUMENTS; i++) {
        const od_touched_pages *pages =
            job->touched && is_argument(task, i, touch) ? pages_at(job->touched, i, touch) : NULL;
        uint32_t length = pages ? od_page_range_length(touch->write ? pages->opened : pages->read) : 0;
        most = length > most ? length : most;
    }
    return most;
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
