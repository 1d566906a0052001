/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * What kernels touch of an array in parts without having named it.
 *
 * While a kernel runs, its view of the window is open where its task's data are, and closed elsewhere; data that the
 * task only reads can only be read. All else is a page fault, and brings the page at once from where it is current.
 * A running kernel may have to share a page with others on other devices, that work on other bytes of it: so such a
 * page has one writer, or several readers, which take it from each other as in shared virtual memory (Li and Hudak,
 * Memory coherence in shared virtual memory systems, 1989). When a task ends, the pages that it had are current there
 * for all: what was written goes to every replica of the part. Until then the engine lets nobody else begin to use the
 * part (sched/engine/data/pages.c).
 *
 * The engine's lock protects everything here, and is held while a page is copied.
 */
#include "omp_ext/runtime/internal.h"

#include "memmgr/data/spill.h"
#include "omp_ext/process/fatal.h"
#include "omp_ext/process/memory.h"
#include "omp_ext/process/signals/faults.h"
#include "omp_ext/runtime/parts/order.h"
#include "omp_ext/runtime/parts/turns.h"
#include "util/clock.h"
#include "util/container/tree.h"
#include "util/memory.h"

#include <stdlib.h>
#include <string.h>

typedef struct page {
    od_node link;      /* in `pages` */
    od_tree_node node; /* in `by_address` */
    od_window *window;
    uintptr_t base; /* what of it lies in the array */
    size_t size;
    od_datum *part;
    od_placeset readers; /* devices that have its contents, which are current where it has no writer */
    int writer;          /* the one device that may write to it, or OD_NOWHERE */
    bool dirty;          /* written to since it was the same everywhere */
    unsigned moves;      /* how often it has been written to on another device than before */
    od_placeset visible; /* views in which it is not closed: numbers as those of devices, and one more */
    od_placeset counted; /* devices that have memory for it beside their parts */
    size_t account[];
} page;

static od_list pages = {.root = {&pages.root, &pages.root}}; /* oldest first; od_runtime.lock */
static od_tree by_address;

static od_turns turns; /* for pages that move often */

enum { MANY_MOVES = 8 };

static struct {
    unsigned beside; /* pages that it has beside its parts */
    unsigned taken;  /* how often one was taken from kernels that are still open */
} device[OD_RUNTIME_VIEWS];

/* --- what kernels may do ------------------------------------------------------- */

static size_t nvisible; /* pages, in each view */

static void note_visible(page *p, unsigned k, bool visible)
{
    nvisible -= od_placeset_has(p->visible, k) ? 1 : 0;
    nvisible += visible;
    (visible ? od_placeset_add : od_placeset_remove)(&p->visible, k);
}

static void set_access(page *p, unsigned k)
{
    bool reads = od_placeset_has(p->readers, k), writes = p->writer == (int)k;
    od_runtime_protect(p->window, k, p->base, p->size,
                       writes ? OD_WINDOW_OPEN : reads ? OD_WINDOW_READABLE : OD_WINDOW_CLOSED);
    note_visible(p, k, reads || writes);
}

/* --- contents ------------------------------------------------------------------- */

/* Where a device has it for kernels that have not named it. */
static char *seen(const page *p, unsigned k)
{
    return od_window_copies(p->window, k, p->base);
}

/* Where a place has it in its copy of the part: that may be in another window, or in none. */
static char *held(const page *p, int place)
{
    const od_datum *d = p->part;
    size_t offset = p->base - d->base;
    if (place == OD_HOST)
        return (char *)p->base;
    if (place == OD_SPILL)
        return od_spill_address(d->region->spill, p->base);
    if (d->window)
        return od_window_copies(d->window, (unsigned)place, p->base);
    return (char *)od_runtime.backend.pool_address[place] + d->replica[place].offset + offset;
}

/* To or from device k. */
static void copy(const page *p, unsigned k, char *to, const char *from)
{
    if (to == from)
        return;
    memcpy(to, from, p->size);
    if (k != od_runtime_outside())
        od_engine_count_page(od_runtime.engine, k, p->size);
}

/* Where it is current, while it has no writer; NULL: its contents may be any. */
static const char *source(const page *p)
{
    if (!od_placeset_is_empty(p->readers))
        return seen(p, od_placeset_first(p->readers));
    int place = od_engine_part_source(od_runtime.engine, p->part);
    return place == OD_NOWHERE ? NULL : held(p, place);
}

/* What has been written there is the same everywhere afterwards. */
static void publish(page *p, unsigned from)
{
    od_placeset holders = od_engine_part_holders(od_runtime.engine, p->part);
    for (int to = 0; to <= OD_HOST; to++) {
        if (od_placeset_has(holders, to))
            copy(p, from, held(p, to), seen(p, from));
        if (to < OD_SPILL && od_placeset_has(p->readers, to))
            copy(p, from, seen(p, (unsigned)to), seen(p, from));
    }
    p->dirty = false;
}

/* --- memory --------------------------------------------------------------------- */

static void leave(page *p, unsigned k);

/* Of those that the device has beside its parts, the one that it has had longest. */
static page *oldest(unsigned k, const page *but)
{
    od_list_each(node, &pages) {
        page *p = od_container_of(node, page, link);
        if (p != but && od_placeset_has(p->counted, k))
            return p;
    }
    return NULL;
}

static bool has_it_in_its_part(const page *p, unsigned k)
{
    return p->part->window == p->window && p->part->replica[k].state == OD_PRESENT;
}

enum { MANY_BESIDE = 256 }; /* no kernel needs so many at once */

/* So many pages may exceed the device's limit: so few that they do not matter, or else as many as kernels need that
 * keep asking for what has been taken from them. */
static unsigned may_exceed(unsigned k)
{
    enum { FEW = 8, AGAIN = 16 };
    return FEW + device[k].taken / AGAIN;
}

static void take_memory(page *p, unsigned k)
{
    if (k == od_runtime_outside() || od_placeset_has(p->counted, k) || has_it_in_its_part(p, k))
        return;
    page *victim;
    bool taken = false;
    bool evicts = od_runtime_runs_by_pages(k);
    while (!(taken = od_engine_take_page(od_runtime.engine, k, evicts, &p->account[k])) &&
           device[k].beside >= may_exceed(k) && (victim = oldest(k, p))) {
        device[k].taken += device[k].beside < MANY_BESIDE;
        leave(victim, k);
    }
    if (!taken)
        p->account[k] = SIZE_MAX;
    od_placeset_add(&p->counted, k);
    device[k].beside++;
}

static void give_memory(page *p, unsigned k)
{
    if (k == od_runtime_outside())
        od_window_discard(p->window, k, p->base, p->size);
    if (!od_placeset_has(p->counted, k))
        return;
    od_placeset_remove(&p->counted, k);
    device[k].beside--;
    if (p->account[k] != SIZE_MAX)
        od_engine_give_page(od_runtime.engine, k, p->account[k]);
    if (!has_it_in_its_part(p, k))
        od_window_discard(p->window, k, p->base, p->size);
}

/* Another device, or nobody, has it instead. */
static void revoke(page *p, unsigned k)
{
    od_placeset_remove(&p->readers, k);
    if (p->writer == (int)k)
        p->writer = OD_NOWHERE;
    set_access(p, k);
    give_memory(p, k);
}

/* The device does without it. */
static void leave(page *p, unsigned k)
{
    od_runtime_protect(p->window, k, p->base, p->size, OD_WINDOW_CLOSED); /* other kernels may be at it */
    if (p->dirty)
        publish(p, k);
    revoke(p, k);
}

/* Each page is protected apart from what is around it, which the system does for so many. Those go that have been there
 * for longest. */
static void keep_few_visible(const page *but)
{
    size_t most = od_runtime_most_pages();
    if (nvisible <= most)
        return;
    od_list_each(node, &pages) {
        page *p = od_container_of(node, page, link);
        od_placeset_walk at = od_placeset_begin(p->visible);
        while (p != but && od_placeset_next(&at))
            leave(p, at.place);
        if (nvisible <= most - most / 4)
            return;
    }
}

/* --- faults ----------------------------------------------------------------------- */

/* Kernels that run may have it since they have named it. */
static void find_users(page *p)
{
    for (unsigned k = 0; k < od_runtime.backend.ndevices; k++)
        if (p->part->window == p->window && od_runtime_granted(p->part, k) != OD_WINDOW_CLOSED) {
            od_placeset_add(&p->readers, k);
            set_access(p, k);
            od_runtime_note_shown(p->part, k, OD_WINDOW_MIXED);
        }
}

static od_tree_key key_of(const od_window *window, uintptr_t base)
{
    return (od_tree_key){base, (uintptr_t)window};
}

static page *find_page(const od_window *window, uintptr_t base)
{
    od_tree_node *node = od_tree_find(&by_address, key_of(window, base));
    return node ? od_container_of(node, page, node) : NULL;
}

static page *add_page(od_window *window, uintptr_t base, size_t size, od_datum *part)
{
    page *p = od_calloc(1, sizeof *p + od_runtime.backend.ndevices * sizeof p->account[0]);
    od_expect_memory(p);
    p->window = od_window_hold(window);
    p->base = base;
    p->size = size;
    p->part = part;
    p->writer = OD_NOWHERE;
    od_runtime_hide_unused(part);
    od_list_push_back(&pages, &p->link);
    od_tree_insert(&by_address, &p->node, key_of(window, base));
    find_users(p);
    return p;
}

/* OD_EBUSY: its part is being transferred. */
static od_status borrow(od_window *window, uintptr_t base, size_t size, page **found)
{
    *found = find_page(window, base);
    if (*found)
        return OD_OK;
    od_datum *part;
    od_status status = od_engine_lend_part(od_runtime.engine, base, size, &part);
    if (status)
        return status;
    *found = add_page(window, base, size, part);
    return OD_OK;
}

static void bring(page *p, unsigned k)
{
    const char *from = source(p);
    take_memory(p, k);
    if (from && !od_placeset_has(p->readers, k))
        copy(p, k, seen(p, k), from);
}

/* Nobody writes to it from now on; where it is current, it is complete. */
static void stop_writer(page *p)
{
    int writer = p->writer;
    if (writer == OD_NOWHERE)
        return;
    p->writer = OD_NOWHERE;
    od_placeset_add(&p->readers, writer);
    set_access(p, (unsigned)writer);
}

static void grant_read(page *p, unsigned k)
{
    stop_writer(p);
    bring(p, k);
    od_placeset_add(&p->readers, k);
    set_access(p, k);
}

static void grant_write(page *p, unsigned k)
{
    if (p->writer == (int)k) {
        set_access(p, k); /* it has been closed so that a kernel shows what it touches */
        return;
    }
    stop_writer(p);
    bring(p, k);
    for (unsigned j = 0; j <= od_runtime_outside(); j++)
        if (j != k && (od_placeset_has(p->readers, j) || p->writer == (int)j))
            revoke(p, j);
    p->readers = od_placeset_of(k);
    p->writer = (int)k;
    p->dirty = true;
    p->moves++;
    set_access(p, k);
}

od_status od_runtime_give_page(od_window *window, uintptr_t base, unsigned k, const od_fault *fault,
                               od_page_given *given)
{
    page *p;
    uintptr_t begin = base < window->base ? window->base : base, end = base + od_window_page();
    end = end - window->base > window->size ? window->base + window->size : end;
    od_status status = borrow(window, begin, end - begin, &p);
    if (status)
        return status;
    if (p->moves > MANY_MOVES && !od_turns_take(&turns, k, fault->since_ns, od_clock_ns()))
        return OD_EBUSY;
    if (fault->write)
        grant_write(p, k);
    else
        grant_read(p, k);
    keep_few_visible(p);
    *given = (od_page_given){p->part, begin, end - begin};
    return OD_OK;
}

/* --- kernels begin and end ------------------------------------------------------------- */

/* Of a part with pages that others want, all but those: who may use them has been decided. */
static void update_around_pages(const od_datum *d, unsigned k, od_piece piece, od_window_access access)
{
    uintptr_t end = piece.begin + piece.size, next;
    for (uintptr_t at = piece.begin; at < end; at = next) {
        next = od_window_page_begin(at) + od_window_page();
        next = next < end ? next : end;
        if (!find_page(d->window, at))
            od_runtime_protect(d->window, k, at, next - at, access);
    }
}

static void update_lent(od_datum *d, unsigned k)
{
    od_shape shape = od_datum_shape(d);
    od_window_access access = od_runtime_granted(d, k);
    for (uint32_t i = 0, n = od_shape_count(shape); i < n; i++)
        update_around_pages(d, k, od_shape_piece(shape, i), access);
    od_runtime_note_shown(d, k, access == OD_WINDOW_CLOSED ? OD_WINDOW_CLOSED : OD_WINDOW_MIXED);
}

static void show_used(const od_task *task, unsigned k)
{
    for (uint32_t i = 0; i < task->naccess; i++) {
        od_datum *d = task->access[i].datum;
        if (d->window && d->lent)
            update_lent(d, k);
        else if (d->window)
            od_runtime_show(d, k, od_runtime_granted(d, k));
    }
}

static void leave_used(const od_task *task, unsigned k, bool failed)
{
    for (uint32_t i = 0; i < task->naccess; i++) {
        od_datum *d = task->access[i].datum;
        if (d->window && d->lent)
            update_lent(d, k);
        else if (d->window)
            od_runtime_leave_part(d, k, !failed && (task->access[i].mode & OD_WRITE));
    }
}

static void drop_page(page *p)
{
    nvisible -= od_placeset_count(p->visible); /* none is left */
    od_list_remove(&pages, &p->link);
    od_tree_remove(&by_address, &p->node);
    od_engine_return_part(od_runtime.engine, p->part);
    od_window_release(p->window);
    free(p);
}

/* What the device's kernels have written is everybody's; those that still run there have to ask again. */
static void settle_pages(unsigned k)
{
    od_list_each(node, &pages) {
        page *p = od_container_of(node, page, link);
        if (od_placeset_has(p->readers, k) || p->writer == (int)k)
            leave(p, k);
        if (od_placeset_is_empty(p->readers) && p->writer == OD_NOWHERE)
            drop_page(p);
    }
}

/* What was written there goes to where the contents are; then there is nothing left of it. */
static void settle(unsigned k)
{
    settle_pages(k);
    if (od_runtime_kernels[k].count)
        return;
    device[k].taken = 0;
    od_turns_end(&turns, k, od_clock_ns());
}

static od_status reserve_outside(const od_task *task)
{
    od_status status = OD_OK;
    for (uint32_t i = 0; i < task->naccess && !status; i++) {
        od_window *window = task->access[i].datum->window;
        status = window ? od_window_reserve_outside(window) : OD_OK;
        if (window && !status)
            od_faults_add((uintptr_t)window->view[od_runtime_outside()].kernel,
                          (uintptr_t)window->view[od_runtime_outside()].kernel + window->size);
    }
    return status;
}

/* What the kernels there learn of themselves would be of another one. */
static void disturb_learning(unsigned k)
{
    for (unsigned t = 0; t < od_runtime_kernels[k].count; t++)
        od_runtime_disturb_learning(od_runtime_kernels[k].task[t]);
}

od_status od_runtime_open_pages(od_task *task, unsigned k)
{
    od_order_await(od_order_turn(task)); /* others' slices may be there, too */
    od_runtime_lock();
    od_status status = k == od_runtime_outside() ? reserve_outside(task) : OD_OK;
    if (!status) {
        od_order_note_begun(task, k);
        disturb_learning(k);
        task->by_pages = true;
        od_runtime_begin_kernel(task, k);
    }
    od_runtime_unlock();
    return status;
}

void od_runtime_close_pages(const od_task *task, unsigned k)
{
    od_runtime_lock();
    od_runtime_end_kernel(task, k);
    settle(k);
    od_runtime_unlock();
}

/* All that its kernel touches shows. */
static void close_to_learn(const od_task *task, unsigned k)
{
    for (uint32_t i = 0; i < task->naccess; i++)
        if (task->access[i].datum->window) {
            od_runtime_hide_window(task->access[i].datum->window, k);
            od_runtime_show(task->access[i].datum, k, OD_WINDOW_CLOSED);
        }
}

/* What its kernel uses beside what its task names shows. */
static void hide_others(const od_task *task, unsigned k)
{
    const od_window *last = NULL;
    for (uint32_t i = 0; i < task->naccess; i++) {
        const od_window *window = task->access[i].datum->window;
        if (window && window != last)
            od_runtime_hide_window(window, k);
        last = window;
    }
}

void od_runtime_open_parts(od_task *task, unsigned k)
{
    od_runtime_lock();
    if (od_order_is_early(task))
        hide_others(task, k);
    od_order_note_begun(task, k);
    od_runtime_begin_kernel(task, k);
    od_runtime_begin_to_learn(task);
    if (od_runtime_kernels[k].count > 1)
        disturb_learning(k);
    if (od_runtime_is_watched(task))
        close_to_learn(task, k);
    else
        show_used(task, k);
    od_runtime_unlock();
}

void od_runtime_close_parts(const od_task *task, unsigned k, bool failed)
{
    od_runtime_lock();
    od_runtime_end_kernel(task, k);
    leave_used(task, k, failed);
    od_runtime_end_to_learn(task);
    settle(k);
    od_runtime_unlock();
}
