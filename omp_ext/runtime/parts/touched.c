/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Page faults of kernels, and what they show: of slices, what they use of each share; of others, which pages. Under the
 * lock. */
#include "omp_ext/runtime/internal.h"

#include "memmgr/window/cut.h"
#include "memmgr/window/window.h"

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

static void note_more(const od_launch *launch, int32_t argument, const od_touch *touch)
{
    bool named = od_runtime_is_named(launch->names, argument);
    od_runtime_note_more(launch->call.kernel, (unsigned)argument, named, touch->write);
    if (named)
        od_runtime_note_touched(launch->names, touch);
}

static bool is_argument(const od_task *task, int32_t i, const od_touch *touch)
{
    int32_t access = ((const od_job *)task->user)->launch.access_of[i];
    return access >= 0 && task->access[access].datum->window == touch->window;
}

void od_runtime_note_fault(const od_task *task, const od_touch *touch)
{
    const od_job *job = task->user;
    for (int32_t i = 0; i < job->launch.call.map.count && i < OD_TOUCHED_ARGUMENTS; i++) {
        if (!is_argument(task, i, touch))
            continue;
        od_touched_pages *pages = job->touched ? pages_at(job->touched, i, touch) : NULL;
        if (pages)
            note_touched(pages, touch);
        else if (!job->touched)
            note_more(&job->launch, i, touch);
    }
}

uint32_t od_runtime_pages_around(const od_task *task, const od_touch *touch)
{
    const od_job *job = task->user;
    uint32_t most = 0;
    for (int32_t i = 0; i < job->launch.call.map.count && i < OD_TOUCHED_ARGUMENTS; i++) {
        const od_touched_pages *pages =
            job->touched && is_argument(task, i, touch) ? pages_at(job->touched, i, touch) : NULL;
        uint32_t length = pages ? od_page_range_length(touch->write ? pages->opened : pages->read) : 0;
        most = length > most ? length : most;
    }
    return most;
}
