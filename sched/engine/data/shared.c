/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Arrays in parts whose memory the host's driver shares with all devices (od_window.area): kernels may write there
 * what their tasks do not name, and nobody tells. All of it is where the contents are, so only what the program's
 * memory holds beside may be old by then: it does not count any more where kernels begin or end.
 */
#include "sched/engine/internal.h"

static bool is_shared(const od_datum *d)
{
    return d->region && d->window && d->window->area;
}

void od_shared_came_home(const od_datum *d)
{
    if (is_shared(d))
        d->region->returned = true;
}

static bool forget_home(od_datum *d, void *arg)
{
    (void)arg;
    if (!od_placeset_is_only(d->valid, OD_HOST))
        od_placeset_remove(&d->valid, OD_HOST);
    return true;
}

void od_shared_used(od_engine *e, const od_datum *d)
{
    if (!is_shared(d) || !d->region->returned)
        return;
    d->region->returned = false;
    od_directory_visit(e->directory, d->region->base, d->region->size, forget_home, NULL);
}
