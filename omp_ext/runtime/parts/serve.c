/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What a kernel's page fault gets it: what it had named, where it is to show what it uses; or pages (pages.c). */
#include "omp_ext/runtime/internal.h"

#include "omp_ext/process/signals/faults.h"
#include "omp_ext/runtime/parts/ahead.h"
#include "omp_ext/runtime/parts/late.h"

/* --- what kernels have named ------------------------------------------------------ */

/* A datum that the kernels only seemed to read: where no other device uses it they are its writers from now on. NULL:
 * there is none, or another one does. */
static const od_datum *open_for_writing(od_window *window, uintptr_t host, unsigned k)
{
    const od_datum *opened = NULL;
    for (unsigned t = 0; t < od_runtime_kernels[k].count; t++) {
        od_task *task = od_runtime_kernels[k].task[t];
        for (uint32_t i = 0; !task->by_pages && i < task->naccess; i++) {
            od_datum *d = task->access[i].datum;
            if (d->window != window || !od_datum_contains(d, host))
                continue;
            if (!od_engine_write_too(od_runtime.engine, task, i))
                return NULL;
            od_runtime_show(d, k, OD_WINDOW_OPEN);
            opened = d;
        }
    }
    return opened;
}

/* Its rights are those of the task. */
static bool may_open(const od_access *access, const od_touch *touch)
{
    const od_datum *d = access->datum;
    return d->window == touch->window && od_datum_contains(d, touch->host) && !d->lent &&
           (!touch->write || (access->mode & OD_WRITE));
}

/* Of what is the task's, but closed in order to see how much of it the kernel uses: page by page at first, then more
 * and more at once, so that whoever goes through all of it has few faults; and all for whoever goes anywhere. */
static void open_around(const od_task *task, od_datum *d, unsigned k, od_touch *touch)
{
    enum { OPENED_AT_ONCE = 4 }; /* a fraction of what is in use */
    od_span piece;
    od_shape_first(od_datum_shape(d), touch->host, touch->host + 1, &piece);
    uint32_t used = od_runtime_pages_around(task, touch, piece);
    size_t more = used < OD_FEW_PAGES ? 0 : (size_t)used / OPENED_AT_ONCE * od_window_page();
    uintptr_t end = piece.end, first = od_window_page_begin(touch->host);
    if (end - touch->host > more + od_window_page())
        end = first + od_window_page() + more;
    touch->opened = first > piece.begin && first - piece.begin > more ? first - more : piece.begin;
    touch->size = end - touch->opened;
    touch->gradually = true;
    od_runtime_note_fault(task, touch);
    od_runtime_protect(touch->window, k, touch->opened, touch->size,
                       touch->write ? OD_WINDOW_OPEN : OD_WINDOW_READABLE);
    od_runtime_note_shown(d, k, OD_WINDOW_MIXED);
}

static bool open_for_learning(unsigned k, od_touch *touch)
{
    for (unsigned t = 0; t < od_runtime_kernels[k].count; t++) {
        const od_task *task = od_runtime_kernels[k].task[t];
        for (uint32_t i = 0; !task->by_pages && od_runtime_is_watched(task) && i < task->naccess; i++) {
            if (!may_open(&task->access[i], touch))
                continue;
            open_around(task, task->access[i].datum, k, touch);
            return true;
        }
    }
    return false;
}

/* --- pages ------------------------------------------------------------------------ */

static od_ahead streams[OD_RUNTIME_VIEWS]; /* of kernels that have named nothing there */

/* Of these, and of what is kept for them until they come, a device has room for all. */
static unsigned most_ahead(unsigned k)
{
    enum { SHARES = 2 * OD_AHEAD_STREAMS };
    if (k == od_runtime_outside())
        return OD_AHEAD_MOST;
    size_t pages = od_backend_pool_bytes(&od_runtime.backend, k) / od_window_page() / SHARES;
    return pages < 1 ? 1 : pages < OD_AHEAD_MOST ? (unsigned)pages : OD_AHEAD_MOST;
}

/* Pages after the one that has been given, as far as they can be had at once. */
static void go_ahead(od_window *window, uintptr_t page, unsigned k, unsigned n, const od_fault *fault)
{
    od_page_given given;
    while (n-- > 0 && (page += od_window_page()) - window->base < window->size)
        if (od_runtime_give_page(window, page, k, fault, &given))
            return;
}

static od_status give(od_window *window, uintptr_t host, unsigned k, const od_fault *fault)
{
    uintptr_t page = od_window_page_begin(host);
    od_fault first = *fault;
    od_page_given given;
    unsigned n = 1;
    if (od_runtime_runs_by_pages(k))
        n = od_ahead_note(&streams[k], window, page, od_window_page(), most_ahead(k), &first.write);
    od_status status = od_runtime_give_page(window, page, k, &first, &given);
    if (status)
        return status;
    od_touch touch = {window, host, given.begin, given.size, fault->write, false};
    od_runtime_note_faults(k, given.part, fault->since_ns, &touch);
    go_ahead(window, page, k, n - 1, &first);
    return OD_OK;
}

static od_status serve_locked(const od_fault *fault)
{
    unsigned k;
    uintptr_t host;
    od_window *window = od_runtime_find_window(fault->address, &k, &host);
    if (!window)
        return OD_EINVAL;
    od_status status = od_late_check(window, host, k, fault->write);
    if (status)
        return status;
    od_touch touch = {.window = window, .host = host, .write = fault->write};
    if (k != od_runtime_outside() && open_for_learning(k, &touch))
        return OD_OK;
    const od_datum *opened = fault->write && k != od_runtime_outside() ? open_for_writing(window, host, k) : NULL;
    if (!opened)
        return give(window, host, k, fault);
    od_late_note_opened(opened, k);
    touch.opened = opened->base;
    touch.size = opened->size;
    od_runtime_note_faults(k, opened, fault->since_ns, &touch);
    return OD_OK;
}

static od_status serve(const od_fault *fault)
{
    od_runtime_lock();
    od_status status = serve_locked(fault);
    od_runtime_unlock();
    return status;
}

od_status od_runtime_watch_pages(void)
{
    return od_faults_start(serve);
}
