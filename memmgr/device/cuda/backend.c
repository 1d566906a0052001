/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The CUDA back-end's life: GPUs and their primary contexts, streams, pools, peers. Everything is taken when the
 * back-end is made, so that later only copies can fail.
 */
#define _GNU_SOURCE /* cpu_set_t */
#include "memmgr/device/cuda/cuda.h"
#include "memmgr/device/cuda/module.h"
#include "util/container/hash.h"
#include "util/memory.h"
#include "util/thread.h"

#include <sched.h> /* before the next */

#include <hwloc/glibc-sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- memory -------------------------------------------------------------------- */

static od_status take_at_once(od_cuda_device *d, size_t bytes, od_cu_address *address)
{
    od_cu_result result = d->cuda->cu.alloc(address, bytes);
    return result == OD_CU_OUT_OF_MEMORY ? OD_EDEVICE : od_cuda_check(d, result, "taking its memory");
}

static od_status take_memory(void *state, unsigned k, size_t bytes, void **address)
{
    od_cuda *cuda = state;
    od_cuda_device *d = &cuda->device[k];
    od_cu_address taken = 0;
    od_status status = od_cuda_enter(d);
    if (status)
        return status;
    status = od_extent_take(d, bytes);
    if (!status)
        taken = d->extent.begin;
    else if (status == OD_EINVAL)
        status = take_at_once(d, bytes, &taken);
    od_cuda_leave(d);
    if (status)
        od_log(OD_LOG_INFO, "cuda", "device %u does not give %zu bytes of its memory", k, bytes);
    *address = (void *)(uintptr_t)taken;
    return status;
}

static void give_memory(void *state, unsigned k, void *address)
{
    od_cuda *cuda = state;
    od_cuda_device *d = &cuda->device[k];
    if (od_cuda_enter(d))
        return;
    if (d->extent.begin && (uintptr_t)address == d->extent.begin)
        od_extent_give(d);
    else if (!od_chosen_give(d, (uintptr_t)address))
        od_cuda_check(d, cuda->cu.free((od_cu_address)(uintptr_t)address), "giving its memory back");
    od_cuda_leave(d);
}

static od_status take_at(void *state, unsigned k, size_t bytes, void *address)
{
    od_cuda_device *d = &((od_cuda *)state)->device[k];
    od_status status = od_cuda_enter(d);
    if (status)
        return status;
    status = od_chosen_take(d, bytes, (uintptr_t)address);
    od_cuda_leave(d);
    return status;
}

static od_status memory(void *state, unsigned k, size_t *free_bytes, size_t *total)
{
    od_cuda *cuda = state;
    od_cuda_device *d = &cuda->device[k];
    od_status status = od_cuda_enter(d);
    if (status)
        return status;
    status = od_cuda_check(d, cuda->cu.memory_info(free_bytes, total), "asking for its free memory");
    od_cuda_leave(d);
    return status;
}

static bool spare(void *state, unsigned k)
{
    return od_reserve_spare(&((od_cuda *)state)->device[k]);
}

static size_t lack(void *state, unsigned k)
{
    od_cuda_device *d = &((od_cuda *)state)->device[k];
    if (atomic_load(&d->lost) || od_cuda_enter(d))
        return 0;
    size_t bytes = od_reserve_lack(d);
    od_cuda_leave(d);
    return bytes;
}

static size_t piece(void *state, unsigned k)
{
    return ((od_cuda *)state)->device[k].extent.piece;
}

/* Pools that could not be taken in this way have all of their memory. */
static od_status commit(void *state, unsigned k, size_t offset, size_t bytes)
{
    od_cuda_device *d = &((od_cuda *)state)->device[k];
    if (!d->extent.committed)
        return OD_OK;
    od_status status = od_cuda_enter(d);
    if (status)
        return status;
    status = od_extent_commit(d, offset, bytes);
    od_cuda_leave(d);
    return status;
}

static void trim(void *state, unsigned k, size_t bytes)
{
    od_cuda_device *d = &((od_cuda *)state)->device[k];
    if (atomic_load(&d->lost) || od_cuda_enter(d))
        return;
    od_extent_trim(d, bytes);
    od_cuda_leave(d);
}

static void release_host(void *state, uintptr_t base, size_t size)
{
    od_pins_release_range(&((od_cuda *)state)->pins, base, size);
}

static void reclaim(void *state)
{
    od_pins_reclaim(&((od_cuda *)state)->pins);
}

static void *host_alloc(void *state, size_t bytes)
{
    od_cuda *cuda = state;
    void *address;
    od_cuda_device *d = od_cuda_enter_any(cuda);
    if (!d)
        return NULL;
    if (cuda->cu.host_alloc(&address, bytes, OD_CU_MEMHOST_PORTABLE))
        address = NULL;
    od_cuda_leave(d);
    return address;
}

static void host_free(void *state, void *address)
{
    od_cuda *cuda = state;
    od_cuda_device *d = od_cuda_enter_any(cuda);
    if (!d)
        return;
    od_cuda_check(d, cuda->cu.host_free(address), "giving pinned memory back");
    od_cuda_leave(d);
}

/* On its thread: pins memory, and undoes that. Where no device works, the driver refuses. */
static void *pin(void *arg)
{
    od_cuda *cuda = arg;
    while (od_pins_await_work(&cuda->pins)) {
        od_cuda_device *d = od_cuda_enter_any(cuda);
        od_pins_work(&cuda->pins);
        if (d)
            od_cuda_leave(d);
    }
    return NULL;
}

static void close_pinner(od_cuda *cuda)
{
    if (!cuda->has_pinner)
        return;
    od_pins_close(&cuda->pins);
    pthread_join(cuda->pinner, NULL);
}

static bool is_peer(void *state, unsigned from, unsigned to)
{
    return od_placeset_has(((od_cuda *)state)->peers[from], to);
}

enum { MIB = 1 << 20, WORTH_SAYING = 20 /* a finding, where more than one byte in so many is staged */ };

static void report(void *state)
{
    od_cuda *cuda = state;
    unsigned long long staged = atomic_load(&cuda->staged_bytes), all = atomic_load(&cuda->bytes);
    if (!staged)
        return;
    bool finding = cuda->pinning && staged > all / WORTH_SAYING && staged > MIB;
    od_log(finding ? OD_LOG_WARNING : OD_LOG_INFO, "cuda",
           "%llu of %llu copies (%.4g of %.4g MB) used unpinned host memory and were staged through buffers%s",
           atomic_load(&cuda->staged), atomic_load(&cuda->copies), (double)staged * 1e-6, (double)all * 1e-6,
           !finding             ? ""
           : cuda->pins.refused ? ": the system refused to pin it (see `ulimit -l`)"
                                : ": raise pin in OMPDARTS_BACKEND=cuda:pin=SIZE");
}

/* --- life ------------------------------------------------------------------------- */

static void close_device(od_cuda_device *d)
{
    const od_cu_driver *cu = &d->cuda->cu;
    bool entered = d->context && !od_cuda_enter(d);
    if (entered && d->reserve)
        cu->free(d->reserve);
    od_stager_destroy(&d->stager[OD_H2D]);
    od_stager_destroy(&d->stager[OD_D2H]);
    od_queues_destroy(d);
    od_tickets_destroy(d);
    for (int i = 0; i < OD_DIRECTIONS; i++)
        if (d->stream[i])
            cu->stream_destroy(d->stream[i]);
    if (entered)
        od_cuda_leave(d);
    pthread_mutex_destroy(&d->lock);
    if (d->near)
        hwloc_bitmap_free(d->near);
    if (d->context)
        cu->context_release(d->gpu);
}

static void destroy(void *state)
{
    od_cuda *cuda = state;
    close_pinner(cuda);
    od_cuda_device *d = od_cuda_enter_any(cuda);
    od_pins_destroy(&cuda->pins);
    if (d)
        od_cuda_leave(d);
    for (unsigned k = 0; k < cuda->ndevices; k++)
        close_device(&cuda->device[k]);
    od_blas_close(cuda);
    if (cuda->topology)
        hwloc_topology_destroy(cuda->topology);
    free(cuda);
}

/* Those of the set that the process may use; NULL: none. */
static hwloc_cpuset_t own_processors(od_cuda *cuda, hwloc_const_cpuset_t set)
{
    size_t bytes;
    const void *places = od_thread_places(&bytes);
    hwloc_cpuset_t own = hwloc_bitmap_dup(set), usable = hwloc_bitmap_alloc();
    if (own && usable && bytes && !hwloc_cpuset_from_glibc_sched_affinity(cuda->topology, usable, places, bytes))
        hwloc_bitmap_and(own, own, usable);
    hwloc_bitmap_free(usable);
    if (own && hwloc_bitmap_iszero(own)) {
        hwloc_bitmap_free(own);
        return NULL;
    }
    return own;
}

/* The processors nearest to the GPU, by its place on the PCI bus. */
static hwloc_cpuset_t find_near(od_cuda *cuda, od_cu_device gpu)
{
    char id[32] = "";
    if (!cuda->topology || cuda->cu.device_bus_id(id, sizeof id, gpu))
        return NULL;
    hwloc_obj_t object = hwloc_get_pcidev_by_busidstring(cuda->topology, id);
    object = object ? hwloc_get_non_io_ancestor_obj(cuda->topology, object) : NULL;
    return object && object->cpuset ? own_processors(cuda, object->cpuset) : NULL;
}

/* Of the GPUs' places on the bus. */
static uint32_t identity(void *state)
{
    const od_cuda *cuda = state;
    uint64_t hash = OD_HASH_START;
    for (unsigned k = 0; k < cuda->ndevices; k++) {
        char id[32] = "";
        cuda->cu.device_bus_id(id, sizeof id, cuda->device[k].gpu);
        hash = od_hash(hash, id, strlen(id) + 1);
    }
    return (uint32_t)hash;
}

static od_status open_streams(od_cuda_device *d)
{
    od_status status = od_cuda_enter(d);
    if (status)
        return status;
    for (int i = 0; i < OD_DIRECTIONS && !status; i++)
        status =
            od_cuda_check(d, d->cuda->cu.stream_create(&d->stream[i], OD_CU_STREAM_NON_BLOCKING), "making a stream");
    if (!status)
        od_reserve_take(d);
    od_cuda_leave(d);
    return status;
}

/* What close_device() undoes in any case. */
static od_status init_device(od_cuda *cuda, unsigned k)
{
    od_cuda_device *d = &cuda->device[k];
    d->cuda = cuda;
    d->k = k;
    if (pthread_mutex_init(&d->lock, NULL) || od_stager_init(&d->stager[OD_H2D], d, OD_H2D) ||
        od_stager_init(&d->stager[OD_D2H], d, OD_D2H))
        return OD_ENOMEM;
    cuda->ndevices = k + 1;
    return OD_OK;
}

static od_status open_device(od_cuda *cuda, unsigned k, int ordinal)
{
    od_cuda_device *d = &cuda->device[k];
    char name[128] = "";
    od_cu_context context;
    od_status status = init_device(cuda, k);
    if (!status)
        status = od_cuda_check(d, cuda->cu.device_get(&d->gpu, ordinal), "looking it up");
    if (!status)
        status = od_cuda_check(d, cuda->cu.context_retain(&context, d->gpu), "taking its primary context");
    if (status)
        return status;
    d->context = context;
    d->near = find_near(cuda, d->gpu);
    cuda->cu.device_name(name, sizeof name, d->gpu);
    od_log(OD_LOG_INFO, "cuda", "device %u: GPU %d, %s%s", k, ordinal, name,
           d->near ? ", its place in the machine is known" : "");
    return open_streams(d);
}

/* Peers are worth more than the way through the host only where they reach each other's memory. */
static void connect_peers(od_cuda *cuda, unsigned i, unsigned j)
{
    od_cuda_device *a = &cuda->device[i], *b = &cuda->device[j];
    int can = a->context == b->context;
    if (!can && (cuda->cu.can_access_peer(&can, a->gpu, b->gpu) || !can))
        return;
    if (a->context != b->context) {
        if (od_cuda_enter(a))
            return;
        od_cu_result result = cuda->cu.enable_peer_access(b->context, 0);
        od_cuda_leave(a);
        if (result && result != OD_CU_PEER_ACCESS_ALREADY_ENABLED)
            return;
    }
    od_placeset_add(&cuda->peers[i], j);
}

/* Where it finds no processors, in a container without /sys, hwloc complains to the user. */
static bool has_topology(void)
{
    return access("/sys/devices/system/cpu", R_OK) == 0 || access("/sys/bus/cpu/devices", R_OK) == 0;
}

static void open_topology(od_cuda *cuda)
{
    if (!has_topology() || hwloc_topology_init(&cuda->topology))
        cuda->topology = NULL;
    if (!cuda->topology)
        return;
    hwloc_topology_set_io_types_filter(cuda->topology, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
    if (hwloc_topology_load(cuda->topology)) {
        hwloc_topology_destroy(cuda->topology);
        cuda->topology = NULL;
    }
}

static const od_backend_ops cuda_ops = {
    .interface_version = OD_BACKEND_INTERFACE,
    .name = "cuda",
    .description = "NVIDIA's GPUs, through the CUDA driver: asynchronous copies of pinned memory, and between peers",
    .peer = true, /* the driver goes through the host where the devices cannot */
    .alloc = take_memory,
    .free = give_memory,
    .copy = od_cuda_copy,
    .destroy = destroy,
    .start = od_cuda_start,
    .poll = od_cuda_poll,
    .release_host = release_host,
    .reclaim = reclaim,
    .host_alloc = host_alloc,
    .host_free = host_free,
    .memory = memory,
    .alloc_at = take_at,
    .spare = spare,
    .lack = lack,
    .piece = piece,
    .trim = trim,
    .commit = commit,
    .identity = identity,
    .is_peer = is_peer,
    .report = report,
    .queues = &od_cuda_queue_ops,
};

od_status ompdarts_cuda_v1_backend(od_backend *backend, const od_cuda_config *config)
{
    char why[256];
    if (config->interface_version != OD_BACKEND_INTERFACE || config->ndevices > OD_MAX_DEVICES)
        return OD_EINVAL;
    od_log_set_level(config->log);
    if (config->places)
        od_thread_set_places(config->places, config->places_bytes);
    od_cuda *cuda = od_calloc(1, sizeof *cuda);
    if (!cuda)
        return OD_ENOMEM;
    cuda->pinning = config->pin_wanted;
    od_status status = od_cu_open(&cuda->cu, OD_CUDA_LIBRARY, why, sizeof why);
    if (status)
        od_log(OD_LOG_ERROR, "cuda", "%s", why);
    if (!status)
        status = od_pins_init(&cuda->pins, &cuda->cu, config->pin_budget, config->pin_first);
    if (status) {
        free(cuda);
        return status;
    }
    if (config->pin_keep && config->pin_budget && !od_pins_keep(&cuda->pins))
        od_log(OD_LOG_WARNING, "cuda",
               "memory cannot stay pinned over synchronisation: the system has no userfaultfd for it");
    cuda->pins.budget_now = config->pin_budget_now;
    open_topology(cuda);
    for (unsigned k = 0; k < config->ndevices && !status; k++)
        status = open_device(cuda, k, config->ordinals[k]);
    if (status) {
        destroy(cuda);
        return status;
    }
    for (unsigned i = 0; i < cuda->ndevices; i++)
        for (unsigned j = 0; j < cuda->ndevices; j++)
            if (i != j)
                connect_peers(cuda, i, j);
    cuda->has_pinner = config->pin_budget && !od_thread_start(&cuda->pinner, "od-pins", pin, cuda);
    if (!cuda->has_pinner)
        cuda->pins.budget = 0;
    cuda->managed = config->managed && od_managed_is_possible(cuda);
    if (config->managed && !cuda->managed)
        od_log(OD_LOG_WARNING, "cuda", "not all devices share managed memory with the host while kernels run");
    cuda->page = config->trusted && !cuda->managed ? od_extent_unit(cuda) : 0;
    *backend = (od_backend){.ops = &cuda_ops, .state = cuda};
    backend->windows = cuda->managed ? &od_cuda_managed_windows : cuda->page ? &od_cuda_windows : NULL;
    return OD_OK;
}

unsigned ompdarts_cuda_v1_count(char *why, size_t why_size)
{
    od_cu_driver cu;
    int count = 0;
    if (od_cu_open(&cu, OD_CUDA_LIBRARY, why, why_size))
        return 0;
    if (cu.device_count(&count) || count <= 0)
        snprintf(why, why_size, "the driver has no device");
    return count > 0 ? (unsigned)count : 0;
}

int ompdarts_cuda_v1_ordinal(const void *device_address)
{
    od_cu_driver cu;
    char why[128];
    unsigned type = 0;
    int ordinal = -1;
    od_cu_address address = (od_cu_address)(uintptr_t)device_address;
    if (od_cu_open(&cu, OD_CUDA_LIBRARY, why, sizeof why))
        return -1;
    if (cu.pointer_attribute(&type, OD_CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address) || type != OD_CU_MEMORYTYPE_DEVICE ||
        cu.pointer_attribute(&ordinal, OD_CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, address))
        return -1;
    return ordinal;
}
