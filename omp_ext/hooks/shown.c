/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Device addresses shown to the program. See shown.h. */
#define _GNU_SOURCE /* gettid */
#include "omp_ext/hooks/shown.h"

#include "memmgr/data/spill.h"
#include "omp_ext/hooks/virtual.h"
#include "omp_ext/libomp/real.h"
#include "omp_ext/libomp/thread.h"
#include "omp_ext/maps/device_memory.h"
#include "omp_ext/maps/foreign.h"
#include "omp_ext/maps/parts/parts.h"
#include "omp_ext/maps/reach.h"
#include "omp_ext/process/memory.h"
#include "omp_ext/runtime/runtime.h"
#include "omp_ext/services/info.h"
#include "omp_ext/slices/early.h"
#include "omp_ext/tasks/job.h"
#include "omp_ext/tasks/launch/queue.h"
#include "omp_ext/tasks/reservation.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool od_shows_addresses(const od_map_args *args)
{
    for (int32_t i = 0; (args->any & OD_MAP_RETURN) && i < args->count; i++)
        if ((args->types[i] & (OD_MAP_RETURN | OD_MAP_FOREIGN)) == OD_MAP_RETURN)
            return true;
    return false;
}

static void show(const od_map_args *args, int32_t i, const od_datum *d, unsigned k)
{
    od_addresses_note_shown();
    uintptr_t device_begin = (uintptr_t)od_runtime_address(d, k) + (od_entry_begin(args, i) - d->base);
    args->bases[i] = (void *)(device_begin - (od_entry_begin(args, i) - (uintptr_t)args->bases[i]));
}

/* `until_closed`: the data stay bound until their regions close. */
static void bind_and_show(const od_map_args *args, const od_uses *uses, const int32_t *access_of, unsigned k,
                          bool until_closed)
{
    od_engine *engine = od_runtime_lock();
    for (int32_t i = 0; i < args->count; i++) {
        if (access_of[i] < 0)
            continue;
        const od_access *access = &uses->access[access_of[i]];
        od_engine_bind(engine, access->datum, k, access->mode & OD_WRITE);
        show(args, i, access->datum, k);
    }
    for (uint32_t i = 0; until_closed && i < uses->count; i++)
        if (uses->access[i].datum->region) /* another thread may have left it */
            uses->access[i].datum->region->shown++;
    od_runtime_unlock();
}

/* What fits on no device is shown in its region's spill area: the program's memory is the host's own. */
static void show_spilled(const od_map_args *args, const od_uses *uses, const int32_t *access_of)
{
    od_runtime_lock();
    od_reach_write_spilled(uses);
    for (int32_t i = 0; i < args->count; i++) {
        const od_datum *d = access_of[i] >= 0 ? uses->access[access_of[i]].datum : NULL;
        if (d && od_datum_is_spilled(d))
            args->bases[i] = (char *)od_spill_address(d->region->spill, od_entry_begin(args, i)) -
                             (od_entry_begin(args, i) - (uintptr_t)args->bases[i]);
    }
    od_runtime_unlock();
}

/* What is not present has no device address: libomptarget 19 answers NULL, newer ones leave the program its own. */
static void show_absent(const od_map_args *args, const int32_t *access_of)
{
    for (int32_t i = 0; i < args->count; i++) {
        if (access_of[i] >= 0 || (args->types[i] & (OD_MAP_RETURN | OD_MAP_FOREIGN)) != OD_MAP_RETURN ||
            !args->begins[i])
            continue;
        od_info_print_absent(args, i);
        if (od_real_is_old())
            args->bases[i] = NULL;
    }
}

/* Another thread may be shown one of the list's data just now: then all go where that is, or else `device`. */
static int device_of_shown(const od_map_args *args, int device)
{
    od_engine *engine = od_runtime_lock();
    for (int32_t i = 0; i < args->count; i++) {
        uintptr_t base;
        size_t size;
        bool datum = od_arg_classify(args, i) == OD_ARG_DATUM && od_arg_range(engine, args, i, &base, &size);
        const od_datum *d = datum ? od_directory_find(od_engine_directory(engine), base, 0) : NULL;
        if (d && d->bound)
            device = d->home;
    }
    od_runtime_unlock();
    return device;
}

/* Open constructs of this thread that show device addresses. */
static unsigned own_attempts(void)
{
    return od_self.holds - (unsigned)__builtin_popcountll(od_self.shown_host);
}

static bool is_serial(void)
{
    return REAL(omp_get_num_threads)() == 1 && !REAL(omp_in_explicit_task)();
}

/* In serial code kernels may use all of an array while the program is shown the address of a section: all of it is
 * shown then, if a device has room. Returns the list's types in memory of their own; NULL: as they are. */
static int64_t *show_whole_regions(od_map_args *args)
{
    int64_t *types = NULL;
    if (od_self.mode != OD_PLAIN || !is_serial())
        return NULL;
    od_engine *engine = od_runtime_lock();
    for (int32_t i = 0; i < args->count; i++) {
        od_reference r = od_refer_to_regions(engine, args, i);
        if (r.region && r.size != r.region->size && od_parts_region_fits(engine, args, r.region))
            od_list_mark_whole(args, i, &types);
    }
    od_runtime_unlock();
    return types;
}

/* Brings the list's data to one device (`bound`, or any) and binds and shows them there. Returns the place. `reach`:
 * the list is its; or NULL. */
static int acquire(const od_map_args *given, od_reach *reach, int bound, bool until_closed)
{
    od_uses uses = {0};
    od_map_args list = *given, *args = &list;
    int64_t *types = show_whole_regions(args);
    od_job *job = od_job_create(OD_JOB_SYNC);
    int32_t *access_of = od_alloc(((size_t)args->count + 1) * sizeof *access_of);
    od_expect_memory(job && !od_args_resolve(args, NULL, 0, &uses, access_of));
    od_runtime_lock();
    od_uses_trust(&uses, NULL, 0, true);
    od_runtime_unlock();
    if (reach)
        od_reach_want(reach, &uses, access_of);
    job->task.shows = job->task.needs_device = job->task.uses_spill = true;
    job->attempts = own_attempts() + 1;
    job->task.outer = od_reservation_task();
    if (bound != OD_NOWHERE)
        job->task.bound = bound;
    od_uses shown = uses; /* the arrays stay the job's */
    int place = od_job_acquire(job, &uses, "use_device_ptr");
    if (place != OD_HOST && reach)
        od_reach_write(&shown, (unsigned)place);
    if (place != OD_HOST)
        bind_and_show(args, &shown, access_of, (unsigned)place, until_closed);
    else
        show_spilled(args, &shown, access_of);
    show_absent(args, access_of);
    od_job_end_sync(job, OD_OK);
    od_job_destroy(job);
    free(access_of);
    free(types);
    return place;
}

/* What is shown on `device` by right of what the thread has been shown before may have to be where others are shown it:
 * a kernel then reaches it from a neighbour, as host devices and peers can. */
static int acquire_where_shown(const od_map_args *args, od_reach *reach, int device, bool until_closed)
{
    size_t bytes = (size_t)args->count * sizeof *args->bases;
    void **written = od_alloc(bytes + 1);
    memcpy(written, args->bases, bytes);
    int tried = device_of_shown(args, device), place = acquire(args, reach, tried, until_closed);
    while (place == OD_HOST && device_of_shown(args, device) != tried) {
        tried = device_of_shown(args, device);
        memcpy(args->bases, written, bytes);
        place = acquire(args, reach, tried, until_closed);
    }
    free(written);
    return place;
}

/* Serial code on the program's first thread may keep the addresses that it is shown, unless the program is said to name
 * in its clauses all that it uses. */
static bool may_keep(void)
{
    bool first = od_self.mode == OD_PLAIN && getpid() == gettid();
    return first && od_runtime_options()->coherence != OD_COHERENCE_DEPEND && is_serial();
}

/* What one thread keeps it can use together: all on the default device, if there is room. */
static int acquire_to_keep(const od_map_args *args, od_reach *reach)
{
    size_t bytes = (size_t)args->count * sizeof *args->bases;
    void **written = memcpy(od_alloc(bytes + 1), args->bases, bytes);
    int place = acquire_where_shown(args, reach, od_runtime_default_device(), false);
    if (place == OD_HOST) {
        memcpy(args->bases, written, bytes);
        place = acquire_where_shown(args, reach, OD_NOWHERE, false);
    }
    free(written);
    return place;
}

/* Several data may be shown to other threads on several devices just now, or leave no room: these are waited for
 * (od_job_has_rivals), in reason, for they may themselves wait for this thread. */
static int acquire_beside_others(const od_map_args *args, od_reach *reach)
{
    od_rivals_begin();
    int device = od_self.holds ? od_self.held_place : od_foreign_place(args);
    int place = device == OD_NOWHERE && may_keep() ? acquire_to_keep(args, reach)
                                                   : acquire_where_shown(args, reach, device, false);
    if (place == OD_HOST)
        od_rivals_end();
    return place;
}

static void emit_host_address(const char *what)
{
    static atomic_bool reported;
    if (!atomic_exchange(&reported, true))
        od_log(OD_LOG_WARNING, "omp", "%s: the data fit on no device, the program gets addresses of host memory",
               what);
}

/* use_device_ptr: until the construct ends, or its region where the program may have kept them. Several constructs that
 * are open at once show addresses on one device, so that a kernel can use all of them. */
void od_show_addresses(const od_map_args *args)
{
    od_reach *reach = od_reach_find(args);
    int place = acquire_beside_others(reach ? &reach->list.args : args, reach);
    if (reach)
        memcpy(args->bases, reach->list.args.bases, (size_t)args->count * sizeof *args->bases);
    if (place == OD_HOST)
        emit_host_address("use_device_ptr");
    else
        od_self.held_place = place;
    if (place != OD_HOST && od_self.mode == OD_PLAIN)
        od_queue_enter((unsigned)place);
    od_self.holds++;
    od_self.shown_host = od_self.shown_host << 1 | (place == OD_HOST);
    if (!reach)
        return;
    reach->depth = od_self.holds + od_self.shown;
    reach->outer = od_self.reach;
    od_self.reach = reach;
}

/* What the innermost open construct has reached, which is the caller's then; NULL: nothing but its own data. */
static od_reach *take_reach(void)
{
    od_reach *reach = od_self.reach;
    if (!reach || reach->depth != od_self.holds + od_self.shown)
        return NULL;
    od_self.reach = reach->outer;
    return reach;
}

/* The datum whose address argument i shows, or NULL. Locked. */
static od_datum *shown_datum(od_engine *engine, const od_map_args *args, int32_t i)
{
    uintptr_t base;
    size_t size;
    if (!(args->types[i] & OD_MAP_RETURN) || !od_arg_range(engine, args, i, &base, &size))
        return NULL;
    return od_directory_find(od_engine_directory(engine), base, size);
}

typedef struct shown {
    od_datum *datum;
    uint32_t id;
    int32_t arg;
} shown;

static int by_datum(const void *a, const void *b)
{
    uint32_t x = ((const shown *)a)->id, y = ((const shown *)b)->id;
    return (x > y) - (x < y);
}

static void unbind(od_engine *engine, od_datum *d)
{
    bool keeps = d->bound && d->written_through && may_keep() && od_engine_keep_bound(engine, d);
    if (d->bound && !keeps)
        od_engine_unbind(engine, d, d->written_through);
}

/* Several arguments that show addresses of one datum have bound it once. */
static void unbind_all(od_engine *engine, const od_map_args *args)
{
    shown *all = od_alloc(((size_t)args->count + 1) * sizeof *all);
    size_t n = 0;
    for (int32_t i = 0; i < args->count; i++) {
        od_datum *d = shown_datum(engine, args, i);
        if (d)
            all[n++] = (shown){d, d->id, i};
    }
    qsort(all, n, sizeof *all, by_datum);
    for (size_t i = 0; i < n; i++) {
        bool first = !i || all[i].id != all[i - 1].id;
        bool is_there = shown_datum(engine, args, all[i].arg) == all[i].datum; /* others may have been waited for */
        if (first && is_there)
            unbind(engine, all[i].datum);
    }
    free(all);
}

static void end_hold(void)
{
    od_self.holds -= od_self.holds > 0;
    if (od_self.holds || od_self.mode != OD_PLAIN)
        od_queue_drain();
    else if (od_queue_leave())
        od_runtime_probe(od_self.held_place);
}

void od_hide_addresses(const od_map_args *args)
{
    bool on_host = od_self.shown_host & 1;
    od_reach *reach = take_reach();
    const od_map_args *all = reach ? &reach->list.args : args;
    od_self.shown_host >>= 1;
    end_hold();
    od_engine *engine = od_runtime_lock();
    if (!on_host)
        unbind_all(engine, all);
    od_runtime_unlock();
    od_reach_free(reach);
    if (!on_host)
        od_rivals_end();
}

/* --- the data of a host task's reservation --------------------------------------- */

struct od_shown_own {
    struct od_shown_own *outer;
    unsigned depth; /* of its construct, among those that show addresses */
    int place;
    uint32_t count;
    od_access access[];
};

/* The access of the reservation whose address argument i shows, or NULL. Locked. */
static const od_access *own_access(od_engine *engine, const od_map_args *args, int32_t i)
{
    const od_task *task = &od_self.job->task;
    uintptr_t base;
    size_t size;
    if (!(args->types[i] & OD_MAP_RETURN) || !od_arg_range(engine, args, i, &base, &size))
        return NULL;
    for (uint32_t j = 0; j < task->naccess; j++)
        if (od_datum_covers(task->access[j].datum, base, size))
            return &task->access[j];
    return NULL;
}

/* The body may go on without its reservation (od_reservation_leave()): the data stay where they are all the same. */
void od_show_own_addresses(const od_map_args *args)
{
    size_t n = (size_t)args->count;
    struct od_shown_own *own = od_alloc(sizeof *own + n * sizeof own->access[0]);
    *own = (struct od_shown_own){.outer = od_self.shown_own, .place = od_self.place};
    od_engine *engine = od_runtime_lock();
    for (int32_t i = 0; i < args->count; i++) {
        const od_access *access = own_access(engine, args, i);
        if (!access)
            continue;
        od_engine_keep_shown(engine, access->datum, (unsigned)own->place, access->mode);
        access->datum->pending++;
        own->access[own->count++] = *access;
        show(args, i, access->datum, (unsigned)own->place);
    }
    od_runtime_unlock();
    od_self.shown_own = own;
    od_self.shown++;
    own->depth = od_self.holds + od_self.shown;
    od_self.shown_host <<= 1;
}

bool od_has_shown_own(const od_map_args *args)
{
    const struct od_shown_own *own = od_self.shown_own;
    return own && own->depth == od_self.holds + od_self.shown && od_shows_addresses(args);
}

void od_hide_own_addresses(void)
{
    struct od_shown_own *own = od_self.shown_own;
    bool left = od_self.mode != OD_ON_DEVICE; /* the reservation, meanwhile */
    od_self.shown_own = own->outer;
    od_self.shown_host >>= 1;
    if (left)
        end_hold();
    else
        od_self.shown--;
    od_engine *engine = od_runtime_lock();
    for (uint32_t i = 0; i < own->count; i++) {
        od_engine_let_go_shown(engine, own->access[i].datum, (unsigned)own->place, own->access[i].mode);
        od_engine_release(engine, own->access[i].datum);
    }
    od_runtime_unlock();
    free(own);
    if (left)
        od_rivals_end();
}

bool od_shows_own_data(const od_map_args *args)
{
    int foreign = od_foreign_place(args);
    if (od_self.mode != OD_ON_DEVICE || !od_shows_addresses(args) ||
        (foreign != OD_NOWHERE && foreign != od_self.place))
        return false;
    od_map_args parameters = od_args_as_parameters(args);
    bool own = od_job_owns(&parameters) && !od_reach_any(args); /* what is reached is not reserved */
    free(parameters.types);
    return own;
}

/* --- what is where ---------------------------------------------------------- */

/* A host task that asks must stay where the answers are the virtual device's. */
static bool is_ours(const void *address, int device)
{
    od_self.unsuited = true;
    if (!od_runtime_started() || !od_is_virtual_number(device))
        return false;
    od_engine *engine = od_runtime_lock();
    bool in_region = od_directory_find_region(od_engine_directory(engine), (uintptr_t)address, 0) != NULL;
    od_runtime_unlock();
    return in_region;
}

int omp_target_is_present(const void *address, int device)
{
    if (is_ours(address, device))
        return 1;
    return REAL(omp_target_is_present)(address, device);
}

void *od_region_address(const void *address, int k, bool *on_device)
{
    void *base = (void *)(uintptr_t)address, *begin = base;
    int64_t size = 0, type = OD_MAP_PARAM | OD_MAP_RETURN | OD_MAP_TO | OD_MAP_FROM;
    od_map_args args = {1, &base, &begin, &size, &type, NULL, NULL, type};
    od_early_settle();
    od_reach *reach = od_reach_find(&args);
    const od_map_args *all = reach ? &reach->list.args : &args;
    od_rivals_begin();
    int place = acquire_where_shown(all, reach, k, true);
    od_rivals_end(); /* it may stay bound for long: others must not wait for that */
    *on_device = place != OD_HOST;
    base = all->bases[0];
    od_reach_free(reach);
    return base;
}

void *omp_get_mapped_ptr(const void *address, int device)
{
    if (!is_ours(address, device))
        return REAL(omp_get_mapped_ptr)(address, device);
    bool on_device;
    int k = device == od_runtime_virtual_number() ? od_runtime_default_device() : od_runtime_device_index(device);
    void *there = od_region_address(address, k, &on_device);
    if (!on_device)
        emit_host_address("omp_get_mapped_ptr");
    return there;
}
