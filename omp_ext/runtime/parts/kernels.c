/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The kernels that run with parts of arrays, by device, and outside of all. Under the lock. */
#include "omp_ext/runtime/internal.h"

#include "omp_ext/process/memory.h"

od_running_kernels od_runtime_kernels[OD_RUNTIME_VIEWS];

unsigned od_runtime_outside(void)
{
    return od_runtime.backend.ndevices;
}

void od_runtime_begin_kernel(od_task *task, unsigned k)
{
    od_running_kernels *kernels = &od_runtime_kernels[k];
    if (kernels->count == kernels->capacity) {
        kernels->capacity = kernels->capacity ? 2 * kernels->capacity : 16;
        kernels->task = od_alloc_more(kernels->task, kernels->capacity * sizeof(od_task *));
    }
    kernels->task[kernels->count++] = task;
}

void od_runtime_end_kernel(const od_task *task, unsigned k)
{
    unsigned i = 0;
    while (od_runtime_kernels[k].task[i] != task)
        i++;
    od_runtime_kernels[k].task[i] = od_runtime_kernels[k].task[--od_runtime_kernels[k].count];
}

bool od_runtime_runs_by_pages(unsigned k)
{
    for (unsigned t = 0; t < od_runtime_kernels[k].count; t++)
        if (od_runtime_kernels[k].task[t]->by_pages)
            return true;
    return false;
}

unsigned od_runtime_least_busy(void)
{
    unsigned least = 0;
    od_runtime_lock();
    for (unsigned k = 1; k < od_runtime.backend.ndevices; k++)
        if (od_runtime_kernels[k].count < od_runtime_kernels[least].count)
            least = k;
    od_runtime_unlock();
    return least;
}

/* Of what its task names: nothing where it runs by pages alone. */
static od_window_access granted_to(const od_task *task, const od_datum *d)
{
    od_window_access access = OD_WINDOW_CLOSED;
    for (uint32_t i = 0; !task->by_pages && i < task->naccess; i++) {
        od_window_access own = (task->access[i].mode & OD_WRITE) ? OD_WINDOW_OPEN : OD_WINDOW_READABLE;
        if (task->access[i].datum == d && own > access)
            access = own;
    }
    return access;
}

od_window_access od_runtime_granted(const od_datum *d, unsigned k)
{
    od_window_access access = OD_WINDOW_CLOSED;
    for (unsigned t = 0; t < od_runtime_kernels[k].count; t++) {
        od_window_access own = granted_to(od_runtime_kernels[k].task[t], d);
        access = own > access ? own : access;
    }
    return access;
}

od_window *od_runtime_find_window(uintptr_t at, unsigned *k, uintptr_t *host)
{
    for (*k = 0; *k <= od_runtime_outside(); ++*k)
        for (unsigned t = 0; t < od_runtime_kernels[*k].count; t++)
            for (uint32_t i = 0; i < od_runtime_kernels[*k].task[t]->naccess; i++) {
                od_window *window = od_runtime_kernels[*k].task[t]->access[i].datum->window;
                if (window && at - (uintptr_t)window->view[*k].kernel < window->size) {
                    *host = window->base + (at - (uintptr_t)window->view[*k].kernel);
                    return window;
                }
            }
    return NULL;
}

bool od_runtime_runs_in(const od_window *window)
{
    for (unsigned k = 0; k <= od_runtime_outside(); k++)
        for (unsigned t = 0; t < od_runtime_kernels[k].count; t++)
            for (uint32_t i = 0; i < od_runtime_kernels[k].task[t]->naccess; i++)
                if (od_runtime_kernels[k].task[t]->access[i].datum->window == window)
                    return true;
    return false;
}

void od_runtime_note_faults(unsigned k, const od_datum *part, uint64_t since_ns, const od_touch *touch)
{
    if (k == od_runtime_outside())
        return;
    od_engine_count_fault(od_runtime.engine, k, part, since_ns);
    for (unsigned t = 0; t < od_runtime_kernels[k].count; t++)
        if (!od_runtime_kernels[k].task[t]->by_pages)
            od_runtime_note_fault(od_runtime_kernels[k].task[t], touch);
}
