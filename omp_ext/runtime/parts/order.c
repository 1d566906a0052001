/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* See order.h. */
#include "omp_ext/runtime/parts/order.h"

#include "omp_ext/process/fatal.h"
#include "omp_ext/process/memory.h"
#include "omp_ext/runtime/internal.h"
#include "util/thread.h"

#include <stdatomic.h>

bool od_order_progress;

static atomic_uint_least64_t first; /* the launch that has not ended while slices of the next one begin; 0: none */
static bool has_begun;              /* some of these have */

/* What slices of the second launch may use, as their tasks say, or page faults have shown. */
typedef struct use {
    const od_window *window;
    uintptr_t base;
    size_t size;
    bool write;
} use;
static use *uses; /* malloc'ed */
static size_t nuses, room;

const od_turn *od_order_turn(const od_task *task)
{
    return ((const od_job *)task->user)->turn;
}

/* --- launches ---------------------------------------------------------------------- */

bool od_order_open(uint64_t launch)
{
    for (unsigned k = 0; k <= od_runtime_outside(); k++)
        for (unsigned t = 0; t < od_runtime_kernels[k].count; t++) {
            const od_turn *turn = od_order_turn(od_runtime_kernels[k].task[t]);
            if (!turn || turn->launch != launch)
                return false;
        }
    atomic_store(&first, launch);
    has_begun = false;
    nuses = 0;
    return true;
}

void od_order_close(void)
{
    if (atomic_exchange(&first, 0))
        pthread_cond_broadcast(&od_runtime.changed);
}

static bool is_before(const od_turn *turn)
{
    uint64_t launch = atomic_load(&first);
    return launch && turn->launch > launch;
}

bool od_order_is_early(const od_task *task)
{
    const od_turn *turn = od_order_turn(task);
    return turn && is_before(turn);
}

void od_order_await(const od_turn *turn)
{
    if (!turn || !is_before(turn))
        return;
    (void)od_runtime_lock();
    od_runtime.waiting++;
    while (is_before(turn))
        od_condition_wait(&od_runtime.changed, &od_runtime.lock);
    od_runtime.waiting--;
    od_runtime_unlock();
}

/* --- what slices use --------------------------------------------------------------- */

void od_order_note_use(const od_window *window, uintptr_t base, size_t size, bool write)
{
    if (nuses == room) {
        room = room ? 2 * room : 64;
        uses = od_alloc_more(uses, room * sizeof *uses);
    }
    uses[nuses++] = (use){window, base, size, write};
}

static void note_named(const od_task *task)
{
    for (uint32_t i = 0; i < task->naccess; i++) {
        const od_datum *d = task->access[i].datum;
        if (d->window)
            od_order_note_use(d->window, d->base, d->size, task->access[i].mode & OD_WRITE);
    }
}

void od_order_note_begun(const od_task *task, unsigned k)
{
    od_turn *turn = ((od_job *)task->user)->turn;
    if (!turn)
        return;
    turn->place = (int)k;
    od_runtime_set_flag(&od_order_progress);
    if (first && turn->launch > first) {
        has_begun = true;
        note_named(task);
    }
    if (turn->launch == first && has_begun)
        od_fatal("a slice of a kernel has to begin again on another device, and slices of the next kernel, which "
                 "OMPDARTS_SLICE=eager lets begin early, may have used what it writes");
}

bool od_order_uses(const od_window *window, uintptr_t host, bool write)
{
    for (size_t i = 0; first && i < nuses; i++)
        if (uses[i].window == window && host - uses[i].base < uses[i].size && (write || uses[i].write))
            return true;
    return false;
}
