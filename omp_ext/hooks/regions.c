/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Data constructs on our data. See regions.h. */
#include "omp_ext/hooks/regions.h"

#include "omp_ext/hooks/shown.h"
#include "omp_ext/hooks/virtual.h"
#include "omp_ext/libomp/thread.h"
#include "omp_ext/maps/uses/uses.h"
#include "omp_ext/process/memory.h"
#include "omp_ext/runtime/runtime.h"
#include "omp_ext/services/record/record.h"
#include "omp_ext/tasks/reservation.h"
#include "util/memory.h"
#include "util/thread.h"

#include <stdlib.h>

static bool is_mapped(const od_map_args *args, int32_t i)
{
    return !(args->types[i] & OD_MAP_NO_RANGE) && args->sizes[i] > 0;
}

/* The range is in memory. A section of length zero moves nothing, but counts in the region that it refers to. */
static bool is_counted(const od_map_args *args, int32_t i)
{
    return !(args->types[i] & OD_MAP_NO_RANGE);
}

od_refusal od_regions_find_refused(od_naming naming, const od_map_args *args)
{
    od_refusal refusal = od_find_refused(naming, args);
    while (refusal.found && refusal.passes) {
        od_reservation_give_up();
        od_thread_nap(100 * 1000);
        refusal = od_find_refused(naming, args);
    }
    return refusal;
}

/* --- requests of a construct -------------------------------------------- */

typedef struct pending {
    od_request **request; /* malloc'ed, some NULL */
    size_t count, capacity;
} pending;

/* What a construct that opens regions asks for in the end. A request holds data: it is made only when nothing else of
 * the construct waits for data that overlap. */
typedef struct wish {
    int32_t arg;
    od_request_kind kind;
} wish;

typedef struct wishes {
    wish *wish; /* room for two per entry of the list */
    size_t count;
} wishes;

static void add_wish(wishes *w, int32_t arg, od_request_kind kind)
{
    w->wish[w->count++] = (wish){arg, kind};
}

static void push_request(pending *p, od_request *request)
{
    if (p->count == p->capacity) {
        p->capacity = p->capacity ? 2 * p->capacity : 8;
        od_request **more = od_alloc_more(p->request, p->capacity * sizeof *more);
        p->request = more;
    }
    if (request)
        request->inside = od_self.mode == OD_ON_DEVICE;
    p->request[p->count++] = request;
}

/* Under the lock under which all have been made, and which is gone at the end: whatever another thread asks for comes
 * after them. A target task waits for its requests without a thread; the program's thread waits here. */
static void finish_pending(pending *p, od_engine *engine)
{
    if (od_self.mode == OD_CAPTURE) {
        od_self.capture->what = OD_CAPTURED_REQUESTS;
        od_self.capture->requests = od_request_group_begin();
        for (size_t i = 0; i < p->count; i++)
            od_request_group_add(od_self.capture->requests, engine, p->request[i]);
        od_runtime_unlock();
    } else if (od_runtime_requests_and_unlock(engine, p->request, p->count)) {
        od_recorder_resume();
    }
    free(p->request);
}

/* Locked, as what follows. */
static void add_request(pending *p, od_engine *engine, uintptr_t base, size_t size, od_request_kind kind)
{
    od_request *request;
    od_expect_memory(!od_engine_range_request(engine, base, size, kind, &request));
    push_request(p, request);
}

static void add_range(pending *p, od_engine *engine, const od_map_args *args, int32_t i, od_request_kind kind)
{
    od_recorder_range(od_entry_begin(args, i), (size_t)args->sizes[i], kind);
    add_request(p, engine, od_entry_begin(args, i), (size_t)args->sizes[i], kind);
}

/* --- regions ------------------------------------------------------------ */

static bool has_one_reference(const od_region *region)
{
    return region && region->references + region->holds == 1;
}

/* `fresh`: it was not open before, whoever else may open it meanwhile. */
static od_status open_region(const od_map_args *args, int32_t i, bool *fresh)
{
    od_section section = od_arg_section(args, i);
    for (unsigned tries = 0;; tries++) {
        od_engine *engine = od_runtime_lock();
        od_status status = od_engine_region_open(engine, &section, !(args->types[i] & OD_MAP_TO));
        od_region *region = status ? NULL : od_arg_region(engine, OD_NAMING_ENTER, args, i);
        *fresh = has_one_reference(region);
        if (region && od_arg_is_always(args, i, OD_MAP_TO)) /* what was opened without contents has some now */
            region->undefined = false;
        if (region)
            od_recorder_open(section.size ? section.begin : region->base, section.size ? section.size : region->size,
                           !(args->types[i] & OD_MAP_TO), section.hold);
        od_runtime_unlock();
        od_expect_memory(status != OD_ENOMEM);
        if (status != OD_EFULL)
            return status;
        od_args_wait_for_overlap(args, i, tries);
    }
}

/* What the host writes after the construct is not seen by kernels. After an asynchronous one it may not write before it
 * has synchronised: until then nothing need be copied, and most of it is on a device by then. */
static void seal(wishes *w, const od_map_args *args, int32_t i)
{
    od_coherence coherence = od_runtime_options()->coherence;
    if (coherence == OD_COHERENCE_STRICT || (coherence == OD_COHERENCE_AUTO && od_self.mode != OD_CAPTURE)) {
        add_wish(w, i, OD_REQUEST_SNAPSHOT);
    } else if (coherence == OD_COHERENCE_AUTO) {
        od_engine *engine = od_runtime_lock();
        od_region *region =
            od_directory_find_region(od_engine_directory(engine), od_entry_begin(args, i), (size_t)args->sizes[i]);
        if (region)
            od_engine_region_defer(engine, region);
        od_runtime_unlock();
    }
}

/* The struct that the part lies in. */
static bool is_in_fresh(const od_map_args *args, int32_t i)
{
    od_engine *engine = od_runtime_lock();
    bool fresh = has_one_reference(od_arg_region(engine, OD_NAMING_ENTER, args, i));
    od_runtime_unlock();
    return fresh;
}

/* A member: its struct, which stands before it, has been opened, and counts the references. */
static bool is_part(const od_map_args *args, int32_t i)
{
    return args->types[i] & OD_MAP_PART;
}

static void open_part(const od_map_args *args, int32_t i, wishes *w)
{
    bool fresh = is_in_fresh(args, i);
    if (!is_mapped(args, i) || !(args->types[i] & OD_MAP_TO) || !(fresh || (args->types[i] & OD_MAP_ALWAYS)))
        return;
    od_engine *engine = od_runtime_lock();
    od_region *region =
        od_directory_find_region(od_engine_directory(engine), od_entry_begin(args, i), (size_t)args->sizes[i]);
    if (region)
        region->undefined = false;
    od_runtime_unlock();
    if (fresh)
        seal(w, args, i);
    else
        add_wish(w, i, OD_REQUEST_PUSH);
}

static wishes open_regions(const od_map_args *args)
{
    wishes w = {.wish = od_malloc(2 * ((size_t)args->count + 1) * sizeof *w.wish)};
    od_expect_memory(w.wish);
    for (int32_t i = 0; i < args->count; i++) {
        if (is_part(args, i)) {
            open_part(args, i, &w);
            continue;
        }
        if (!is_counted(args, i))
            continue;
        bool fresh = false;
        od_status status = open_region(args, i, &fresh);
        if (status) /* od_find_refused() has found nothing: another thread has entered it meanwhile */
            od_log(OD_LOG_ERROR, "omp",
                   "mapping %lld bytes at %p would extend data that are already mapped: not possible in OpenMP",
                   (long long)args->sizes[i], args->begins[i]);
        else if (od_arg_is_always(args, i, OD_MAP_TO))
            add_wish(&w, i, OD_REQUEST_PUSH);
        if (!status && is_mapped(args, i) && (args->types[i] & OD_MAP_TO) && fresh)
            seal(&w, args, i);
    }
    return w;
}

/* The first entry from j on that is a member of the struct in the region, or the count. A struct's members stand behind
 * it, before those of the next one. */
static int32_t next_part(const od_map_args *args, int32_t j, const od_region *region)
{
    while (j < args->count && !is_part(args, j))
        j++;
    bool other = j < args->count && od_entry_begin(args, j) - region->base >= region->size;
    return other ? args->count : j;
}

/* map(delete:) of a member deletes its struct. */
static int64_t type_of_closing(const od_map_args *args, int32_t i, int32_t first, const od_region *region)
{
    int64_t type = args->types[i];
    for (int32_t j = first; (j = next_part(args, j, region)) < args->count; j++)
        type |= args->types[j] & OD_MAP_DELETE;
    return type;
}

/* The members of a struct are written back if its region closes now. */
static void fetch_parts(od_engine *engine, const od_map_args *args, int32_t first, const od_region *region, bool last,
                        pending *p)
{
    for (int32_t j = first; (j = next_part(args, j, region)) < args->count; j++) {
        bool moves = (args->types[j] & OD_MAP_FROM) && (last || (args->types[j] & OD_MAP_ALWAYS));
        if (!moves || !is_mapped(args, j))
            continue;
        add_range(p, engine, args, j, OD_REQUEST_PULL);
    }
}

/* first: the first member behind it in the list. */
static void close_region(od_engine *engine, const od_map_args *args, int32_t i, int32_t first, pending *p)
{
    od_section section = od_arg_section(args, i);
    od_request *request;
    const od_region *region = od_arg_region(engine, OD_NAMING_LEAVE, args, i);
    int64_t type = region ? type_of_closing(args, i, first, region) : args->types[i];
    bool from = (type & OD_MAP_FROM) && section.size, all = type & OD_MAP_DELETE;
    if (region)
        fetch_parts(engine, args, first, region, od_region_would_close(region, type), p);
    if (region)
        od_recorder_close(section.size ? section.begin : region->base, section.size ? section.size : region->size, from,
                        all, section.hold);
    od_expect_memory(!od_engine_region_close(engine, &section, from, all, &request));
    push_request(p, request);
}

/* What is not there as a whole stays as it is. */
static bool is_left(od_engine *engine, const od_map_args *args, int32_t i)
{
    return od_arg_region(engine, OD_NAMING_LEAVE, args, i);
}

static void close_regions(od_engine *engine, const od_map_args *args, pending *p)
{
    int32_t first = args->count;
    for (int32_t i = args->count - 1; i >= 0; i--) {
        if (is_part(args, i))
            first = i;
        if (is_part(args, i) || !is_counted(args, i))
            continue;
        if (od_arg_is_always(args, i, OD_MAP_FROM) && is_left(engine, args, i))
            add_range(p, engine, args, i, OD_REQUEST_PULL);
        close_region(engine, args, i, first, p);
    }
}

static void update(od_engine *engine, const od_map_args *args, pending *p)
{
    for (int32_t i = 0; i < args->count; i++) {
        if (!is_mapped(args, i) || !(args->types[i] & (OD_MAP_TO | OD_MAP_FROM)))
            continue;
        od_region *region = od_arg_region(engine, OD_NAMING_MOVE, args, i);
        if (!region)
            continue;
        if ((args->types[i] & OD_MAP_TO) && !od_runtime_options()->memory.spill)
            region->undefined = false; /* from now on some of it is defined by the host */
        add_range(p, engine, args, i, (args->types[i] & OD_MAP_TO) ? OD_REQUEST_PUSH : OD_REQUEST_PULL);
    }
}

/* --- constructs --------------------------------------------------------- */

static void learn(const od_map_args *args)
{
    if (!od_self.learning)
        return;
    od_map_args parameters = od_args_as_parameters(args);
    od_learn_offload(&parameters, od_shows_addresses(args));
    free(parameters.types);
}

/* A struct's contents on the device are from now on its own: pointers are attached, the host's may change. */
static void snapshot_struct(uintptr_t base, size_t size)
{
    od_request *request = NULL;
    od_engine *engine = od_runtime_lock();
    const od_region *region = od_directory_find_region(od_engine_directory(engine), base, size);
    if (region && !region->undefined)
        od_expect_memory(!od_engine_range_request(engine, base, size, OD_REQUEST_SNAPSHOT, &request));
    od_runtime_unlock();
    od_runtime_request(request);
}

typedef struct shown_structs {
    uintptr_t *base; /* malloc'ed: of their regions, one after the other */
    size_t count;
} shown_structs;

static void note_attached(void *arg, uintptr_t base, size_t size, bool first)
{
    shown_structs *shown = arg;
    if (first)
        snapshot_struct(base, size);
    od_engine *engine = od_runtime_lock();
    const od_datum *d = od_directory_find(od_engine_directory(engine), base, size);
    bool is_shown = d && d->bound && !(shown->count && shown->base[shown->count - 1] == base);
    od_runtime_unlock();
    if (!is_shown)
        return;
    shown->base = od_alloc_more(shown->base, (shown->count + 1) * sizeof *shown->base);
    shown->base[shown->count++] = base;
}

/* In a struct that the program is shown on a device just now, or has been shown and may use, the words are written at
 * once: kernels that get its address do not name it. */
static void attach(const od_structs *structs)
{
    shown_structs shown = {0};
    od_structs_attach(structs, note_attached, &shown);
    for (size_t i = 0; i < shown.count; i++) {
        bool on_device;
        od_region_address((const void *)shown.base[i], OD_NOWHERE, &on_device);
    }
    free(shown.base);
}

void od_data_begin(const od_map_args *args, const od_structs *structs)
{
    if (od_shows_own_data(args)) {
        od_args_push_always(args);
        od_show_own_addresses(args);
        od_self.job->used = true;
        return;
    }
    od_reservation_give_up();
    learn(args);
    wishes w = open_regions(args);
    attach(structs);
    if (od_shows_addresses(args)) /* first: what is on a device then need not be copied to be sealed */
        od_show_addresses(args);
    pending p = {0};
    od_engine *engine = od_runtime_lock();
    for (size_t i = 0; i < w.count; i++)
        add_range(&p, engine, args, w.wish[i].arg, w.wish[i].kind);
    free(w.wish);
    finish_pending(&p, engine);
}

void od_data_hold(const od_map_args *args)
{
    od_reservation_give_up();
    free(open_regions(args).wish);
}

void od_data_end(const od_map_args *args)
{
    if (od_has_shown_own(args)) {
        od_args_fetch_always(args);
        od_hide_own_addresses();
        return;
    }
    od_reservation_give_up();
    od_note_offload(od_shows_addresses(args));
    if (od_shows_addresses(args))
        od_hide_addresses(args);
    pending p = {0};
    od_engine *engine = od_runtime_lock();
    close_regions(engine, args, &p);
    finish_pending(&p, engine);
}

void od_data_update(const od_map_args *args)
{
    pending p = {0};
    od_reservation_give_up();
    od_note_offload(false);
    od_engine *engine = od_runtime_lock();
    update(engine, args, &p);
    finish_pending(&p, engine);
}
