/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Device memory for others in the process: libomptarget, vendors' libraries, the program itself. At first they have
 * what the pools have left. When that is gone they get what the back-end keeps for them, and then the end of our pools,
 * from which data are evicted first. What libomptarget takes inside of a launch cannot be taken again when it has
 * failed: so launches look now and then whether enough is free.
 */
#include "omp_ext/runtime/internal.h"

#include "omp_ext/libomp/real.h"
#include "omp_ext/libomp/thread.h"
#include "util/clock.h"

static bool is_of(unsigned k, int device)
{
    return od_runtime.devices.number[k] == device;
}

static bool spare(int device)
{
    const od_backend *backend = &od_runtime.backend;
    bool spared = false;
    for (unsigned k = 0; k < backend->ndevices; k++) /* of which several may share it */
        spared |= is_of(k, device) && backend->ops->spare && backend->ops->spare(backend->state, k);
    return spared;
}

/* --- pools that end earlier --------------------------------------------------------- */

/* Gives back what data have left. Several threads may do so at once: an end only comes nearer. */
static void trim(void)
{
    size_t end[OD_MAX_DEVICES];
    unsigned n = od_runtime.backend.ndevices;
    const od_engine *engine = od_runtime_lock();
    for (unsigned k = 0; k < n; k++)
        end[k] = od_engine_memory_end(engine, k);
    od_runtime_unlock();
    for (unsigned k = 0; k < n; k++)
        od_backend_trim(&od_runtime.backend, k, end[k]);
}

static atomic_bool shrinking; /* a pool has data behind its end, or had */

/* Pools never grow again: what is too much for all that they could give is not worth a piece of them. */
static bool is_possible(int device, size_t bytes)
{
    const od_backend *backend = &od_runtime.backend;
    size_t possible = 0, free_bytes, total;
    const od_engine *engine = od_runtime_lock();
    size_t each = od_engine_memory(engine) - od_engine_memory_least(engine);
    od_runtime_unlock();
    for (unsigned k = 0; k < backend->ndevices; k++) {
        if (!is_of(k, device))
            continue;
        bool is_known = !possible && backend->ops->memory;
        if (is_known && !backend->ops->memory(backend->state, k, &free_bytes, &total))
            possible = free_bytes;
        possible += each;
    }
    return bytes <= possible;
}

/* All of ours that are this one together make room for so many bytes. False: they cannot. */
static bool shrink(int device, size_t bytes)
{
    const od_backend *backend = &od_runtime.backend;
    size_t piece = 0, sharers = 0;
    for (unsigned k = 0; k < backend->ndevices; k++)
        if (is_of(k, device) && backend->ops->piece) {
            piece = backend->ops->piece(backend->state, k);
            sharers++;
        }
    if (!piece)
        return false;
    size_t each = (bytes / sharers / piece + 1) * piece;
    od_engine *engine = od_runtime_lock();
    size_t now = od_engine_memory(engine);
    bool less = od_engine_shrink(engine, now > each ? now - each : 0) < now;
    od_runtime_unlock();
    if (less)
        atomic_store(&shrinking, true);
    return less;
}

static bool ends_are_reached(const void *arg)
{
    (void)arg;
    const od_engine *engine = od_runtime.engine;
    for (unsigned k = 0; k < od_runtime.backend.ndevices; k++)
        if (od_engine_memory_end(engine, k) > od_engine_memory(engine))
            return false;
    return true;
}

static bool nothing_leaves(const void *arg)
{
    (void)arg;
    for (unsigned k = 0; k < od_runtime.backend.ndevices; k++)
        if (od_engine_memory_leaves(od_runtime.engine, k))
            return false;
    return true;
}

/* What is behind the ends is being evicted, or will be when tasks that use it have ended: for these the caller does not
 * wait where it may be the one that uses it. While there is news it waits on, but others may make news for ever. */
static void await_ends(bool is_inside)
{
    enum { MOST_WAITS = 5 };
    bool (*condition)(const void *) = is_inside ? nothing_leaves : ends_are_reached;
    od_lock_take(&od_runtime.lock);
    od_runtime.onlookers++;
    uint64_t events = 0;
    for (int waits = 0; waits < MOST_WAITS && events != od_engine_events(od_runtime.engine); waits++) {
        events = od_engine_events(od_runtime.engine);
        if (od_runtime_wait_patiently(condition, NULL))
            break;
    }
    od_runtime.onlookers--;
    od_lock_give(&od_runtime.lock);
}

static bool is_on(void)
{
    return atomic_load_explicit(&od_process_self.activity, memory_order_acquire) == OD_ON;
}

/* For a launch, or a thread that uses a device; or not. False: nothing more is to be had. */
static bool make_room(int device, size_t bytes, bool is_inside)
{
    if (!is_on() || !is_possible(device, bytes) || !shrink(device, bytes))
        return false;
    await_ends(is_inside);
    trim();
    return true;
}

/* --- whoever needs it ------------------------------------------------------------------ */

/* So much is not free, as far as that can be asked: not of back-ends that know a limit alone. */
static bool lacks(int device, size_t size)
{
    enum { LARGE = 1 << 20 }; /* asking takes some microseconds */
    const od_backend *backend = &od_runtime.backend;
    int k = size >= LARGE && is_on() ? od_runtime_device_index(device) : OD_NOWHERE;
    size_t free_bytes, total;
    return k != OD_NOWHERE && backend->ops->lack &&
           !backend->ops->memory(backend->state, (unsigned)k, &free_bytes, &total) && free_bytes < size;
}

/* What cannot be had libomptarget is not asked for: it writes three lines each time. */
static void *ask(size_t size, int device)
{
    return lacks(device, size) ? NULL : REAL(omp_target_alloc)(size, device);
}

void *od_runtime_target_alloc(size_t size, int device)
{
    void *address = ask(size, device);
    if (!address && size && spare(device))
        address = ask(size, device);
    bool is_inside = od_own_jobs || od_self.entered || od_self.holds;
    if (!address && size && make_room(device, size, is_inside))
        address = ask(size, device);
    return address;
}

bool od_runtime_give_room(unsigned k)
{
    int device = od_runtime.devices.number[k];
    return spare(device) || make_room(device, 0, true);
}

/* Asking the driver takes some microseconds. */
static bool is_time(unsigned k)
{
    enum { PAUSE_NS = 10000000 };
    static atomic_ullong next_ns[OD_MAX_DEVICES];
    unsigned long long now = od_clock_ns(), next = atomic_load_explicit(&next_ns[k], memory_order_relaxed);
    return now >= next && atomic_compare_exchange_strong(&next_ns[k], &next, now + PAUSE_NS);
}

void od_runtime_make_room(unsigned k, size_t bytes)
{
    const od_backend_ops *ops = od_runtime.backend.ops;
    size_t free_bytes, total;
    if (!ops->lack || (!bytes && !is_time(k)) || !is_on())
        return;
    int device = od_runtime.devices.number[k];
    size_t lack = ops->lack(od_runtime.backend.state, k);
    if (bytes && !ops->memory(od_runtime.backend.state, k, &free_bytes, &total) && free_bytes < bytes)
        make_room(device, bytes - free_bytes + lack, true);
    else if (lack && !atomic_load(&shrinking)) /* or it comes when what is behind the ends has left */
        shrink(device, lack);
    if (atomic_exchange(&shrinking, false)) {
        trim();
        od_lock_take(&od_runtime.lock);
        bool reached = ends_are_reached(NULL);
        od_lock_give(&od_runtime.lock);
        if (!reached)
            atomic_store(&shrinking, true);
    }
}
