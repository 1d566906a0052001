/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Kernels beside what the program is shown. See launch.h.
 *
 * An array of which the program is shown a section lies in several places until it lets go of the address, but a kernel
 * that names all of the array wants it in one. So it gets a copy, and what it has changed there is merged into the
 * places: byte by byte, for meanwhile others may write to the rest through their addresses.
 */
#include "omp_ext/tasks/launch/launch.h"

#include "memmgr/extent/spans.h"
#include "omp_ext/libomp/real.h"
#include "omp_ext/process/fatal.h"
#include "omp_ext/process/memory.h"
#include "util/log.h"
#include "util/memory.h"
#include "util/thread.h"

#include <stdlib.h>
#include <string.h>

/* Of a range of a region. */
typedef struct image {
    od_span range;
    char *before, *after; /* malloc'ed: what the kernel has found, and what it has left */
    void *copy;           /* on the kernel's device */
} image;

typedef struct beside {
    od_launch *launch;
    od_use_range use; /* how a range is used that a datum lies in */
    od_job *outer;    /* or NULL */
    image *images;
    size_t nimages;
} beside;

static size_t bytes_of(const image *m)
{
    return m->range.end - m->range.begin;
}

/* --- in turn --------------------------------------------------------------- */

static atomic_flag under_way = ATOMIC_FLAG_INIT; /* two of them may add to the same sum */

static void begin_turn(void)
{
    while (atomic_flag_test_and_set_explicit(&under_way, memory_order_acquire)) {
        od_runtime_revoke_all();
        od_thread_nap(100 * 1000);
    }
}

static void end_turn(void)
{
    atomic_flag_clear_explicit(&under_way, memory_order_release);
}

/* --- which ranges ---------------------------------------------------------- */

/* What argument i refers to; empty: no region's. That is libomptarget's to copy. */
static od_span find_range(const od_map_args *args, int32_t i)
{
    if (od_arg_classify(args, i) != OD_ARG_DATUM)
        return (od_span){0};
    od_reference r = od_refer(od_runtime_lock(), args, i);
    od_runtime_unlock();
    if (r.region)
        return (od_span){r.base, r.base + r.size};
    if (r.size)
        od_runtime_host_range(r.base, r.size, OD_REQUEST_OUTSIDE);
    return (od_span){0};
}

/* An argument's address need not lie in what it refers to. */
static int32_t image_of(const beside *b, od_span range)
{
    for (size_t j = 0; j < b->nimages; j++)
        if (b->images[j].range.begin <= range.begin && range.begin < b->images[j].range.end)
            return (int32_t)j;
    return -1;
}

static void find_images(beside *b)
{
    const od_map_args *args = &b->launch->call.map;
    size_t bytes = ((size_t)args->count + 1) * sizeof(od_span);
    od_span *of = od_alloc(bytes), *ranges = od_alloc(bytes);
    for (int32_t i = 0; i < args->count; i++) {
        of[i] = find_range(args, i);
        if (of[i].end)
            ranges[b->nimages++] = of[i];
    }
    b->nimages = od_spans_make(ranges, b->nimages);
    b->images = od_alloc_zeroed(b->nimages + 1, sizeof *b->images);
    for (size_t j = 0; j < b->nimages; j++)
        b->images[j].range = ranges[j];
    for (int32_t i = 0; i < args->count; i++)
        b->launch->access_of[i] = of[i].end ? image_of(b, of[i]) : -1;
    free(ranges);
    free(of);
}

/* --- to the places, and from them ------------------------------------------- */

/* The first part of the range that lies in one datum, or in none. */
static od_span first_piece(od_span range)
{
    od_span data;
    od_engine *engine = od_runtime_lock();
    if (od_directory_first(od_engine_directory(engine), range.begin, range.end - range.begin, &data)) {
        uintptr_t end = data.begin > range.begin ? data.begin : data.end;
        range.end = end < range.end ? end : range.end;
    }
    od_runtime_unlock();
    return range;
}

/* Where the piece begins, in the memory of OpenMP's device. */
static char *address_of(const od_datum *d, int place, uintptr_t begin, int *device)
{
    od_runtime_lock();
    char *base = place == OD_HOST ? od_launch_host_contents(d) : od_runtime_address(d, (unsigned)place);
    od_runtime_unlock();
    *device = place == OD_HOST ? REAL(omp_get_initial_device)() : od_runtime_device_number((unsigned)place);
    return base + (begin - d->base);
}

typedef struct visit {
    const image *image;
    od_span piece; /* of it */
    od_mode mode;
} visit;

static void move_piece(const od_datum *d, int place, void *arg)
{
    const visit *v = arg;
    const image *m = v->image;
    size_t at = v->piece.begin - m->range.begin, bytes = v->piece.end - v->piece.begin;
    int device;
    char *there = address_of(d, place, v->piece.begin, &device);
    if (v->mode & OD_WRITE)
        od_launch_merge(there, device, m->before + at, m->after + at, bytes);
    else
        od_launch_copy_bytes(m->before + at, REAL(omp_get_initial_device)(), there, device, bytes);
}

/* False: it lies in other data by now. */
static bool visit_piece(const beside *b, visit *v)
{
    od_range_use range = {v->piece.begin, v->piece.end - v->piece.begin, v->mode};
    return b->use(&range, b->outer, move_piece, v);
}

static bool has_changed(const image *m, od_span piece)
{
    size_t at = piece.begin - m->range.begin;
    return memcmp(m->before + at, m->after + at, piece.end - piece.begin) != 0;
}

static void visit_pieces(const beside *b, const image *m, od_mode mode)
{
    od_span left = m->range;
    while (left.begin < left.end) {
        visit v = {m, first_piece(left), mode};
        bool concerns = !(mode & OD_WRITE) || has_changed(m, v.piece);
        if (!concerns || visit_piece(b, &v))
            left.begin = v.piece.end;
    }
}

/* --- the kernel -------------------------------------------------------------- */

static void free_copies(const beside *b, int device)
{
    for (size_t j = 0; j < b->nimages; j++)
        if (b->images[j].copy)
            REAL(omp_target_free)(b->images[j].copy, device);
}

static bool make_copies(const beside *b, int device)
{
    const int host = REAL(omp_get_initial_device)();
    for (size_t j = 0; j < b->nimages; j++) {
        image *m = &b->images[j];
        m->copy = od_runtime_target_alloc(bytes_of(m), device);
        if (!m->copy || REAL(omp_target_memcpy)(m->copy, m->before, bytes_of(m), 0, 0, device, host))
            return false;
    }
    return true;
}

static bool run_kernel(const beside *b, int device)
{
    uintptr_t *moved = od_alloc((b->nimages + 1) * sizeof *moved);
    for (size_t j = 0; j < b->nimages; j++)
        moved[j] = (uintptr_t)b->images[j].copy - b->images[j].range.begin;
    bool done = !od_launch_run_moved(b->launch, moved, device);
    for (size_t j = 0; j < b->nimages && done; j++) {
        const image *m = &b->images[j];
        od_launch_copy_bytes(m->after, REAL(omp_get_initial_device)(), m->copy, device, bytes_of(m));
    }
    free(moved);
    return done;
}

static bool run_on(const beside *b, int device)
{
    bool done = make_copies(b, device) && run_kernel(b, device);
    free_copies(b, device);
    for (size_t j = 0; j < b->nimages; j++)
        b->images[j].copy = NULL;
    return done;
}

/* On any device, but for addresses of one. */
static bool run(const beside *b)
{
    int bound = od_launch_bound(b->launch);
    unsigned first = bound == OD_NOWHERE ? 0 : (unsigned)bound, n = bound == OD_NOWHERE ? od_runtime_ndevices() : 1;
    bool done = false;
    for (unsigned i = 0; i < n && !done; i++)
        done = run_on(b, od_runtime_device_number(first + i));
    return done;
}

void od_launch_beside(od_launch *launch, od_use_range use, od_job *outer)
{
    beside b = {.launch = launch, .use = use, .outer = outer};
    begin_turn();
    find_images(&b);
    for (size_t j = 0; j < b.nimages; j++) {
        b.images[j].before = od_alloc(bytes_of(&b.images[j]));
        b.images[j].after = od_alloc(bytes_of(&b.images[j]));
        visit_pieces(&b, &b.images[j], OD_READ);
    }
    if (!run(&b))
        od_fatal("no device can run a kernel on a copy of an array of which the program holds a device address "
                 "(use_device_ptr)");
    for (size_t j = 0; j < b.nimages; j++)
        visit_pieces(&b, &b.images[j], OD_READ | OD_WRITE);
    end_turn();
    od_log(OD_LOG_INFO, "omp",
           "region %p uses more of an array than the section that the program is shown: it ran on "
           "a copy",
           launch->call.kernel);
    for (size_t j = 0; j < b.nimages; j++) {
        free(b.images[j].before);
        free(b.images[j].after);
    }
    free(b.images);
}
