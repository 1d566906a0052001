/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Leagues of kernels on the driver's double, as a GPU has them: a team for each block that was launched, one after the
 * other. The number of a team, how many there are and which iterations of a distribute loop a team has is what LLVM's
 * device runtime says (league.sh), from a block's registers; the one for AMD's GPUs, from what these have in memory.
 * Parallel regions inside are libomp's.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>

enum { DISTRIBUTE_CHUNKED = 91, DISTRIBUTE = 92, ARGUMENTS = 32 };

/* What the double says to the thread that executes the kernel. */
__attribute__((visibility("default"))) _Thread_local unsigned cuda_double_blocks;

/* Each device has a copy of this library; kernels that it executes at once have their leagues one after the other. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int block, blocks = 1;

int cuda_double_ctaid(void)
{
    return block;
}

int cuda_double_nctaid(void)
{
    return blocks;
}

int cuda_double_tid(void)
{
    return 0;
}

int cuda_double_ntid(void)
{
    return 1;
}

int cuda_double_laneid(void)
{
    return 0;
}

int cuda_double_wavefront(void)
{
    return 64;
}

/* hsa_kernel_dispatch_packet_t, as far as it is read: a block is a workgroup of one item. */
const void *cuda_double_dispatch(void)
{
    static struct {
        uint16_t header, setup, workgroup_size[3], reserved;
        uint32_t grid_size[3];
    } packet = {.workgroup_size = {1, 1, 1}};
    packet.grid_size[0] = (uint32_t)blocks;
    return &packet;
}

/* What a kernel of code object version 5 finds behind its arguments. */
const int32_t __oclc_ABI_version = 500;

const void *cuda_double_implicitarg(void)
{
    static struct {
        uint32_t block_count[3];
        uint16_t group_size[3], remainder[3];
    } hidden = {.group_size = {1, 1, 1}};
    hidden.block_count[0] = (uint32_t)blocks;
    return &hidden;
}

static void *libomps(const char *name)
{
    return dlsym(dlopen("libkmp.so.5", RTLD_NOW | RTLD_NOLOAD), name);
}

#define EIGHT void *, void *, void *, void *, void *, void *, void *, void *
typedef void microtask(int32_t *, int32_t *, EIGHT, EIGHT, EIGHT, EIGHT);

/* More arguments than it takes do no harm. */
static void call(microtask *team, void **a)
{
    int32_t number = ((int32_t(*)(void *))libomps("__kmpc_global_thread_num"))(NULL), zero = 0;
#define FOUR(i) a[i], a[i + 1], a[i + 2], a[i + 3]
#define SIXTEEN(i) FOUR(i), FOUR(i + 4), FOUR(i + 8), FOUR(i + 12)
    team(&number, &zero, SIXTEEN(0), SIXTEEN(16));
}

void __kmpc_fork_teams(void *ident, int32_t count, microtask *team, ...)
{
    void *arguments[ARGUMENTS] = {0};
    va_list list;
    va_start(list, team);
    for (int32_t i = 0; i < count && i < ARGUMENTS; i++)
        arguments[i] = va_arg(list, void *);
    va_end(list);
    pthread_mutex_lock(&lock);
    blocks = cuda_double_blocks ? (int)cuda_double_blocks : 1;
    for (block = 0; block < blocks; block++)
        call(team, arguments);
    pthread_mutex_unlock(&lock);
}

void __kmpc_push_num_teams(void *ident, int32_t number, int32_t teams, int32_t threads)
{
}

void __kmpc_push_num_teams_51(void *ident, int32_t number, int32_t least, int32_t most, int32_t threads)
{
}

#define STATIC_INIT(suffix, type, step)                                                                                \
    typedef void init##suffix(void *, int32_t, int32_t, int32_t *, type *, type *, step *, step, step);                \
    init##suffix __kmpc_distribute_static_init##suffix;                                                                \
    void __kmpc_for_static_init##suffix(void *ident, int32_t number, int32_t schedule, int32_t *last, type *lower,     \
                                        type *upper, step *stride, step increment, step chunk)                         \
    {                                                                                                                  \
        int32_t kind = schedule & ~(3 << 29);                                                                          \
        bool of_teams = kind == DISTRIBUTE || kind == DISTRIBUTE_CHUNKED;                                              \
        init##suffix *init = of_teams ? __kmpc_distribute_static_init##suffix                                          \
                                      : (init##suffix *)libomps("__kmpc_for_static_init" #suffix);                     \
        init(ident, number, of_teams ? kind : schedule, last, lower, upper, stride, increment, chunk);                 \
    }

STATIC_INIT(_4, int32_t, int32_t)
STATIC_INIT(_4u, uint32_t, int32_t)
STATIC_INIT(_8, int64_t, int64_t)
STATIC_INIT(_8u, uint64_t, int64_t)

void _ZN4ompx6config13noteExclusionEv(void);

void __kmpc_critical(void *ident, int32_t number, void *name)
{
    _ZN4ompx6config13noteExclusionEv();
    ((void (*)(void *, int32_t, void *))libomps("__kmpc_critical"))(ident, number, name);
}
