/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Kernel launches, and the default device.
 */
#include "omp_ext/maps/expand.h"
#include "omp_ext/process/fatal.h"
#include "omp_ext/maps/foreign.h"
#include "omp_ext/maps/fortran.h"
#include "omp_ext/tasks/job.h"
#include "omp_ext/services/info.h"
#include "omp_ext/libomp/ompt.h"
#include "omp_ext/libomp/real.h"
#include "omp_ext/tasks/reservation.h"
#include "omp_ext/maps/refuse.h"
#include "omp_ext/maps/structs.h"
#include "omp_ext/hooks/virtual.h"

#include <stdatomic.h>
#include <stdlib.h>

/* --- which constructs are ours ------------------------------------------ */

static atomic_bool program_sets_default;

void omp_set_default_device(int device)
{
    REAL(omp_set_default_device)(device);
    od_self.own_default_device = true;
    atomic_store(&program_sets_default, true);
}

/* The device whose addresses the calling code is shown: it may name that to the device's libraries. */
static int shown_device(void)
{
    if (od_self.mode == OD_ON_DEVICE && od_self.shown)
        return od_self.place;
    return od_self.mode == OD_PLAIN && od_self.holds && !(od_self.shown_host & 1) ? od_self.held_place : OD_NOWHERE;
}

int omp_get_default_device(void)
{
    int k = od_runtime_started() ? shown_device() : OD_NOWHERE;
    return k == OD_NOWHERE ? REAL(omp_get_default_device)() : od_runtime_device_number((unsigned)k);
}

static bool is_in_region(const od_map_args *given)
{
    bool inside = false;
    od_map_args room = {0};
    const od_map_args *args = od_expanded(given, &room);
    od_engine *engine = od_runtime_lock();
    od_region *region;
    for (int32_t i = 0; i < args->count && !inside; i++)
        inside = !(args->types[i] & OD_MAP_NO_RANGE) &&
                 od_directory_refer(od_engine_directory(engine), (uintptr_t)args->begins[i], (size_t)args->sizes[i],
                                    &region) != OD_APART;
    od_runtime_unlock();
    od_expand_free(&room);
    return inside;
}

bool od_is_virtual(int64_t *device, const od_map_args *args)
{
    bool hint = od_runtime_options()->device_clause == OD_DEVICE_CLAUSE_HINT;
    if (*device >= 0 && hint)
        return od_runtime_device_index((int)*device) != OD_NOWHERE;
    if (*device >= 0) /* the default device by its number: what was entered without it is there */
        return *device == od_runtime_virtual_number() && is_in_region(args);
    if (*device != OD_DEVICE_DEFAULT)
        return false;
    if (hint || !atomic_load_explicit(&program_sets_default, memory_order_relaxed))
        return true;
    /* The program has chosen: on this thread, or on the one whose tasks inherit it. What was entered before is on the
     * virtual device. */
    int chosen = REAL(omp_get_default_device)();
    if (chosen == od_runtime_virtual_number() && (!od_self.own_default_device || is_in_region(args)))
        return true;
    *device = chosen;
    return false;
}

/* The process has begun to end while this task was being captured: libomptarget may have unloaded the device code. */
bool od_is_too_late(void)
{
    od_runtime_rest_if_ended();
    if (od_self.mode != OD_CAPTURE || !od_runtime_ending())
        return false;
    od_self.capture->what = OD_CAPTURED_DONE;
    return true;
}

void od_note_offload(bool suited)
{
    od_self.offloads = true;
    od_self.unsuited |= !suited;
}

/* True where all data of a construct lie in open regions: the host's own are others. Locked. */
static bool all_in_regions(od_engine *engine, const od_map_args *args)
{
    bool all = true;
    for (int32_t i = 0; i < args->count; i++)
        if (od_arg_classify(args, i) == OD_ARG_DATUM && !od_refer(engine, args, i).region)
            all = false;
    return all;
}

void od_learn_offload(const od_map_args *args, bool suited)
{
    if (!od_self.learning)
        return;
    od_engine *engine = od_runtime_lock();
    od_note_offload(suited && all_in_regions(engine, args));
    od_reservation_learn(od_self.learning, od_self.depends, od_self.ndepends, args);
    od_runtime_unlock();
}

/* --- launches ----------------------------------------------------------- */

static bool is_known_version(const od_kernel_args *args)
{
    return args->version >= OD_KERNEL_ARGS_VERSION_MIN && args->version <= OD_KERNEL_ARGS_VERSION_MAX;
}

static int capture(const od_kernel_call *call)
{
    if (od_launch_copy(&od_self.capture->launch, call))
        od_fatal("out of host memory for a launch");
    od_self.capture->what = OD_CAPTURED_LAUNCH;
    return 0;
}

static int pass_through(const od_kernel_call *call, int64_t device)
{
    od_reservation_give_up();
    od_runtime_enter_libomptarget();
    int failed = od_launch_pass_through(call, device);
    od_runtime_leave_libomptarget();
    if (od_self.mode == OD_CAPTURE && !failed)
        od_self.capture->what = OD_CAPTURED_DONE;
    od_log(OD_LOG_INFO, "omp", "a launch of region %p passed through to libomptarget (%s)", call->kernel,
           device >= 0 ? "its device is chosen by the program" : "its map list needs libomptarget's own logic");
    return failed;
}

static int plain_launch(const od_kernel_call *call)
{
    od_map_args map = od_kernel_map_args(&call->args);
    od_learn_offload(&map, !call->structs);
    return od_job_launch_sync(call, NULL);
}

/* Ends the program where the call's map list is wrong. */
static od_flattened flatten(od_kernel_call *call, od_kernel_args *flat)
{
    od_map_args given = od_kernel_map_args(&call->args), room = {0};
    const od_map_args *list = od_expanded(&given, &room);
    od_refusal refusal = od_find_refused(OD_NAMING_ENTER, list);
    if (refusal.found)
        od_refuse_kernel(call, &refusal);
    od_flattened how = od_structs_flatten(&call->args, list, flat, &call->structs);
    od_expand_free(&room);
    return how;
}

/* Turns the structs of the call's map list into simple arguments, and marks what is libomptarget's: *marked are then
 * the call's map types. False: it must pass through. */
static bool make_simple(od_kernel_call *call, int64_t **marked)
{
    od_kernel_args flat;
    od_map_args written = od_kernel_map_args(&call->args);
    od_foreignness foreign = od_foreign_mark(&written, false, marked);
    if (foreign == OD_FOREIGN_ENTANGLED)
        return false;
    if (foreign == OD_FOREIGN_MARKED) {
        written.types = call->args.types = *marked;
        od_args_bring_foreign_home(&written);
    }
    od_flattened how = flatten(call, &flat);
    if (how == OD_FLAT_IMPOSSIBLE)
        return false;
    od_kernel_args given = call->args;
    if (how == OD_FLAT_DONE)
        call->args = flat;
    od_map_args map = od_kernel_map_args(&call->args);
    if (!od_args_are_simple(&map)) {
        od_structs_free(call->structs);
        call->structs = NULL;
        call->args = given;
        return false;
    }
    if (call->structs) /* a task of its own: nothing is held while it waits for its data */
        od_reservation_give_up();
    od_structs_enter(call->structs);
    return true;
}

static int schedule(const od_kernel_call *call)
{
    switch (od_self.mode) {
    case OD_CAPTURE:
        return capture(call);
    case OD_ON_DEVICE:
        return od_job_launch_inside(call);
    default:
        return plain_launch(call);
    }
}

static int as_written(const od_kernel_call *call, int64_t device, od_kernel_args *args)
{
    const void *before = od_ompt_at(call->from);
    od_runtime_enter_libomptarget();
    int failed = REAL(__tgt_target_kernel)(call->ident, device, call->teams, call->threads, call->kernel, args);
    od_runtime_leave_libomptarget();
    od_ompt_at(before);
    return failed;
}

int __tgt_target_kernel(od_ident *ident, int64_t device, int32_t teams, int32_t threads, void *kernel,
                        od_kernel_args *args)
{
    if (od_self.mode == OD_HOST_VERSION)
        return 1;
    if (od_is_too_late())
        return 0;
    od_kernel_call call = {.ident = ident,
                           .teams = teams,
                           .threads = threads,
                           .kernel = kernel,
                           .from = __builtin_return_address(0)};
    if (!od_runtime_active() || !is_known_version(args))
        return as_written(&call, device, args);
    call.args = *args;
    od_map_args map = od_kernel_map_args(args);
    od_info_tell(OD_INFO_KERNEL, ident, device, &map);
    bool is_virtual = od_is_virtual(&device, &map);
    if (!is_virtual)
        return pass_through(&call, device);
    void *widened = od_fortran_widen(&call.args);
    int64_t *marked = NULL;
    int failed;
    if (make_simple(&call, &marked)) {
        failed = schedule(&call);
    } else {
        call.args = *args;
        failed = pass_through(&call, OD_DEVICE_DEFAULT);
    }
    free(marked);
    free(widened);
    return failed;
}
