/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Data of regions for constructs that pass through. See lend.h. */
#include "omp_ext/hooks/lend.h"

#include "memmgr/data/attach.h"
#include "memmgr/data/relocation.h"
#include "omp_ext/maps/device_memory.h"
#include "omp_ext/maps/expand.h"
#include "omp_ext/process/fatal.h"
#include "omp_ext/process/memory.h"
#include "omp_ext/remote/numbers.h"
#include "omp_ext/tasks/job.h"
#include "omp_ext/tasks/reservation.h"
#include "omp_ext/tasks/launch/launch.h"
#include "omp_ext/libomp/real.h"
#include "omp_ext/maps/structs/structs.h"
#include "omp_ext/hooks/shown.h"
#include "util/lock.h"

#include <stdlib.h>
#include <string.h>

/* libomptarget knows one association per address: one construct at a time. Held while it runs. */
static od_lock lending = OD_LOCK_OF(OD_LOCK_LENDING);

/* An access of the job. */
typedef struct replica {
    void *at;     /* on the construct's device */
    char *before; /* malloc'ed: `at` is a copy, which began as this */
} replica;

struct od_lent {
    od_job *job;
    int place, device; /* the data's, OpenMP's number of the construct's */
    replica replica[];
};

/* --- what the list names -------------------------------------------------- */

/* As an argument of a kernel. */
static void add(od_map_list *ranges, uintptr_t base, size_t size)
{
    od_map_list_add(ranges, (void *)base, (void *)base, (int64_t)size, OD_MAP_PARAM | OD_MAP_TO | OD_MAP_FROM);
}

/* libomptarget leads the device's copy of the pointer to the object, and the program's must not follow. Locked. */
static void attach(od_region *region, const od_map_args *args, int32_t i)
{
    od_attachment is = {.slot = (uintptr_t)args->bases[i],
                        .begin = od_entry_begin(args, i),
                        .size = args->sizes[i] > 0 ? (size_t)args->sizes[i] : 0};
    memcpy(&is.pointer, args->bases[i], sizeof is.pointer);
    od_region_attach(region, &is);
}

/* The whole struct in which the pointer is. Locked. */
static void add_slot(od_map_list *ranges, od_engine *engine, const od_map_args *args, int32_t i)
{
    uintptr_t slot = (uintptr_t)args->bases[i];
    od_region *region = od_directory_find_region(od_engine_directory(engine), slot, sizeof(void *));
    if (!region)
        return;
    attach(region, args, i);
    add(ranges, region->base, region->size);
}

/* Those of regions. */
static void find_ranges(od_map_list *ranges, const od_map_args *args)
{
    od_engine *engine = od_runtime_lock();
    for (int32_t i = 0; i < args->count; i++) {
        bool pointee = args->types[i] & OD_MAP_PTR_AND_OBJ, literal = args->types[i] & OD_MAP_LITERAL;
        if (!(args->types[i] & OD_MAP_NO_RANGE) || pointee) {
            od_reference named = od_refer_to_regions(engine, args, i);
            if (named.region)
                add(ranges, named.base, named.size);
        }
        if (pointee && !literal)
            add_slot(ranges, engine, args, i);
    }
    od_runtime_unlock();
}

/* --- the data ---------------------------------------------------------------- */

static od_job *acquire(const od_map_args *ranges, int device, int *place)
{
    od_uses uses = {0};
    od_job *job = od_job_create(OD_JOB_SYNC);
    od_expect_memory(job && !od_args_resolve(ranges, NULL, 0, &uses, NULL));
    od_runtime_lock();
    od_uses_trust(&uses, NULL, 0, true);
    od_runtime_unlock();
    job->task.uses_spill = true;
    job->task.bound = od_runtime_device_index(device);
    job->task.outer = od_reservation_task();
    *place = od_job_acquire(job, &uses, "a construct that passes through");
    return job;
}

/* Where the contents are, and OpenMP's number of the device. */
static void *source_of(const od_lent *lent, uint32_t i, int *device)
{
    const od_datum *d = lent->job->task.access[i].datum;
    *device = lent->place == OD_HOST ? REAL(omp_get_initial_device)() : od_runtime_device_number((unsigned)lent->place);
    if (lent->place != OD_HOST)
        return od_runtime_address(d, (unsigned)lent->place);
    od_runtime_lock();
    void *address = od_launch_host_contents(d);
    od_runtime_unlock();
    return address;
}

static replica copy_of(const od_datum *d, const void *source, int from, int device)
{
    const int host = REAL(omp_get_initial_device)();
    char *memory = od_runtime_target_alloc(od_datum_occupies(d), device);
    replica copy = {memory ? memory + od_datum_phase(d) : NULL, od_alloc(d->size)};
    od_launch_copy_bytes(copy.before, host, source, from, d->size);
    if (copy.at)
        od_launch_copy_bytes(copy.at, device, copy.before, host, d->size);
    return copy;
}

static void lend(od_lent *lent, uint32_t i)
{
    const od_datum *d = lent->job->task.access[i].datum;
    int from;
    void *source = source_of(lent, i, &from);
    replica r = from == lent->device ? (replica){source, NULL} : copy_of(d, source, from, lent->device);
    if (!r.at || REAL(omp_target_associate_ptr)((void *)d->base, r.at, d->size, 0, lent->device))
        od_fatal("no device memory for the data of a region beside others that are libomptarget's");
    lent->replica[i] = r;
}

static void take_back(od_lent *lent, uint32_t i)
{
    const od_datum *d = lent->job->task.access[i].datum;
    const replica *r = &lent->replica[i];
    int from;
    void *source = source_of(lent, i, &from);
    REAL(omp_target_disassociate_ptr)((void *)d->base, lent->device);
    if (!r->before)
        return;
    char *after = od_alloc(d->size);
    od_launch_copy_bytes(after, REAL(omp_get_initial_device)(), r->at, lent->device, d->size);
    od_launch_merge(source, from, r->before, after, d->size);
    REAL(omp_target_free)((char *)r->at - od_datum_phase(d), lent->device);
    free(r->before);
    free(after);
}

static bool is_in_region(uintptr_t address, bool *shown)
{
    od_engine *engine = od_runtime_lock();
    const od_region *region = od_directory_find_region(od_engine_directory(engine), address, 0);
    *shown = region && region->shown;
    od_runtime_unlock();
    return region;
}

static void show_to_libomptarget(const void *pointee)
{
    bool on_device;
    if (od_remote_is_on())
        od_fatal("a pointer in libomptarget's memory leads to data of a region, which OMPDARTS_BACKEND=mpi does not "
                 "support");
    od_region_address(pointee, od_runtime_default_device(), &on_device);
}

/* Where a pointer of libomptarget's leads into a region, that stays where it is until it closes. */
static void hold_pointees(const od_map_args *args, bool stays)
{
    for (int32_t i = 0; i < args->count; i++) {
        int64_t type = args->types[i];
        uintptr_t slot = (uintptr_t)args->bases[i];
        bool shown, theirs = od_foreign_device(slot, sizeof(void *)) >= 0;
        if (!(type & (OD_MAP_PTR_AND_OBJ | OD_MAP_ATTACH)) || (type & OD_MAP_LITERAL))
            continue;
        if (stays && (type & OD_MAP_PTR_AND_OBJ))
            theirs |= !is_in_region(slot, &shown);
        if (theirs && is_in_region(od_entry_begin(args, i), &shown) && !shown)
            show_to_libomptarget(args->begins[i]);
    }
}

static od_lent *lend_all(const od_map_args *ranges, int device)
{
    int place;
    od_job *job = acquire(ranges, device, &place);
    od_lent *lent = od_alloc(sizeof *lent + job->task.naccess * sizeof *lent->replica);
    *lent = (od_lent){job, place, device};
    od_lock_take(&lending);
    for (uint32_t i = 0; i < job->task.naccess; i++)
        lend(lent, i);
    return lent;
}

static bool is_slot(const od_map_args *args, uintptr_t slot)
{
    for (int32_t i = 0; i < args->count; i++)
        if ((args->types[i] & OD_MAP_PTR_AND_OBJ) && (uintptr_t)args->bases[i] == slot)
            return true;
    return false;
}

/* Pointers that the list does not name, which libomptarget thus leaves as they are: to data on other ranks. */
static void refuse_pointers(const od_lent *lent, const od_map_args *args)
{
    for (uint32_t i = 0; i < lent->job->task.naccess; i++) {
        const od_datum *d = lent->job->task.access[i].datum;
        const od_attachments *attached = od_datum_attachments(d);
        const od_attachment *a = od_attachments_next(attached, d->base, d->base + d->size);
        for (; a; a = od_attachments_next(attached, a->slot + 1, d->base + d->size))
            if (!is_slot(args, a->slot))
                od_fatal(
                    "a construct that only libomptarget can carry out uses data whose pointers lead to other ranks, "
                    "which OMPDARTS_BACKEND=mpi does not support");
    }
}

od_lent *od_lend(const od_map_args *args, int device, bool stays)
{
    od_map_list ranges = {0};
    find_ranges(&ranges, args);
    hold_pointees(args, stays);
    od_lent *lent = ranges.args.count ? lend_all(&ranges.args, device) : NULL;
    if (lent && od_remote_is_on())
        refuse_pointers(lent, args);
    od_map_list_free(&ranges);
    return lent;
}

/* Words of the replicas may hold other addresses than before. */
static void spoil(const od_lent *lent)
{
    od_runtime_lock();
    for (uint32_t i = 0; lent->place != OD_HOST && i < lent->job->task.naccess; i++)
        od_patches_spoil(lent->job->task.access[i].datum->replica[lent->place].patches);
    od_runtime_unlock();
}

void od_lend_end(od_lent *lent)
{
    if (!lent)
        return;
    for (uint32_t i = 0; i < lent->job->task.naccess; i++)
        take_back(lent, i);
    od_lock_give(&lending);
    spoil(lent);
    od_job_end_sync(lent->job, OD_OK);
    od_job_destroy(lent->job);
    free(lent);
}

/* Device address of a host address before the lent region that it leads to, as that of a struct of which only a member
 * is mapped. libomptarget would find it by the address that the member was mapped with, which an association has not.
 * NULL: it leads to none. */
static void *address_before(const od_lent *lent, const od_map_args *args, int32_t i)
{
    uintptr_t begin = od_entry_begin(args, i);
    od_reference named = od_refer_to_regions(od_runtime_lock(), args, i);
    od_runtime_unlock();
    if (args->sizes[i] || args->types[i] & OD_MAP_NO_RANGE || !named.region || begin >= named.base)
        return NULL;
    for (uint32_t j = 0; j < lent->job->task.naccess; j++)
        if (lent->job->task.access[j].datum->base == named.base)
            return (char *)lent->replica[j].at - (named.base - begin);
    return NULL;
}

/* malloc'ed: arrays of the arguments, in which these are device addresses. */
static void *lead_to_lent(const od_lent *lent, const od_map_args *list, od_kernel_args *args)
{
    size_t n = (size_t)list->count;
    void **room = od_alloc(3 * n * sizeof *room);
    int64_t *types = (int64_t *)(void *)(room + 2 * n);
    memcpy(room, args->bases, n * sizeof *room);
    memcpy(room + n, args->begins, n * sizeof *room);
    memcpy(types, args->types, n * sizeof *types);
    for (int32_t i = 0; i < list->count; i++) {
        void *address = address_before(lent, list, i);
        if (address) {
            room[i] = room[n + (size_t)i] = address;
            types[i] = OD_MAP_PARAM | OD_MAP_LITERAL;
        }
    }
    args->bases = room;
    args->begins = room + n;
    args->types = types;
    return room;
}

int od_pass_through(const od_kernel_call *call, int64_t device)
{
    od_map_list room = {0};
    const od_map_args *list = od_expanded(&call->map, &room);
    od_kernel_args args = call->args;
    od_lent *lent = NULL;
    void *arrays = NULL;
    args.flags &= ~(uint64_t)OD_KERNEL_NOWAIT;
    od_args_write_back(list);
    if (device < 0) {
        device = od_args_device(list);
        lent = od_lend(list, (int)device, false);
        if (lent && list == &call->map)
            arrays = lead_to_lent(lent, list, &args);
    }
    int failed = od_launch_carry_out(call, device, &args, NULL, NULL);
    od_lend_end(lent);
    od_map_list_free(&room);
    free(arrays);
    return failed;
}
