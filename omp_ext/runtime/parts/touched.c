/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Page faults of kernels, and what they show: of slices and of others, which pages they use. Under the
 * lock. */
#include "omp_ext/runtime/internal.h"

#include "memmgr/window/cut.h"
#include "memmgr/window/window.h"

static od_page_range pages_from(const od_window *window, uintptr_t begin, uintptr_t end)
{
    return (od_page_range){od_page_of(window->base, begin), od_page_of(window->base, end - 1) + 1};
}

enum {
    MOST_SCATTERED = 64, /* whoever has more faults beside no other page of theirs goes anywhere */
    MANY_PAGES = 4096,   /* of an array: slices that write anywhere in it would take them from each other one by one */
};

static bool goes_anywhere(const od_touched_pages *pages, const od_touch *touch)
{
    size_t npages = touch->window->size / od_window_page();
    return pages->scattered > MOST_SCATTERED && (!touch->write || npages > MANY_PAGES);
}

/* What was opened gradually before the page that comes next was used, too. */
static void note_touched(od_touched_pages *pages, const od_touch *touch)
{
    uint32_t page = od_page_of(touch->window->base, touch->host);
    od_page_range opened = pages_from(touch->window, touch->opened, touch->opened + touch->size);
    od_page_range around = od_page_set_around(touch->write ? &pages->opened : &pages->ahead, page);
    bool anywhere = goes_anywhere(pages, touch);
    pages->scattered += od_page_range_length(around) == 1;
    if (touch->write && (!pages->lowest || touch->host < pages->lowest))
        pages->lowest = touch->host;
    od_page_set_add(touch->write ? &pages->written : &pages->read,
                    anywhere           ? opened
                    : touch->gradually ? around
                                       : (od_page_range){page, page + 1});
    od_page_set_add(touch->write ? &pages->opened : &pages->ahead, opened);
}

/* NULL: the argument is not looked at. */
static od_touched_pages *pages_of(const od_job *job, int32_t argument)
{
    od_touched *touched = job->touched;
    return touched && (unsigned)argument < touched->arguments ? &touched->pages[argument] : NULL;
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
        od_touched_pages *pages = pages_of(job, i);
        if (pages)
            note_touched(pages, touch);
        else if (!job->touched)
            note_more(&job->launch, i, touch);
    }
}

uint32_t od_runtime_pages_around(const od_task *task, const od_touch *touch, od_span within)
{
    const od_job *job = task->user;
    uint32_t most = 0, page = od_page_of(touch->window->base, touch->host);
    od_page_range bounds = pages_from(touch->window, within.begin, within.end);
    for (int32_t i = 0; i < job->launch.call.map.count && i < OD_TOUCHED_ARGUMENTS; i++) {
        const od_touched_pages *pages = is_argument(task, i, touch) ? pages_of(job, i) : NULL;
        if (!pages)
            continue;
        if (pages->scattered > MOST_SCATTERED)
            return UINT32_MAX;
        od_page_range around = od_page_set_around(touch->write ? &pages->opened : &pages->ahead, page);
        around.first = around.first > bounds.first ? around.first : bounds.first;
        around.end = around.end < bounds.end ? around.end : bounds.end;
        most = od_page_range_length(around) > most ? od_page_range_length(around) : most;
    }
    return most;
}

bool od_runtime_is_watched(const od_task *task)
{
    const od_job *job = task->user;
    return job->touched ? job->touched->learns : od_runtime_learns(task);
}
