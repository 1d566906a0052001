/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Launches of the program's thread, in slices or whole. See slices.h. */
#include "omp_ext/slices/slices.h"

#include "omp_ext/hooks/regions.h"
#include "omp_ext/libomp/images.h"
#include "omp_ext/libomp/league.h"
#include "omp_ext/libomp/teams/serial.h"
#include "omp_ext/libomp/thread.h"
#include "omp_ext/maps/list.h"
#include "omp_ext/maps/parts/by_share.h"
#include "omp_ext/process/memory.h"
#include "omp_ext/remote/numbers.h"
#include "omp_ext/services/profile.h"
#include "omp_ext/slices/early.h"
#include "omp_ext/slices/gpus/teams.h"
#include "omp_ext/slices/whole.h"
#include "omp_ext/tasks/entry.h"
#include "omp_ext/tasks/job.h"
#include "util/memory.h"

bool od_slices_are_on(void)
{
    const od_options *options = od_runtime_options();
    return options->slice.count != OD_SLICE_OFF && options->coherence != OD_COHERENCE_STRICT;
}

static _Atomic uint64_t not_tried;

void od_slices_note_off(const od_kernel_call *call)
{
    if (call->args.trip_count > 1 && call->teams != 1 && od_serial_user())
        atomic_fetch_add_explicit(&not_tried, 1, memory_order_relaxed);
}

uint64_t od_slices_not_tried(void)
{
    bool can_be =
        od_runtime_options()->coherence != OD_COHERENCE_STRICT && od_runtime_ndevices() > 1 && !od_remote_is_on();
    return can_be ? atomic_load(&not_tried) : 0;
}

/* --- whether --------------------------------------------------------------------- */

static od_balance balance; /* od_runtime.lock */

/* NULL: out of memory. */
static od_slicing *find_slicing(const od_kernel_call *call)
{
    od_entry *entry = od_entry_get(call->kernel, 0);
    if (!entry)
        return NULL;
    od_runtime_lock();
    bool is_new = !entry->slicing;
    if (is_new)
        entry->slicing = od_calloc(1, sizeof *entry->slicing);
    if (is_new && entry->slicing) {
        entry->slicing->balance = &balance;
        od_profile_slices(entry);
    }
    if (!entry->source)
        entry->source = call->ident;
    od_runtime_unlock();
    if (is_new && entry->slicing && od_images_kernel_names(call->kernel, "__atomic_"))
        atomic_fetch_or(&entry->slicing->seen, OD_SEEN_LIBRARY);
    return entry->slicing;
}

static od_whole judge_argument(od_engine *engine, const od_map_args *args, int32_t i)
{
    static const od_whole reasons[] = {
        [OD_DIVISIBLE] = OD_WHOLE_NOT,
        [OD_DIVISIBLE_NOT_HERE] = OD_WHOLE_NO_WINDOWS,
        [OD_DIVISIBLE_NOT_MAPPED] = OD_WHOLE_NO_REGION,
        [OD_DIVISIBLE_NOT_SECTION] = OD_WHOLE_SECTION,
        [OD_DIVISIBLE_NOT_HELD] = OD_WHOLE_POINTERS,
        [OD_DIVISIBLE_NOT_NOW] = OD_WHOLE_SHARED,
    };
    return od_arg_classify(args, i) == OD_ARG_DATUM ? reasons[od_parts_divisible(engine, args, i)] : OD_WHOLE_NOT;
}

/* To one device, by what it is passed. */
static bool is_bound(const od_kernel_call *call)
{
    return od_self.holds || od_launch_bound(&(od_launch){.call = *call}) != OD_NOWHERE;
}

/* What is in no region gets one for the time of the launch. False: that is not enough. */
static bool may_hold(const od_map_args *args, int32_t i)
{
    return args->sizes[i] > 0 && !(args->types[i] & OD_MAP_ALWAYS);
}

/* With `held` nothing may be outside of regions any more. */
static od_whole judge_data(const od_kernel_call *call, bool held)
{
    od_whole reason = OD_WHOLE_NOT;
    if (call->structs || is_bound(call))
        return OD_WHOLE_POINTERS;
    if (!od_serial_user())
        return OD_WHOLE_SHARED;
    od_engine *engine = od_runtime_lock();
    for (int32_t i = 0; i < call->map.count && !reason; i++) {
        reason = judge_argument(engine, &call->map, i);
        if (reason == OD_WHOLE_NO_REGION && !held && may_hold(&call->map, i))
            reason = OD_WHOLE_NOT;
    }
    od_runtime_unlock();
    return reason;
}

static size_t slice_bytes(const od_map_args *args, const od_parts_slice *slice)
{
    enum { PAGES_BESIDE = 16 };
    size_t bytes = PAGES_BESIDE * od_window_page();
    od_engine *engine = od_runtime_lock();
    for (int32_t i = 0; i < args->count; i++)
        if (od_arg_classify(args, i) == OD_ARG_DATUM)
            bytes += od_parts_slice_bytes(engine, args, i, slice);
    od_runtime_unlock();
    return bytes;
}

static bool fits(const od_kernel_call *call, od_parts_slice slice)
{
    size_t room = od_runtime_backend()->pool_bytes[0];
    for (slice.index = 0; slice.index < slice.count; slice.index++)
        if (slice_bytes(&call->map, &slice) > room)
            return false;
    return true;
}

/* So many times the devices, or OMPDARTS_SLICE: the same for all kernels, or each would cut the arrays anew. */
static _Atomic unsigned times = 1;

/* True: what so many slices use is known. */
static bool plan(const od_kernel_call *call, od_slicing *s, unsigned slices)
{
    od_runtime_lock();
    od_expect_memory(od_slicing_plan(s, (unsigned)call->map.count, slices));
    bool is_known = od_footprint_is_known(s->footprint);
    od_runtime_unlock();
    return is_known;
}

/* How many slices fit, and are planned; 0: the arrays do not, however many there are. What is known of a kernel's
 * slices says nothing of smaller ones: where it needs more than a device has, it is whole from then on. */
static unsigned plan_slices(const od_kernel_call *call, od_slicing *s)
{
    int wanted = od_runtime_options()->slice.count;
    unsigned base = wanted > 0 ? (unsigned)wanted : od_runtime_ndevices();
    for (unsigned n = times; n * base <= OD_MOST_SLICES; n++) {
        od_parts_slice slice = {.count = n * base};
        bool is_known = plan(call, s, slice.count);
        slice.footprint = s->footprint;
        if (fits(call, slice)) {
            times = n;
            return slice.count;
        }
        if (is_known)
            return 0;
    }
    return 0;
}

static bool wants_to_pay(void)
{
    return od_runtime_options()->slice.count == OD_SLICE_AUTO;
}

/* One device has room for all of the arrays. */
static bool can_learn(const od_kernel_call *call, unsigned count)
{
    return fits(call, (od_parts_slice){.count = count, .learns = true});
}

static od_whole judge(const od_kernel_call *call, od_slicing *s)
{
    if (call->teams == 1 || call->teams < 0) /* below 0: no league. The program may count on the order of iterations */
        return OD_WHOLE_TEAMS;
    od_runtime_lock();
    od_whole reason = od_slicing_decide(s, wants_to_pay());
    od_runtime_unlock();
    if (!reason)
        reason = judge_data(call, false);
    if (!reason && od_runtime_ndevices() < 2)
        reason = OD_WHOLE_ONE_DEVICE;
    if (!reason && call->args.trip_count < 2)
        reason = OD_WHOLE_FEW;
    if (!reason && od_slicing_has_numbers(s) && atomic_load(&s->teams) < 2) /* likewise */
        reason = OD_WHOLE_TEAMS;
    return reason;
}

/* How many slices, with all data in regions; 0: *reason says why the launch is whole. */
static unsigned decide(const od_kernel_call *call, od_slicing *s, od_whole *reason)
{
    *reason = judge_data(call, true);
    unsigned count = *reason ? 0 : plan_slices(call, s);
    if (count && wants_to_pay() && !s->learnt && !can_learn(call, count))
        count = 0;
    if (!*reason && (!count || count > call->args.trip_count))
        *reason = count ? OD_WHOLE_FEW : OD_WHOLE_LARGE;
    return *reason ? 0 : count;
}

/* --- in slices -------------------------------------------------------------------------- */

/* The first launch in slices: one after the other, on a device that has all of the arrays, where there is one. */
static bool should_learn(const od_kernel_call *call, od_slicing *s, unsigned count)
{
    bool learns = !s->learnt && can_learn(call, count);
    s->learnt = true;
    return learns;
}

/* False: not now. */
static bool launch_slices(const od_kernel_call *call, od_slicing *s, unsigned count, bool in_regions)
{
    bool overlaps = in_regions && od_early_may(s);
    if (!overlaps)
        od_early_settle();
    bool learns = should_learn(call, s, count);
    od_parts_slice parts = {.count = count, .footprint = s->footprint, .learns = learns};
    od_group *group = od_group_make(call, s, parts, od_early_note_ended);
    if (group)
        od_early_run(group, overlaps ? od_early_take() : NULL, overlaps);
    s->learnt &= group || !learns;
    return group;
}

/* `in_regions`: all data were before. */
static int launch_held(const od_kernel_call *call, od_slicing *s, bool in_regions)
{
    od_whole reason;
    unsigned count = decide(call, s, &reason);
    if (count && launch_slices(call, s, count, in_regions))
        return 0;
    od_early_settle();
    return od_whole_launch(call, s, count ? OD_WHOLE_SHARED : reason);
}

static bool is_present_in_part(const od_map_args *args, int32_t i)
{
    const od_region *region = od_refer_to_regions(od_runtime_lock(), args, i).region;
    od_runtime_unlock();
    return region;
}

/* The entries of the list that are in no region; args.count is 0 where all are. */
static od_map_list outside(const od_map_args *args)
{
    od_map_list list = {0};
    for (int32_t i = 0; i < args->count; i++) {
        bool is_datum = od_arg_classify(args, i) == OD_ARG_DATUM && args->sizes[i] > 0;
        if (is_datum && !od_range_is_in_region(od_entry_begin(args, i), (size_t)args->sizes[i]) &&
            !is_present_in_part(args, i))
            od_map_list_add(&list, args->bases[i], args->begins[i], args->sizes[i],
                            args->types[i] & (OD_MAP_TO | OD_MAP_FROM));
    }
    return list;
}

/* The calling thread alone launches the kernel. */
static int launch(const od_kernel_call *call, od_slicing *s)
{
    od_whole reason = od_remote_is_on() ? OD_WHOLE_ON_RANKS : judge(call, s);
    if (reason) {
        od_early_settle();
        return od_whole_launch(call, s, reason);
    }
    od_map_list own = outside(&call->map);
    if (own.args.count) {
        od_early_settle();
        od_data_hold(&own.args);
    }
    int failed = launch_held(call, s, !own.args.count);
    if (own.args.count)
        od_data_end(&own.args);
    od_map_list_free(&own);
    return failed;
}

int od_slices_launch(const od_kernel_call *call)
{
    od_slicing *s = find_slicing(call);
    if (!s || atomic_flag_test_and_set(&s->busy)) { /* another root thread's launch may change what is known of it */
        od_early_settle();
        return od_job_launch_sync(call, NULL);
    }
    int failed = od_league_may_be_sliced(call->kernel) ? od_teams_launch(call, s)
                 : od_league_is_on_gpus()              ? od_whole_launch(call, s, OD_WHOLE_NO_RUNTIME)
                                                       : launch(call, s);
    atomic_flag_clear(&s->busy);
    return failed;
}
