/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* See remote.h. */
#define _GNU_SOURCE /* process_vm_readv */
#include "omp_ext/remote/remote.h"

#include "omp_ext/libomp/images.h"
#include "omp_ext/libomp/real.h"
#include "omp_ext/process/signals/signals.h"
#include "omp_ext/remote/call.h"
#include "omp_ext/runtime/runtime.h"
#include "util/memory.h"
#include "util/thread.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

/* --- device memory --------------------------------------------------------------------- */

static struct {
    void *(*alloc)(size_t size, int device);
    void (*free)(void *address, int device);
    int (*memcpy)(void *, const void *, size_t, size_t, size_t, int, int);
} local; /* libomptarget's own */

static unsigned index_of(int device)
{
    int k = od_runtime_device_index(device);
    return k == OD_NOWHERE ? 0 : (unsigned)k;
}

static void *alloc(size_t size, int device)
{
    const od_backend *backend = od_runtime_backend();
    void *address;
    if (!od_remote_is(device))
        return local.alloc(size, device);
    return backend->ops->alloc(backend->state, index_of(device), size, &address) ? NULL : address;
}

static void give_back(void *address, int device)
{
    const od_backend *backend = od_runtime_backend();
    if (!od_remote_is(device))
        local.free(address, device);
    else if (address)
        backend->ops->free(backend->state, index_of(device), address);
}

static int place_of(int device)
{
    return od_remote_is(device) ? (int)index_of(device) : OD_HOST;
}

static int move(void *to, int to_device, const void *from, int from_device, size_t bytes)
{
    const od_backend *backend = od_runtime_backend();
    int to_place = place_of(to_device), from_place = place_of(from_device);
    bool within = to_place == from_place; /* one device's memory */
    void *between = within ? od_malloc(bytes) : NULL;
    od_status status = OD_OK;
    if (within && !between)
        return 1;
    if (within)
        status = backend->ops->copy(backend->state, OD_HOST, between, from_place, from, bytes);
    if (!status)
        status = backend->ops->copy(backend->state, to_place, to, within ? OD_HOST : from_place,
                                    within ? between : from, bytes);
    free(between);
    return status != OD_OK;
}

/* Between a device of libomptarget's and another rank bytes go through the host's memory. */
static int move_through_host(void *to, int to_device, const void *from, int from_device, size_t bytes)
{
    const int host = REAL(omp_get_initial_device)();
    void *between = od_malloc(bytes);
    int failed = !between;
    if (!failed)
        failed = od_remote_is(from_device) ? move(between, host, from, from_device, bytes)
                                           : local.memcpy(between, from, bytes, 0, 0, host, from_device);
    if (!failed)
        failed = od_remote_is(to_device) ? move(to, to_device, between, host, bytes)
                                         : local.memcpy(to, between, bytes, 0, 0, to_device, host);
    free(between);
    return failed;
}

static int copy(void *to, const void *from, size_t bytes, size_t to_offset, size_t from_offset, int to_device,
                int from_device)
{
    const int host = REAL(omp_get_initial_device)();
    if (!od_remote_is(to_device) && !od_remote_is(from_device))
        return local.memcpy(to, from, bytes, to_offset, from_offset, to_device, from_device);
    to = (char *)to + to_offset;
    from = (const char *)from + from_offset;
    bool direct = (od_remote_is(to_device) || to_device == host) && (od_remote_is(from_device) || from_device == host);
    return (direct ? move : move_through_host)(to, to_device, from, from_device, bytes);
}

static void end_first(od_remote_writes *writes)
{
    const long nap_ns = 10000;
    const od_backend *backend = od_runtime_backend();
    od_ticket *ticket = writes->tickets[writes->ended++ % OD_REMOTE_AT_ONCE];
    int cancellation = od_thread_defer_cancellation();
    od_status status;
    while ((status = backend->ops->poll(backend->state, ticket)) == OD_EBUSY)
        od_thread_nap(nap_ns);
    od_thread_admit_cancellation(cancellation);
    writes->failed |= status != OD_OK;
}

void od_remote_write(od_remote_writes *writes, int device, void *to, const void *from, size_t bytes)
{
    const od_backend *backend = od_runtime_backend();
    const od_copy copy = {
        .to = place_of(device), .from = OD_HOST, .to_address = to, .from_address = from, .bytes = bytes};
    if (writes->begun - writes->ended == OD_REMOTE_AT_ONCE)
        end_first(writes);
    if (backend->ops->start(backend->state, &copy, &writes->tickets[writes->begun % OD_REMOTE_AT_ONCE]))
        writes->failed = true;
    else
        writes->begun++;
}

bool od_remote_end_writes(od_remote_writes *writes)
{
    while (writes->ended < writes->begun)
        end_first(writes);
    return !writes->failed;
}

/* The program is shown addresses, which lead nowhere in this process. */
static bool on_fault(const siginfo_t *info, void *context)
{
    static const char line[] =
        "ompdarts: host code uses an address of another rank's device (use_device_ptr), which only kernels can\n";
    (void)context;
    if (od_runtime_pool_of((uintptr_t)info->si_addr) != OD_NOWHERE && write(STDERR_FILENO, line, sizeof line - 1) < 0)
        return false; /* nothing else can be done about it */
    return false;
}

void od_remote_begin(void)
{
    od_remote_set_on();
    od_signals_take(SIGSEGV, on_fault);
    local.alloc = od_real_table.omp_target_alloc;
    local.free = od_real_table.omp_target_free;
    local.memcpy = od_real_table.omp_target_memcpy;
    od_real_table.omp_target_alloc = alloc;
    od_real_table.omp_target_free = give_back;
    od_real_table.omp_target_memcpy = copy;
}

void od_remote_end(void)
{
    od_mpi_end_fn *end;
    void *symbol = dlsym(RTLD_DEFAULT, "ompdarts_mpi_v1_end");
    memcpy(&end, &symbol, sizeof end);
    if (od_remote_is_on() && end)
        end();
}

/* --- kernels ------------------------------------------------------------------------------ */

enum { MOST_KERNELS = 4096 };

static struct {
    od_mpi_kernel *all; /* that other ranks have; written before other threads look */
    size_t count;
} known;

typedef struct search {
    const od_mpi_kernel *wanted;
    bool found;
} search;

static bool is_known(uint64_t name)
{
    for (size_t i = 0; i < known.count; i++)
        if (known.all[i].name == name)
            return true;
    return false;
}

static void compare(const void *kernel, void *arg)
{
    search *s = arg;
    od_mpi_kernel own;
    s->found |= od_call_kernel(kernel, &own) && own.name == s->wanted->name && own.build == s->wanted->build;
}

bool od_remote_knows(const od_mpi_kernel *kernel)
{
    search s = {.wanted = kernel};
    if (is_known(kernel->name))
        return true;
    od_images_visit_addresses(compare, &s);
    if (!known.all)
        known.all = od_calloc(MOST_KERNELS, sizeof *known.all);
    if (s.found && known.all && known.count < MOST_KERNELS)
        known.all[known.count++] = *kernel;
    return s.found;
}

/* Something of this process is there: it may be meant. */
static bool is_address_here(uintptr_t value)
{
    const uintptr_t least = 1 << 16, most = (uintptr_t)1 << 47;
    char byte;
    struct iovec to = {&byte, 1}, from = {(void *)value, 1};
    return value >= least && value < most && process_vm_readv(getpid(), &to, 1, &from, 1, 0) == 1;
}

/* Of data that are present on devices a kernel uses what is there, and may compare it with the program's address. */
static bool is_of_region(uintptr_t address)
{
    od_engine *engine = od_runtime_lock();
    const od_region *region = od_directory_find_region(od_engine_directory(engine), address, 0);
    od_runtime_unlock();
    return region;
}

static bool gets_address_here(const od_map_args *args)
{
    for (int32_t i = 0; (args->any & OD_MAP_LITERAL) && i < args->count; i++) {
        uintptr_t value = (uintptr_t)args->bases[i];
        if ((args->types[i] & OD_MAP_LITERAL) && is_address_here(value) && !is_of_region(value))
            return true;
    }
    return false;
}

bool od_remote_must_stay(const od_kernel_call *call)
{
    od_mpi_kernel kernel;
    return od_remote_is_on() &&
           (!od_call_kernel(call->kernel, &kernel) || !is_known(kernel.name) || gets_address_here(&call->map));
}

int od_remote_launch(const od_kernel_call *call, unsigned k, const od_kernel_args *args, void **handle)
{
    const od_backend *backend = od_runtime_backend();
    size_t bytes;
    od_ticket *ticket = NULL;
    void *packed = od_call_pack(call, args, &bytes);
    od_status status = OD_EINVAL;
    if (packed)
        status = backend->ops->launch(backend->state, k, packed, bytes, handle ? &ticket : NULL);
    free(packed);
    if (!packed)
        od_log(OD_LOG_INFO, "omp", "region %p does not run on another rank: an argument is libomptarget's to map",
               call->kernel);
    if (!status && handle)
        *handle = ticket;
    return status != OD_OK;
}

od_status od_remote_poll(void **handle)
{
    const od_backend *backend = od_runtime_backend();
    od_status status = backend->ops->poll(backend->state, *handle);
    if (status != OD_EBUSY)
        *handle = NULL;
    return status;
}
