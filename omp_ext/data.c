/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Data constructs: target data, enter data, exit data, update.
 *
 * On the virtual device they open and close regions: no transfer, no allocation. A close brings home
 * what is mapped `from`; an update brings home or pushes its section. use_device_ptr shows the program an address
 * on one device, to which the datum is bound until the construct ends. Inside a job that has a device the job's own
 * data are already there: the construct only shows them.
 */
#include "omp_ext/device_memory.h"
#include "omp_ext/expand.h"
#include "omp_ext/job.h"
#include "omp_ext/queue.h"
#include "omp_ext/real.h"
#include "omp_ext/record.h"
#include "omp_ext/structs.h"
#include "omp_ext/virtual.h"

#include <stdatomic.h>
#include <stdlib.h>

static bool is_mapped(const od_map_args *args, int32_t i)
{
    return !(args->types[i] & OD_MAP_NO_RANGE) && args->sizes[i] > 0;
}

/* A section of length zero takes or gives back a reference to the region around it, and moves nothing. */
static bool is_only_counted(const od_map_args *args, int32_t i)
{
    if ((args->types[i] & OD_MAP_NO_RANGE) || args->sizes[i] != 0)
        return false;
    od_engine *engine = od_runtime_lock();
    bool found = od_directory_find_region(od_engine_directory(engine), (uintptr_t)args->begins[i], 1);
    od_runtime_unlock();
    return found;
}

static size_t counted_size(const od_map_args *args, int32_t i)
{
    return args->sizes[i] ? (size_t)args->sizes[i] : 1;
}

/* The construct's list with every range as a kernel argument, so that all of them count as its data. */
static int64_t *as_parameters(const od_map_args *args)
{
    int64_t *types = malloc(((size_t)args->count + 1) * sizeof *types);
    if (!types)
        od_runtime_fatal("out of host memory for a data construct");
    for (int32_t i = 0; i < args->count; i++)
        types[i] = (args->types[i] & OD_MAP_ATTACH) ? OD_MAP_ATTACH : (args->types[i] | OD_MAP_PARAM) & ~OD_MAP_RETURN;
    return types;
}

/* --- requests of a construct -------------------------------------------- */

typedef struct pending {
    od_request **request; /* malloc'ed, some NULL */
    size_t count;
} pending;

static void begin_pending(pending *p, const od_map_args *args)
{
    p->count = 0;
    p->request = calloc(2 * (size_t)args->count + 1, sizeof *p->request);
    if (!p->request)
        od_runtime_fatal("out of host memory for a data construct");
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

static void add_range(pending *p, const od_map_args *args, int32_t i, od_request_kind kind)
{
    od_request *request;
    od_engine *engine = od_runtime_lock();
    od_record_range((uintptr_t)args->begins[i], (size_t)args->sizes[i], kind);
    od_status status =
        od_engine_range_request(engine, (uintptr_t)args->begins[i], (size_t)args->sizes[i], kind, &request);
    od_runtime_unlock();
    if (status)
        od_runtime_fatal("out of host memory for a data construct");
    if (request)
        request->inside = od_self.mode == OD_ON_DEVICE;
    p->request[p->count++] = request;
}

/* --- regions ------------------------------------------------------------ */

static bool is_always(const od_map_args *args, int32_t i, int64_t direction)
{
    return (args->types[i] & OD_MAP_ALWAYS) && (args->types[i] & direction) && args->sizes[i] > 0;
}

/* ompx_hold: the reference that has been taken becomes a hold. Locked. */
static void take_hold(od_region *region)
{
    region->references--;
    region->holds++;
}

/* The hold becomes a reference, which the construct then gives back. Locked. */
static void drop_hold(od_region *region)
{
    if (region->holds) {
        region->holds--;
        region->references++;
    }
}

static od_status open_region(const od_map_args *args, int32_t i)
{
    for (unsigned tries = 0;; tries++) {
        uintptr_t base = (uintptr_t)args->begins[i];
        size_t size = counted_size(args, i);
        od_engine *engine = od_runtime_lock();
        od_status status = od_engine_region_open(engine, base, size, !(args->types[i] & OD_MAP_TO));
        od_region *region = od_directory_find_region(od_engine_directory(engine), base, size);
        if (!status && is_always(args, i, OD_MAP_TO)) /* what was opened without contents has some now */
            region->undefined = false;
        if (!status && (args->types[i] & OD_MAP_HOLD))
            take_hold(region);
        if (!status)
            od_record_open(base, size, !(args->types[i] & OD_MAP_TO), args->types[i] & OD_MAP_HOLD);
        od_runtime_unlock();
        if (status == OD_ENOMEM)
            od_runtime_fatal("out of host memory for a data construct");
        if (status != OD_EFULL)
            return status;
        od_args_wait_for_overlap(args, i, tries);
    }
}

/* With OMPDARTS_COHERENCE=strict what the host writes after the construct is not seen by kernels, as with libomptarget. */
static void snapshot(pending *p, const od_map_args *args, int32_t i)
{
    if (od_runtime_options()->coherence == OD_COHERENCE_STRICT)
        add_range(p, args, i, OD_REQUEST_SNAPSHOT);
}

static bool is_new(const od_map_args *args, int32_t i)
{
    od_engine *engine = od_runtime_lock();
    const od_region *region =
        od_directory_find_region(od_engine_directory(engine), (uintptr_t)args->begins[i], (size_t)args->sizes[i]);
    bool opened = region && region->references + region->holds == 1;
    od_runtime_unlock();
    return opened;
}

static void open_regions(const od_map_args *args, pending *p)
{
    for (int32_t i = 0; i < args->count; i++) {
        if (!is_mapped(args, i) && !is_only_counted(args, i))
            continue;
        od_status status = open_region(args, i);
        if (status)
            od_log(OD_LOG_ERROR, "omp",
                   "mapping %lld bytes at %p would extend data that are already mapped: not possible in OpenMP",
                   (long long)args->sizes[i], args->begins[i]);
        else if (is_always(args, i, OD_MAP_TO))
            add_range(p, args, i, OD_REQUEST_PUSH);
        if (!status && is_mapped(args, i) && (args->types[i] & OD_MAP_TO) &&
            ((args->types[i] & OD_MAP_ALWAYS) || is_new(args, i)))
            snapshot(p, args, i);
    }
}

/* Drops the last reference to the region around entry i. Locked. */
static bool is_last(od_engine *engine, const od_map_args *args, int32_t i)
{
    const od_region *region =
        od_directory_find_region(od_engine_directory(engine), (uintptr_t)args->begins[i], counted_size(args, i));
    return region && !region->holds && (region->references <= 1 || (args->types[i] & OD_MAP_DELETE));
}

/* The program was shown the region's address with omp_get_mapped_ptr(). Locked. */
static void unbind_mapped(od_engine *engine, const od_map_args *args, int32_t i)
{
    od_directory *directory = od_engine_directory(engine);
    od_region *region = od_directory_find_region(directory, (uintptr_t)args->begins[i], counted_size(args, i));
    for (; region->shown; region->shown--)
        od_engine_unbind(engine, od_directory_find(directory, region->base, region->size), true);
}

static void close_regions(const od_map_args *args, pending *p)
{
    for (int32_t i = args->count - 1; i >= 0; i--) {
        if (!is_mapped(args, i) && !is_only_counted(args, i))
            continue;
        bool from = (args->types[i] & OD_MAP_FROM) && is_mapped(args, i);
        if (is_always(args, i, OD_MAP_FROM))
            add_range(p, args, i, OD_REQUEST_PULL);
        od_request *request;
        od_engine *engine = od_runtime_lock();
        od_region *region =
            od_directory_find_region(od_engine_directory(engine), (uintptr_t)args->begins[i], counted_size(args, i));
        if (region && (args->types[i] & OD_MAP_HOLD))
            drop_hold(region);
        if (is_last(engine, args, i))
            unbind_mapped(engine, args, i);
        od_record_close((uintptr_t)args->begins[i], counted_size(args, i), from, args->types[i] & OD_MAP_DELETE,
                        args->types[i] & OD_MAP_HOLD);
        od_status status = od_engine_region_close(engine, (uintptr_t)args->begins[i], counted_size(args, i), from,
                                                  args->types[i] & OD_MAP_DELETE, &request);
        od_runtime_unlock();
        if (status)
            od_runtime_fatal("out of host memory for a data construct");
        if (request)
            request->inside = od_self.mode == OD_ON_DEVICE;
        p->request[p->count++] = request;
    }
}

static void update(const od_map_args *args, pending *p)
{
    for (int32_t i = 0; i < args->count; i++) {
        if (!is_mapped(args, i))
            continue;
        od_engine *engine = od_runtime_lock();
        od_region *region =
            od_directory_find_region(od_engine_directory(engine), (uintptr_t)args->begins[i], (size_t)args->sizes[i]);
        if (region && (args->types[i] & OD_MAP_TO))
            region->undefined = false; /* from now on some of it is defined by the host */
        od_runtime_unlock();
        if (!region)
            continue;
        add_range(p, args, i, (args->types[i] & OD_MAP_TO) ? OD_REQUEST_PUSH : OD_REQUEST_PULL);
        if (args->types[i] & OD_MAP_TO)
            snapshot(p, args, i);
    }
}

/* --- addresses shown to the program ------------------------------------- */

static bool shows_addresses(const od_map_args *args)
{
    for (int32_t i = 0; i < args->count; i++)
        if (args->types[i] & OD_MAP_RETURN)
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

/* Attempts to be shown device addresses, of all threads, and those of them that have failed or whose construct has ended. */
static atomic_uint attempts_begun, attempts_over;

bool od_job_has_rivals(const od_job *job)
{
    unsigned over = atomic_load(&attempts_over); /* first: what ends meanwhile counts as there */
    return atomic_load(&attempts_begun) - over > job->attempts;
}

/* Open constructs of this thread that show device addresses. */
static unsigned own_attempts(void)
{
    return od_self.holds - (unsigned)__builtin_popcountll(od_self.shown_host);
}

/* Brings the list's data to one device (`bound`, or any) and binds and shows them there. Returns the place. */
static int acquire(const od_map_args *args, int bound)
{
    od_uses uses = {0};
    od_job *job = od_job_create(OD_JOB_SYNC);
    int32_t *access_of = malloc(((size_t)args->count + 1) * sizeof *access_of);
    if (!job || !access_of || od_args_resolve(args, NULL, 0, &uses, access_of))
        od_runtime_fatal("out of host memory for a data construct");
    od_runtime_lock();
    od_uses_trust(&uses, NULL, 0, true);
    od_runtime_unlock();
    job->task.shows = job->task.needs_device = true;
    job->attempts = own_attempts() + 1;
    job->task.outer = od_self.mode == OD_ON_DEVICE ? &od_self.job->task : NULL;
    if (bound != OD_NOWHERE)
        job->task.bound = bound;
    od_uses shown = uses; /* the arrays stay the job's */
    od_job_submit(job, &uses, "use_device_ptr");
    int place = od_job_wait_granted(job);
    if (place != OD_HOST)
        bind_and_show(args, &shown, access_of, (unsigned)place);
    od_job_end_sync(job, OD_OK);
    od_job_destroy(job);
    free(access_of);
    return place;
}

/* What is shown on `device` by right of what the thread has been shown before may have to be where others are shown it: a
 * kernel then reaches it from a neighbour, as host devices and peers can. */
static int acquire_where_shown(const od_map_args *args, int device)
{
    int tried = device_of_shown(args, device), place = acquire(args, tried);
    while (place == OD_HOST && device_of_shown(args, device) != tried) {
        tried = device_of_shown(args, device);
        place = acquire(args, tried);
    }
    return place;
}

/* Several data may be shown to other threads on several devices just now, or leave no room: these are waited for
 * (od_job_has_rivals), in reason, for they may themselves wait for this thread. */
static int acquire_beside_others(const od_map_args *args)
{
    atomic_fetch_add(&attempts_begun, 1);
    int place = acquire_where_shown(args, od_self.holds ? od_self.held_place : OD_NOWHERE);
    if (place == OD_HOST)
        atomic_fetch_add(&attempts_over, 1);
    return place;
}

/* use_device_ptr: until the construct ends. Several constructs that are open at once show addresses on one device, so that
 * a kernel can use all of them. */
static void acquire_addresses(const od_map_args *args)
{
    int place = acquire_beside_others(args);
    if (place == OD_HOST)
        od_log(OD_LOG_WARNING, "omp", "use_device_ptr: the data fit on no device, the program is shown host addresses");
    else
        od_self.held_place = place;
    if (place != OD_HOST && od_self.mode == OD_PLAIN)
        od_queue_enter((unsigned)place);
    od_self.holds++;
    od_self.shown_host = od_self.shown_host << 1 | (place == OD_HOST);
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
    od_self.shown_host >>= 1;
    od_self.holds -= od_self.holds > 0;
    if (od_self.holds || od_self.mode != OD_PLAIN)
        od_queue_drain();
    else if (od_queue_leave())
        od_runtime_probe(od_self.held_place);
    od_engine *engine = od_runtime_lock();
    for (int32_t i = 0; !on_host && i < args->count; i++)
        unbind(engine, args, i);
    od_runtime_unlock();
    if (!on_host)
        atomic_fetch_add(&attempts_over, 1);
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
    if (od_self.mode != OD_ON_DEVICE || !shows_addresses(args))
        return false;
    od_map_args parameters = *args;
    parameters.types = as_parameters(args);
    bool own = od_job_adopt(&parameters);
    free(parameters.types);
    return own;
}

/* --- constructs --------------------------------------------------------- */

static bool may_be_written(const od_map_args *args, int32_t i)
{
    uintptr_t begin = (uintptr_t)args->begins[i], end = begin + (uintptr_t)args->sizes[i];
    if (!(args->types[i] & OD_MAP_TO))
        return true;
    for (int32_t j = 0; j < od_self.ndepends; j++)
        if (od_self.depends[j].flags != OD_DEPEND_IN && od_self.depends[j].base >= begin &&
            od_self.depends[j].base < end)
            return true;
    return false;
}

/* Outside a region, what is written to data that are not mapped `from` is not to reach the host: a job, whose data are
 * what its depend items name, would bring it home. */
static bool discards(const od_map_args *args)
{
    bool found = false;
    od_engine *engine = od_runtime_lock();
    for (int32_t i = 0; i < args->count && !found; i++)
        found =
            is_mapped(args, i) && !(args->types[i] & OD_MAP_FROM) && may_be_written(args, i) &&
            !od_directory_find_region(od_engine_directory(engine), (uintptr_t)args->begins[i], (size_t)args->sizes[i]);
    od_runtime_unlock();
    return found;
}

static void learn(const od_map_args *args)
{
    if (!od_self.learning)
        return;
    od_note_offload(shows_addresses(args) && !discards(args));
    od_runtime_lock();
    od_job_learn(od_self.learning, od_self.depends, od_self.ndepends, args);
    od_runtime_unlock();
}

static void begin(const od_map_args *args)
{
    if (inside_job(args)) {
        if (od_self.mode == OD_ON_DEVICE) {
            od_args_push_always(args);
            show_own(args);
        }
        od_self.used = true;
        od_self.shown++;
        return;
    }
    learn(args);
    pending p;
    begin_pending(&p, args);
    open_regions(args, &p);
    finish_pending(&p);
    if (shows_addresses(args))
        acquire_addresses(args);
}

static void end(const od_map_args *args)
{
    if (od_self.shown && inside_job(args)) {
        od_args_fetch_always(args);
        od_self.shown--;
        return;
    }
    od_note_offload(shows_addresses(args));
    if (shows_addresses(args))
        release_addresses(args);
    pending p;
    begin_pending(&p, args);
    close_regions(args, &p);
    finish_pending(&p);
}

static void update_now(const od_map_args *args)
{
    pending p;
    od_note_offload(false);
    begin_pending(&p, args);
    update(args, &p);
    finish_pending(&p);
}

typedef enum construct { BEGIN, END, UPDATE } construct;

static void note_foreign_list(construct what, int64_t device, const od_map_args *args)
{
    for (int32_t i = 0; i < args->count; i++) {
        if (!is_mapped(args, i))
            continue;
        if (what == BEGIN && !od_foreign_add((uintptr_t)args->begins[i], (size_t)args->sizes[i], (int)device))
            od_runtime_fatal("out of host memory for a data construct");
        if (what == END && !REAL(omp_target_is_present)(args->begins[i], (int)device))
            od_foreign_remove((uintptr_t)args->begins[i]);
    }
}

/* What libomptarget itself holds on the default device is remembered, so that later constructs on it without
 * a device clause pass through as well. */
static void note_foreign(construct what, int64_t device, const od_map_args *args)
{
    od_map_args room = {0};
    if (!od_runtime_started() || od_self.mode == OD_HOST_VERSION || what == UPDATE ||
        (device >= 0 && device != od_runtime_virtual_number() && device != od_args_device(args)))
        return;
    note_foreign_list(what, device, od_expanded(args, &room));
    od_expand_free(&room);
}

/* Parents first when they open, last when they close: pointees are attached to what is there. */
static void carry_out_simple(construct what, const od_map_args *args, const od_map_args *flat)
{
    if (what == BEGIN) {
        od_structs_begin(args);
        begin(flat);
    } else if (what == END) {
        end(flat);
        od_structs_end(args);
    } else {
        update_now(flat);
        od_structs_update(args);
    }
}

/* The addresses shown go where the program reads them. */
static void return_addresses(const od_map_args *args, const od_map_args *flat)
{
    for (int32_t i = 0; i < args->count; i++)
        for (int32_t j = 0; (args->types[i] & OD_MAP_RETURN) && j < flat->count; j++)
            if ((flat->types[j] & OD_MAP_RETURN) && flat->begins[j] == args->begins[i])
                args->bases[i] = flat->bases[j];
}

/* False: the construct is not simple. */
static bool carry_out(construct what, const od_map_args *args)
{
    od_structs *structs = NULL;
    od_map_args room = {0}, list = *od_expanded(args, &room), flat = list;
    bool simple = od_structs_flatten_data(&list, &flat, &structs) != OD_FLAT_IMPOSSIBLE && od_args_are_simple(&flat);
    if (simple) {
        carry_out_simple(what, &list, &flat);
        return_addresses(args, &flat);
    }
    od_structs_free(structs);
    od_expand_free(&room);
    return simple;
}

/* True where the construct has been dealt with; false: it is libomptarget's, called with *device. */
static bool handle(construct what, int64_t *device, const od_map_args *args)
{
    if (od_is_too_late())
        return true;
    if (!od_runtime_active())
        return false;
    if (od_self.mode == OD_HOST_VERSION) /* data are on the host, addresses are host addresses */
        return true;
    bool is_virtual = od_is_virtual(device, args);
    if (is_virtual && carry_out(what, args))
        return true;
    od_args_bring_home(args);
    od_log(OD_LOG_INFO, "omp", "a data construct passed through to libomptarget (%s)",
           is_virtual ? "its map list needs libomptarget's own logic" : "its device is chosen by the program");
    if (is_virtual)
        *device = od_args_device(args);
    if (od_self.mode == OD_CAPTURE)
        od_self.capture->what = OD_CAPTURED_DONE;
    return false;
}

#define OD_DATA_CONSTRUCT(name, what)                                                                                  \
    void __tgt_target_data_##name##_mapper(od_ident *ident, int64_t device, int32_t n, void **bases, void **begins,    \
                                           int64_t *sizes, int64_t *types, void **names, void **mappers)               \
    {                                                                                                                  \
        od_map_args args = {n, bases, begins, sizes, types, names, mappers};                                           \
        if (handle(what, &device, &args))                                                                              \
            return;                                                                                                    \
        REAL(__tgt_target_data_##name##_mapper)(ident, device, n, bases, begins, sizes, types, names, mappers);        \
        note_foreign(what, device, &args);                                                                             \
    }                                                                                                                  \
    void __tgt_target_data_##name##_nowait_mapper(                                                                     \
        od_ident *ident, int64_t device, int32_t n, void **bases, void **begins, int64_t *sizes, int64_t *types,       \
        void **names, void **mappers, int32_t ndepends, void *depends, int32_t n_noalias, void *noalias)               \
    {                                                                                                                  \
        od_map_args args = {n, bases, begins, sizes, types, names, mappers};                                           \
        if (handle(what, &device, &args))                                                                              \
            return;                                                                                                    \
        REAL(__tgt_target_data_##name##_nowait_mapper)(ident, device, n, bases, begins, sizes, types, names, mappers,  \
                                                       ndepends, depends, n_noalias, noalias);                         \
        note_foreign(what, device, &args);                                                                             \
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
    if (od_runtime_started() && device == od_runtime_virtual_number() && od_structs_is_open((uintptr_t)address, 1))
        return 1;
    return REAL(omp_target_is_present)(address, device);
}

/* The region stays on that device, as one datum, until it closes. */
void *omp_get_mapped_ptr(const void *address, int device)
{
    if (!is_ours(address, device))
        return REAL(omp_get_mapped_ptr)(address, device);
    void *base = (void *)(uintptr_t)address, *begin = base;
    int64_t size = 0, type = OD_MAP_PARAM | OD_MAP_TO | OD_MAP_FROM;
    od_map_args args = {1, &base, &begin, &size, &type, NULL, NULL};
    atomic_fetch_add(&attempts_begun, 1);
    int place = acquire_where_shown(&args, od_runtime_device_index(device));
    atomic_fetch_add(&attempts_over, 1); /* it may stay shown for long: nobody is to wait for that */
    if (place == OD_HOST)
        return NULL;
    od_engine *engine = od_runtime_lock();
    od_directory_find_region(od_engine_directory(engine), (uintptr_t)address, 0)->shown++;
    od_runtime_unlock();
    return base;
}
