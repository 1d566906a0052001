/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * What the engine's files share. Nothing outside sched/engine/ includes this.
 *
 * In the order in which they build on each other: a file calls those above it, never one below.
 *
 *   devices/sources.c   who can send to a device fastest
 *   state.c             statistics, dump, invariants
 *   background.c        work without the lock
 *   devices/active.c    how many devices are active
 *   adopt.c             settings change
 *   hooks.c             the policy and the eviction rule are called
 *   admit.c             tasks that wait so that data on devices stay within a bound
 *   submission.c        tasks that are not ready yet
 *   data/seal.c         regions: what the host may not change any more
 *   data/recipe.c       contents that can be made again
 *   data/transfer.c     transfers begin and end
 *   data/source.c       where contents come from
 *   data/memory.c       replicas: room, eviction, loads, write-backs
 *   data/card.c         loads from other nodes
 *   data/home.c         results that go home early
 *   data/loss.c         what was on a device that is lost
 *   data/idle.c         unused data
 *   data/requests.c     what the host asks for
 *   data/ranges.c       data by their address
 *   rights.c            who may use a datum where
 *   finish.c            the end of a task
 *   host/version.c      tasks on the host
 *   devices/hungry.c    devices by how many tasks they have
 *   deferred.c          tasks that need a device and wait for one
 *   buffer.c            task buffers, filled from the policy
 *   host/offer.c        tasks that CPU workers take out of task buffers
 *   data/rerun.c        tasks that make contents again
 *   commit.c            from the buffer to the device: commit, start, prefetch
 *   arrive.c            where a ready task goes
 *   events.c            what a driver reports; the one loop that drives everything else
 *   data/pages.c        what kernels touch without having named it
 *   data/regions.c      regions open and close
 *   data/shrink.c       devices get less memory
 *   create.c            making and unmaking
 */
#ifndef OD_SCHED_ENGINE_INTERNAL_H
#define OD_SCHED_ENGINE_INTERNAL_H

#include "memmgr/data/pool.h"
#include "sched/background.h"
#include "sched/engine/data/recompute.h"
#include "sched/engine/devices/hungry.h"
#include "sched/engine/devices/sources.h"
#include "sched/engine/engine.h"
#include "sched/graph/forecast.h"
#include "sched/graph/known.h"
#include "sched/guard/lifetimes.h"
#include "sched/phase/active.h"
#include "util/container/heap.h"

enum { OD_MOST_AHEAD = 64 }; /* tasks in a task buffer with lookahead, however short */

/* A task that is known by its depend items, before it is ready. */
struct od_submission {
    od_level *level;      /* NULL once it is ready */
    od_known_task *known; /* or NULL */
    od_node link;         /* in od_engine.submissions */
    od_banker_step step;  /* the guard's */
    uint32_t nuses;
    od_level_use uses[];
};

typedef struct od_admission {
    od_lifetimes *lifetimes; /* NULL: it is off */
    bool weighs;             /* waits only where that pays */
    bool changed;            /* what is held may go on */
    bool warned, foreseen; /* the program has been told */
    int64_t bound;         /* bytes */
    size_t footprint, datum; /* the largest of a task and of a datum so far, where the spill area has a bound, */
    size_t expected, expected_datum; /* and of those that have been submitted, by what their depend items name */
    od_list held;   /* od_task.link: ready, in the order of submission */
    uint64_t holds; /* so far */
} od_admission;

typedef struct od_device {
    od_pool *pool;
    od_list resident;       /* od_replica.lru, least recently used first */
    od_list forced;         /* tasks that the engine itself placed here */
    od_list buffer;         /* the task buffer, head first */
    double buffer_seconds;  /* predicted, of it, while it is in od_engine.shortest */
    od_list committed;      /* loads under way, or no slot free yet */
    unsigned running;       /* tasks started here and not finished */
    double running_seconds; /* of these, od_task.running_seconds */
    unsigned blocked;       /* of these, those whose thread waits for a task inside */
    unsigned transfers;     /* under way, to or from it */
    unsigned loads;         /* of these, loads of the device */
    unsigned stores;        /* of these, to the host or to a spill area */
    od_list results;        /* od_datum.result: written here, may go home early */
    unsigned awaiting;      /* replicas that wait for a place that can send them */
    size_t page_bytes;      /* memory of pages that kernels touch without having named them */
    size_t leaving_bytes;   /* memory that evictions under way will free */
    uint64_t last_ns;       /* until when times have been accounted */
    uint64_t ran_until_ns;  /* the last end of a task's code */
    od_stall_cause stall;   /* why it has run nothing since stall_ns, where events are observed */
    uint64_t stall_ns;
    od_device_stats stats;
} od_device;

struct od_engine {
    od_engine_config config;
    od_directory *directory;
    od_forecast *forecast;
    od_levels *levels;
    od_device device[OD_MAX_DEVICES];
    void *policy_state;
    void *chooser; /* of the policy that was configured, or NULL */
    const od_chooser_ops *chooser_ops;
    size_t room; /* of the largest task buffer so far */
    size_t largest; /* bytes that the largest task for devices so far needs there */
    bool shrunk;    /* devices have got less memory than they had */
    od_policy_env env;
    unsigned fan[OD_MAX_DEVICES]; /* by device: to how many others of its node it can send at once, each as fast as
                                   * alone */
    /* By node: loads from its devices to those of others that are under way, and from those; and how many of the latter
     * it takes at once (card.c). */
    unsigned far_sends[OD_MAX_DEVICES], far_loads[OD_MAX_DEVICES], card_loads[OD_MAX_DEVICES];
    od_placeset awaiting; /* devices whose `awaiting` is not 0 */
    od_known *known; /* NULL: not wanted */
    od_active active;
    od_placeset working; /* the active devices, */
    unsigned nactive;    /* and how many they are; of lost ones, whose plans are carried out elsewhere, one */
    od_admission admission;
    od_list background; /* od_background.link: under way */

    od_placeset moved;          /* devices that are elsewhere in `hungry` now, which is put right where needed, */
    od_placeset moved_ahead;    /* and others in the next two */
    od_hungry hungry, ahead;    /* devices with room in their buffers; with none, but they may look ahead */
    od_heap shortest;           /* the latter, by buffer_seconds */
    od_ahead_range same_ahead;  /* see od_engine_same_ahead() */
    od_placeset policy_moved;   /* od_policy_env.moved */
    od_placeset forced;         /* devices with tasks that the engine itself placed there */
    od_placeset todo;           /* devices to look at before the event ends */
    od_placeset rights_waiters; /* devices whose head waits for rights */
    od_placeset lost;           /* devices that do not answer any more */
    bool in_progress;        /* progress() is running */
    bool adopted;            /* other settings: devices that have refused a task may take it now */
    bool awaited;            /* the program waits (od_engine_await) */
    bool held;               /* between od_engine_hold() and od_engine_resume() */
    size_t in_policy;        /* tasks that the policy owns */
    double policy_seconds;   /* predicted, of these */
    size_t unfinished;       /* tasks from ready to done */

    od_list submissions;  /* od_submission.link */
    od_list deferred;      /* tasks that need a device and wait for what the program holds on devices */
    bool retries;     /* something of that has gone */
    bool keeps_tasks; /* waiting, for requests that have their turn */
    bool spills_in_vain; /* there was no memory for a spill area */
    od_list host_waiting; /* tasks for the host that wait for rights */
    od_list host_ready;    /* tasks whose data are on the host, waiting for their turn */
    unsigned host_given;   /* tasks that the host has been given and that have not ended */
    uint64_t host_runs;    /* bit w: worker w runs a host version */
    uint64_t host_last_ns; /* until when their time has been accounted */
    od_list storing;  /* finished tasks whose results are on their way to the host */
    size_t spilled;       /* bytes of all spill areas */
    bool spill_full;      /* an eviction did not find room there, */
    size_t spilled_then;  /* when they had so many bytes */
    bool spill_anyway;    /* the next ones need none */
    bool spill_warned;
    od_list recipes, wanted; /* od_recipe.link, od_recipe.want */
    size_t dropped;          /* data whose contents are nowhere */
    od_list outside;  /* data with replicas and without a region */
    od_list unsealed; /* od_region.unsealed */
    uint64_t seal_seq;
    od_list idle;      /* od_datum.idle: others without a region, longest idle first; some may be in use again */
    od_list idle_parts; /* likewise those of them that are in windows */
    uint64_t *doubted; /* bit set: addresses of forgotten data that are not trusted, or NULL */
    bool doubts_all;   /* there is no memory for it */
    od_list transfers; /* under way */
    size_t requests;   /* not complete */

    od_link *link; /* between places, by row (from) and column (to), the host last */
    od_sources sources; /* likewise, by how fast */
    od_alike alike;     /* by these links */

    od_list spare_transfers; /* od_transfer.link, to be used again */
    uint64_t events, next_id, wait_seq;
    bool warned_too_large;
    od_engine_stats stats;
};

/* state.c */
/* Links, and what policies reckon with them, as they are when all devices load that the settings leave active. */
void od_engine_estimate_links(od_engine *e);
void od_stats_account(od_engine *e, unsigned k);
/* A host version is about to begin, on a worker that is free; it has ended. */
void od_stats_host_begin(od_engine *e, od_task *t);
void od_stats_host_end(od_engine *e, const od_task *t);
/* A run has ended on a device. */
void od_stats_ran(od_engine *e, const od_task *t, unsigned k);
void od_engine_check(const od_engine *e);

/* background.c */
/* About so many tasks; 0: at once. */
void od_engine_background(od_engine *e, od_background *job, size_t tasks);
/* False: it is among the jobs under way, and is to be run or given up now. */
bool od_engine_start_background(od_engine *e, od_background *job, size_t tasks);
void od_background_finish(od_engine *e, od_background *job, bool carried_out);

/* devices/active.c */
/* Of the devices that are not lost some are active, at least one, the others are idle: what decides has changed. */
void od_engine_settle_active(od_engine *e);
/* False: no device may get a task before it is known. */
bool od_engine_choose_active(od_engine *e);
void od_engine_emit_active(od_engine *e, od_placeset before); /* where od_engine.working was that */

/* hooks.c: the policy and the eviction rule; sched_ns counts what they take */
/* NULL: the task need not be known, or out of memory. */
od_known_task *od_hook_submitted(od_engine *e, const void *kind, unsigned speed_class, double seconds,
                                 const od_level_use *uses, uint32_t nuses);
od_status od_hook_ready(od_engine *e, od_task *t);
/* It does not come from the policy. */
void od_hook_forced(od_engine *e, od_task *t);
bool od_hook_consider(od_engine *e); /* true: other settings count from now on */
od_task *od_hook_pop(od_engine *e, unsigned k);
void od_hook_incoming(od_engine *e, od_datum *d, unsigned k);
void od_hook_evicted(od_engine *e, od_datum *d, unsigned k);
void od_hook_started(od_engine *e, od_task *t, unsigned k);
void od_hook_done(od_engine *e, od_task *t, unsigned k);
void od_hook_forget(od_engine *e, od_datum *d);
void od_hook_background_done(od_engine *e, od_background *job);
od_replica *od_hook_victim(od_engine *e, const od_evict_query *query);

/* admit.c */
od_status od_admit_init(od_engine *e);
/* The task waits, and the guard has it. */
bool od_admit_waits(od_engine *e, od_task *t);
/* One that waits no longer, or NULL; `force`: the first one of all. */
od_task *od_admit_release(od_engine *e, bool force);
bool od_admit_holds_all(const od_engine *e);
/* No task can go on without a new spill area, for which there is no room. */
bool od_admit_is_stuck(const od_engine *e);
void od_admit_submit(od_engine *e, od_submission *submission, double seconds);
/* NULL: there is none. */
void od_admit_end(od_engine *e, const od_submission *submission);
void od_admit_opened(od_engine *e, uintptr_t base, size_t size, bool undefined);
void od_admit_closed(od_engine *e, const od_region *region);

/* submission.c */
/* NULL: there is none. */
void od_submission_free(od_engine *e, od_submission *submission);
/* A known task has ended, before which that many batches had: all that was known may have been done. */
void od_submission_end_batch(od_engine *e, uint64_t batches);

/* data/seal.c */
/* Contents of the datum have come to the program's memory. */
void od_seal_undo(od_engine *e, const od_datum *d);
/* The request of this number is complete. */
void od_seal_done(od_engine *e, uint64_t seal);
/* The region closes. */
void od_seal_forget(od_engine *e, od_region *region);

/* data/transfer.c */
/* Starts a transfer of a part of the datum; `item` may be NULL. */
void od_transfer_start(od_engine *e, const od_transfer *what);
/* A failed one. True: it is being tried again. */
bool od_transfer_try_again(od_engine *e, od_transfer *x);
/* It has ended: what it counted when it began. */
void od_transfer_uncount(od_engine *e, od_transfer *x);
/* The datum is in od_engine.outside, or not any more. */
void od_outside_update(od_engine *e, od_datum *d);

/* data/source.c */
/* The device that holds current contents and can send them to `to` soonest, or OD_NOWHERE. */
int od_source_device(const od_engine *e, const od_datum *d, int to);
/* A place, or OD_NOWHERE: the only copy is leaving, or a load is under way that is worth waiting for. */
int od_source_of_load(const od_engine *e, const od_datum *d, unsigned k);

/* data/card.c */
/* A load between two places has ended. */
void od_card_serve(od_engine *e, int from, int to);

/* data/memory.c: replicas */
bool od_memory_take(od_engine *e, unsigned k, od_datum *d, od_task *head);
/* Starts to make room for so many bytes, for the head of the device's buffer or (NULL) without harm to what is in it.
 * True: something was freed at once, try again. */
bool od_memory_make_room(od_engine *e, unsigned k, od_task *head, size_t bytes);
/* For all of the task's data, where others that may be evicted are. */
bool od_memory_has_room(const od_engine *e, unsigned k, const od_task *t);
/* The device has got less memory: what lies behind its end goes, as far as nothing uses it. */
void od_memory_clear_end(od_engine *e, unsigned k);
void od_memory_drop(od_engine *e, od_datum *d, unsigned k);
void od_memory_drop_all(od_engine *e, od_datum *d, int except);
void od_memory_load(od_engine *e, od_datum *d, unsigned k, bool demanded);
bool od_memory_store(od_engine *e, od_datum *d);
bool od_memory_save(od_engine *e, od_datum *d);
bool od_memory_spill(od_engine *e, od_datum *d);
/* The region has a spill area now; false: out of memory. */
bool od_memory_make_area(od_engine *e, od_region *region);
/* Observers are told what the device has in use now. */
void od_memory_emit(od_engine *e, unsigned k);
/* The replica waits until some place can send the contents. */
void od_memory_await_source(od_engine *e, od_datum *d, unsigned k);
/* Writes the only copy back, which is on the device, without anybody waiting for it. */
void od_memory_send_home(od_engine *e, od_datum *d, unsigned k);
/* Loads of the datum that wait for that. */
void od_memory_serve_awaiting(od_engine *e, od_datum *d);
/* The end of an eviction: the memory is free. */
void od_memory_stop_leaving(od_engine *e, od_datum *d, unsigned k);
void od_memory_touch(od_engine *e, od_datum *d, unsigned k);
/* The program may change or give back the datum's memory, or a part of a spill area (NULL: none) goes: the
 * driver is notified. */
void od_memory_release_host(od_engine *e, od_datum *d);
void od_memory_release_spill(od_engine *e, const od_spill *spill, uintptr_t base, size_t size);
/* Bytes of what the task reads that device k has not. */
size_t od_memory_missing(const od_task *task, unsigned k);
/* The active device on which the task would end first if it were alone, by links, speeds and where its data are. Not
 * all devices are lost. */
unsigned od_memory_nearest_device(const od_engine *e, const od_task *task);
/* A transfer has ended: what it brought. */
void od_memory_finish_transfer(od_engine *e, od_transfer *x);
/* The datum has changed while it may be being written back: that does not count. */
void od_memory_outdate(od_engine *e, od_datum *d);

/* data/home.c */
/* A task that used it is complete. */
void od_home_note(od_engine *e, od_datum *d);
/* It is forgotten. */
void od_home_forget(od_engine *e, od_datum *d);
/* Sends one of the device's results home where nothing else is on the way. */
void od_home_serve(od_engine *e, unsigned k);

/* data/loss.c */
/* Forgets what lost devices held of the datum, as far as nothing is under way. */
void od_loss_settle(od_engine *e, od_datum *d);
bool od_loss_concerns(const od_engine *e, const od_transfer *x);
/* A failed transfer of a lost device: its effects are taken back. */
void od_loss_undo_transfer(od_engine *e, od_transfer *x);

/* data/idle.c */
/* Drops the replicas of a datum that may not keep them once nobody uses it. */
void od_idle_settle(od_engine *e, od_datum *d);
/* What comes after it finds its contents in the program's memory or in the spill area. It must be possible. */
od_status od_idle_forget(od_engine *e, od_datum *d);
/* Another datum is about to be made. */
void od_idle_make_place(od_engine *e);
/* A datum at this address may have been found not to be trusted (od_datum.untrusted). */
bool od_idle_doubts(const od_engine *e, uintptr_t base);

/* data/requests.c */
void od_request_set_item(od_request *request, uint32_t i, od_request_kind kind, od_datum *d);
void od_request_begin(od_engine *e, od_request *request);
/* Takes the first item of the datum as far as it can go now. */
void od_request_advance(od_engine *e, od_datum *d);
/* A task with that commit uses the datum no more. */
void od_request_note_left(od_datum *d, uint32_t commit);
/* Tasks that have begun to use the datum since have kept the first request for it waiting for long: no more begin. Not
 * for ever, as running ones may wait for these; but for longer each time. */
bool od_request_has_turn(const od_engine *e, const od_datum *d);

/* rights.c */
/* False: the task has a place in the order of those that wait. */
bool od_rights_may_use_all(od_engine *e, od_task *t, int place);
/* On device k the task waits, first of all, until the program lets go of what it has been shown elsewhere. */
bool od_rights_await_program(const od_task *t, unsigned k);
void od_rights_take(od_engine *e, od_task *t, int place);
/* The program holds addresses of its data on different devices, or on another than it must run on: only the host
 * can. */
bool od_rights_are_apart(const od_task *t);
/* A task that runs writes, too, to what it was to read. */
void od_rights_write_too(od_engine *e, od_task *t, uint32_t access);
void od_rights_leave(od_engine *e, od_task *t, int place);

/* shared.c: the datum's contents are in the program's memory, too; a kernel that uses it begins, or has ended. */
void od_shared_came_home(const od_datum *d);
void od_shared_used(od_engine *e, const od_datum *d);

/* finish.c */
/* It has run there, well or not (od_task.failed). */
void od_finish_run(od_engine *e, od_task *t, int place);
void od_finish_wrote(od_engine *e, const od_task *t, od_datum *d, int place);
/* Its results are stored where coherence wants it, then it is complete. */
void od_finish(od_engine *e, od_task *t);
void od_finish_stored(od_engine *e);
void od_finish_complete(od_engine *e, od_task *t);

/* host/version.c */
/* Host versions that may run at once. Without CPU workers it is one, which may use all processors. */
static inline unsigned od_host_workers(const od_engine *e)
{
    return e->config.cpus ? e->config.cpus : 1;
}

void od_host_wait(od_engine *e, od_task *t);
/* True: some have. */
bool od_host_commit(od_engine *e);
bool od_host_start(od_engine *e);

/* deferred.c */
bool od_engine_has_deferred(const od_engine *e, const od_task *t);
void od_engine_defer(od_engine *e, od_task *t);

/* buffer.c */
/* The engine places the task: the device takes it before any of the policy's. */
void od_buffer_force(od_engine *e, od_task *t, unsigned k);
void od_buffer_put(od_engine *e, od_task *t, unsigned k, bool front);
void od_buffer_leave(od_engine *e, od_task *t, unsigned k);
/* Takes back what the engine has placed. */
void od_buffer_unforce(od_engine *e, od_task *t, unsigned k);
/* Takes a task out of the buffer that will not commit there. */
void od_buffer_take_back(od_engine *e, od_task *t, unsigned k);
/* Fills the buffers of all devices. True: some task has been given. */
bool od_buffer_fill(od_engine *e);
/* The order of od_engine.shortest. */
bool od_buffer_is_shorter(const void *engine, uint32_t a, uint32_t b);
/* As on device k. */
void od_buffer_add_load(const od_engine *e, unsigned k, const od_list *tasks, od_device_load *load);

/* host/offer.c */
/* Gives CPU workers that have no task what suits them. True: something has been given. */
bool od_host_offer(od_engine *e);
/* CPU workers that may have a task now. */
unsigned od_host_allowed(const od_engine *e);
/* Before a host version has been measured it is taken to be so many times slower than on a device: not much where that
 * computes with the same processors. */
static inline double od_host_slowness(const od_engine *e)
{
    return e->config.in_process ? 2 : 20;
}
static inline double od_host_seconds(const od_engine *e, double host_seconds, double duration)
{
    return host_seconds > 0 ? host_seconds : od_host_slowness(e) * duration;
}

/* data/rerun.c */
/* What is wanted is given to devices. True: something has been. */
bool od_rerun_begin(od_engine *e);
/* Its device is lost. */
void od_rerun_again(od_engine *e, od_task *t);
/* It has run, and well. */
void od_rerun_done(od_engine *e, od_task *t);

/* commit.c */
/* Starts and commits what can be on the device. True: something has. */
bool od_commit_serve(od_engine *e, unsigned k);

/* events.c */
void od_engine_proceed(od_engine *e);

/* arrive.c */
void od_arrive(od_engine *e, od_task *t);
/* In the device's buffer, however full that is. */
void od_arrive_given(od_engine *e, od_task *t, unsigned k);
/* A task whose device is lost, or which has waited for one. */
void od_arrive_again(od_engine *e, od_task *t);
/* Those that the guard has held; with `force`, one whatever it needs. */
void od_arrive_released(od_engine *e, bool force);
/* Those that wait for what the program holds on devices. */
void od_arrive_deferred(od_engine *e);

static inline bool od_datum_is_idle(const od_datum *d)
{
    return !d->pending && !d->users && !d->transfers && !d->items && !d->bound;
}

static inline bool od_datum_can_be_forgotten(const od_datum *d)
{
    return od_datum_is_idle(d) && !d->spill && !d->needed && od_datum_is_home(d);
}

/* Kernels elsewhere use pages of what is here, which stays until they end (data/pages.c). */
static inline bool od_device_keeps_held(const od_device *device)
{
    od_list_each(node, &device->resident)
        if (od_datum_is_held(od_container_of(node, od_replica, lru)->datum))
            return true;
    return false;
}

/* True where nothing that the engine waits for will end, on the device or elsewhere, and free memory there. */
static inline bool od_device_is_quiet(const od_device *device)
{
    return device->running <= device->blocked && !device->committed.count && !device->transfers && !device->awaiting &&
           !od_device_keeps_held(device);
}

static inline bool od_device_is_lost(const od_engine *e, int place)
{
    return place >= 0 && place < OD_SPILL && od_placeset_has(e->lost, place);
}

/* The only copies are on lost devices; they may still be on their way elsewhere. */
static inline bool od_datum_is_stranded(const od_engine *e, const od_datum *d)
{
    return !od_placeset_is_empty(d->valid) && od_placeset_is_empty(od_placeset_minus(d->valid, e->lost));
}

/* The devices, of those that answer, whose contents are current. */
static inline od_placeset od_engine_senders(const od_engine *e, const od_datum *d)
{
    return od_placeset_minus(od_placeset_devices(d->valid), e->lost);
}

static inline bool od_no_device_is_left(const od_engine *e)
{
    return od_placeset_equal(e->lost, od_placeset_below(e->config.ndevices));
}

static inline bool od_is_observed(const od_engine *e)
{
    return e->config.driver_ops->event != NULL;
}

/* What tasks it has has changed. */
static inline void od_device_moved(od_engine *e, unsigned k)
{
    od_placeset_add(&e->moved, k);
    od_placeset_add(&e->policy_moved, k);
}

/* The thread of one of its tasks waits for a task inside, or not any more. */
static inline void od_device_block(od_engine *e, unsigned k, bool waits)
{
    e->device[k].blocked += waits ? 1u : -1u;
    od_device_moved(e, k);
}

/* The policy gets a task, or has given one. */
static inline void od_policy_gets(od_engine *e, const od_task *t)
{
    e->in_policy++;
    e->policy_seconds += t->duration;
}

static inline void od_policy_gives(od_engine *e, const od_task *t)
{
    e->in_policy--;
    e->policy_seconds = e->in_policy ? e->policy_seconds - t->duration : 0; /* no rounding errors stay */
}

/* Only where events are observed. */
static inline void od_emit(od_engine *e, od_event event)
{
    e->config.driver_ops->event(e->config.driver, &event);
}

static inline uint64_t od_engine_now(const od_engine *e)
{
    return e->config.driver_ops->now_ns(e->config.driver);
}

static inline void od_emit_task(od_engine *e, od_event_kind kind, od_task *t)
{
    if (od_is_observed(e))
        od_emit(e, (od_event){.kind = kind, .ns = od_engine_now(e), .place = t->place, .task = t});
}

/* The clock of scheduling costs. */
static inline uint64_t od_engine_cost_clock(const od_engine *e)
{
    if (e->config.untimed)
        return 0;
    return e->config.driver_ops->cost_ns ? e->config.driver_ops->cost_ns(e->config.driver) : od_engine_now(e);
}

/* Tasks that a buffer may hold. */
static inline size_t od_buffer_room(const od_engine_config *config)
{
    return config->ahead && config->buffer < OD_MOST_AHEAD ? OD_MOST_AHEAD : config->buffer;
}

/* Devices are numbered as usual; all other places are the host. */
static inline const od_link *od_engine_link(const od_engine *e, int from, int to)
{
    unsigned n = e->config.ndevices;
    unsigned row = from < OD_SPILL ? (unsigned)from : n, column = to < OD_SPILL ? (unsigned)to : n;
    return &e->link[row * (n + 1) + column];
}

static inline bool od_engine_is_far(const od_engine *e, int a, int b)
{
    const od_topology *topology = e->config.topology;
    return topology && topology->node[a] != topology->node[b];
}

/* A load from a device to another one begins, or ends. */
static inline void od_engine_count_send(od_engine *e, od_datum *d, int from, int to, int change)
{
    od_replica *r = &d->replica[from];
    if (!od_engine_is_far(e, from, to)) {
        r->sends = (uint8_t)(r->sends + change);
        return;
    }
    r->far_sends = (uint8_t)(r->far_sends + change);
    e->far_sends[e->config.topology->node[from]] += (unsigned)change;
    e->far_loads[e->config.topology->node[to]] += (unsigned)change;
}

#endif
