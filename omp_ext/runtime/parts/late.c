/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* See late.h. */
#include "omp_ext/runtime/parts/late.h"

#include "omp_ext/process/fatal.h"
#include "omp_ext/runtime/internal.h"
#include "omp_ext/services/source.h"

#include <stdio.h>

static _Noreturn void fail(const od_task *slice)
{
    static char text[512];
    const od_source *source = od_source_of(((const od_job *)slice->user)->cost);
    snprintf(text, sizeof text,
             "a slice of kernel %s uses what slices of the next kernel have used, which began early; run it with "
             "OMPDARTS_SLICE=auto instead of eager",
             source ? source->name : "?");
    od_fatal(text);
}

/* One of those that run on device k, which are of one launch; NULL: there are none. */
static const od_task *slice_on(unsigned k)
{
    for (unsigned t = 0; t < od_runtime_kernels[k].count; t++)
        if (od_order_turn(od_runtime_kernels[k].task[t]))
            return od_runtime_kernels[k].task[t];
    return NULL;
}

/* By one of them: whichever asks, no slice of the first launch that has not ended is in the way. */
static bool is_expected(unsigned k, const od_window *window, uintptr_t host, bool write)
{
    bool is = false;
    for (unsigned t = 0; t < od_runtime_kernels[k].count && !is; t++) {
        const od_turn *turn = od_order_turn(od_runtime_kernels[k].task[t]);
        is = turn && turn->expects(turn, window, host, write);
    }
    return is;
}

od_status od_late_check(const od_window *window, uintptr_t host, unsigned k, bool write)
{
    const od_task *slice = slice_on(k);
    bool is_early = slice && od_order_is_early(slice);
    if (is_early && !is_expected(k, window, host, write))
        return OD_EBUSY;
    if (is_early)
        od_order_note_use(window, od_window_page_begin(host), od_window_page(), write);
    else if (slice && od_order_uses(window, host, write))
        fail(slice);
    return OD_OK;
}

void od_late_note_opened(const od_datum *part, unsigned k)
{
    const od_task *slice = slice_on(k);
    if (slice && od_order_is_early(slice))
        od_order_note_use(part->window, part->base, part->size, true);
}
