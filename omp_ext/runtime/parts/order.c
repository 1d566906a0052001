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
static od_placeset begun;           /* where these have */

/* What kernels on these devices could do since then, and perhaps cannot any more. */
typedef struct past {
    uintptr_t base;
    size_t size;
    od_window_access access;
} past;
static past *had; /* malloc'ed */
static size_t nhad, room;

/* What the tasks of slices of the second launch name. */
typedef struct name {
    const od_window *window;
    uintptr_t base;
    size_t size;
    od_window_access access;
} name;
static name *named; /* malloc'ed */
static size_t nnamed, names_room;

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
    begun = OD_NO_PLACES;
    nhad = nnamed = 0;
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

/* --- what slices have had ------------------------------------------------------------ */

bool od_order_names(const od_window *window)
{
    bool is_named = false;
    for (size_t i = 0; i < nnamed && !is_named; i++)
        is_named = named[i].window == window;
    return is_named;
}

od_window_access od_order_named(uintptr_t host)
{
    od_window_access most = OD_WINDOW_CLOSED;
    for (size_t i = 0; i < nnamed; i++)
        if (host - named[i].base < named[i].size && named[i].access > most)
            most = named[i].access;
    return most;
}

static void note_names(const od_task *task)
{
    for (uint32_t i = 0; i < task->naccess; i++) {
        const od_datum *d = task->access[i].datum;
        od_window_access access = (task->access[i].mode & OD_WRITE) ? OD_WINDOW_OPEN : OD_WINDOW_READABLE;
        if (!d->window)
            continue;
        if (nnamed == names_room) {
            names_room = names_room ? 2 * names_room : 64;
            named = od_alloc_more(named, names_room * sizeof *named);
        }
        named[nnamed++] = (name){d->window, d->base, d->size, access};
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
        od_placeset_add(&begun, k);
        note_names(task);
    }
    if (turn->launch == first && !od_placeset_is_empty(begun))
        od_fatal("a slice of a kernel has to begin again on another device, and slices of the next kernel, which "
                 "OMPDARTS_SLICE=eager lets begin early, may have used what it writes");
}

static void add(uintptr_t base, size_t size, od_window_access access)
{
    if (nhad == room) {
        room = room ? 2 * room : 64;
        had = od_alloc_more(had, room * sizeof *had);
    }
    had[nhad++] = (past){base, size, access};
}

void od_order_note_shown(const od_datum *part, unsigned k, od_window_access before)
{
    if (!first || before == OD_WINDOW_CLOSED || !od_placeset_has(begun, k))
        return;
    /* Where it is mixed the rest is single pages (od_order_note_page). */
    od_window_access access = before == OD_WINDOW_MIXED ? od_order_named(part->base) : before;
    if (access != OD_WINDOW_CLOSED)
        add(part->base, part->size, access);
}

void od_order_note_page(uintptr_t page, bool write)
{
    add(page, od_window_page(), write ? OD_WINDOW_OPEN : OD_WINDOW_READABLE);
}

uint64_t od_order_first(od_placeset *where)
{
    *where = begun;
    return first;
}

bool od_order_forbids(od_window_access access, bool write)
{
    return access != OD_WINDOW_CLOSED && (write || access != OD_WINDOW_READABLE);
}

bool od_order_had(uintptr_t host, bool write)
{
    for (size_t i = 0; i < nhad; i++)
        if (host - had[i].base < had[i].size && od_order_forbids(had[i].access, write))
            return true;
    return false;
}
