/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* From data to literal device pointers. See launch.h. */
#include "omp_ext/tasks/launch/launch.h"

#include "memmgr/data/spill.h"
#include "omp_ext/libomp/images.h"
#include "omp_ext/libomp/ompt.h"
#include "omp_ext/libomp/real.h"
#include "omp_ext/libomp/teams/detach.h"
#include "omp_ext/libomp/teams/serial.h"
#include "omp_ext/maps/args.h"
#include "omp_ext/maps/device_memory.h"
#include "omp_ext/maps/foreign.h"
#include "omp_ext/maps/structs/structs.h"
#include "omp_ext/remote/remote.h"
#include "omp_ext/runtime/cpu/alone.h"
#include "omp_ext/runtime/cpu/cpu.h"
#include "omp_ext/runtime/devices.h"
#include "omp_ext/runtime/workers.h"
#include "omp_ext/slices/gpus/apart.h"
#include "omp_ext/slices/slice.h"
#include "omp_ext/tasks/launch/queue.h"
#include "util/clock.h"
#include "util/memory.h"
#include "util/thread.h"

#include <stdlib.h>
#include <string.h>

/* --- launches ----------------------------------------------------------- */

static size_t align_up(size_t n)
{
    return (n + 15) & ~(size_t)15;
}

/* Arguments that are mapped without reaching the kernel change nothing that anyone can see, except hidden ones. */
static bool is_dropped(const od_map_args *args, int32_t i)
{
    return od_arg_classify(args, i) == OD_ARG_UNUSED;
}

/* `always` moves the data of a region also where the kernel does not get them: they stay, behind what it gets. */
static bool is_hidden(const od_map_args *args, int32_t i)
{
    bool moves = od_arg_is_always(args, i, OD_MAP_TO | OD_MAP_FROM);
    return moves && is_dropped(args, i) && od_range_is_in_region(od_entry_begin(args, i), (size_t)args->sizes[i]);
}

static size_t private_bytes(const od_map_args *args, int32_t i)
{
    return od_arg_classify(args, i) == OD_ARG_PRIVATE ? align_up((size_t)args->sizes[i]) : 0;
}

/* Appends entry i. */
static void copy_arg(od_launch *launch, const od_map_args *from, int32_t i, char **privates)
{
    od_map_args *args = &launch->call.map;
    int32_t to = args->count++;
    args->bases[to] = from->bases[i];
    args->begins[to] = from->begins[i];
    args->sizes[to] = from->sizes[i];
    args->types[to] = from->types[i];
    if (from->names)
        args->names[to] = from->names[i];
    launch->access_of[to] = -1;
    size_t bytes = private_bytes(from, i);
    if (!bytes || !from->begins[i])
        return;
    ptrdiff_t shift = (char *)from->bases[i] - (char *)from->begins[i];
    memcpy(*privates, from->begins[i], (size_t)from->sizes[i]);
    args->begins[to] = *privates;
    args->bases[to] = *privates + shift;
    *privates += bytes;
}

od_status od_launch_copy(od_launch *launch, const od_kernel_call *call)
{
    const od_map_args *from = &call->map;
    size_t n = (size_t)from->count, privates = 0;
    for (int32_t i = 0; (from->any & OD_MAP_PRIVATE) && i < from->count; i++)
        privates += private_bytes(from, i);
    size_t arrays = align_up(n * (10 * sizeof(void *) + sizeof(int32_t)));
    char *storage = od_malloc(arrays + privates + 16);
    if (!storage)
        return OD_ENOMEM;
    *launch = (od_launch){.call = *call, .storage = storage};
    void **array = (void **)(void *)storage;
    launch->call.map = (od_map_args){.bases = array,
                                     .begins = array + n,
                                     .sizes = (int64_t *)(void *)(array + 2 * n),
                                     .types = (int64_t *)(void *)(array + 3 * n),
                                     .names = from->names ? array + 4 * n : NULL,
                                     .any = from->any | OD_MAP_PARAM};
    launch->rewritten = array + 5 * n;
    launch->access_of = (int32_t *)(void *)(array + 10 * n);
    char *next_private = storage + arrays;
    for (int32_t i = 0; i < from->count; i++)
        if (!is_dropped(from, i))
            copy_arg(launch, from, i, &next_private);
    for (int32_t i = 0; (from->any & OD_MAP_ALWAYS) && i < from->count; i++) {
        if (!is_hidden(from, i))
            continue;
        copy_arg(launch, from, i, &next_private);
        launch->call.map.types[launch->call.map.count - 1] |= OD_MAP_PARAM;
        launch->hidden++;
    }
    return OD_OK;
}

void od_launch_free(od_launch *launch)
{
    free(launch->storage);
    od_runtime_free_names(launch->names);
    od_structs_free(launch->call.structs);
    *launch = (od_launch){0};
}

/* By value, or a few bytes that are mapped: closures and functors, in which Kokkos and RAJA hand over addresses. */
static bool may_carry(const od_map_args *args, int32_t i)
{
    od_arg_class class = od_arg_classify(args, i);
    bool is_read = class == OD_ARG_PRIVATE || (class == OD_ARG_DATUM && (args->types[i] & OD_MAP_TO));
    return is_read && args->sizes[i] >= (int64_t)sizeof(uintptr_t) && args->sizes[i] <= OD_CARRIED_BYTES;
}

/* The address on a device that the kernel gets by entry i, as far as one is known; 0: none. */
static uintptr_t device_address(const od_map_args *args, int32_t i)
{
    if (args->types[i] & OD_MAP_LITERAL)
        return od_entry_begin(args, i);
    return may_carry(args, i) ? od_address_stored(od_entry_begin(args, i), (size_t)args->sizes[i]) : 0;
}

/* The place of the first address that the kernel gets, or OD_NOWHERE. `ours`: all of them have been shown to the
 * program, or are of nothing that has a device. */
static int place_of_addresses(const od_map_args *args, bool *ours)
{
    int place = OD_NOWHERE;
    *ours = true;
    for (int32_t i = 0; i < args->count; i++) {
        uintptr_t address = device_address(args, i);
        if (!address)
            continue;
        int device = od_device_of_address(address);
        *ours &= device < 0;
        if (place == OD_NOWHERE)
            place = device >= 0 ? od_runtime_device_index(device) : od_runtime_pool_of(address);
    }
    return place;
}

/* `ours`: by nothing but addresses of our pools. */
static int bound_by(const od_launch *launch, bool *ours)
{
    const od_map_args *args = &launch->call.map;
    *ours = false;
    if (od_cpu_are_alone())
        return OD_NOWHERE;
    int foreign = od_foreign_place(args);
    if (foreign != OD_NOWHERE)
        return foreign;
    int place = place_of_addresses(args, ours), required = od_runtime_required_device();
    *ours &= !(args->any & OD_MAP_FOREIGN) && required == OD_NOWHERE;
    return place != OD_NOWHERE ? place : required;
}

int od_launch_bound(const od_launch *launch)
{
    bool ours;
    return bound_by(launch, &ours);
}

/* Kernels on one device use the memory of the other one. */
static bool reaches(int device, int other)
{
    const od_backend *backend = od_runtime_backend();
    bool asks = backend->ops->is_peer != NULL;
    return device == other || od_devices_are_in_process() ||
           (asks && backend->ops->is_peer(backend->state, (unsigned)device, (unsigned)other));
}

/* The device where the program is shown the data; OD_NOWHERE: it is not, or on several. Locked. */
static int shown_on(const od_access *access, uint32_t naccess)
{
    int device = OD_NOWHERE;
    for (uint32_t i = 0; i < naccess; i++) {
        const od_datum *d = access[i].datum;
        if (d->bound && device != OD_NOWHERE && d->home != device)
            return OD_NOWHERE;
        if (d->bound)
            device = d->home;
    }
    return device;
}

int od_launch_place(const od_launch *launch, const od_access *access, uint32_t naccess)
{
    bool ours;
    int bound = bound_by(launch, &ours);
    if (bound == OD_NOWHERE || !ours)
        return bound;
    od_runtime_lock();
    int device = shown_on(access, naccess);
    od_runtime_unlock();
    return device != OD_NOWHERE && reaches(device, bound) ? device : bound;
}

typedef struct rewritten {
    od_kernel_args args;
    void **addresses; /* per argument: for libomptarget, where it asks for them; NULL: it does not */
} rewritten;

/* `address`: of the argument's base on the device. */
static void set_address(rewritten *r, uint32_t i, uintptr_t address)
{
    od_kernel_args *args = &r->args;
    if (r->addresses) {
        r->addresses[i] = (void *)(address - ((uintptr_t)args->bases[i] - (uintptr_t)args->begins[i]));
        return;
    }
    args->bases[i] = args->begins[i] = (void *)address;
    args->types[i] = OD_MAP_PARAM | OD_MAP_LITERAL;
}

/* The launch's arguments in separate arrays: a run may fail and be repeated on another device. */
static rewritten copy_to_rewrite(const od_launch *launch, int64_t device)
{
    const od_map_args *map = &launch->call.map;
    od_kernel_args args = launch->call.args;
    size_t n = (size_t)map->count;
    args.count = (uint32_t)n;
    args.bases = memcpy(launch->rewritten, map->bases, n * sizeof *args.bases);
    args.begins = memcpy(launch->rewritten + n, map->begins, n * sizeof *args.begins);
    args.sizes = memcpy(launch->rewritten + 2 * n, map->sizes, n * sizeof *args.sizes);
    args.types = memcpy(launch->rewritten + 3 * n, map->types, n * sizeof *args.types);
    args.names = map->names;
    args.mappers = NULL;
    const int64_t marks = OD_MAP_FOREIGN | OD_MAP_WHOLE;
    for (size_t i = 0; (map->any & marks) && i < n; i++)
        args.types[i] &= ~marks;
    if (!od_offered_table.launch || od_remote_is(device))
        return (rewritten){args, NULL};
    return (rewritten){args, memset(launch->rewritten + 4 * n, 0, n * sizeof(void *))};
}

/* Replaces each datum by the address of its replica on k, shifted as the section is. */
static void rewrite(rewritten *r, const int32_t *access_of, const od_access *access, unsigned k)
{
    for (uint32_t i = 0; i < r->args.count; i++) {
        if (access_of[i] < 0)
            continue;
        const od_datum *d = access[access_of[i]].datum;
        uintptr_t shift = (uintptr_t)r->args.bases[i] - d->base;
        set_address(r, i, (uintptr_t)od_runtime_address(d, k) + shift);
    }
}

static _Thread_local bool prepared; /* a worker: libomp knows its share */

/* As a root thread libomp binds it with OMP_PROC_BIND, when it first asks for its variables. */
static void prepare_worker(void)
{
    if (prepared)
        return;
    prepared = true;
    REAL(omp_set_num_threads)(od_runtime_kernel_threads());
    od_icvs_read();
    od_thread_go_anywhere();
    if (od_workers_place() == OD_HOST)
        od_cpu_bind();
}

od_icvs od_launch_begin_code(int thread_limit)
{
    if (!od_workers_have_me() && !od_self.stands_in)
        return (od_icvs){0};
    if (od_workers_have_me())
        prepare_worker();
    od_icvs before = od_icvs_begin(thread_limit);
    if (od_self.stands_in && before.threads > od_runtime_kernel_threads())
        REAL(omp_set_num_threads)(od_runtime_kernel_threads());
    return before;
}

static void make_room(unsigned k, int64_t device, const od_kernel_args *args)
{
    const od_map_args list = {.count = (int32_t)args->count,
                              .begins = args->begins,
                              .sizes = args->sizes,
                              .types = args->types};
    od_runtime_make_room(k, od_args_absent_bytes(&list, (int)device));
}

static int launch_with(const od_kernel_call *call, int64_t device, od_kernel_args *args, void *const *addresses,
                       void **handle)
{
    od_offload_launch launch =
        od_offload_launch_of(call->ident, device, call->teams, call->threads, call->kernel, args);
    return od_offered_table.launch(&launch, addresses, handle);
}

/* Calls libomptarget, which leaves the kernel running where it can if `handle` is not NULL: for a launch with the
 * nowait flag it asks libomp two questions, which we answer. Where it offers more it has a place for the kernel's
 * state. */
static int carry_out_here(const od_kernel_call *call, int64_t device, od_kernel_args *args, void *const *addresses,
                          void **handle)
{
    int k = od_runtime_device_index((int)device);
    if (k != OD_NOWHERE && od_queue_enter_device((unsigned)k))
        return 1;
    if (k != OD_NOWHERE)
        make_room((unsigned)k, device, args);
    od_icvs icvs = od_launch_begin_code(call->thread_limit);
    if (call->slice && od_workers_have_me()) /* all slices must have as many teams as each other */
        REAL(omp_set_dynamic)(0);
    od_own_task own = od_serial_begin_kernel(od_detach_has_children());
    const od_slice *around = od_self.slice;
    od_self.slice = call->slice;
    od_self.kernels++;
    od_self.async_handle = NULL;
    const void *before = od_ompt_at(call->from);
    int failed;
    if (od_offered_table.launch) {
        failed = launch_with(call, device, args, addresses, handle ? &od_self.async_handle : NULL);
    } else {
        od_self.launching = handle != NULL;
        failed = REAL(__tgt_target_kernel)(call->ident, device, call->teams, call->threads, call->kernel, args);
    }
    od_ompt_at(before);
    od_self.launching = false;
    od_self.kernels--;
    od_self.slice = around;
    od_slice_leave(call->slice);
    od_serial_end_task(own);
    od_icvs_end(&icvs);
    if (k != OD_NOWHERE)
        od_queue_leave_device((unsigned)k);
    if (handle)
        *handle = od_self.async_handle;
    return failed;
}

int od_launch_carry_out(const od_kernel_call *call, int64_t device, od_kernel_args *args, void *const *addresses,
                        void **handle)
{
    int k = od_runtime_device_index((int)device);
    if (od_remote_is(device))
        return od_remote_launch(call, (unsigned)k, args, handle);
    if (!call->apart)
        od_apart_enter();
    int failed = carry_out_here(call, device, args, addresses, handle);
    if (!call->apart && !(handle && *handle))
        od_apart_leave();
    return failed;
}

/* libomp would run a task again to ask for the end of its kernel, which tied tasks, as all are here, cannot: what
 * passes through waits. */
int32_t __kmpc_omp_has_task_team(int32_t gtid)
{
    if (od_self.launching || od_runtime_offloads())
        return od_self.launching;
    return REAL(__kmpc_omp_has_task_team)(gtid);
}

void **__kmpc_omp_get_target_async_handle_ptr(int32_t gtid)
{
    return od_self.launching ? &od_self.async_handle : REAL(__kmpc_omp_get_target_async_handle_ptr)(gtid);
}

static unsigned times_of(const od_kernel_call *call, unsigned k)
{
    const od_backend *backend = od_runtime_backend();
    const char *name = backend->nslowed ? od_images_kernel_name(call->kernel) : NULL;
    return backend->nslowed ? od_backend_slows(backend, name ? name : "", k) : 1;
}

/* Of what a kernel has computed: others have the processors meanwhile, too. */
static int carry_out_slowly(const od_kernel_call *call, unsigned k, rewritten *r, void **handle)
{
    int device = od_runtime_device_number(k);
    uint64_t times = times_of(call, k), start_ns = times > 1 ? od_clock_thread_ns() : 0;
    int failed = od_launch_carry_out(call, device, &r->args, r->addresses, handle);
    if (!failed && times > 1)
        od_clock_sleep_until(od_clock_ns() + (times - 1) * (od_clock_thread_ns() - start_ns));
    return failed;
}

int od_launch_run(const od_launch *launch, const od_access *access, unsigned k, void **handle)
{
    const od_kernel_call *call = &launch->call;
    int device = od_runtime_device_number(k);
    rewritten r = copy_to_rewrite(launch, device);
    od_kernel_args *args = &r.args;
    rewrite(&r, launch->access_of, access, k);
    if (call->structs && od_structs_fill(call->structs, args, launch->access_of, access, k))
        return 1;
    args->count -= launch->hidden + od_structs_hidden(call->structs);
    args->flags = handle ? args->flags | OD_KERNEL_NOWAIT : args->flags & ~(uint64_t)OD_KERNEL_NOWAIT;
    return carry_out_slowly(call, k, &r, handle);
}

char *od_launch_host_contents(const od_datum *d)
{
    return od_datum_is_spilled(d) ? od_spill_address(d->region->spill, d->base) : (char *)d->base;
}

bool od_launch_reaches(const od_datum *d)
{
    return d->region && od_devices_are_in_process();
}

/* at[i]: where its kernel finds access i; NULL: what is in the arguments stays. */
static void use_addresses(rewritten *r, const od_launch *launch, const od_access *access, void *const *at)
{
    for (uint32_t i = 0; i < r->args.count; i++) {
        int32_t j = launch->access_of[i];
        if (j >= 0 && at[j])
            set_address(r, i, (uintptr_t)at[j] + ((uintptr_t)r->args.bases[i] - access[j].datum->base));
    }
}

int od_launch_run_at(const od_launch *launch, const od_access *access, void *const *at, int device)
{
    const od_structs *structs = launch->call.structs;
    rewritten r = copy_to_rewrite(launch, device);
    od_kernel_args *args = &r.args;
    use_addresses(&r, launch, access, at);
    od_structs_fill_copies(structs, args, launch->access_of, access, at, device);
    args->count -= launch->hidden + od_structs_hidden(structs);
    args->flags &= ~(uint64_t)OD_KERNEL_NOWAIT;
    return od_launch_carry_out(&launch->call, device, args, r.addresses, NULL);
}

int od_launch_start_at(const od_launch *launch, const od_access *access, void *const *at, int device, void **handle)
{
    rewritten r = copy_to_rewrite(launch, device);
    od_kernel_args *args = &r.args;
    use_addresses(&r, launch, access, at);
    args->count -= launch->hidden;
    args->flags |= OD_KERNEL_NOWAIT;
    return od_launch_carry_out(&launch->call, device, args, r.addresses, handle);
}

int od_launch_run_moved(const od_launch *launch, const uintptr_t *moved, int device)
{
    rewritten r = copy_to_rewrite(launch, device);
    od_kernel_args *args = &r.args;
    for (uint32_t i = 0; i < args->count; i++)
        if (launch->access_of[i] >= 0)
            set_address(&r, i, (uintptr_t)args->bases[i] + moved[launch->access_of[i]]);
    args->count -= launch->hidden;
    args->flags &= ~(uint64_t)OD_KERNEL_NOWAIT;
    return od_launch_carry_out(&launch->call, device, args, r.addresses, NULL);
}

bool od_launch_has_parts(const od_task *task)
{
    for (uint32_t i = 0; i < task->naccess; i++)
        if (task->access[i].datum->window)
            return true;
    return false;
}
