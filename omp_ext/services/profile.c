/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Measurements kept between runs. See profile.h. */
#define _GNU_SOURCE
#include "omp_ext/services/profile.h"

#include "omp_ext/libomp/images.h"
#include "omp_ext/slices/kernels.h"
#include "util/file/code.h"
#include "util/file/history.h"
#include "util/log.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static od_history *history; /* NULL: off */
static unsigned cores;      /* of a CPU worker; 0: there are none */

void od_profile_start(unsigned cores_per_worker)
{
    char path[PATH_MAX];
    cores = cores_per_worker;
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
    od_code_place where;
    struct stat file;
    const char *kernel = od_images_kernel_name(code);
    if (kernel)
        return snprintf(name, size, "kernel %s on machine %u", kernel, od_images_machine()) < (int)size;
    if (!od_code_find(code, &where) || stat(where.file, &file))
        return false;
    const char *base = strrchr(where.file, '/');
    return snprintf(name, size, "code %s+%#lx of %lld on machine %u", base ? base + 1 : where.file,
                    (unsigned long)((uintptr_t)code - where.base), (long long)file.st_mtime,
                    od_images_machine()) < (int)size;
}

/* Of a CPU worker of as many cores as there are now. */
static void name_on_cpu(char *name, size_t size)
{
    size_t length = strlen(name);
    snprintf(name + length, size - length, ", %u core%s of the host", cores, cores == 1 ? "" : "s");
}

static const od_history_row *find_row(const char *name, const od_entry *entry)
{
    const od_history_row *row = od_history_find(history, name, entry->footprint);
    return row && row->count >= OD_COST_FIRST ? row : NULL;
}

void od_profile_cost(od_entry *entry)
{
    char name[1024 + 32];
    if (!history || !entry || entry->profile_read)
        return;
    entry->profile_read = true;
    if (entry->cost.runs || !name_code(entry->code, name, 1024))
        return;
    const od_history_row *row = find_row(name, entry);
    if (row)
        od_entry_profile(entry, row->count, row->mean, row->deviation);
    name_on_cpu(name, sizeof name);
    row = cores ? find_row(name, entry) : NULL;
    if (row)
        entry->host = (od_cost){.runs = row->count, .mean = row->mean, .deviation = row->deviation};
}

static void put_row(const char *name, const od_entry *entry, const od_cost *cost)
{
    od_history_put(history, &(od_history_row){.size = entry->footprint,
                                              .count = cost->runs,
                                              .mean = cost->mean,
                                              .deviation = cost->deviation,
                                              .name = (char *)(uintptr_t)name});
}

static void put_cost(const od_entry *entry, void *arg)
{
    char name[1024 + 32];
    (void)arg;
    if (entry->closed || !name_code(entry->code, name, 1024))
        return;
    if (entry->news >= OD_COST_FIRST)
        put_row(name, entry, &entry->cost);
    name_on_cpu(name, sizeof name);
    if (cores && entry->host.runs >= OD_COST_FIRST)
        put_row(name, entry, &entry->host);
}

/* --- slices -------------------------------------------------------------------- */

/* Of the code as it is compiled now, a row's size. False: there is no such kernel. */
static bool name_verdict(char name[1024], uint64_t *build, const od_entry *entry, od_slices_verdict verdict)
{
    const char *kernel = od_images_kernel_name(entry->code);
    *build = od_images_kernel_build(entry->code);
    return kernel && snprintf(name, 1024, "slices of kernel %s on machine %u: it %s", kernel, od_images_machine(),
                              od_slices_verdict_text(verdict)) < 1024;
}

void od_profile_slices(const od_entry *entry)
{
    for (od_slices_verdict verdict = OD_SLICES_UNKNOWN + 1; history && verdict < OD_SLICES_VERDICTS; verdict++) {
        char name[1024];
        uint64_t build;
        const od_history_row *row =
            name_verdict(name, &build, entry, verdict) ? od_history_find(history, name, build) : NULL;
        if (row && row->count)
            od_slicing_recall(entry->slicing, verdict);
    }
}

/* A row that is not so any more stays, with no launches. */
static void put_verdicts(const od_entry *entry)
{
    const od_slicing *s = entry->slicing;
    for (od_slices_verdict verdict = OD_SLICES_UNKNOWN + 1; verdict < OD_SLICES_VERDICTS; verdict++) {
        char name[1024];
        uint64_t build;
        if (!name_verdict(name, &build, entry, verdict))
            continue;
        uint64_t sliced = s->sliced_launches + s->by_teams; /* a GPU's may never have counted as one in slices */
        uint64_t launches = od_slicing_verdict(s) == verdict ? sliced : 0;
        if (sliced && (launches || od_history_find(history, name, build)))
            od_history_put(history, &(od_history_row){.size = build, .count = launches, .name = name});
    }
}

static void put_entry(const od_entry *entry, void *arg)
{
    put_cost(entry, arg);
    if (entry->slicing && !entry->closed)
        put_verdicts(entry);
}

void od_profile_save(void)
{
    if (!history)
        return;
    od_entry_visit(put_entry, NULL);
    od_history_save(history);
}

/* --- links ------------------------------------------------------------------- */

bool od_profile_is_on(void)
{
    return history != NULL;
}

static void name_link(char name[96], const char *link)
{
    snprintf(name, 96, "link %s of machine %u", link, od_images_machine());
}

double od_profile_find_link(const char *link, od_link_row row)
{
    char name[96];
    name_link(name, link);
    const od_history_row *found = od_history_find(history, name, row);
    return found ? found->mean : 0;
}

void od_profile_put_link(const char *link, od_link_row row, double value)
{
    char name[96];
    name_link(name, link);
    od_history_put(history, &(od_history_row){.size = row, .count = 1, .mean = value, .name = name});
}

/* --- devices of unequal speed ---------------------------------------------------- */

/* False: as name_code(). */
static bool name_slowness(char *name, size_t size, const od_entry *code, const char *which, unsigned k)
{
    char of[1000];
    if (!code)
        snprintf(of, sizeof of, "code (all) on machine %u", od_images_machine());
    else if (!name_code(code->code, of, sizeof of))
        return false;
    return snprintf(name, size, "slowness of %s: device %u of %s", of, k, which) < (int)size;
}

double od_profile_find_slowness(const od_entry *code, const char *which, unsigned k)
{
    static const double most = 1e6;
    char name[1024];
    const od_history_row *found =
        history && name_slowness(name, sizeof name, code, which, k) ? od_history_find(history, name, 0) : NULL;
    return found && found->mean >= 1 && found->mean <= most ? found->mean : 0;
}

void od_profile_put_slowness(const od_entry *code, const char *which, unsigned k, double times)
{
    char name[1024];
    if (history && name_slowness(name, sizeof name, code, which, k))
        od_history_put(history, &(od_history_row){.count = 1, .mean = times, .name = name});
}

/* --- graphs -------------------------------------------------------------------- */

/* How the names of a graph's rows begin; settings follow. Memory is not the same to the byte in each run. False: the
 * program's file is not known. */
static bool name_graph(char *name, size_t size, const od_recalled_graph *graph, unsigned ndevices, size_t memory)
{
    static const double steps = 8; /* per doubling */
    char path[PATH_MAX];
    struct stat file;
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    if (length <= 0 || stat("/proc/self/exe", &file))
        return false;
    path[length] = '\0';
    return snprintf(name, size, "graph %s%016" PRIx64 " of %s %lld on machine %u with %u devices of %.0f: ",
                    graph->first ? "first " : "", graph->beginning, strrchr(path, '/') + 1, (long long)file.st_mtime,
                    od_images_machine(), ndevices, round(steps * log2((double)memory))) < (int)size;
}

struct wanted {
    const char *beginning;
    od_recall_found *found;
    void *arg;
};

static void find_graph(const od_history_row *row, void *wanted)
{
    const struct wanted *w = wanted;
    size_t length = strlen(w->beginning);
    if (strncmp(row->name, w->beginning, length) == 0)
        w->found(w->arg, &(od_recalled_row){row->name + length, row->text, row->size, row->count, row->mean});
}

void od_profile_recall(const od_recalled_graph *graph, unsigned ndevices, size_t memory, od_recall_found *found,
                       void *arg)
{
    char beginning[PATH_MAX];
    if (history && name_graph(beginning, sizeof beginning, graph, ndevices, memory))
        od_history_visit(history, find_graph, &(struct wanted){beginning, found, arg});
}

void od_profile_keep(const od_recalled_graph *graph, unsigned ndevices, size_t memory, const od_recalled_row *row)
{
    char name[PATH_MAX];
    if (!history || !name_graph(name, sizeof name, graph, ndevices, memory))
        return;
    size_t length = strlen(name);
    if (snprintf(name + length, sizeof name - length, "%s", row->settings) < (int)(sizeof name - length))
        od_history_put(history, &(od_history_row){.size = row->tasks,
                                                  .count = row->count,
                                                  .mean = row->seconds,
                                                  .name = name,
                                                  .text = (char *)(uintptr_t)row->schedule});
}

static void stop(const od_run *run)
{
    od_engine_keep(run->engine);
    od_profile_save();
}

const od_service od_profile_service = {.stop = stop};
