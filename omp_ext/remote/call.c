/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* See call.h. */
#include "omp_ext/remote/call.h"

#include "omp_ext/libomp/images.h"
#include "omp_ext/libomp/real.h"
#include "omp_ext/libomp/thread.h"
#include "omp_ext/tasks/launch/icvs.h"
#include "util/container/hash.h"
#include "util/memory.h"

#include <stdlib.h>
#include <string.h>

typedef struct packed_call {
    uint64_t kernel;
    int32_t teams, threads, thread_limit; /* the last is of the construct, or of the thread that launches */
    uint32_t version, count;
    uint64_t trip_count, flags;
    uint32_t nteams[3], nthreads[3], dynamic_memory;
    od_modes modes; /* of arithmetic: the launching thread's */
} packed_call;

/* Behind the call, one for each argument; behind them, aligned, what the private ones hold. */
typedef struct packed_arg {
    uint64_t base, begin;
    int64_t size, type;
} packed_arg;

static size_t align_up(size_t n)
{
    return (n + 15) & ~(size_t)15;
}

bool od_call_kernel(const void *kernel, od_mpi_kernel *known)
{
    const char *name = od_images_kernel_name(kernel);
    if (name)
        *known = (od_mpi_kernel){od_hash(OD_HASH_START, name, strlen(name)), od_images_kernel_build(kernel)};
    return name;
}

/* --- from bytes ------------------------------------------------------------------------- */

static bool is_private(int64_t type)
{
    return (type & OD_MAP_PRIVATE) && !(type & OD_MAP_LITERAL);
}

static size_t private_bytes(int64_t type, int64_t size)
{
    return is_private(type) ? align_up((size_t)size) : 0;
}

/* An address on the device, a value, or memory without contents: libomptarget there needs nothing from here. */
static bool is_plain(const od_kernel_args *args, uint32_t i)
{
    const int64_t needs = OD_MAP_TO | OD_MAP_FROM | OD_MAP_PTR_AND_OBJ | OD_MAP_MEMBER_OF | OD_MAP_NON_CONTIG |
                          OD_MAP_ATTACH;
    int64_t type = args->types[i];
    return (type & OD_MAP_LITERAL) || (is_private(type) && args->begins[i]) || !args->sizes[i] || !(type & needs);
}

void *od_call_pack(const od_kernel_call *call, const od_kernel_args *args, size_t *bytes)
{
    od_mpi_kernel kernel;
    size_t head = align_up(sizeof(packed_call) + args->count * sizeof(packed_arg));
    *bytes = head;
    for (uint32_t i = 0; i < args->count; i++) {
        if (!is_plain(args, i))
            return NULL;
        *bytes += private_bytes(args->types[i], args->sizes[i]);
    }
    char *packed = od_call_kernel(call->kernel, &kernel) ? od_calloc(1, *bytes) : NULL;
    if (!packed)
        return NULL;
    packed_call c = {.kernel = kernel.name,
                     .teams = call->teams,
                     .threads = call->threads,
                     .thread_limit = call->thread_limit ? call->thread_limit : REAL(omp_get_thread_limit)(),
                     .version = args->version,
                     .count = args->count,
                     .trip_count = args->trip_count,
                     .flags = args->flags & ~(uint64_t)OD_KERNEL_NOWAIT,
                     .dynamic_memory = args->dynamic_memory};
    c.modes = od_thread_modes();
    memcpy(c.nteams, args->teams, sizeof c.nteams);
    memcpy(c.nthreads, args->threads, sizeof c.nthreads);
    memcpy(packed, &c, sizeof c);
    for (uint32_t i = 0; i < args->count; i++) {
        packed_arg a = {(uintptr_t)args->bases[i], (uintptr_t)args->begins[i], args->sizes[i], args->types[i]};
        memcpy(packed + sizeof c + i * sizeof a, &a, sizeof a);
        if (is_private(a.type))
            memcpy(packed + head, args->begins[i], (size_t)a.size);
        head += private_bytes(a.type, a.size);
    }
    return packed;
}

typedef struct unpacked {
    od_kernel_args args;
    void *storage;
} unpacked;

static od_status unpack(const packed_call *c, const char *packed, size_t bytes, unpacked *u)
{
    size_t n = c->count, next = align_up(sizeof *c + n * sizeof(packed_arg));
    void **arrays = od_malloc((4 * n + 1) * sizeof *arrays);
    u->storage = arrays;
    if (!arrays)
        return OD_ENOMEM;
    u->args = (od_kernel_args){.version = c->version,
                               .count = c->count,
                               .bases = arrays,
                               .begins = arrays + n,
                               .sizes = (int64_t *)(void *)(arrays + 2 * n),
                               .types = (int64_t *)(void *)(arrays + 3 * n),
                               .trip_count = c->trip_count,
                               .flags = c->flags,
                               .dynamic_memory = c->dynamic_memory};
    memcpy(u->args.teams, c->nteams, sizeof c->nteams);
    memcpy(u->args.threads, c->nthreads, sizeof c->nthreads);
    for (size_t i = 0; i < n; i++) {
        packed_arg a;
        memcpy(&a, packed + sizeof *c + i * sizeof a, sizeof a);
        uintptr_t begin = a.begin, held = private_bytes(a.type, a.size);
        if (next + held > bytes)
            return OD_EINVAL;
        if (is_private(a.type))
            begin = (uintptr_t)packed + next;
        next += held;
        u->args.begins[i] = (void *)begin;
        u->args.bases[i] = (void *)(begin + (uintptr_t)(a.base - a.begin));
        u->args.sizes[i] = a.size;
        u->args.types[i] = a.type;
    }
    return OD_OK;
}

/* 0: this process's own is as low. */
static int lower_limit(int limit)
{
    return limit < REAL(omp_get_thread_limit)() ? limit : 0;
}

int od_call_run(const void *packed, size_t bytes, int device, void *(*kernel)(uint64_t name))
{
    od_ident ident = {.source = ";unknown;unknown;0;0;;"};
    packed_call c;
    unpacked u = {0};
    if (bytes < sizeof c)
        return 1;
    memcpy(&c, packed, sizeof c);
    void *entry = kernel(c.kernel);
    bool fits = bytes >= align_up(sizeof c + (size_t)c.count * sizeof(packed_arg));
    int failed = !entry || !fits || unpack(&c, packed, bytes, &u);
    if (!failed) {
        od_modes modes = od_thread_modes();
        od_thread_set_modes(c.modes);
        od_icvs icvs = od_icvs_begin(lower_limit(c.thread_limit));
        failed = REAL(__tgt_target_kernel)(&ident, device, c.teams, c.threads, entry, &u.args);
        od_icvs_end(&icvs);
        od_thread_set_modes(modes);
    }
    free(u.storage);
    return failed;
}
