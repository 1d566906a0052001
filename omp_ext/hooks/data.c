/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Data constructs: target data, enter data, exit data, update.
 *
 * On the virtual device they open and close regions: no transfer, no allocation. A close brings home
 * what is mapped `from`; an update brings home or pushes its section. use_device_ptr shows the program an address
 * on one device, to which the datum is bound until the construct ends. Inside a job that has a device the job's own
 * data are already there: the construct only shows them.
 */
#include "memmgr/data/spill.h"
#include "omp_ext/maps/device_memory.h"
#include "omp_ext/maps/expand.h"
#include "omp_ext/process/fatal.h"
#include "omp_ext/maps/foreign.h"
#include "omp_ext/services/info.h"
#include "omp_ext/tasks/job.h"
#include "omp_ext/hooks/lend.h"
#include "omp_ext/libomp/ompt.h"
#include "omp_ext/tasks/queue.h"
#include "omp_ext/maps/reach.h"
#include "omp_ext/libomp/real.h"
#include "omp_ext/services/record/record.h"
#include "omp_ext/maps/refuse.h"
#include "omp_ext/tasks/reservation.h"
#include "omp_ext/maps/structs/structs.h"
#include "omp_ext/hooks/virtual.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static bool is_mapped(const od_map_args *args, int32_t i)
{
    return !(args->types[i] & OD_MAP_NO_RANGE) && args->sizes[i] > 0;
}

/* The range is in memory. A section of length zero moves nothing, but counts in the region that it refers to. */
static bool is_counted(const od_map_args *args, int32_t i)
{
    return !(args->types[i] & OD_MAP_NO_RANGE);
}

/* The construct's list with every range as a kernel argument, so that all of them count as its data. */
static int64_t *as_parameters(const od_map_args *args)
{
    int64_t *types = malloc(((size_t)args->count + 1) * sizeof *types);
    if (!types)
        od_fatal("out of host memory for a data construct");
    for (int32_t i = 0; i < args->count; i++)
        types[i] = (args->types[i] & OD_MAP_ATTACH) ? OD_MAP_ATTACH : (args->types[i] | OD_MAP_PARAM) & ~OD_MAP_RETURN;
    return types;
}

/* --- requests of a construct -------------------------------------------- */

typedef struct pending {
    od_request **request; /* malloc'ed, some NULL */
    size_t count, capacity;
} pending;

/* What a construct that opens regions asks for in the end. A request holds data: it is made only when nothing else of the
 * construct waits for data that overlap. */
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
        od_request **more = realloc(p->request, p->capacity * sizeof *more);
        if (!more)
            od_fatal("out of host memory for a data construct");
        p->request = more;
    }
    if (request)
        request->inside = od_self.mode == OD_ON_DEVICE;
    p->request[p->count++] = request;
}

/* A target task waits for its requests without a thread; the program's thread waits here. */
static void finish_pending(pending *p)
{
    if (od_self.mode == OD_CAPTURE) {
        od_self.capture->what = OD_CAPTURED_REQUESTS;
        od_self.capture->requests = p->request;
        od_self.capture->nrequests = p->count;
        return;
    }
    for (size_t i = 0; i < p->count; i++)
        od_runtime_request(p->request[i]);
    free(p->request);
}

/* Locked. */
static void add_request(pending *p, od_engine *engine, uintptr_t base, size_t size, od_request_kind kind)
{
    od_request *request;
    if (od_engine_range_request(engine, base, size, kind, &request))
        od_fatal("out of host memory for a data construct");
    push_request(p, request);
}

static void add_range(pending *p, const od_map_args *args, int32_t i, od_request_kind kind)
{
    od_engine *engine = od_runtime_lock();
    od_record_range((uintptr_t)args->begins[i], (size_t)args->sizes[i], kind);
    add_request(p, engine, (uintptr_t)args->begins[i], (size_t)args->sizes[i], kind);
    od_runtime_unlock();
}

/* --- regions ------------------------------------------------------------ */

static bool is_always(const od_map_args *args, int32_t i, int64_t direction)
{
    return (args->types[i] & OD_MAP_ALWAYS) && (args->types[i] & direction) && args->sizes[i] > 0;
}

static od_status open_region(const od_map_args *args, int32_t i)
{
    od_section section = od_arg_section(args, i);
    for (unsigned tries = 0;; tries++) {
        od_engine *engine = od_runtime_lock();
        od_status status = od_engine_region_open(engine, &section, !(args->types[i] & OD_MAP_TO));
        od_region *region = status ? NULL : od_arg_region(engine, OD_NAMING_ENTER, args, i);
        if (region && is_always(args, i, OD_MAP_TO)) /* what was opened without contents has some now */
            region->undefined = false;
        if (region)
            od_record_open(section.size ? section.begin : region->base, section.size ? section.size : region->size,
                           !(args->types[i] & OD_MAP_TO), section.hold);
        od_runtime_unlock();
        if (status == OD_ENOMEM)
            od_fatal("out of host memory for a data construct");
        if (status != OD_EFULL)
            return status;
        od_args_wait_for_overlap(args, i, tries);
    }
}

/* What the host writes after the construct is not seen by kernels. After an asynchronous one it may not write before it has
 * synchronised: until then nothing need be copied, and most of it is on a device by then. */
static void seal(wishes *w, const od_map_args *args, int32_t i)
{
    od_coherence coherence = od_runtime_options()->coherence;
    if (coherence == OD_COHERENCE_STRICT || (coherence == OD_COHERENCE_AUTO && od_self.mode != OD_CAPTURE)) {
        add_wish(w, i, OD_REQUEST_SNAPSHOT);
    } else if (coherence == OD_COHERENCE_AUTO) {
        od_engine *engine = od_runtime_lock();
        od_region *region =
            od_directory_find_region(od_engine_directory(engine), (uintptr_t)args->begins[i], (size_t)args->sizes[i]);
        if (region)
            od_engine_region_defer(engine, region);
        od_runtime_unlock();
    }
}

static bool is_new(const od_map_args *args, int32_t i)
{
    od_engine *engine = od_runtime_lock();
    const od_region *region = od_arg_region(engine, OD_NAMING_ENTER, args, i);
    bool opened = region && region->references + region->holds == 1;
    od_runtime_unlock();
    return opened;
}

/* A member: its struct, which stands before it, has been opened, and counts the references. */
static bool is_part(const od_map_args *args, int32_t i)
{
    return args->types[i] & OD_MAP_PART;
}

static void open_part(const od_map_args *args, int32_t i, wishes *w)
{
    bool fresh = is_new(args, i);
    if (!is_mapped(args, i) || !(args->types[i] & OD_MAP_TO) || !(fresh || (args->types[i] & OD_MAP_ALWAYS)))
        return;
    od_engine *engine = od_runtime_lock();
    od_region *region =
        od_directory_find_region(od_engine_directory(engine), (uintptr_t)args->begins[i], (size_t)args->sizes[i]);
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
    wishes w = {.wish = malloc(2 * ((size_t)args->count + 1) * sizeof *w.wish)};
    if (!w.wish)
        od_fatal("out of host memory for a data construct");
    for (int32_t i = 0; i < args->count; i++) {
        if (is_part(args, i)) {
            open_part(args, i, &w);
            continue;
        }
        if (!is_counted(args, i))
            continue;
        od_status status = open_region(args, i);
        if (status) /* od_find_refused() has found nothing: another thread has entered it meanwhile */
            od_log(OD_LOG_ERROR, "omp",
                   "mapping %lld bytes at %p would extend data that are already mapped: not possible in OpenMP",
                   (long long)args->sizes[i], args->begins[i]);
        else if (is_always(args, i, OD_MAP_TO))
            add_wish(&w, i, OD_REQUEST_PUSH);
        if (!status && is_mapped(args, i) && (args->types[i] & OD_MAP_TO) && is_new(args, i))
            seal(&w, args, i);
    }
    return w;
}

/* The first entry from j on that is a member of the struct in the region, or the count. A struct's members stand behind it,
 * before those of the next one. */
static int32_t next_part(const od_map_args *args, int32_t j, const od_region *region)
{
    while (j < args->count && !is_part(args, j))
        j++;
    bool other = j < args->count && (uintptr_t)args->begins[j] - region->base >= region->size;
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

/* The members of a struct go home if its region closes now. Locked. */
static void fetch_parts(od_engine *engine, const od_map_args *args, int32_t first, const od_region *region, bool last,
                        pending *p)
{
    for (int32_t j = first; (j = next_part(args, j, region)) < args->count; j++) {
        bool moves = (args->types[j] & OD_MAP_FROM) && (last || (args->types[j] & OD_MAP_ALWAYS));
        if (!moves || !is_mapped(args, j))
            continue;
        od_record_range((uintptr_t)args->begins[j], (size_t)args->sizes[j], OD_REQUEST_PULL);
        add_request(p, engine, (uintptr_t)args->begins[j], (size_t)args->sizes[j], OD_REQUEST_PULL);
    }
}

/* first: the first member behind it in the list. */
static void close_region(const od_map_args *args, int32_t i, int32_t first, pending *p)
{
    od_section section = od_arg_section(args, i);
    od_request *request;
    od_engine *engine = od_runtime_lock();
    const od_region *region = od_arg_region(engine, OD_NAMING_LEAVE, args, i);
    int64_t type = region ? type_of_closing(args, i, first, region) : args->types[i];
    bool from = (type & OD_MAP_FROM) && section.size, all = type & OD_MAP_DELETE;
    if (region)
        fetch_parts(engine, args, first, region, od_region_would_close(region, type), p);
    if (region)
        od_record_close(section.size ? section.begin : region->base, section.size ? section.size : region->size, from,
                        all, section.hold);
    od_status status = od_engine_region_close(engine, &section, from, all, &request);
    od_runtime_unlock();
    if (status)
        od_fatal("out of host memory for a data construct");
    push_request(p, request);
}

/* What is not there as a whole stays as it is. */
static bool is_left(const od_map_args *args, int32_t i)
{
    od_engine *engine = od_runtime_lock();
    bool left = od_arg_region(engine, OD_NAMING_LEAVE, args, i);
    od_runtime_unlock();
    return left;
}

static void close_regions(const od_map_args *args, pending *p)
{
    int32_t first = args->count;
    for (int32_t i = args->count - 1; i >= 0; i--) {
        if (is_part(args, i))
            first = i;
        if (is_part(args, i) || !is_counted(args, i))
            continue;
        if (is_always(args, i, OD_MAP_FROM) && is_left(args, i))
            add_range(p, args, i, OD_REQUEST_PULL);
        close_region(args, i, first, p);
    }
}

static void update(const od_map_args *args, pending *p)
{
    for (int32_t i = 0; i < args->count; i++) {
        if (!is_mapped(args, i) || !(args->types[i] & (OD_MAP_TO | OD_MAP_FROM)))
            continue;
        od_engine *engine = od_runtime_lock();
        od_region *region = od_arg_region(engine, OD_NAMING_MOVE, args, i);
        if (region && (args->types[i] & OD_MAP_TO) && !od_runtime_options()->spill)
            region->undefined = false; /* from now on some of it is defined by the host */
        od_runtime_unlock();
        if (!region)
            continue;
        add_range(p, args, i, (args->types[i] & OD_MAP_TO) ? OD_REQUEST_PUSH : OD_REQUEST_PULL);
    }
}

/* --- addresses shown to the program ------------------------------------- */

static bool shows_addresses(const od_map_args *args)
{
    for (int32_t i = 0; i < args->count; i++)
        if ((args->types[i] & (OD_MAP_RETURN | OD_MAP_FOREIGN)) == OD_MAP_RETURN)
            return true;
    return false;
}

static void show(const od_map_args *args, int32_t i, const od_datum *d, unsigned k)
{
    uintptr_t device_begin = (uintptr_t)od_runtime_address(d, k) + ((uintptr_t)args->begins[i] - d->base);
    args->bases[i] = (void *)(device_begin - ((uintptr_t)args->begins[i] - (uintptr_t)args->bases[i]));
}

/* Must say the same when the construct begins and when it ends. */
static bool may_write(const od_map_args *args, int32_t i)
{
    return (args->types[i] & (OD_MAP_TO | OD_MAP_FROM)) != OD_MAP_TO;
}

static void bind_and_show(const od_map_args *args, const od_uses *uses, const int32_t *access_of, unsigned k)
{
    od_engine *engine = od_runtime_lock();
    for (int32_t i = 0; i < args->count; i++) {
        if (access_of[i] < 0)
            continue;
        od_datum *d = uses->access[access_of[i]].datum;
        od_engine_bind(engine, d, k, may_write(args, i));
        show(args, i, d, k);
    }
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
            args->bases[i] = (char *)od_spill_address(d->region->spill, (uintptr_t)args->begins[i]) -
                             ((uintptr_t)args->begins[i] - (uintptr_t)args->bases[i]);
    }
    od_runtime_unlock();
}

/* What is not present has no device address: libomptarget 19 answers NULL, newer ones leave the program its own. */
static void show_absent(const od_map_args *args, const int32_t *access_of)
{
    for (int32_t i = 0; i < args->count; i++) {
        if (access_of[i] >= 0 || (args->types[i] & (OD_MAP_RETURN | OD_MAP_FOREIGN)) != OD_MAP_RETURN || !args->begins[i])
            continue;
        od_info_tell_absent(args, i);
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

/* Brings the list's data to one device (`bound`, or any) and binds and shows them there. Returns the place. `reach`: the list
 * is its; or NULL. */
static int acquire(const od_map_args *args, od_reach *reach, int bound)
{
    od_uses uses = {0};
    od_job *job = od_job_create(OD_JOB_SYNC);
    int32_t *access_of = malloc(((size_t)args->count + 1) * sizeof *access_of);
    if (!job || !access_of || od_args_resolve(args, NULL, 0, &uses, access_of))
        od_fatal("out of host memory for a data construct");
    od_runtime_lock();
    od_uses_trust(&uses, NULL, 0, true);
    od_runtime_unlock();
    if (reach)
        od_reach_want(reach, &uses, access_of);
    job->task.shows = job->task.needs_device = job->task.uses_spill = true;
    job->attempts = own_attempts() + 1;
    job->task.outer = od_self.mode == OD_ON_DEVICE ? &od_self.job->task : NULL;
    if (bound != OD_NOWHERE)
        job->task.bound = bound;
    od_uses shown = uses; /* the arrays stay the job's */
    int place = od_job_acquire(job, &uses, "use_device_ptr");
    if (place != OD_HOST && reach)
        od_reach_write(&shown, (unsigned)place);
    if (place != OD_HOST)
        bind_and_show(args, &shown, access_of, (unsigned)place);
    else
        show_spilled(args, &shown, access_of);
    show_absent(args, access_of);
    od_job_end_sync(job, OD_OK);
    od_job_destroy(job);
    free(access_of);
    return place;
}

/* What is shown on `device` by right of what the thread has been shown before may have to be where others are shown it: a
 * kernel then reaches it from a neighbour, as host devices and peers can. */
static int acquire_where_shown(const od_map_args *args, od_reach *reach, int device)
{
    size_t bytes = (size_t)args->count * sizeof *args->bases;
    void **written = malloc(bytes + 1);
    if (!written)
        od_fatal("out of host memory for a data construct");
    memcpy(written, args->bases, bytes);
    int tried = device_of_shown(args, device), place = acquire(args, reach, tried);
    while (place == OD_HOST && device_of_shown(args, device) != tried) {
        tried = device_of_shown(args, device);
        memcpy(args->bases, written, bytes);
        place = acquire(args, reach, tried);
    }
    free(written);
    return place;
}

/* Several data may be shown to other threads on several devices just now, or leave no room: these are waited for
 * (od_job_has_rivals), in reason, for they may themselves wait for this thread. */
static int acquire_beside_others(const od_map_args *args, od_reach *reach)
{
    od_rivals_begin();
    int place = acquire_where_shown(args, reach, od_self.holds ? od_self.held_place : od_foreign_place(args));
    if (place == OD_HOST)
        od_rivals_end();
    return place;
}

static void tell_host_address(const char *what)
{
    static atomic_bool told;
    if (!atomic_exchange(&told, true))
        od_log(OD_LOG_WARNING, "omp", "%s: the data fit on no device, the program is shown addresses of host memory", what);
}

/* use_device_ptr: until the construct ends. Several constructs that are open at once show addresses on one device, so that
 * a kernel can use all of them. */
static void acquire_addresses(const od_map_args *args)
{
    od_reach *reach = od_reach_find(args);
    int place = acquire_beside_others(reach ? &reach->args : args, reach);
    if (reach)
        memcpy(args->bases, reach->args.bases, (size_t)args->count * sizeof *args->bases);
    if (place == OD_HOST)
        tell_host_address("use_device_ptr");
    else
        od_self.held_place = place;
    if (place != OD_HOST && od_self.mode == OD_PLAIN)
        od_queue_enter((unsigned)place);
    od_self.holds++;
    od_self.shown_host = od_self.shown_host << 1 | (place == OD_HOST);
    if (!reach)
        return;
    reach->depth = od_self.holds;
    reach->outer = od_self.reach;
    od_self.reach = reach;
}

/* What the innermost open construct has reached, which is the caller's then; NULL: nothing but its own data. */
static od_reach *take_reach(void)
{
    od_reach *reach = od_self.reach;
    if (!reach || reach->depth != od_self.holds)
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

/* Several arguments that show addresses of one datum have bound it once. */
static void unbind(od_engine *engine, const od_map_args *args, int32_t i)
{
    od_datum *d = shown_datum(engine, args, i);
    bool writes = false;
    for (int32_t j = 0; d && j < args->count; j++) {
        bool same = shown_datum(engine, args, j) == d;
        if (same && j < i)
            return;
        writes |= same && may_write(args, j);
    }
    if (d && d->bound)
        od_engine_unbind(engine, d, writes);
}

/* The end of the innermost construct in which this thread was shown addresses. */
static void release_addresses(const od_map_args *args)
{
    bool on_host = od_self.shown_host & 1;
    od_reach *reach = take_reach();
    const od_map_args *all = reach ? &reach->args : args;
    od_self.shown_host >>= 1;
    od_self.holds -= od_self.holds > 0;
    if (od_self.holds || od_self.mode != OD_PLAIN)
        od_queue_drain();
    else if (od_queue_leave())
        od_runtime_probe(od_self.held_place);
    od_engine *engine = od_runtime_lock();
    for (int32_t i = 0; !on_host && i < all->count; i++)
        unbind(engine, all, i);
    od_runtime_unlock();
    od_reach_free(reach);
    if (!on_host)
        od_rivals_end();
}

/* Inside a job: its own data are on its device. */
static void show_own(const od_map_args *args)
{
    const od_task *task = &od_self.job->task;
    od_engine *engine = od_runtime_lock();
    for (int32_t i = 0; i < args->count; i++) {
        uintptr_t base;
        size_t size;
        if (!(args->types[i] & OD_MAP_RETURN) || !od_arg_range(engine, args, i, &base, &size))
            continue;
        for (uint32_t j = 0; j < task->naccess; j++) {
            const od_datum *d = task->access[j].datum;
            if (base >= d->base && base + size <= d->base + d->size)
                show(args, i, d, (unsigned)od_self.place);
        }
    }
    od_runtime_unlock();
}

/* True where a job's own data serve the construct: nothing is opened or closed. Only for constructs that show
 * addresses: others promise the host something. */
static bool inside_job(const od_map_args *args)
{
    int foreign = od_foreign_place(args);
    if (od_self.mode != OD_ON_DEVICE || !shows_addresses(args) || (foreign != OD_NOWHERE && foreign != od_self.place))
        return false;
    od_map_args parameters = *args;
    parameters.types = as_parameters(args);
    bool own = od_job_owns(&parameters) && !od_reach_any(args); /* nobody has reserved what is reached */
    free(parameters.types);
    return own;
}

/* --- constructs --------------------------------------------------------- */

static void learn(const od_map_args *args)
{
    if (!od_self.learning)
        return;
    od_map_args parameters = *args;
    parameters.types = as_parameters(args);
    od_learn_offload(&parameters, shows_addresses(args));
    free(parameters.types);
}

/* A struct's contents on the device are from now on its own: pointers are attached, the host's may change. */
static void snapshot_struct(void *arg, uintptr_t base, size_t size)
{
    od_request *request = NULL;
    (void)arg;
    od_engine *engine = od_runtime_lock();
    const od_region *region = od_directory_find_region(od_engine_directory(engine), base, size);
    if (region && !region->undefined && od_engine_range_request(engine, base, size, OD_REQUEST_SNAPSHOT, &request))
        od_fatal("out of host memory for a data construct");
    od_runtime_unlock();
    od_runtime_request(request);
}

static void begin(const od_map_args *args, const od_structs *structs)
{
    if (inside_job(args)) {
        od_args_push_always(args);
        show_own(args);
        od_self.used = true;
        od_self.shown++;
        return;
    }
    od_reservation_give_up();
    learn(args);
    wishes w = open_regions(args);
    od_structs_attach(structs, snapshot_struct, NULL);
    if (shows_addresses(args)) /* first: what is on a device then need not be copied to be sealed */
        acquire_addresses(args);
    pending p = {0};
    for (size_t i = 0; i < w.count; i++)
        add_range(&p, args, w.wish[i].arg, w.wish[i].kind);
    free(w.wish);
    finish_pending(&p);
}

static void end(const od_map_args *args)
{
    if (od_self.shown && inside_job(args)) {
        od_args_fetch_always(args);
        od_self.shown--;
        return;
    }
    od_reservation_give_up();
    od_note_offload(shows_addresses(args));
    if (shows_addresses(args))
        release_addresses(args);
    pending p = {0};
    close_regions(args, &p);
    finish_pending(&p);
}

static void update_now(const od_map_args *args)
{
    pending p = {0};
    od_reservation_give_up();
    od_note_offload(false);
    update(args, &p);
    finish_pending(&p);
}

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
        if (what == BEGIN && !od_foreign_add((uintptr_t)args->begins[i], (size_t)args->sizes[i], (int)device))
            od_fatal("out of host memory for a data construct");
        if (what == END && !REAL(omp_target_is_present)(args->begins[i], (int)device))
            od_foreign_remove((uintptr_t)args->begins[i]);
    }
}

/* What libomptarget itself holds on the default device is remembered, so that entries of later constructs without
 * a device clause that name it are known as its own. */
static void note_foreign(construct what, int64_t device, const od_map_args *args)
{
    od_map_args room = {0};
    if (!od_runtime_started() || od_self.mode == OD_HOST_VERSION || what == UPDATE ||
        (device >= 0 && device != od_runtime_virtual_number() && device != od_args_device(args)))
        return;
    note_foreign_list(what, device, od_expanded(args, &room));
    od_expand_free(&room);
}

static void carry_out_simple(construct what, const od_map_args *flat, const od_structs *structs)
{
    if (what == BEGIN)
        begin(flat, structs);
    else if (what == END)
        end(flat);
    else
        update_now(flat);
}

/* The addresses shown go where the program reads them. */
static void return_addresses(const od_map_args *args, const od_map_args *flat)
{
    for (int32_t i = 0; i < args->count; i++)
        for (int32_t j = 0; (args->types[i] & OD_MAP_RETURN) && j < flat->count; j++)
            if ((flat->types[j] & OD_MAP_RETURN) && flat->begins[j] == args->begins[i])
                args->bases[i] = flat->bases[j];
}

typedef void (*data_function)(od_ident *, int64_t, int32_t, void **, void **, int64_t *, int64_t *, void **, void **);

/* LLVM 22: an object that od_expand() has made a pointer's as well. The attachment itself is an entry of the list. */
static void undo_attachment(const od_map_args *args, int32_t i)
{
    const int64_t both = OD_MAP_PTR_AND_OBJ | OD_MAP_ATTACH;
    if ((args->types[i] & both) != both)
        return;
    args->bases[i] = *(void **)args->bases[i];
    args->types[i] = args->sizes[i] ? args->types[i] & ~both : OD_MAP_LITERAL;
}

/* The marked entries of the expanded list, if any, go to libomptarget. */
static void forward(construct what, od_ident *ident, const od_map_args *args, const od_map_args *list)
{
    const data_function call[] = {[BEGIN] = REAL(__tgt_target_data_begin_mapper),
                                  [END] = REAL(__tgt_target_data_end_mapper),
                                  [UPDATE] = REAL(__tgt_target_data_update_mapper)};
    int place = od_foreign_place(list);
    if (place == OD_NOWHERE)
        return;
    int device = od_runtime_device_number((unsigned)place);
    od_map_args theirs = *list;
    theirs.types = od_foreign_types(list);
    for (int32_t i = 0; i < theirs.count; i++)
        undo_attachment(&theirs, i);
    od_reservation_give_up();
    od_args_bring_foreign_home(list);
    call[what](ident, device, theirs.count, theirs.bases, theirs.begins, theirs.sizes, theirs.types, theirs.names,
               NULL);
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
    od_refusal refusal = od_find_refused(naming[what], args);
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
        od_info_tell_mappings(OD_INFO_END, flat);
    forward(what, ident, args, list);
    carry_out_simple(what, flat, structs);
    if (what == BEGIN)
        od_info_tell_mappings(OD_INFO_BEGIN, flat);
    od_ompt_data_construct(kind_of[what], OD_OMPT_END, od_runtime_virtual_number());
    return_addresses(args, flat);
}

/* False: the construct is not simple. */
static bool carry_out(construct what, od_ident *ident, const od_map_args *args)
{
    od_structs *structs = NULL;
    int64_t *marked = NULL;
    od_map_args room = {0}, list = *od_expanded(args, &room);
    od_foreignness foreign = od_foreign_mark(&list, list.types == args->types, &marked);
    list.types = marked ? marked : list.types;
    od_map_args flat = list;
    if (foreign != OD_FOREIGN_ENTANGLED)
        refuse_if_wrong(what, ident, &list);
    bool simple = foreign != OD_FOREIGN_ENTANGLED && (!marked || has_own(&list)) &&
                  od_structs_flatten_data(&list, &flat, &structs) != OD_FLAT_IMPOSSIBLE && od_args_are_simple(&flat);
    if (simple)
        carry_out_lists(what, ident, args, &list, &flat, structs);
    od_structs_free(structs);
    od_expand_free(&room);
    free(marked);
    return simple;
}

/* --- constructs that pass through ---------------------------------------- */

/* What is to be done when libomptarget's call has returned. */
typedef struct passing {
    od_lent *lent;
    od_map_args own; /* arrays malloc'ed, by od_expand() */
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

/* What the list names of regions. It counts there as always: libomptarget, to which it is lent, does not count it. */
static od_map_args own_part(const od_map_args *args)
{
    od_map_args own;
    od_expand(args, &own);
    od_engine *engine = od_runtime_lock();
    for (int32_t i = 0; i < own.count; i++)
        if (is_own(engine, &own, i))
            make_own(&own, i);
        else
            own.types[i] = OD_MAP_LITERAL;
    od_runtime_unlock();
    return own;
}

/* Returns libomptarget's number of the device. */
static int begin_passing(construct what, const od_map_args *args, passing *p)
{
    int device = od_args_device(args);
    p->own = own_part(args);
    if (what == BEGIN && has_own(&p->own))
        begin(&p->own, NULL);
    p->lent = od_lend(args, device, what == BEGIN);
    return device;
}

static void end_passing(construct what, const od_map_args *args, passing *p)
{
    od_lend_end(p->lent);
    if (what == BEGIN)
        return_addresses(args, &p->own);
    if (what == END && has_own(&p->own))
        end(&p->own);
    od_expand_free(&p->own);
}

/* True where the construct has been dealt with; false: libomptarget is called with *device, then end_passing(). */
static bool handle(construct what, od_ident *ident, int64_t *device, const od_map_args *args, passing *p)
{
    if (od_is_too_late())
        return true;
    if (!od_runtime_active())
        return false;
    if (od_self.mode == OD_HOST_VERSION) /* data are on the host, addresses are host addresses */
        return true;
    od_info_tell((od_info_construct)what, ident, *device, args);
    bool is_virtual = od_is_virtual(device, args);
    if (is_virtual && carry_out(what, ident, args))
        return true;
    od_reservation_give_up();
    od_args_bring_home(args);
    od_log(OD_LOG_INFO, "omp", "a data construct passed through to libomptarget (%s)",
           is_virtual ? "its map list needs libomptarget's own logic" : "its device is chosen by the program");
    if (od_self.mode == OD_CAPTURE)
        od_self.capture->what = OD_CAPTURED_DONE;
    if (is_virtual)
        *device = begin_passing(what, args, p);
    return false;
}

#define OD_DATA_CONSTRUCT(name, what)                                                                                  \
    void __tgt_target_data_##name##_mapper(od_ident *ident, int64_t device, int32_t n, void **bases, void **begins,    \
                                           int64_t *sizes, int64_t *types, void **names, void **mappers)               \
    {                                                                                                                  \
        od_map_args args = {n, bases, begins, sizes, types, names, mappers};                                           \
        const void *before = od_ompt_at(__builtin_return_address(0));                                                  \
        passing passed = {0};                                                                                          \
        if (!handle(what, ident, &device, &args, &passed)) {                                                           \
            od_runtime_enter_libomptarget();                                                                           \
            REAL(__tgt_target_data_##name##_mapper)(ident, device, n, bases, begins, sizes, types, names, mappers);    \
            od_runtime_leave_libomptarget();                                                                           \
            note_foreign(what, device, &args);                                                                         \
            end_passing(what, &args, &passed);                                                                         \
        }                                                                                                              \
        od_ompt_at(before);                                                                                            \
    }                                                                                                                  \
    void __tgt_target_data_##name##_nowait_mapper(                                                                     \
        od_ident *ident, int64_t device, int32_t n, void **bases, void **begins, int64_t *sizes, int64_t *types,       \
        void **names, void **mappers, int32_t ndepends, void *depends, int32_t n_noalias, void *noalias)               \
    {                                                                                                                  \
        od_map_args args = {n, bases, begins, sizes, types, names, mappers};                                           \
        const void *before = od_ompt_at(__builtin_return_address(0));                                                  \
        passing passed = {0};                                                                                          \
        if (!handle(what, ident, &device, &args, &passed)) {                                                           \
            od_runtime_enter_libomptarget();                                                                           \
            REAL(__tgt_target_data_##name##_nowait_mapper)                                                             \
            (ident, device, n, bases, begins, sizes, types, names, mappers, ndepends, depends, n_noalias, noalias);    \
            od_runtime_leave_libomptarget();                                                                           \
            note_foreign(what, device, &args);                                                                         \
            end_passing(what, &args, &passed);                                                                         \
        }                                                                                                              \
        od_ompt_at(before);                                                                                            \
    }

OD_DATA_CONSTRUCT(begin, BEGIN)
OD_DATA_CONSTRUCT(end, END)
OD_DATA_CONSTRUCT(update, UPDATE)

/* --- what is where ---------------------------------------------------------- */

/* A host task that asks must stay where the answers are the virtual device's. */
static bool is_ours(const void *address, int device)
{
    od_self.unsuited = true;
    if (!od_runtime_started() || device != od_runtime_virtual_number())
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
    int64_t size = 0, type = OD_MAP_PARAM | OD_MAP_TO | OD_MAP_FROM;
    od_map_args args = {1, &base, &begin, &size, &type, NULL, NULL};
    od_rivals_begin();
    int place = acquire_where_shown(&args, NULL, k);
    od_rivals_end(); /* it may stay shown for long: nobody is to wait for that */
    *on_device = place != OD_HOST;
    if (!*on_device)
        return base;
    od_engine *engine = od_runtime_lock();
    od_directory_find_region(od_engine_directory(engine), (uintptr_t)address, 0)->shown++;
    od_runtime_unlock();
    return base;
}

void *omp_get_mapped_ptr(const void *address, int device)
{
    if (!is_ours(address, device))
        return REAL(omp_get_mapped_ptr)(address, device);
    bool on_device;
    void *there = od_region_address(address, od_runtime_device_index(device), &on_device);
    if (!on_device)
        tell_host_address("omp_get_mapped_ptr");
    return there;
}
