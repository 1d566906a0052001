/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* See split.h. */
#include "omp_ext/split/split.h"

#include "omp_ext/libomp/thread.h"
#include "omp_ext/runtime/runtime.h"
#include "util/clock.h"
#include "util/log.h"
#include "util/memory.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { DEVICE, HOST, UNITS };

/* What is known of a kind and level. */
typedef struct learnt {
    uint64_t runs[UNITS];
    uint64_t splits, parts[OD_SPLIT_KINDS]; /* of its tasks; what these have become */
    bool asked;
} learnt;

/* Under the runtime's lock, but for `on`. */
static struct {
    atomic_bool on;
    const od_split_ops *ops;
    unsigned level; /* of level=L */
    void *rule;
    od_split_view view;
    const void *site[OD_SPLIT_KINDS];
    learnt learnt[OD_SPLIT_KINDS][OD_SPLIT_LEVELS];
    bool last_is_known; /* view.nlevels is not a guess */
} split;

/* --- tags ---------------------------------------------------------------------------- */

static od_split_tag tag_of(unsigned kind, unsigned level)
{
    return (od_split_tag)(1 + kind * OD_SPLIT_LEVELS + level);
}

static unsigned kind_of(od_split_tag tag)
{
    return (tag - 1U) / OD_SPLIT_LEVELS;
}

static unsigned level_of(od_split_tag tag)
{
    return (tag - 1U) % OD_SPLIT_LEVELS;
}

/* --- what is learnt ------------------------------------------------------------------------ */

void od_split_ran(od_split_tag tag, bool on_host, double seconds)
{
    if (!tag)
        return;
    od_split_kind *kind = &split.view.kind[kind_of(tag)];
    unsigned level = level_of(tag);
    od_runtime_lock();
    kind->waiting[level] -= kind->waiting[level] > 0;
    if (seconds > 0) {
        uint64_t runs = ++split.learnt[kind_of(tag)][level].runs[on_host ? HOST : DEVICE];
        double *mean = on_host ? &kind->host_s[level] : &kind->device_s[level];
        *mean += (seconds - *mean) / (double)runs;
    }
    od_runtime_unlock();
}

/* Of a kind and level that is split, from what its tasks have become so far. */
static void learn_children(unsigned kind, unsigned level)
{
    const learnt *l = &split.learnt[kind][level];
    od_split_kind *k = &split.view.kind[kind];
    double sum = 0, longest = 0;
    bool all = l->splits > 0;
    for (unsigned c = 0; c < split.view.nkinds; c++) {
        double seconds = split.view.kind[c].device_s[level + 1];
        k->children[level][c] = l->splits ? (uint32_t)((l->parts[c] + l->splits / 2) / l->splits) : 0;
        sum += k->children[level][c] * seconds;
        all &= !k->children[level][c] || seconds > 0;
        longest = k->children[level][c] ? fmax(longest, seconds) : longest;
    }
    k->spread_s[level] = all && split.view.ndevices ? fmax(longest, sum / split.view.ndevices) : 0;
    k->spread_to[level] = (uint8_t)(level + 1);
}

/* Of a task's children it is not known which wait for which: as if none did. */
static const od_split_graph *graph_of(void *driver, unsigned kind, unsigned level, unsigned to)
{
    enum { MOST = 4096 };
    static uint8_t kinds[MOST];
    static const uint32_t nothing[MOST + 1];
    static od_split_graph graph = {.kind = kinds, .first_before = nothing, .before = nothing};
    (void)driver;
    graph.ntasks = 0;
    for (unsigned c = 0; c < split.view.nkinds; c++)
        for (uint32_t i = split.view.kind[kind].children[level][c]; i > 0 && graph.ntasks < MOST; i--)
            kinds[graph.ntasks++] = (uint8_t)c;
    return graph.ntasks && to == level + 1 ? &graph : NULL;
}

/* A task of the level has been created though it was to be split. */
static void note_last(unsigned kind, unsigned level)
{
    split.learnt[kind][level].splits--;
    if (split.last_is_known && level + 1 >= split.view.nlevels)
        return;
    split.last_is_known = true;
    split.view.nlevels = level + 1;
    if (split.ops->takes_level && split.level > level)
        od_log(OD_LOG_WARNING, "runtime",
               "OMPDARTS_SPLIT=level=%u: the program has no level %u: its levels are 0 to %u", split.level, split.level,
               level);
}

od_split_tag od_split_take(void)
{
    od_split_tag tag = od_self.split.next;
    if (!tag)
        return 0;
    od_self.split.next = 0;
    od_runtime_lock();
    if (od_self.split.was_split) {
        note_last(kind_of(tag), level_of(tag));
        od_self.split.was_split = false;
    }
    split.view.kind[kind_of(tag)].waiting[level_of(tag)]++;
    od_runtime_unlock();
    return tag;
}

/* --- the beginning ---------------------------------------------------------------------- */

od_status od_split_start(char *error, size_t size)
{
    const od_split_choice *choice = &od_runtime_options()->sched.split.choice;
    const od_cpu_choice *cpu = &od_runtime_options()->cpu;
    split.ops = choice->ops;
    split.level = choice->level;
    split.view = (od_split_view){.ndevices = od_runtime_ndevices(),
                                 .cpus = cpu->workers,
                                 .idle_cpus = cpu->workers,
                                 .nlevels = OD_SPLIT_LEVELS,
                                 .wants_work = true,
                                 .graph = graph_of};
    od_status status = split.ops->create(&split.view, choice->level, &split.rule, error, size);
    atomic_store(&split.on, !status && !choice->ops->splits_nothing);
    return status;
}

/* --- questions -------------------------------------------------------------------------------- */

/* OD_SPLIT_KINDS: there are too many. */
static unsigned find_kind(const void *site)
{
    unsigned kind = 0;
    while (kind < split.view.nkinds && split.site[kind] != site)
        kind++;
    if (kind == split.view.nkinds && kind < OD_SPLIT_KINDS) {
        split.site[kind] = site;
        split.view.nkinds++;
    }
    return kind;
}

static double seconds_of_all(void)
{
    double seconds = 0;
    for (unsigned k = 0; k < split.view.nkinds; k++)
        for (unsigned l = 0; l < OD_SPLIT_LEVELS; l++)
            seconds += split.view.kind[k].waiting[l] * split.view.kind[k].device_s[l];
    return seconds;
}

/* To bring to a device what none has, of what the program's memory alone is known to have. */
static double transfer_seconds(const od_engine *engine, const void *const *data, int ndata)
{
    od_link host, peer;
    double bytes = 0;
    od_engine_links(engine, &host, &peer);
    for (int i = 0; i < ndata; i++) {
        const od_datum *d =
            od_directory_find(od_engine_directory((od_engine *)(uintptr_t)engine), (uintptr_t)data[i], 0);
        bytes += d && !d->nreplicas ? (double)d->size : 0;
    }
    return host.bandwidth > 0 ? bytes / host.bandwidth : 0;
}

/* The parent is the task of the level above that this thread has split last. */
static bool follows_plan(unsigned level)
{
    return level > 0 && od_self.split.parent[level - 1] && od_self.split.to[level - 1] > level;
}

static bool decide(const od_engine *engine, unsigned kind, unsigned level, const void *const *data, int ndata,
                   uint8_t *to)
{
    learnt *l = &split.learnt[kind][level];
    if (level + 1 >= split.view.nlevels)
        return false;
    if (split.ops->takes_level)
        return level < split.level;
    if (follows_plan(level)) {
        *to = od_self.split.to[level - 1];
        return true;
    }
    if (!l->splits && !l->asked)
        return true;
    learn_children(kind, level);
    split.view.now = (double)od_clock_ns() * 1e-9;
    split.view.work_s = split.view.queued_s = seconds_of_all();
    od_split_task task = {.kind = kind,
                          .level = level,
                          .bottom_s = split.view.kind[kind].device_s[level],
                          .ahead_s = split.view.work_s,
                          .transfer_s = transfer_seconds(engine, data, ndata)};
    bool splits = split.ops->decide(split.rule, &task) == OD_SPLIT_SPLIT;
    *to = task.plan.to;
    return splits;
}

static bool ask(const od_engine *engine, unsigned kind, unsigned level, const void *const *data, int ndata)
{
    uint8_t to = 0;
    if (level > 0 && od_self.split.parent[level - 1])
        split.learnt[kind_of(od_self.split.parent[level - 1])][level - 1].parts[kind]++;
    bool splits = decide(engine, kind, level, data, ndata, &to);
    split.learnt[kind][level].asked = true;
    split.learnt[kind][level].splits += splits;
    od_self.split.next = tag_of(kind, level);
    od_self.split.was_split = splits;
    for (unsigned below = level; below < OD_SPLIT_LEVELS; below++)
        od_self.split.parent[below] = 0;
    od_self.split.parent[level] = splits ? od_self.split.next : 0;
    od_self.split.to[level] = to;
    return splits;
}

bool od_split_ask(const void *site, int level, const void *const *data, int ndata)
{
    static atomic_bool told;
    if (!atomic_load_explicit(&split.on, memory_order_relaxed))
        return false;
    bool known = level >= 0 && level < OD_SPLIT_LEVELS, splits = false;
    od_engine *engine = od_runtime_lock();
    unsigned kind = known ? find_kind(site) : OD_SPLIT_KINDS;
    if (kind < OD_SPLIT_KINDS)
        splits = ask(engine, kind, (unsigned)level, data, ndata);
    else
        od_self.split.next = 0;
    od_runtime_unlock();
    if (!known && !atomic_exchange(&told, true))
        od_log(OD_LOG_WARNING, "runtime", "ompdarts_split(): level %d is not from 0 to %d: not split", level,
               OD_SPLIT_LEVELS - 1);
    else if (kind == OD_SPLIT_KINDS && !atomic_exchange(&told, true))
        od_log(OD_LOG_WARNING, "runtime", "ompdarts_split() is called in more than %d places: not split there",
               OD_SPLIT_KINDS);
    return splits;
}
