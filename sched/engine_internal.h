/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * What the engine's files share. Nothing outside sched/engine*.c includes this.
 *
 *   engine.c            life of a task: arrival, buffers, commit, start, end
 *   engine_memory.c     replicas: room, eviction, loads, write-backs
 *   engine_host.c       what the host asks for: requests, regions, overlaps
 *   engine_loss.c       a device that is lost
 *   engine_state.c      statistics, dump, invariants
 */
#ifndef OD_SCHED_ENGINE_INTERNAL_H
#define OD_SCHED_ENGINE_INTERNAL_H

#include "memmgr/pool.h"
#include "sched/aside.h"
#include "sched/engine.h"
#include "sched/forecast.h"
#include "sched/known.h"
#include "sched/working.h"

enum { OD_MOST_AHEAD = 64 }; /* tasks in a task buffer with lookahead, however short */

typedef struct od_device {
    od_pool *pool;
    od_list resident;       /* od_replica.lru, least recently used first */
    od_list forced;         /* tasks that the engine itself placed here */
    od_list buffer;         /* the task buffer, head first */
    od_list committed;      /* loads under way, or no slot free yet */
    unsigned running;       /* tasks started here and not finished */
    double running_seconds; /* predicted, of these */
    unsigned blocked;       /* of these, those whose thread waits for a task inside */
    unsigned transfers;     /* under way, to or from it */
    unsigned loads;         /* of these, loads of the device */
    unsigned awaiting;      /* replicas that wait for a place that can send them */
    size_t leaving_bytes;   /* memory that evictions under way will free */
    uint64_t last_ns;       /* until when times have been accounted */
    od_stall_cause stall;   /* why it has run nothing since stall_ns, where somebody listens */
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
    od_policy_env env;
    od_known *known; /* NULL: nobody wants it */
    od_working working;
    od_list asides; /* od_aside.link: under way */

    uint64_t todo;           /* devices to look at before the event ends */
    uint64_t rights_waiters; /* devices whose head waits for rights */
    uint64_t lost;           /* devices that do not answer any more */
    bool in_progress;        /* progress() is running */
    bool held;               /* between od_engine_hold() and od_engine_resume() */
    size_t in_policy;        /* tasks that the policy owns */
    size_t unfinished;       /* tasks from ready to done */

    od_list submissions;  /* od_submission.link */
    od_list patient;      /* tasks that need a device and wait for what the program holds on devices */
    bool try_patient;     /* something of that has gone */
    od_list host_waiting; /* tasks for the host that wait for rights */
    od_list host_ready;   /* tasks whose data are on the host, waiting for a slot */
    unsigned host_running;
    od_list storing;   /* finished tasks whose results are on their way to the host */
    od_list outside;   /* data with replicas and without a region */
    od_list transfers; /* under way */
    size_t requests;   /* not complete */

    od_link *link; /* between places, by row (from) and column (to), the host last */

    od_list spare_transfers; /* od_transfer.link, to be used again */
    uint64_t events, next_id, wait_seq;
    bool warned_too_large;
    od_engine_stats stats;
};

/* engine.c */
void od_engine_progress(od_engine *e);
void od_engine_to_host(od_engine *e, od_task *t);
void od_engine_place_again(od_engine *e, od_task *t);
void od_engine_take_back(od_engine *e, od_task *t, unsigned k);
void od_engine_leave_rights(od_task *t, int place);

/* engine_memory.c: replicas */
bool od_memory_take(od_engine *e, unsigned k, od_datum *d, od_task *head);
void od_memory_drop(od_engine *e, od_datum *d, unsigned k);
void od_memory_drop_all(od_engine *e, od_datum *d, int except);
void od_memory_load(od_engine *e, od_datum *d, unsigned k, bool demanded);
bool od_memory_store(od_engine *e, od_datum *d);
bool od_memory_save(od_engine *e, od_datum *d);
bool od_memory_spill(od_engine *e, od_datum *d);
/* The replica waits until some place can send the contents. */
void od_memory_await_source(od_engine *e, od_datum *d, unsigned k);
/* The end of an eviction: the memory is free. */
void od_memory_stop_leaving(od_engine *e, od_datum *d, unsigned k);
void od_memory_touch(od_engine *e, od_datum *d, unsigned k);
/* The program may change or give back the datum's memory, or a part of a spill area (NULL: none) goes: the driver is told. */
void od_memory_let_go(od_engine *e, od_datum *d);
void od_memory_let_go_spill(od_engine *e, const od_spill *spill, uintptr_t base, size_t size);
/* Starts a transfer of a part of the datum; `item` may be NULL. */
void od_memory_transfer(od_engine *e, const od_transfer *what);
/* Drops the replicas of a datum that may not keep them once nobody uses it. */
void od_memory_settle(od_engine *e, od_datum *d);
void od_memory_update_outside(od_engine *e, od_datum *d);

/* engine_host.c */
void od_host_advance(od_engine *e, od_datum *d);

/* NULL: there is none. The policy has been told, or need not be. */
void od_engine_free_submission(od_engine *e, od_submission *submission);

/* engine_working.c */
/* How many of the devices that are not lost work, at least one: the first ones, the others rest. */
unsigned od_engine_working(const od_engine *e);
bool od_engine_rests(const od_engine *e, unsigned k);
/* False: nobody is to be given anything before it is known. */
bool od_engine_choose_working(od_engine *e);

/* engine_aside.c */
/* About so many tasks; 0: at once. */
void od_engine_aside(od_engine *e, od_aside *aside, size_t tasks);

/* engine_loss.c */
/* Forgets what lost devices held of the datum, as far as nothing is under way. */
void od_loss_settle(od_engine *e, od_datum *d);
bool od_loss_concerns(const od_engine *e, const od_transfer *x);
/* A failed transfer of a lost device: its effects are taken back. */
void od_loss_undo_transfer(od_engine *e, od_transfer *x);

/* engine_state.c */
/* Only where somebody listens. */
void od_tell(od_engine *e, od_event event);
void od_stats_account(od_engine *e, unsigned k);
void od_engine_check(const od_engine *e);

/* True where nothing that the engine waits for will end on the device and free memory there. */
static inline bool od_device_is_quiet(const od_device *device)
{
    return device->running <= device->blocked && !device->committed.count && !device->transfers && !device->awaiting;
}

static inline bool od_device_is_lost(const od_engine *e, int place)
{
    return place >= 0 && place < OD_SPILL && (e->lost & OD_BIT(place));
}

/* The only copies are on lost devices; they may still be on their way elsewhere. */
static inline bool od_datum_is_stranded(const od_engine *e, const od_datum *d)
{
    return d->valid && !(d->valid & ~e->lost);
}

static inline bool od_is_told(const od_engine *e)
{
    return e->config.driver_ops->event != NULL;
}

static inline uint64_t od_engine_now(const od_engine *e)
{
    return e->config.driver_ops->now_ns(e->config.driver);
}

static inline void od_tell_task(od_engine *e, od_event_kind kind, od_task *t)
{
    if (od_is_told(e))
        od_tell(e, (od_event){.kind = kind, .ns = od_engine_now(e), .place = t->place, .task = t});
}

/* The clock of scheduling costs. */
static inline uint64_t od_engine_cost_clock(const od_engine *e)
{
    return e->config.driver_ops->cost_ns ? e->config.driver_ops->cost_ns(e->config.driver) : od_engine_now(e);
}

/* Devices are numbered as usual; all other places are the host. */
static inline const od_link *od_engine_link(const od_engine *e, int from, int to)
{
    unsigned n = e->config.ndevices;
    unsigned row = from < OD_SPILL ? (unsigned)from : n, column = to < OD_SPILL ? (unsigned)to : n;
    return &e->link[row * (n + 1) + column];
}

#endif
