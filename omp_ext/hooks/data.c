/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Data constructs: target data, enter data, exit data, update.
 *
 * What is ours in their lists goes to regions.h and shown.h, what is libomptarget's to libomptarget, in a call of its
 * own; a construct whose list cannot be divided passes through.
 */
#include "omp_ext/hooks/asked/answers.h"
#include "omp_ext/hooks/lend.h"
#include "omp_ext/hooks/regions.h"
#include "omp_ext/hooks/virtual.h"
#include "omp_ext/libomp/ompt.h"
#include "omp_ext/libomp/real.h"
#include "omp_ext/maps/device_memory.h"
#include "omp_ext/maps/expand.h"
#include "omp_ext/maps/foreign.h"
#include "omp_ext/maps/reach.h"
#include "omp_ext/maps/refuse.h"
#include "omp_ext/maps/structs/structs.h"
#include "omp_ext/process/memory.h"
#include "omp_ext/runtime/cpu/alone.h"
#include "omp_ext/services/info.h"
#include "omp_ext/services/tracing.h"
#include "omp_ext/slices/early.h"
#include "omp_ext/tasks/constructs.h"
#include "omp_ext/tasks/launch/queue.h"
#include "omp_ext/tasks/reservation.h"

#include <stdlib.h>
#include <string.h>

typedef enum construct { BEGIN, END, UPDATE } construct;

/* The region's, which libomptarget has had for the time of its call. */
static bool is_lent(const od_map_args *args, int32_t i)
{
    od_engine *engine = od_runtime_lock();
    bool ours = od_refer_to_regions(engine, args, i).region;
    od_runtime_unlock();
    return ours;
}

static void note_foreign_list(construct what, int64_t device, const od_map_args *args)
{
    for (int32_t i = 0; i < args->count; i++) {
        if (!od_entry_maps(args, i) || !args->sizes[i] || is_lent(args, i))
            continue;
        if (what == BEGIN)
            od_expect_memory(od_foreign_add(od_entry_begin(args, i), (size_t)args->sizes[i], (int)device));
        if (what == END && !REAL(omp_target_is_present)(args->begins[i], (int)device))
            od_foreign_remove(od_entry_begin(args, i));
    }
}

/* What libomptarget itself holds on the default device is remembered, so that entries of later constructs without
 * a device clause that name it are known as its own. */
static void note_foreign(construct what, int64_t device, const od_map_args *args)
{
    od_map_list room = {0};
    if (!od_runtime_started() || od_self.mode == OD_HOST_VERSION || what == UPDATE)
        return;
    const od_map_args *list = od_expanded(args, &room);
    if (device < 0 || device == od_runtime_virtual_number() || device == od_args_device(list))
        note_foreign_list(what, device, list);
    od_map_list_free(&room);
}

static void carry_out_simple(construct what, const od_map_args *flat, const od_structs *structs)
{
    if (what == BEGIN)
        od_data_begin(flat, structs);
    else if (what == END)
        od_data_end(flat);
    else
        od_data_update(flat);
}

/* Several pointers may refer to one begin: the entry of the flat list that has as many of these before it as entry `i`
 * has, or the last one; -1: there is none. */
static int32_t find_shown(const od_map_args *flat, const od_map_args *args, int32_t i)
{
    int32_t before = 0, found = -1;
    for (int32_t j = 0; j < i; j++)
        before += (args->types[j] & OD_MAP_RETURN) && args->begins[j] == args->begins[i];
    for (int32_t j = 0; j < flat->count && before >= 0; j++)
        if ((flat->types[j] & OD_MAP_RETURN) && flat->begins[j] == args->begins[i]) {
            found = j;
            before--;
        }
    return found;
}

/* The addresses shown go where the program reads them. A list that is as the program wrote it has them. */
static void return_addresses(const od_map_args *args, const od_map_args *flat)
{
    if (flat->bases == args->bases)
        return;
    for (int32_t i = 0; (args->any & OD_MAP_RETURN) && i < args->count; i++) {
        int32_t from = (args->types[i] & OD_MAP_RETURN) ? find_shown(flat, args, i) : -1;
        if (from >= 0)
            args->bases[i] = flat->bases[from];
    }
}

/* LLVM 22: an object that od_expanded() has made a pointer's as well. The attachment itself is an entry of the list. */
static void undo_attachment(const od_map_args *args, int32_t i)
{
    const int64_t both = OD_MAP_PTR_AND_OBJ | OD_MAP_ATTACH;
    if ((args->types[i] & both) != both)
        return;
    args->bases[i] = *(void **)args->bases[i];
    args->types[i] = args->sizes[i] ? args->types[i] & ~both : OD_MAP_LITERAL;
}

static od_data_function real_function(construct what)
{
    const od_data_function functions[] = {[BEGIN] = REAL(__tgt_target_data_begin_mapper),
                                          [END] = REAL(__tgt_target_data_end_mapper),
                                          [UPDATE] = REAL(__tgt_target_data_update_mapper)};
    return functions[what];
}

/* The marked entries of the expanded list, if any, go to libomptarget. */
static void forward(construct what, od_ident *ident, const od_map_args *args, const od_map_args *list)
{
    int place = od_foreign_place(list);
    if (place == OD_NOWHERE)
        return;
    int device = od_runtime_device_number((unsigned)place);
    od_map_args theirs = *list;
    theirs.types = od_foreign_types(list);
    theirs.any |= OD_MAP_LITERAL;
    for (int32_t i = 0; i < theirs.count; i++)
        undo_attachment(&theirs, i);
    od_reservation_give_up();
    od_args_write_back_foreign(list);
    int entered = od_queue_enter_passing(device, &theirs);
    real_function(what)(ident, device, theirs.count, theirs.bases, theirs.begins, theirs.sizes, theirs.types,
                        theirs.names, NULL);
    od_queue_leave_passing(entered);
    if (what != UPDATE)
        note_foreign_list(what, device, &theirs);
    return_addresses(args, &theirs);
    free(theirs.types);
}

/* True where some of the list is ours. */
static bool has_own(const od_map_args *args)
{
    for (int32_t i = 0; i < args->count; i++)
        if (!(args->types[i] & OD_MAP_NO_RANGE))
            return true;
    return false;
}

static void refuse_if_wrong(construct what, od_ident *ident, const od_map_args *args)
{
    static const od_naming naming[] = {[BEGIN] = OD_NAMING_ENTER, [END] = OD_NAMING_LEAVE, [UPDATE] = OD_NAMING_MOVE};
    od_refusal refusal = od_regions_find_refused(naming[what], args);
    if (refusal.found)
        od_refuse_data(ident, naming[what], &refusal);
}

/* `list` is the expanded one, `flat` that without structs. */
static void carry_out_lists(construct what, od_ident *ident, const od_map_args *args, const od_map_args *list,
                            const od_map_args *flat, const od_structs *structs)
{
    static const od_ompt_target_kind kind_of[] = {
        [BEGIN] = OD_OMPT_KIND_ENTER_DATA, [END] = OD_OMPT_KIND_EXIT_DATA, [UPDATE] = OD_OMPT_KIND_UPDATE};
    od_ompt_data_construct(kind_of[what], OD_OMPT_BEGIN, od_runtime_virtual_number());
    if (what == END)
        od_info_print_mappings(OD_INFO_END, flat);
    forward(what, ident, args, list);
    carry_out_simple(what, flat, structs);
    if (what == BEGIN)
        od_info_print_mappings(OD_INFO_BEGIN, flat);
    od_ompt_data_construct(kind_of[what], OD_OMPT_END, od_runtime_virtual_number());
    return_addresses(args, flat);
}

/* False: the construct is not simple. */
static bool carry_out(construct what, od_ident *ident, const od_map_args *args, const od_map_args *expanded)
{
    od_structs *structs = NULL;
    int64_t *marked = NULL;
    od_map_args list = *expanded;
    od_foreignness foreign = od_foreign_mark(&list, list.types == args->types, &marked);
    od_map_args flat = list;
    if (foreign != OD_FOREIGN_ENTANGLED)
        refuse_if_wrong(what, ident, &list);
    bool simple = foreign != OD_FOREIGN_ENTANGLED && (!marked || has_own(&list)) &&
                  od_structs_flatten_data(&list, &flat, &structs) != OD_FLAT_IMPOSSIBLE && od_args_are_simple(&flat);
    if (simple)
        carry_out_lists(what, ident, args, &list, &flat, structs);
    od_structs_free(structs);
    free(marked);
    return simple;
}

/* --- constructs that pass through ---------------------------------------- */

/* What is to be done when libomptarget's call has returned. */
typedef struct passing {
    od_lent *lent;
    od_map_list own;
} passing;

/* Entry i as one of a region that is counted, or of a member. False: it is none. Locked. */
static bool is_own(od_engine *engine, const od_map_args *args, int32_t i)
{
    return od_entry_maps(args, i) && od_refer_to_regions(engine, args, i).region;
}

static void make_own(od_map_args *args, int32_t i)
{
    int64_t type = args->types[i];
    bool pointee = type & OD_MAP_PTR_AND_OBJ;
    if (pointee)
        args->bases[i] = *(void **)args->bases[i];
    args->types[i] = (type & ~(OD_MAP_PTR_AND_OBJ | OD_MAP_MEMBER_OF | OD_MAP_ATTACH)) |
                     ((type & OD_MAP_MEMBER_OF) && !pointee ? OD_MAP_PART : 0);
}

/* What the expanded list names of regions. It counts there as always: libomptarget, to which it is lent, does not count
 * it. */
static od_map_list own_part(const od_map_args *list)
{
    od_map_list own = od_map_list_copy(list);
    od_engine *engine = od_runtime_lock();
    for (int32_t i = 0; i < own.args.count; i++)
        if (is_own(engine, &own.args, i))
            make_own(&own.args, i);
        else
            own.args.types[i] = OD_MAP_LITERAL;
    od_runtime_unlock();
    own.args.any |= OD_MAP_PART | OD_MAP_LITERAL;
    return own;
}

/* The list is expanded anew for lending: no attachment of what the construct has entered is due any more. */
static od_lent *lend(construct what, const od_map_args *args, int device)
{
    od_map_list room = {0};
    od_lent *lent = od_lend(od_expanded(args, &room), device, what == BEGIN);
    od_map_list_free(&room);
    return lent;
}

/* Returns libomptarget's number of the device. */
static int begin_passing(construct what, const od_map_args *args, const od_map_args *expanded, passing *p)
{
    int device = od_args_device(expanded);
    p->own = own_part(expanded);
    if (what == BEGIN && has_own(&p->own.args))
        od_data_begin(&p->own.args, NULL);
    p->lent = lend(what, args, device);
    return device;
}

static void end_passing(construct what, const od_map_args *args, passing *p)
{
    od_lend_end(p->lent);
    if (what == BEGIN)
        return_addresses(args, &p->own.args);
    if (what == END && has_own(&p->own.args))
        od_data_end(&p->own.args);
    od_map_list_free(&p->own);
}

static void pass(construct what, int64_t *device, bool is_virtual, const od_map_args *args,
                 const od_map_args *expanded, passing *p)
{
    od_reservation_give_up();
    od_args_write_back(expanded);
    od_log(OD_LOG_INFO, "omp", "a data construct passed through to libomptarget (%s)",
           is_virtual ? "only libomptarget can process its map list" : "its device is chosen by the program");
    if (od_self.mode == OD_CAPTURE)
        od_self.capture->what = OD_CAPTURED_DONE;
    if (is_virtual)
        *device = begin_passing(what, args, expanded, p);
}

static void trace(construct what, const od_ident *ident, const od_map_args *args, uint64_t from_ns)
{
    static const char *const names[] = {[BEGIN] = "enter data", [END] = "exit data", [UPDATE] = "update"};
    if (!from_ns)
        return;
    (void)od_runtime_lock();
    od_tracing_construct(names[what], ident, args, from_ns);
    od_runtime_unlock();
}

/* True where the construct has been dealt with; false: libomptarget is called with *device, then end_passing(). */
static bool handle(construct what, od_ident *ident, int64_t *device, const od_map_args *args, passing *p)
{
    if (od_self.mode == OD_INSPECT) {
        if (what != UPDATE)
            od_construct_show(args, what == BEGIN);
        return true;
    }
    if (od_is_too_late())
        return true;
    if (!od_runtime_active())
        return false;
    od_early_settle();
    if (od_cpu_are_alone() && od_self.mode == OD_CAPTURE)
        od_self.capture->what = OD_CAPTURED_DONE;
    if (od_self.mode == OD_HOST_VERSION || od_cpu_are_alone()) /* data are on the host, addresses are host addresses */
        return true;
    od_info_print((od_info_construct)what, ident, *device, args);
    bool is_virtual = od_is_virtual(device, args);
    OD_RESERVATION_USED;
    od_map_list room = {0};
    const od_map_args *expanded = od_expanded(args, &room);
    uint64_t from_ns = od_tracing_creation();
    bool done = is_virtual && carry_out(what, ident, args, expanded);
    if (done)
        trace(what, ident, args, from_ns);
    else
        pass(what, device, is_virtual, args, expanded, p);
    od_map_list_free(&room);
    return done;
}

/* `call`: libomptarget's function. */
static void answer(construct what, od_data_function call, od_ident *ident, int64_t device, od_map_args *args,
                   const void *from)
{
    const void *before = od_ompt_at(from);
    passing passed = {0};
    if (!handle(what, ident, &device, args, &passed)) {
        int entered = od_queue_enter_passing(device, args);
        call(ident, device, args->count, args->bases, args->begins, args->sizes, args->types, args->names,
             args->mappers);
        od_queue_leave_passing(entered);
        note_foreign(what, device, args);
        end_passing(what, args, &passed);
    }
    od_ompt_at(before);
}

void od_answer_data(od_offload_kind kind, od_ident *ident, int64_t device, od_map_args *args, const void *from)
{
    construct what = kind == OD_ENTER_DATA ? BEGIN : kind == OD_EXIT_DATA ? END : UPDATE;
    answer(what, real_function(what), ident, device, args, from);
}

/* Where libomptarget asks, it is left to do so. It does nothing with the dependences. */
#define OD_DATA_CONSTRUCT(name, what)                                                                                  \
    void __tgt_target_data_##name##_mapper(od_ident *ident, int64_t device, int32_t n, void **bases, void **begins,    \
                                           int64_t *sizes, int64_t *types, void **names, void **mappers)               \
    {                                                                                                                  \
        const void *from = od_asked_from = __builtin_return_address(0);                                                \
        if (od_offered_table.asking_##name) {                                                                          \
            od_offered_table.asking_##name(ident, device, n, bases, begins, sizes, types, names, mappers);             \
            return;                                                                                                    \
        }                                                                                                              \
        od_libomp_count(&od_libomp_counted.intercepted);                                                               \
        od_map_args args = {n, bases, begins, sizes, types, names, mappers, od_types_together(n, types)};              \
        answer(what, REAL(__tgt_target_data_##name##_mapper), ident, device, &args, from);                             \
    }                                                                                                                  \
    static void name##_nowait(od_ident *ident, int64_t device, int32_t n, void **bases, void **begins,                 \
                              int64_t *sizes, int64_t *types, void **names, void **mappers)                            \
    {                                                                                                                  \
        REAL(__tgt_target_data_##name##_nowait_mapper)                                                                 \
        (ident, device, n, bases, begins, sizes, types, names, mappers, 0, NULL, 0, NULL);                             \
    }                                                                                                                  \
    void __tgt_target_data_##name##_nowait_mapper(                                                                     \
        od_ident *ident, int64_t device, int32_t n, void **bases, void **begins, int64_t *sizes, int64_t *types,       \
        void **names, void **mappers, int32_t ndepends, void *depends, int32_t n_noalias, void *noalias)               \
    {                                                                                                                  \
        (void)ndepends, (void)depends, (void)n_noalias, (void)noalias;                                                 \
        const void *from = od_asked_from = __builtin_return_address(0);                                                \
        if (od_offered_table.asking_##name) {                                                                          \
            name##_nowait(ident, device, n, bases, begins, sizes, types, names, mappers);                              \
            return;                                                                                                    \
        }                                                                                                              \
        od_libomp_count(&od_libomp_counted.intercepted);                                                               \
        od_map_args args = {n, bases, begins, sizes, types, names, mappers, od_types_together(n, types)};              \
        answer(what, name##_nowait, ident, device, &args, from);                                                       \
    }

OD_DATA_CONSTRUCT(begin, BEGIN)
OD_DATA_CONSTRUCT(end, END)
OD_DATA_CONSTRUCT(update, UPDATE)
