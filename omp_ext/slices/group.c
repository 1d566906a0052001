/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* See group.h. */
#include "omp_ext/slices/group.h"

#include "omp_ext/libomp/thread.h"
#include "omp_ext/maps/uses/uses.h"
#include "omp_ext/process/memory.h"
#include "omp_ext/services/record/record.h"
#include "util/clock.h"
#include "util/container/list.h"
#include "util/memory.h"

#include <stdlib.h>
#include <string.h>

/* --- making them ------------------------------------------------------------------- */

static void destroy(od_job *job)
{
    od_touched_destroy(job->touched);
    od_job_destroy(job);
}

static void ended(od_job *job)
{
    od_group *g = job->slices;
    unsigned index = job->launch.call.slice->index;
    od_runtime_lock();
    g->surprises |= od_slicing_note_touched(g->slicing, index, job->touched);
    g->of[index].job = NULL;
    g->of[index].ended = true;
    g->left--;
    g->note_ended(g);
    od_runtime_unlock();
    destroy(job);
}

static bool expects(const od_turn *turn, const od_window *window, uintptr_t host, bool write)
{
    const od_group_slice *own = od_container_of(turn, const od_group_slice, turn);
    const od_group *g = own->group;
    const od_footprint *f = g->slicing->footprint;
    bool does = false;
    for (unsigned i = 0; f->slices == g->parts.count && i < f->arguments && !does; i++)
        does = g->array[i] == window && od_footprint_has(f, i, own->slice.index, od_page_of(window->base, host), write);
    return does;
}

static void await_turn(const od_slice *slice)
{
    od_order_await(&od_container_of(slice, od_group_slice, slice)->turn);
}

/* Its data come held, as for any task. */
static od_job *make_slice(od_group *g, const od_kernel_call *whole, unsigned index)
{
    od_kernel_call call = *whole;
    od_group_slice *own = &g->of[index];
    od_job *job = od_job_create(OD_JOB_KERNEL);
    od_expect_memory(job);
    own->group = g;
    own->device = g->parts.learns ? 0 : OD_NOWHERE;
    own->turn = (od_turn){.launch = g->launch, .place = OD_NOWHERE, .expects = expects};
    own->slice = (od_slice){.index = index,
                            .count = g->parts.count,
                            .trip_count = g->trip_count,
                            .seen = &g->slicing->seen,
                            .variables = &g->variables,
                            .grain = g->slicing->grain,
                            .together = g->slicing->together,
                            .await_turn = await_turn};
    call.slice = &own->slice;
    od_expect_memory(!od_launch_copy(&job->launch, &call));
    job->task.uses_spill = true;
    job->modes = od_thread_modes();
    job->ended = ended;
    job->slices = g;
    job->turn = &own->turn;
    job->touched = od_touched_create(g->parts.footprint);
    od_expect_memory(job->touched);
    g->parts.index = index;
    od_status status = od_launch_resolve_slice(&job->launch, &g->parts, &own->uses);
    od_expect_memory(status != OD_ENOMEM);
    if (status) {
        destroy(job);
        return NULL;
    }
    od_runtime_lock();
    od_uses_trust(&own->uses, NULL, 0, true);
    od_runtime_unlock();
    return job;
}

/* What there is of the arrays makes way for their shares, while nothing else of the launch is in use. False: others go
 * on using it in other parts. */
static bool prepare(const od_group *g, const od_map_args *args)
{
    enum { TRIES = 200 }; /* a tenth of a millisecond and more each */
    od_status status = OD_OK;
    for (int32_t i = 0; i < args->count && status != OD_EFULL; i++)
        for (unsigned tries = 0; od_arg_classify(args, i) == OD_ARG_DATUM && tries < TRIES; tries++) {
            status = od_parts_prepare(od_runtime_lock(), args, i, &g->parts);
            od_runtime_unlock();
            if (status != OD_EFULL)
                break;
            od_args_wait_for_overlap(args, i, tries);
        }
    return status != OD_EFULL;
}

static void note_used(od_group *g, unsigned index)
{
    od_group_slice *own = &g->of[index];
    size_t bytes = own->uses.count * sizeof *own->used;
    own->used = bytes ? od_alloc(bytes) : NULL;
    od_expect_memory(own->used || !bytes);
    if (bytes)
        memcpy(own->used, own->uses.access, bytes);
    own->nused = own->uses.count;
}

/* Arguments that are the same array have the same window. */
static void note_arrays(od_group *g, unsigned index)
{
    const od_launch *launch = &g->of[index].job->launch;
    for (int32_t i = 0; i < launch->call.map.count && i < OD_TOUCHED_ARGUMENTS; i++) {
        int32_t access = launch->access_of[i];
        g->array[i] = access < 0 ? NULL : g->of[index].uses.access[access].datum->window;
    }
}

static void free_group(od_group *g)
{
    for (unsigned i = 0; i < g->parts.count; i++)
        free(g->of[i].used);
    od_variables_free(&g->variables);
    free(g);
}

static od_group *give_up(od_group *g, unsigned made)
{
    for (unsigned i = 0; i < made; i++) {
        od_uses_release(&g->of[i].uses);
        destroy(g->of[i].job);
    }
    free_group(g);
    return NULL;
}

od_group *od_group_make(const od_kernel_call *call, od_slicing *s, od_parts_slice parts,
                        void (*note_ended)(od_group *group))
{
    static atomic_uint_least64_t launches;
    od_group *g = od_calloc(1, sizeof *g + parts.count * sizeof g->of[0]);
    od_expect_memory(g);
    g->slicing = s;
    g->note_ended = note_ended;
    g->kernel = call->kernel;
    g->parts = parts;
    g->is_first = !od_footprint_is_known(parts.footprint);
    g->left = parts.count;
    g->start_ns = od_clock_ns();
    g->trip_count = call->args.trip_count;
    if (!prepare(g, &call->map))
        return give_up(g, 0);
    g->launch = atomic_fetch_add(&launches, 1) + 1;
    for (unsigned i = 0; i < parts.count; i++) {
        g->of[i].job = make_slice(g, call, i);
        if (!g->of[i].job)
            return give_up(g, i);
        note_used(g, i);
        note_arrays(g, i);
    }
    return g;
}

/* --- running them ------------------------------------------------------------------ */

void od_group_submit(od_engine *engine, od_group *g, unsigned i)
{
    od_group_slice *own = &g->of[i];
    own->job->task.bound = own->device;
    own->job->number = own->number = od_recorder_create(0, NULL, 0);
    own->submitted = true;
    od_job_submit(engine, own->job, &own->uses, g->kernel);
}

void od_group_record_wait(const od_group *g)
{
    for (unsigned i = 0; i < g->parts.count; i++)
        od_recorder_waited(g->of[i].number);
}

void od_group_end(od_group *g)
{
    static uint64_t last_end_ns; /* of launches that overlap the time is that of the one before, as far as it goes */
    uint64_t from_ns = g->start_ns > last_end_ns ? g->start_ns : last_end_ns;
    double seconds = g->end_ns > from_ns ? (double)(g->end_ns - from_ns) * 1e-9 : 0;
    last_end_ns = g->end_ns;
    od_slicing_note_sliced(g->slicing, g->parts.count, seconds, g->parts.learns);
    od_slicing_note_surprises(g->slicing, g->surprises);
    g->slicing->early_launches += g->early;
    if (g->is_first)
        od_slicing_align(g->slicing, g->trip_count);
    od_slices_end();
    free_group(g);
}

/* --- what they use ------------------------------------------------------------------- */

static bool name_the_same(const od_group_slice *a, const od_group_slice *b)
{
    for (uint32_t i = 0; i < a->nused; i++)
        for (uint32_t j = 0; j < b->nused; j++)
            if (a->used[i].datum == b->used[j].datum && ((a->used[i].mode | b->used[j].mode) & OD_WRITE))
                return true;
    return false;
}

bool od_group_excludes(const od_group *g, unsigned i, const od_group *other, unsigned j)
{
    const od_footprint *f = g->slicing->footprint, *theirs = other->slicing->footprint;
    if (name_the_same(&g->of[i], &other->of[j]))
        return true;
    for (unsigned a = 0; a < f->arguments; a++)
        for (unsigned b = 0; b < theirs->arguments; b++)
            if (g->array[a] && g->array[a] == other->array[b] && od_footprint_excludes(f, a, i, theirs, b, j))
                return true;
    return false;
}
