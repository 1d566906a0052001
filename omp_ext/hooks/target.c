/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Kernel launches.
 */
#include "omp_ext/hooks/asked/answers.h"
#include "omp_ext/hooks/lend.h"
#include "omp_ext/hooks/regions.h"
#include "omp_ext/hooks/virtual.h"
#include "omp_ext/libomp/ompt.h"
#include "omp_ext/libomp/real.h"
#include "omp_ext/maps/expand.h"
#include "omp_ext/maps/foreign.h"
#include "omp_ext/maps/fortran.h"
#include "omp_ext/maps/refer.h"
#include "omp_ext/maps/structs/structs.h"
#include "omp_ext/process/memory.h"
#include "omp_ext/remote/remote.h"
#include "omp_ext/runtime/cpu/alone.h"
#include "omp_ext/services/info.h"
#include "omp_ext/slices/early.h"
#include "omp_ext/slices/gpus/apart.h"
#include "omp_ext/slices/slices.h"
#include "omp_ext/tasks/job.h"
#include "omp_ext/tasks/launch/queue.h"
#include "omp_ext/tasks/reservation.h"
#include "util/memory.h"

#include <stdlib.h>

static bool is_known_version(const od_kernel_args *args)
{
    return args->version >= OD_KERNEL_ARGS_VERSION_MIN && args->version <= OD_KERNEL_ARGS_VERSION_MAX;
}

static int capture(const od_kernel_call *call)
{
    od_expect_memory(!od_launch_copy(&od_self.capture->launch, call));
    od_self.capture->what = OD_CAPTURED_LAUNCH;
    return 0;
}

static int pass_through(const od_kernel_call *call, int64_t device)
{
    od_reservation_give_up();
    od_early_settle();
    if (od_self.mode == OD_CAPTURE && device == REAL(omp_get_initial_device)()) /* its code is known to offload */
        od_runtime_synchronise();
    od_runtime_enter_libomptarget();
    int failed = od_pass_through(call, device);
    od_runtime_leave_libomptarget();
    if (od_self.mode == OD_CAPTURE && !failed)
        od_self.capture->what = OD_CAPTURED_DONE;
    od_log(OD_LOG_INFO, "omp", "a launch of region %p passed through to libomptarget (%s)", call->kernel,
           device >= 0              ? "its device is chosen by the program"
           : od_memory_is_short()   ? "host memory is short"
           : od_remote_is_on()      ? "it cannot run on another rank"
                                    : "only libomptarget can process its map list");
    return failed;
}

static int plain_launch(const od_kernel_call *call)
{
    od_learn_offload(&call->map, !call->structs);
    if (od_slices_are_on())
        return od_slices_launch(call);
    od_slices_note_off(call);
    return od_job_launch_sync(call, NULL);
}

/* Ends the program where the call's map list is wrong. */
static od_flattened flatten(od_kernel_call *call)
{
    od_map_list room = {0};
    const od_map_args *list = od_expanded(&call->map, &room);
    od_refusal refusal = od_regions_find_refused(OD_NAMING_ENTER, list);
    if (refusal.found)
        od_refuse_kernel(call, &refusal);
    od_flattened how = od_structs_flatten(list, list != &call->map, &call->map, &call->structs);
    od_map_list_free(&room);
    return how;
}

/* Turns the structs of the call's map list into simple arguments, and marks what is libomptarget's: *marked are then
 * the list's map types. False: it must pass through, as written. */
static bool make_simple(od_kernel_call *call, int64_t **marked)
{
    od_foreignness foreign = od_foreign_mark(&call->map, false, marked);
    if (foreign != OD_FOREIGN_NONE || od_self.mode != OD_PLAIN)
        od_early_settle();
    if (foreign == OD_FOREIGN_ENTANGLED)
        return false;
    if (foreign == OD_FOREIGN_MARKED)
        od_args_write_back_foreign(&call->map);
    if (flatten(call) == OD_FLAT_IMPOSSIBLE)
        return false;
    if (!od_args_are_simple(&call->map)) {
        od_structs_free(call->structs);
        call->structs = NULL;
        return false;
    }
    if (call->structs) { /* a separate task: nothing is held while it waits for its data */
        od_reservation_give_up();
        od_early_settle();
    }
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

/* Pointers in them may be our devices'. */
static bool uses_regions(const od_map_args *args)
{
    bool uses = false;
    od_engine *engine = od_runtime_lock();
    for (int32_t i = 0; i < args->count && !uses; i++)
        uses = od_refer_to_regions(engine, args, i).region != NULL;
    od_runtime_unlock();
    return uses;
}

static int as_written(const od_kernel_call *call, int64_t device, od_kernel_args *args)
{
    const void *before = od_ompt_at(call->from);
    od_early_settle();
    od_apart_enter();
    int entered = od_queue_enter_passing(device, &call->map);
    int failed = REAL(__tgt_target_kernel)(call->ident, device, call->teams, call->threads, call->kernel, args);
    od_queue_leave_passing(entered);
    od_apart_leave();
    od_ompt_at(before);
    return failed;
}

/* The host version runs on the program's memory: of a task later, with its data as the scheduler knows them. */
static int on_host(od_kernel_call *call)
{
    if (od_self.mode != OD_CAPTURE)
        return 1;
    if (!od_args_are_simple(&call->map))
        call->map = (od_map_args){0};
    return capture(call);
}

int od_answer_kernel(od_ident *ident, int64_t device, int32_t teams, int32_t threads, void *kernel,
                     od_kernel_args *args, const void *from)
{
    if (od_self.mode == OD_HOST_VERSION)
        return 1;
    if (od_is_too_late())
        return 0;
    od_kernel_call call = {.ident = ident,
                           .teams = teams,
                           .threads = threads,
                           .thread_limit = od_self.thread_limit,
                           .kernel = kernel,
                           .from = from};
    if (!od_runtime_active() || !is_known_version(args))
        return as_written(&call, device, args);
    const int32_t count = (int32_t)args->count;
    const od_map_args map = {count,       args->bases, args->begins,  args->sizes,
                             args->types, args->names, args->mappers, od_types_together(count, args->types)};
    call.args = *args;
    call.map = map;
    if (od_cpu_are_alone())
        return on_host(&call);
    od_info_print(OD_INFO_KERNEL, ident, device, &map);
    bool is_virtual = od_is_virtual(&device, &map);
    if (!is_virtual)
        return pass_through(&call, device);
    if ((od_memory_is_short() && !uses_regions(&map)) || od_remote_must_stay(&call))
        return pass_through(&call, OD_DEVICE_DEFAULT);
    OD_RESERVATION_USED;
    void *widened = od_fortran_widen(&call.map);
    int64_t *shared = od_list_mark_shared(&call.map), *marked = NULL;
    int failed;
    if (make_simple(&call, &marked)) {
        failed = schedule(&call);
    } else {
        call.map = map;
        failed = pass_through(&call, OD_DEVICE_DEFAULT);
    }
    free(marked);
    free(shared);
    free(widened);
    return failed;
}

int __tgt_target_kernel(od_ident *ident, int64_t device, int32_t teams, int32_t threads, void *kernel,
                        od_kernel_args *args)
{
    const void *from = od_asked_from = __builtin_return_address(0);
    if (od_offered_table.asking_kernel)
        return od_offered_table.asking_kernel(ident, device, teams, threads, kernel, args);
    od_libomp_count(&od_libomp_counted.intercepted);
    return od_answer_kernel(ident, device, teams, threads, kernel, args, from);
}
