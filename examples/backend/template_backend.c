/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Template of a back-end: "devices" whose memory is the host's, from malloc.
 *
 * Copy this file to begin a back-end for another kind of device. A back-end is a
 * constant table of functions and one opaque state; memmgr/device/backend.h is the contract, this
 * is the walk through it. It runs and is tested (tests/unit/memmgr/test_backend.c), so what it
 * shows is true.
 *
 * Life cycle, in the order of the functions below:
 *
 *   1. template_backend()          your constructor: opens the driver, fills od_backend
 *   2. od_backend_take_pools()     calls alloc once per device, for the whole pool
 *   3. od_backend_copy()           checks bounds, then calls copy; from many threads
 *   4. od_backend_release()        calls free once per device, then destroy
 *
 * The core never asks a back-end for memory again after step 2: replicas are
 * carved out of the pool by memmgr/data/pool.c.
 */
#include "template_backend.h"

#include "util/log.h"

#include <stdlib.h>
#include <string.h>

/* What the callbacks share: a driver's handles, streams, … Callbacks run at the same
 * time, so whatever changes in here needs a lock of its own. This one only remembers the sizes. */
typedef struct template_state {
    size_t pool_bytes[OD_MAX_DEVICES];
} template_state;

/*
 * Takes a device's memory. `k` is 0 .. ndevices-1; which of the machine's devices
 * that is, the constructor was told. The address is never dereferenced by the core: it may mean
 * something on the device only, but adding a byte offset to it must give the address of that byte.
 *
 * Every failure: OD_EDEVICE, after one message that says what was wanted and, where you know
 * it, what the user can do. Pools taken before are given back by the core.
 */
static od_status template_alloc(void *arg, unsigned k, size_t bytes, void **address)
{
    template_state *state = arg;
    *address = malloc(bytes);
    if (!*address) {
        od_log(OD_LOG_ERROR, "template", "device %u cannot allocate %zu bytes; lower OMPDARTS_MEM", k, bytes);
        return OD_EDEVICE;
    }
    state->pool_bytes[k] = bytes;
    return OD_OK;
}

/* Gives a pool back; no copy is under way. Called only for what alloc returned. */
static void template_free(void *arg, unsigned k, void *address)
{
    template_state *state = arg;
    state->pool_bytes[k] = 0;
    free(address);
}

/*
 * Copies, and returns when the bytes are there. Blocking is right: each device and direction
 * has a thread of its own that calls this. A driver with streams would queue the copy
 * on one stream per device and direction, and wait for it here.
 *
 * Exactly one of `to` and `from` may be OD_HOST; both are devices only where the table says
 * `peer`. The addresses are final: offsets have been added, and bounds checked. No other call
 * touches the same bytes meanwhile.
 */
static od_status template_copy(void *arg, int to, void *to_address, int from, const void *from_address, size_t bytes)
{
    (void)arg; /* memcpy needs neither a state ... */
    (void)to;  /* ... nor to know whose memory it is */
    (void)from;
    memcpy(to_address, from_address, bytes);
    return OD_OK;
}

/* The end: the pools are gone, no callback follows. */
static void template_destroy(void *arg)
{
    free(arg);
}

static const od_backend_ops template_ops = {
    .interface_version = OD_BACKEND_INTERFACE, /* what this file was written for; the core checks it */
    .name = "template",
    .description = "host memory posing as devices; a starting point for new back-ends",
    .peer = true,
    .alloc = template_alloc,
    .free = template_free,
    .copy = template_copy,
    .destroy = template_destroy,
};

/* A real constructor also opens the driver, and takes what it must know as parameters. It fills `ops`
 * and `state` and leaves the rest zero; the pools come with od_backend_take_pools(). */
od_status template_backend(od_backend *backend)
{
    template_state *state = calloc(1, sizeof *state);
    if (!state)
        return OD_ENOMEM;
    *backend = (od_backend){.ops = &template_ops, .state = state};
    return OD_OK;
}
