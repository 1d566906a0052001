/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Kernel launches, and the default device.
 */
#include "omp_ext/expand.h"
#include "omp_ext/fortran.h"
#include "omp_ext/job.h"
#include "omp_ext/real.h"
#include "omp_ext/structs.h"
#include "omp_ext/virtual.h"

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

int omp_get_default_device(void)
{
    if (od_self.mode == OD_ON_DEVICE && od_self.place != OD_HOST)
        return od_runtime_device_number((unsigned)od_self.place);
    return REAL(omp_get_default_device)();
}

static bool is_in_region(const od_map_args *given)
{
    bool inside = false;
    od_map_args room = {0};
    const od_map_args *args = od_expanded(given, &room);
    od_engine *engine = od_runtime_lock();
    for (int32_t i = 0; i < args->count && !inside; i++)
        inside = !(args->types[i] & OD_MAP_NO_RANGE) &&
                 od_directory_find_region(od_engine_directory(engine), (uintptr_t)args->begins[i], 0);
    od_runtime_unlock();
    for (int32_t i = 0; i < args->count && !inside; i++)
        inside = !(args->types[i] & OD_MAP_NO_RANGE) && od_structs_is_open((uintptr_t)args->begins[i], 1);
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
    if (od_self.mode != OD_CAPTURE || !od_runtime_ended())
        return false;
    od_self.capture->what = OD_CAPTURED_DONE;
    return true;
}

void od_note_offload(bool suited)
{
    od_self.offloads = true;
    od_self.unsuited |= !suited;
}

/* True where all data of a launch lie in open regions: the host may not look at them meanwhile. */
static bool all_in_regions(const od_map_args *args)
{
    bool all = true;
    od_engine *engine = od_runtime_lock();
    for (int32_t i = 0; i < args->count; i++)
        if (od_arg_classify(args, i) == OD_ARG_DATUM &&
            !od_directory_find_region(od_engine_directory(engine), (uintptr_t)args->begins[i], (size_t)args->sizes[i]))
            all = false;
    od_runtime_unlock();
    return all;
}

/* --- launches ----------------------------------------------------------- */

static bool is_known_version(const od_kernel_args *args)
{
    return args->version >= OD_KERNEL_ARGS_VERSION_MIN && args->version <= OD_KERNEL_ARGS_VERSION_MAX;
}

static int capture(const od_kernel_call *call)
{
    if (od_launch_copy(&od_self.capture->launch, call))
        od_runtime_fatal("out of host memory for a launch");
    od_self.capture->what = OD_CAPTURED_LAUNCH;
    return 0;
}

static int pass_through(const od_kernel_call *call, int64_t device)
{
    int failed = od_launch_pass_through(call, device);
    if (od_self.mode == OD_CAPTURE && !failed)
        od_self.capture->what = OD_CAPTURED_DONE;
    od_log(OD_LOG_INFO, "omp", "a launch of region %p passed through to libomptarget (%s)", call->kernel,
           device >= 0 ? "its device is chosen by the program" : "its map list needs libomptarget's own logic");
    return failed;
}

static int plain_launch(const od_kernel_call *call)
{
    od_map_args map = od_kernel_map_args(&call->args);
    if (od_self.learning)
        od_note_offload(!call->structs && all_in_regions(&map));
    return od_job_launch_sync(call, NULL);
}

/* Turns the structs of the call's map list into simple arguments. False: it must pass through. */
static bool make_simple(od_kernel_call *call)
{
    od_kernel_args flat;
    od_flattened how = od_structs_flatten(&call->args, &flat, &call->structs);
    if (how == OD_FLAT_IMPOSSIBLE)
        return false;
    od_map_args map = od_kernel_map_args(how == OD_FLAT_DONE ? &flat : &call->args);
    if (!od_args_are_simple(&map)) {
        od_structs_free(call->structs);
        return false;
    }
    if (how == OD_FLAT_DONE)
        call->args = flat;
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

int __tgt_target_kernel(od_ident *ident, int64_t device, int32_t teams, int32_t threads, void *kernel,
                        od_kernel_args *args)
{
    if (od_self.mode == OD_HOST_VERSION)
        return 1;
    if (od_is_too_late())
        return 0;
    if (!od_runtime_active() || !is_known_version(args))
        return REAL(__tgt_target_kernel)(ident, device, teams, threads, kernel, args);
    od_kernel_call call = {ident, teams, threads, kernel, *args, NULL};
    od_map_args map = od_kernel_map_args(args);
    bool is_virtual = od_is_virtual(&device, &map);
    if (!is_virtual)
        return pass_through(&call, device);
    void *widened = od_fortran_widen(&call.args);
    int failed;
    if (make_simple(&call)) {
        failed = schedule(&call);
    } else {
        call.args = *args;
        failed = pass_through(&call, OD_DEVICE_DEFAULT);
    }
    free(widened);
    return failed;
}
