/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Measurements kept between runs. See profile.h. */
#define _GNU_SOURCE
#include "omp_ext/services/profile.h"

#include "omp_ext/libomp/images.h"
#include "util/clock.h"
#include "util/file/history.h"
#include "util/log.h"
#include "util/memory.h"

#include <dlfcn.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static od_history *history; /* NULL: off */

void od_profile_start(void)
{
    char path[PATH_MAX];
    if (od_history_path(path, sizeof path)) {
        od_log(OD_LOG_INFO, "profile", "no folder for measurements: XDG_CACHE_HOME and HOME are unset or not writable");
        return;
    }
    history = od_history_open(path);
}

/* --- costs ------------------------------------------------------------------ */

/* False: the code has no name that another run would find again. */
static bool name_code(const void *code, char *name, size_t size)
{
    Dl_info where;
    struct stat file;
    const char *kernel = od_images_kernel_name(code);
    if (kernel)
        return snprintf(name, size, "kernel %s on machine %u", kernel, od_images_machine()) < (int)size;
    if (!dladdr(code, &where) || !where.dli_fname || stat(where.dli_fname, &file))
        return false;
    const char *base = strrchr(where.dli_fname, '/');
    return snprintf(name, size, "code %s+%#lx of %lld on machine %u", base ? base + 1 : where.dli_fname,
                    (unsigned long)((uintptr_t)code - (uintptr_t)where.dli_fbase), (long long)file.st_mtime,
                    od_images_machine()) < (int)size;
}

void od_profile_cost(od_entry *entry)
{
    char name[1024];
    if (!history || !entry || entry->profile_read)
        return;
    entry->profile_read = true;
    const od_history_row *row = NULL;
    if (!entry->cost.runs && name_code(entry->code, name, sizeof name))
        row = od_history_find(history, name, entry->footprint);
    if (row && row->count >= OD_COST_FIRST)
        od_entry_profile(entry, row->count, row->mean, row->deviation);
}

static void put_cost(const od_entry *entry, void *arg)
{
    char name[1024];
    (void)arg;
    if (!entry->closed && entry->news >= OD_COST_FIRST && name_code(entry->code, name, sizeof name))
        od_history_put(history, &(od_history_row){.size = entry->footprint,
                                                  .count = entry->cost.runs,
                                                  .mean = entry->cost.mean,
                                                  .deviation = entry->cost.deviation,
                                                  .name = name});
}

void od_profile_save(void)
{
    if (!history)
        return;
    od_entry_visit(put_cost, NULL);
    od_history_save(history);
}

/* --- links ------------------------------------------------------------------- */

enum { SMALL = 64, SMALL_COPIES = 16, LARGE = 8 << 20, LARGE_COPIES = 4 };

typedef struct ends {
    od_backend *backend;
    int to, from;
    void *to_address;
    const void *from_address;
} ends;

/* The shortest of some copies, seconds; below 0: one failed. */
static double time_copies(const ends *x, size_t bytes, int copies)
{
    double best = INFINITY;
    for (int i = 0; i < copies; i++) {
        uint64_t start = od_clock_ns();
        if (x->backend->ops->copy(x->backend->state, x->to, x->to_address, x->from, x->from_address, bytes))
            return -1;
        best = fmin(best, (double)(od_clock_ns() - start) / (double)OD_NS_PER_S);
    }
    return best;
}

static bool measure(const ends *x, size_t bytes, od_link *link)
{
    double latency = time_copies(x, SMALL, SMALL_COPIES), total = time_copies(x, bytes, LARGE_COPIES);
    if (latency <= 0 || total <= latency)
        return false;
    *link = (od_link){.latency = latency, .bandwidth = (double)bytes / (total - latency)};
    return true;
}

static bool profile_link(const char *name, od_link *link)
{
    const od_history_row *latency = od_history_find(history, name, 0), *bandwidth = od_history_find(history, name, 1);
    if (!latency || !bandwidth || bandwidth->mean <= 0)
        return false;
    *link = (od_link){.latency = latency->mean, .bandwidth = bandwidth->mean};
    return true;
}

/* Row 0 of a link's name is its latency (s), row 1 its bandwidth (bytes/s). */
static void put_link(char *name, const od_link *link)
{
    od_history_put(history, &(od_history_row){.size = 0, .count = 1, .mean = link->latency, .name = name});
    od_history_put(history, &(od_history_row){.size = 1, .count = 1, .mean = link->bandwidth, .name = name});
    od_log(OD_LOG_INFO, "profile", "%s: latency %.2g s, bandwidth %.3g bytes/s (measured)", name, link->latency,
           link->bandwidth);
}

/* `kind` names the link in the history: links of one kind are measured once. */
static bool find_link(const char *kind, const ends *x, size_t bytes, od_link *link)
{
    char name[64];
    snprintf(name, sizeof name, "link %s of machine %u", kind, od_images_machine());
    if (profile_link(name, link))
        return true;
    if (!measure(x, bytes, link))
        return false;
    put_link(name, link);
    return true;
}

/* Back-ends that know their pairs of devices are measured pair by pair, others once for all. */
static bool find_host_link(od_backend *backend, unsigned k, char *buffer, size_t bytes, od_link *link)
{
    char kind[48] = "between host and device";
    unsigned measured = backend->ops->is_peer ? k : 0;
    ends x = {backend, (int)measured, OD_HOST, backend->pool_address[measured], buffer};
    if (backend->ops->is_peer)
        snprintf(kind, sizeof kind, "%s between host and %u", backend->ops->name, k);
    return find_link(kind, &x, bytes, link);
}

static bool find_peer_link(od_backend *backend, unsigned from, unsigned to, size_t bytes, od_link *link)
{
    char kind[48] = "between devices";
    ends x = {backend, 1, 0, backend->pool_address[1], backend->pool_address[0]};
    if (backend->ops->is_peer) {
        if (!backend->ops->is_peer(backend->state, from, to)) {
            *link = (od_link){0};
            return true;
        }
        snprintf(kind, sizeof kind, "%s from %u to %u", backend->ops->name, from, to);
        x = (ends){backend, (int)to, (int)from, backend->pool_address[to], backend->pool_address[from]};
    }
    return find_link(kind, &x, bytes, link);
}

void od_profile_links(od_backend *backend, od_link *links)
{
    unsigned n = backend->ndevices;
    size_t bytes = backend->pool_bytes[0] < LARGE ? backend->pool_bytes[0] : LARGE;
    char *buffer = history && bytes > 2 * SMALL ? od_malloc(bytes) : NULL;
    if (!buffer)
        return;
    memset(buffer, 1, bytes); /* touched pages, not the one of zeros */
    bool found = true;
    for (unsigned k = 0; k < n && found; k++) {
        found = find_host_link(backend, k, buffer, bytes, &links[n * (n + 1) + k]);
        links[k * (n + 1) + n] = links[n * (n + 1) + k];
        for (unsigned to = 0; to < n && found; to++)
            if (to != k)
                links[k * (n + 1) + to] = links[n * (n + 1) + k];
    }
    for (unsigned from = 0; from < n && found && backend->ops->peer; from++)
        for (unsigned to = 0; to < n && found; to++)
            if (from != to)
                found = find_peer_link(backend, from, to, bytes, &links[from * (n + 1) + to]);
    if (backend->ops->release_host) {
        backend->ops->release_host(backend->state, (uintptr_t)buffer, bytes);
        backend->ops->reclaim(backend->state);
    }
    free(buffer);
}

static void stop(const od_run *run)
{
    (void)run;
    od_profile_save();
}

const od_service od_profile_service = {.stop = stop};
