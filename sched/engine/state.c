/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Looking at the engine: statistics, a dump for people, and the check of every invariant.
 *
 * Times are accounted per device whenever one of its counts is about to change: from
 * the last change until now it was occupied (by a task that had been started), stalled (by none, and one
 * waited), transferring, or several of these. For which part of it the code of a task ran is known at the task's end.
 */
#include "sched/engine/internal.h"

#include <inttypes.h>
#include <stdlib.h>

static od_stall_cause stall_cause(const od_engine *e, unsigned k)
{
    const od_device *device = &e->device[k];
    if (device->running)
        return OD_STALL_NONE;
    if (device->committed.count)
        return OD_STALL_LOADS;
    if (!device->buffer.count)
        return OD_STALL_IDLE;
    return od_placeset_has(e->rights_waiters, k) ? OD_STALL_RIGHTS : OD_STALL_MEMORY;
}

/* What has held since `from` differs from what held before. */
static void emit_stall(od_engine *e, unsigned k, uint64_t from)
{
    od_device *device = &e->device[k];
    od_stall_cause cause = stall_cause(e, k);
    if (cause == device->stall)
        return;
    if (device->stall != OD_STALL_NONE && from > device->stall_ns)
        od_emit(e, (od_event){.kind = OD_EVENT_STALL,
                              .ns = from,
                              .place = (int)k,
                              .reason = device->stall,
                              .since_ns = device->stall_ns});
    device->stall = cause;
    device->stall_ns = from;
}

void od_stats_account(od_engine *e, unsigned k)
{
    od_device *device = &e->device[k];
    uint64_t now = e->config.untimed ? device->last_ns : od_engine_now(e);
    if (now == device->last_ns)
        return;
    uint64_t elapsed = now > device->last_ns ? now - device->last_ns : 0;
    if (elapsed && od_is_observed(e))
        emit_stall(e, k, device->last_ns);
    device->last_ns = now;
    if (device->running)
        device->stats.occupied_ns += elapsed;
    else if (device->committed.count || device->buffer.count)
        device->stats.stall_ns += elapsed;
    if (device->transfers)
        device->stats.transfer_ns += elapsed;
    if (device->transfers && device->running)
        device->stats.overlapped_ns += elapsed;
}

static void account_host(od_engine *e)
{
    uint64_t now = od_engine_now(e);
    if (e->host_runs && now > e->host_last_ns)
        e->stats.host_busy_ns += now - e->host_last_ns;
    e->host_last_ns = now;
}

void od_stats_host_begin(od_engine *e, od_task *t)
{
    account_host(e);
    t->worker = (unsigned)__builtin_ctzll(~e->host_runs);
    e->host_runs |= UINT64_C(1) << t->worker;
}

void od_stats_host_end(od_engine *e, const od_task *t)
{
    od_cpu_stats *worker = &e->stats.cpu[t->worker];
    account_host(e);
    e->host_runs &= ~(UINT64_C(1) << t->worker);
    e->host_given--;
    worker->tasks += !t->failed;
    worker->busy_ns += t->end_ns - t->start_ns;
}

/* Tasks of one device end in the order in which they run, or nearly so. */
void od_stats_ran(od_engine *e, const od_task *t, unsigned k)
{
    od_device *device = &e->device[k];
    uint64_t from = t->from_ns ? t->from_ns : t->start_ns, to = t->to_ns ? t->to_ns : t->end_ns;
    if (from < device->ran_until_ns)
        from = device->ran_until_ns;
    if (to <= from || e->config.untimed)
        return;
    device->stats.busy_ns += to - from;
    device->ran_until_ns = to;
}

void od_engine_device_stats(od_engine *e, unsigned k, od_device_stats *stats)
{
    od_stats_account(e, k);
    *stats = e->device[k].stats;
    stats->used_bytes = od_pool_used(e->device[k].pool);
    stats->peak_bytes = od_pool_peak(e->device[k].pool);
    stats->lost = od_device_is_lost(e, (int)k);
}

void od_engine_stats_get(od_engine *e, od_engine_stats *stats)
{
    account_host(e);
    *stats = e->stats;
    stats->unfinished = e->unfinished;
    stats->cpus = e->config.cpus;
    stats->spill_bytes = e->spilled;
}

uint64_t od_engine_events(const od_engine *e)
{
    return e->events;
}

bool od_engine_is_idle(const od_engine *e)
{
    return !e->unfinished && !e->transfers.count && !e->requests;
}

/* --- in plain words ------------------------------------------------------- */

enum { DEVICES_EXPLAINED = 6 };

static const char *activity(const od_engine *e, unsigned k, char text[120])
{
    static const char *const reasons[OD_STALL_CAUSES] = {
        [OD_STALL_LOADS] = "the next task waits for its data",
        [OD_STALL_MEMORY] = "the next task waits for memory that evictions free",
        [OD_STALL_RIGHTS] = "the next task waits for data that other tasks or the program use",
        [OD_STALL_IDLE] = "it has been given no task",
    };
    const od_device *device = &e->device[k];
    if (od_device_is_lost(e, (int)k))
        snprintf(text, 120, "is lost");
    else if (device->running)
        snprintf(text, 120, "runs %u task%s", device->running, device->running == 1 ? "" : "s");
    else
        snprintf(text, 120, "runs nothing: %s", reasons[stall_cause(e, k)]);
    return text;
}

static void explain_device(const od_engine *e, unsigned k, FILE *file)
{
    const od_device *device = &e->device[k];
    char text[120];
    fprintf(file, "  device %u %s; %zu more given to it, %u transfers under way, memory %.1f of %.1f MB\n", k,
            activity(e, k, text), device->committed.count + device->buffer.count, device->transfers,
            (double)od_pool_used(device->pool) * 1e-6, (double)od_pool_capacity(device->pool) * 1e-6);
}

void od_engine_explain(const od_engine *e, FILE *file)
{
    unsigned n = e->config.ndevices, shown = n < DEVICES_EXPLAINED ? n : DEVICES_EXPLAINED;
    fprintf(file, "ompdarts: %" PRIu64 " tasks done, %" PRIu64 " ready or running, %" PRIu64 " wait for others\n",
            e->stats.tasks, (uint64_t)e->unfinished, e->stats.waiting);
    for (unsigned k = 0; k < shown; k++)
        explain_device(e, k, file);
    if (n > shown)
        fprintf(file, "  and %u more devices\n", n - shown);
    if (e->host_runs || e->host_ready.count || e->host_waiting.count)
        fprintf(file, "  the host runs %d host version%s; %zu more wait\n", __builtin_popcountll(e->host_runs),
                __builtin_popcountll(e->host_runs) == 1 ? "" : "s", e->host_ready.count + e->host_waiting.count);
    if (e->requests)
        fprintf(file, "  the program waits for data %zu times\n", (size_t)e->requests);
    fflush(file);
}

/* --- dump --------------------------------------------------------------- */

static const char *const task_states[] = {"new",       "ready",   "planned", "buffered",
                                          "committed", "running", "storing", "done"};
static const char *const replica_states[] = {"absent", "present", "loading", "leaving"};

static void dump_datum(const od_engine *e, const od_datum *d, FILE *file)
{
    char valid[OD_PLACESET_TEXT];
    fprintf(file,
            "      datum %u at %#" PRIxPTR ", %zu bytes, valid 0x%s, pending %u users %u writers %u bound %u "
            "home %d transfers %u%s\n",
            d->id, d->base, d->size, od_placeset_write(d->valid, valid), d->pending, d->users, d->writers, d->bound,
            d->home, d->transfers, d->items ? ", host requests wait" : "");
    for (unsigned k = 0; k < e->config.ndevices; k++) {
        const od_replica *r = &d->replica[k];
        if (r->state != OD_ABSENT)
            fprintf(file, "        on %u: %s, pins %u users %u buffered %u planned %u%s\n", k, replica_states[r->state],
                    r->pins, r->users, r->buffered_uses, r->planned_uses, r->awaits_source ? ", awaits source" : "");
    }
}

static void dump_tasks(const od_engine *e, const char *title, const od_list *list, FILE *file)
{
    if (!list->count)
        return;
    fprintf(file, "  %s: %zu\n", title, list->count);
    unsigned shown = 0;
    od_list_each(node, list) {
        const od_task *t = od_container_of(node, od_task, link);
        if (shown++ == 4) {
            fprintf(file, "    ...\n");
            return;
        }
        fprintf(file, "    task %" PRIu64 " %s on %d, footprint %zu bytes%s\n", t->id, task_states[t->state], t->place,
                t->footprint, t->wait_seq ? ", has waited for rights" : "");
        for (uint32_t i = 0; i < t->naccess; i++)
            dump_datum(e, t->access[i].datum, file);
    }
}

void od_engine_dump(const od_engine *e, FILE *file)
{
    fprintf(file,
            "ompdarts: engine state after %" PRIu64
            " events: %zu tasks unfinished (%zu with policy %s), %zu transfers, "
            "%zu host requests\n",
            e->events, e->unfinished, e->in_policy, e->config.policy->name, e->transfers.count, e->requests);
    for (unsigned k = 0; k < e->config.ndevices; k++) {
        const od_device *device = &e->device[k];
        fprintf(file, " device %u: %u running (%u blocked), %u transfers, memory %zu of %zu bytes, %zu leaving%s%s\n",
                k, device->running, device->blocked, device->transfers, od_pool_used(device->pool),
                od_pool_capacity(device->pool), device->leaving_bytes,
                od_placeset_has(e->rights_waiters, k) ? ", head waits for rights" : "",
                od_device_is_lost(e, (int)k) ? ", lost" : "");
        dump_tasks(e, "committed", &device->committed, file);
        dump_tasks(e, "buffer", &device->buffer, file);
        dump_tasks(e, "placed", &device->forced, file);
    }
    dump_tasks(e, "waiting for what the program holds", &e->deferred, file);
    dump_tasks(e, "waiting for the host", &e->host_waiting, file);
    dump_tasks(e, "ready on the host", &e->host_ready, file);
    dump_tasks(e, "storing", &e->storing, file);
    od_list_each(node, &e->transfers) {
        const od_transfer *x = od_container_of(node, od_transfer, link);
        fprintf(file, "  transfer of datum %u from %d to %d, %zu bytes, try %u\n", x->datum->id, x->from, x->to,
                x->bytes, x->tries + 1);
    }
    fflush(file);
}

/* --- invariants --------------------------------------------------------- */

#define EXPECT(condition)                                                                                              \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "ompdarts: engine invariant broken: %s (%s:%d)\n", #condition, __FILE__, __LINE__);        \
            return false;                                                                                              \
        }                                                                                                              \
    } while (0)

typedef struct census {
    const od_engine *e;
    size_t used[OD_MAX_DEVICES];
    size_t resident[OD_MAX_DEVICES];
    size_t leaving[OD_MAX_DEVICES];
    size_t outside;
    bool ok;
} census;

static bool replica_is_valid(const od_datum *d, unsigned k, census *c)
{
    const od_replica *r = &d->replica[k];
    size_t rounded = od_pool_rounded(c->e->device[k].pool, od_datum_occupies(d));
    EXPECT(r->datum == d);
    EXPECT((r->state == OD_ABSENT) == !od_list_contains(&r->lru));
    EXPECT(r->state != OD_ABSENT || (!r->pins && !r->users && !od_placeset_has(d->valid, k) && !r->awaits_source));
    EXPECT(r->users <= r->pins);
    EXPECT(!r->awaits_source || r->state == OD_LOADING);
    if (r->state == OD_ABSENT)
        return true;
    EXPECT(r->offset - od_datum_phase(d) + od_datum_occupies(d) <= od_pool_end(c->e->device[k].pool));
    c->used[k] += rounded;
    c->resident[k]++;
    c->leaving[k] += r->state == OD_LEAVING ? rounded : 0;
    return true;
}

static bool counts_are_valid(const od_engine *e, const od_datum *d)
{
    uint32_t users = d->host_users, replicas = 0, awaiting = 0;
    for (unsigned k = 0; k < e->config.ndevices; k++) {
        users += d->replica[k].users;
        replicas += d->replica[k].state != OD_ABSENT;
        EXPECT(od_placeset_has(d->holding, k) == (d->replica[k].state != OD_ABSENT));
        awaiting += d->replica[k].awaits_source;
    }
    EXPECT(users == d->users);
    EXPECT(replicas == d->nreplicas);
    EXPECT(awaiting == d->nawaiting);
    EXPECT(d->writers <= d->users);
    EXPECT((d->home != OD_NOWHERE) == (d->writers || d->bound));
    EXPECT(!d->writers || d->home == OD_HOST || d->users == d->replica[d->home].users + d->host_users);
    EXPECT(d->users + d->requested + d->lent <= d->pending);
    EXPECT(d->stores <= d->transfers);
    EXPECT(d->users <= d->tasks && d->tasks + d->requested <= d->pending);
    EXPECT(!od_datum_is_dropped(d) || (d->recipe && d->recipe->product == d));
    EXPECT(od_list_contains(&d->outside) == ((d->nreplicas || d->touched || od_datum_is_dropped(d)) && !d->region));
    return true;
}

static bool check_datum(od_datum *d, void *arg)
{
    census *c = arg;
    c->ok = counts_are_valid(c->e, d);
    for (unsigned k = 0; c->ok && k < c->e->config.ndevices; k++)
        c->ok = replica_is_valid(d, k, c);
    c->outside += od_list_contains(&d->outside);
    return c->ok;
}

static bool tasks_are_valid(const od_list *list, od_task_state state, int place)
{
    od_list_each(node, list) {
        const od_task *t = od_container_of(node, od_task, link);
        EXPECT(t->state == state);
        EXPECT(place == OD_NOWHERE || t->place == place);
    }
    return true;
}

bool od_engine_is_valid(const od_engine *e)
{
    census c = {.e = e, .ok = true};
    od_directory_visit(e->directory, 0, UINTPTR_MAX, check_datum, &c);
    if (!c.ok)
        return false;
    EXPECT(od_directory_is_valid(e->directory));
    EXPECT(c.outside == e->outside.count);
    for (unsigned k = 0; k < e->config.ndevices; k++) {
        const od_device *device = &e->device[k];
        EXPECT(od_pool_is_valid(device->pool));
        EXPECT(c.used[k] + device->page_bytes == od_pool_used(device->pool));
        EXPECT(c.resident[k] == device->resident.count);
        EXPECT(c.leaving[k] == device->leaving_bytes);
        EXPECT(device->blocked <= device->running);
        EXPECT(od_placeset_has(e->awaiting, k) == (device->awaiting > 0));
        EXPECT(device->buffer.count <= e->room + device->running + e->dropped);
        EXPECT(!od_device_is_lost(e, (int)k) ||
               !(device->buffer.count + device->committed.count + device->forced.count));
        EXPECT(tasks_are_valid(&device->buffer, OD_TASK_BUFFERED, (int)k));
        EXPECT(tasks_are_valid(&device->committed, OD_TASK_COMMITTED, (int)k));
    }
    EXPECT((unsigned)__builtin_popcountll(e->host_runs) + e->host_ready.count + e->host_waiting.count <= e->host_given);
    EXPECT((unsigned)__builtin_popcountll(e->host_runs) <= od_host_workers(e));
    EXPECT(tasks_are_valid(&e->deferred, OD_TASK_READY, OD_NOWHERE));
    EXPECT(tasks_are_valid(&e->storing, OD_TASK_STORING, OD_NOWHERE));
    if (e->known && !od_known_is_valid(e->known))
        return false;
    return !e->config.policy->is_valid || e->config.policy->is_valid(e->policy_state);
}

#ifdef OD_DEBUG_CHECKS
void od_engine_check(const od_engine *e)
{
    if (!od_engine_is_valid(e)) {
        od_engine_dump(e, stderr);
        abort();
    }
}
#else
void od_engine_check(const od_engine *e)
{
    (void)e;
}
#endif

/* Those that the settings leave active, whatever is lost; all where it is not they who decide. */
static od_placeset set_active(const od_engine_config *config)
{
    unsigned n = config->ndevices;
    od_placeset named = od_placeset_intersection(config->devices, od_placeset_below(n));
    unsigned first = config->active > 0 && (unsigned)config->active < n ? (unsigned)config->active : n;
    return od_placeset_is_empty(named) ? od_placeset_below(first) : named;
}

void od_engine_estimate_links(od_engine *e)
{
    unsigned n = e->config.ndevices;
    const od_driver_ops *ops = e->config.driver_ops;
    od_placeset loading = set_active(&e->config);
    for (unsigned from = 0; from <= n; from++)
        for (unsigned to = 0; to <= n; to++) {
            int source = from < n ? (int)from : OD_HOST, target = to < n ? (int)to : OD_HOST;
            od_link link = from < n && to < n ? e->config.peer_link : e->config.host_link;
            e->link[from * (n + 1) + to] = ops->link ? ops->link(e->config.driver, source, target) : link;
        }
    if (e->config.topology && !ops->link)
        od_topology_links_among(e->config.topology, n, loading, e->link);
    od_sources_find(&e->sources, e->link);
    od_alike_find(&e->alike, e->link, n);
    bool some = e->config.topology && !ops->link;
    for (unsigned k = 0; k < n; k++)
        e->fan[k] = some ? od_topology_fan(e->config.topology, k, loading) : 1;
    for (unsigned k = 0; k < n; k++)
        e->card_loads[some ? e->config.topology->node[k] : 0] =
            some ? od_topology_card_loads(e->config.topology, k, loading) : 1;
    e->env.loading = some ? od_placeset_count(loading) : n;
    e->env.inbound = 0;
    for (unsigned k = 0; k < n; k++)
        e->env.inbound += some && !od_placeset_has(loading, k) ? 0 : od_engine_link(e, OD_HOST, (int)k)->bandwidth;
}
