/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Which constructs are ours; and the default device. See virtual.h. */
#include "omp_ext/hooks/virtual.h"

#include "omp_ext/libomp/real.h"
#include "omp_ext/libomp/thread.h"
#include "omp_ext/maps/args.h"
#include "omp_ext/maps/expand.h"
#include "omp_ext/maps/foreign.h"
#include "omp_ext/runtime/runtime.h"
#include "omp_ext/tasks/reservation.h"

/* --- what the program has said so far ---------------------------------------- */

static atomic_bool sets_default;     /* it has called omp_set_default_device */
static atomic_bool changes_default;  /* with another device than it was before */
static atomic_bool names_another;    /* a construct's clause has named a device that is not the default one */

static bool is_set(const atomic_bool *flag)
{
    return atomic_load_explicit(flag, memory_order_relaxed);
}

/* The device whose addresses the calling code is shown: it may name that to the device's libraries. */
static int shown_device(void)
{
    if (!od_runtime_started())
        return OD_NOWHERE;
    if (od_self.mode == OD_ON_DEVICE && od_self.shown)
        return od_self.place;
    return od_self.mode == OD_PLAIN && od_self.holds && !(od_self.shown_host & 1) ? od_self.held_place : OD_NOWHERE;
}

int omp_get_default_device(void)
{
    int k = shown_device();
    return k == OD_NOWHERE ? REAL(omp_get_default_device)() : od_runtime_device_number((unsigned)k);
}

/* Another one than the virtual device's own. */
static bool is_shown_number(int device)
{
    int k = shown_device();
    return k != OD_NOWHERE && device == od_runtime_device_number((unsigned)k) && device != od_runtime_virtual_number();
}

/* Perhaps what it was told before: the device whose addresses it is shown stands for the virtual one. */
void omp_set_default_device(int device)
{
    if (is_shown_number(device))
        device = od_runtime_virtual_number();
    if (REAL(omp_get_default_device)() != device)
        atomic_store(&changes_default, true);
    REAL(omp_set_default_device)(device);
    od_self.own_default_device = true;
    atomic_store(&sets_default, true);
}

bool od_is_virtual_number(int device)
{
    return device == od_runtime_virtual_number() || is_shown_number(device);
}

/* Where libomptarget has what is around an address, a region that reaches it only by the pointer through which it was
 * entered is not meant. */
static bool is_in_region(const od_map_args *given)
{
    bool inside = false;
    od_map_list room = {0};
    const od_map_args *args = od_expanded(given, &room);
    od_engine *engine = od_runtime_lock();
    od_region *region;
    for (int32_t i = 0; i < args->count && !inside; i++)
        inside = !(args->types[i] & OD_MAP_NO_RANGE) && od_foreign_entry_device(args, i) < 0 &&
                 od_directory_refer(od_engine_directory(engine), od_entry_begin(args, i), (size_t)args->sizes[i],
                                    &region) != OD_APART;
    od_runtime_unlock();
    od_map_list_free(&room);
    return inside;
}

/* By number. Of the default device: what was entered without its number is there, and a program that names no other
 * one has not chosen it. The host is no other one. */
static bool is_named_virtual(int device, od_device_clause clause, const od_map_args *args)
{
    if (clause == OD_DEVICE_CLAUSE_HINT)
        return od_runtime_device_index(device) != OD_NOWHERE;
    if (is_shown_number(device))
        return true;
    if (device != od_runtime_virtual_number()) {
        if (device < REAL(omp_get_num_devices)())
            atomic_store(&names_another, true);
        return false;
    }
    bool habit = clause == OD_DEVICE_CLAUSE_AUTO && !is_set(&names_another) && !is_set(&changes_default);
    if (habit)
        od_runtime_note_habit();
    return habit || is_in_region(args);
}

static bool chooses_default(od_device_clause clause)
{
    if (clause == OD_DEVICE_CLAUSE_AUTO)
        return is_set(&changes_default);
    return clause == OD_DEVICE_CLAUSE_PIN && is_set(&sets_default);
}

bool od_is_virtual(int64_t *device, const od_map_args *args)
{
    od_device_clause clause = od_runtime_options()->device_clause;
    if (*device >= 0)
        return is_named_virtual((int)*device, clause, args);
    if (*device != OD_DEVICE_DEFAULT)
        return false;
    if (!chooses_default(clause))
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
    od_runtime_settle_if_ended();
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
