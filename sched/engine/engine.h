/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The engine: a state machine without threads, clocks or I/O.
 *
 * Events come in through the functions below: a task is ready, a transfer or a
 * task has finished, the host wants data, a region opens or closes. Commands go out
 * through od_driver_ops: start this transfer, start this task, complete this task, complete this
 * request. Two drivers exist: the runtime (omp_ext/) and the tests' and simulator's virtual time.
 *
 * The caller holds one lock around every call. Commands are issued from inside the
 * calls; a driver only notes them and must not call the engine back before the call returns.
 *
 * No deadlock, by rule. (1) A task commits when it gets the rights to all its data and memory for
 * all of them in one step; until then it holds nothing, except that the head of a
 * device's buffer may already have memory that nobody else may take from it. (2) A committed task needs only
 * transfers to start, and runs to its end. (3) Prefetches evict nothing that a buffered task needs.
 * (4) Rights are first come, first served. (5) What fits nowhere runs on the host.
 *
 * CPU workers run host versions beside the devices; their memory is the host's (host/offer.c).
 */
#ifndef OD_SCHED_ENGINE_ENGINE_H
#define OD_SCHED_ENGINE_ENGINE_H

#include "memmgr/data/directory.h"
#include "memmgr/data/transfer.h"
#include "memmgr/device/topology.h"
#include "sched/background.h"
#include "sched/graph/durations.h"
#include "sched/graph/levels.h"
#include "sched/graph/pattern.h"
#include "sched/guard/banker.h"
#include "sched/recall.h"
#include "sched/settings.h"
#include "sched/task.h"

#include <stdio.h>

typedef struct od_engine od_engine;

/* What a host request does with each of its data. */
typedef enum od_request_kind {
    OD_REQUEST_READ,         /* make the host copy current; replicas stay */
    OD_REQUEST_WRITE,        /* make the host copy current, then drop all replicas: the host will write */
    OD_REQUEST_READ_OUTSIDE, /* of a range: as OD_REQUEST_READ, but only what lies in no region */
    OD_REQUEST_OUTSIDE,      /* of a range: as OD_REQUEST_WRITE, but only what lies in no region */
    OD_REQUEST_DISCARD,      /* the host copy is what counts from now on: drop replicas, write nothing back */
    OD_REQUEST_PULL,         /* copy a part to the host, change no state (`target update from` of a section) */
    OD_REQUEST_PUSH,         /* copy a part from the host (`target update to`) */
    OD_REQUEST_SNAPSHOT,     /* inside a region: devices see the program's memory as it is now, whatever becomes of it
                              * (sched/engine/data/seal.c) */
    OD_REQUEST_SETTLE,       /* off the devices, so that the range can be divided into other data; the program's memory
                              * stays as it is inside a region */
} od_request_kind;

struct od_request_item {
    struct od_request *request;
    od_datum *datum;
    od_request_item *next; /* in datum->items */
    od_request_kind kind;
    bool started;         /* its own transfer has been asked for */
    bool moved;           /* and has ended */
    uint64_t since_ns;    /* when it was asked for */
    uint32_t commits;     /* of the datum then */
    uint32_t before;      /* of its users, those that were there then */
    int place;            /* to which it goes, for PUSH */
    od_placeset written;  /* for PUSH, the places that have got the part */
    size_t offset, bytes; /* the part, for PULL and PUSH */
};

typedef struct od_request {
    uint32_t pending; /* items not finished */
    uint32_t nitems;
    bool inside;   /* asked by a running task of its own data: does not wait for that task */
    void *user;    /* the driver's */
    od_task *task; /* engine only: the task that goes to the host with it, or NULL */
    uint64_t seal; /* engine only: the number of one that seals regions, or 0 */
    od_request_item items[];
} od_request;

typedef struct od_driver_ops {
    void (*start_transfer)(void *driver, od_transfer *transfer);
    /* place: a device, or OD_HOST for the host version. */
    void (*start_task)(void *driver, od_task *task, int place);
    /* All is done, results are where coherence wants them; the task is the driver's again. */
    void (*complete_task)(void *driver, od_task *task);
    void (*complete_request)(void *driver, od_request *request);
    uint64_t (*now_ns)(void *driver); /* the driver's clock, real or virtual */
    /* The clock by which scheduling is measured where the driver's is virtual. NULL: now_ns. */
    uint64_t (*cost_ns)(void *driver);
    /* Processor time of the process, or of the calling thread alone; called without the lock, too. NULL: not known, and
     * what is done in the background has no limit. */
    uint64_t (*processor_ns)(void *driver, bool own);
    /* Runs the job, which is about so many tasks, on another thread without the lock, then calls
     * od_engine_background_done(). False: not worth it or not possible now; the engine runs it at once. NULL: never. */
    bool (*start_background)(void *driver, od_background *job, size_t tasks);
    /* The link between two places, with its bandwidth when all devices load at once; bandwidth 0: there is none. NULL:
     * what the configuration says. */
    od_link (*link)(void *driver, int from, int to);
    /* Whether a task that needs a device is to wait for what the program holds on devices by its address. Then
     * od_engine_retry() is to be called now and then until it is false. NULL: such tasks do not wait. */
    bool (*waits_for_program)(void *driver, const od_task *task);
    /* Tasks are kept waiting for a request: od_engine_retry() is to be called now and then until it is false. */
    void (*keeps_tasks)(void *driver);
    /* From now on the program may change or give back this host memory. Called where od_engine_config.pins is set. */
    void (*release_host)(void *driver, uintptr_t base, size_t size);
    /* A part (od_datum.window) has memory on device k now, at the replica's offset; or has none any more, and the
     * offset is still what it was. Called where there are windows; where memory has to be committed `occupy` for all
     * data. NULL: there is nothing to do. */
    void (*occupy)(void *driver, od_datum *datum, unsigned k);
    void (*discard)(void *driver, od_datum *datum, unsigned k);
    /* How many CPU workers may have a task now, of which so many have one. NULL: all that there are. */
    unsigned (*cpus)(void *driver, unsigned given);
    /* Receives every event, see sched/event.h. NULL: none is emitted, at no cost. */
    void (*event)(void *driver, const od_event *event);
    /* A task that does once more what a pure one has just done, with accesses of its own; it is started, never
     * completed, and given back at last. NULL: it cannot be had. Called where od_engine_config.recompute is set. */
    od_task *(*again)(void *driver, const od_task *task);
    void (*free_again)(void *driver, od_task *task);
    /* What earlier runs have kept of a graph, row by row; and what is to be kept of it. NULL: nothing is. */
    void (*recall)(void *driver, const od_recalled_graph *graph, od_recall_found *found, void *arg);
    void (*keep)(void *driver, const od_recalled_graph *graph, const od_recalled_row *row);
    /* The program cannot go on with right results; does not return in the runtime. */
    void (*fatal)(void *driver, const char *message);
} od_driver_ops;

/* od_engine_config.guard: as much as all devices have, and only where waiting costs less than it saves. */
#define OD_GUARD_AUTO (-1)

/* From `least` on, and below `end`. */
typedef struct od_ahead_range {
    uint64_t least, end;
} od_ahead_range;

typedef struct od_engine_config {
    unsigned ndevices;
    size_t memory;    /* bytes of each device's pool */
    size_t alignment; /* of pool blocks; 0: 256 */
    size_t granule;   /* of which pools stay multiples when they shrink; 0 and 1: any */
    unsigned buffer;  /* tasks per task buffer (OMPDARTS_BUFFER) */
    uint64_t ahead;   /* as in od_policy_choice */
    unsigned slots;    /* tasks that may run at once on a device */
    bool devices_only; /* as in od_settings */
    bool in_turn;      /* a device computes one of these at a time, the others are queued behind it */
    bool singly;       /* tasks that become ready at one moment are reported one by one, not held (od_engine_hold) */
    bool untimed;      /* nobody asks how long what has lasted: such statistics stay 0, and od_engine_same_ahead() is
                        * known */
    unsigned processors; /* that the process may use; 0: as many as it keeps busy */
    unsigned cpus;     /* CPU workers, at most OD_MAX_CPUS: host versions that run at once beside devices (host/) */
    bool peer;         /* device-to-device copies are possible */
    bool pins;         /* the driver keeps state about host memory between transfers; it is notified when that ends */
    bool commits;      /* memory of pools has to be there first (od_driver_ops.occupy) */
    bool in_process;   /* the devices' memory is the process's own: kernels reach what is in host memory, too */
    bool ranked;       /* tasks have priorities of their own: no bottom levels are kept */
    size_t early;      /* results of so many bytes go home while the program waits (od_engine_await); 0: none do */
    bool spill;        /* inside a region evicted data go to its spill area, not to the program's memory */
    size_t spill_limit; /* bytes that evictions make such areas for, at most; 0: not bounded */
    od_recompute recompute; /* what a pure task has made is dropped instead of written back */
    od_link host_link; /* estimate, between the host and a device */
    od_link peer_link; /* estimate, between two devices */
    const od_topology *topology; /* of these devices, perhaps of more; NULL: od_driver_ops.link, or the two estimates */
    const unsigned *ranks;       /* that the devices are of (od_device_stats.rank); NULL: all of rank 0. Not kept */
    const od_policy_ops *policy;
    const uint64_t *policy_values; /* of its options; NULL: as if omitted. Not kept */
    const od_evict_ops *evict;
    int64_t guard; /* bytes of data that live on devices only, at most (sched/guard/banker.h); 0: not bounded */
    int active; /* devices, the others are idle; OD_ACTIVE_AS_POLICY or OD_ACTIVE_CHOSEN (sched/phase/active.h) */
    od_placeset devices;          /* those that are active, the others are idle; empty: as `active` says */
    struct od_findings *findings; /* shared by engines that play one graph (sched/phase/findings.h), or NULL */
    uint64_t seed;
    const od_driver_ops *driver_ops;
    void *driver;
} od_engine_config;

typedef struct od_device_stats {
    uint64_t tasks;                           /* run on the device */
    uint64_t host_tasks;                      /* given to this device, run on the host */
    uint64_t h2d_bytes, d2h_bytes, d2d_bytes; /* d2d: received */
    uint64_t remote_bytes;                    /* of d2d_bytes, those from devices of other ranks */
    uint64_t spilled_bytes;                   /* of d2h_bytes, those to spill areas */
    uint64_t loads;                           /* transfers that brought a whole datum */
    uint64_t reloads;                         /* loads of a datum that had been loaded here before */
    uint64_t evictions;                       /* replicas that left because memory was needed */
    uint64_t dropped_bytes;                   /* of these, contents that were not written back but are made again */
    uint64_t reruns;                          /* tasks that have done so */
    uint64_t busy_ns;                         /* time in which code of at least one ended task ran */
    uint64_t occupied_ns;                     /* time with at least one task started and not known to have ended */
    uint64_t stall_ns;                        /* time with none running and one waiting for loads, memory or rights */
    uint64_t transfer_ns;                     /* time with at least one transfer under way to or from it */
    uint64_t overlapped_ns;                   /* the part of transfer_ns during which a task ran on it */
    uint64_t faults;                          /* page faults of its kernels, in what their tasks had not named */
    uint64_t fault_bytes;                     /* copied because of these, to the device and from it */
    uint64_t fault_ns;                        /* for which kernels waited, added up */
    size_t used_bytes, peak_bytes;            /* of the pool, now and at most */
    size_t limit_bytes;                       /* that it began with */
    unsigned rank;                            /* of the job, whose device it is; 0: the program's own */
    bool lost;
} od_device_stats;

enum { OD_MAX_CPUS = 64 };

typedef struct od_cpu_stats {
    uint64_t tasks;   /* host versions that it has run */
    uint64_t busy_ns; /* for which it did */
} od_cpu_stats;

typedef struct od_engine_stats {
    uint64_t tasks;      /* completed */
    uint64_t host_tasks; /* of these, run as host versions */
    uint64_t host_busy_ns; /* time with at least one of these running */
    uint64_t sched_ns;   /* spent inside policy and eviction callbacks */
    uint64_t submitted;  /* announced before they were ready */
    uint64_t waiting;    /* of these, not ready yet */
    uint64_t unfinished; /* tasks that are ready or further, and not completed */
    size_t spill_bytes, spill_peak_bytes; /* of all spill areas, now and at most */
    bool waited;         /* a task has waited for others on another device to end with its data */
    uint64_t shared_tasks; /* most tasks that might write one datum on a device */
    uintptr_t shared_base; /* that datum */
    size_t shared_size;
    unsigned cpus; /* CPU workers; without any, cpu[0] is what runs host versions */
    od_cpu_stats cpu[OD_MAX_CPUS];
} od_engine_stats;

od_status od_engine_create(const od_engine_config *config, od_engine **engine);
void od_engine_destroy(od_engine *engine);

/* The estimates of its configuration, between the host and a device and between two devices. */
void od_engine_links(const od_engine *engine, od_link *host, od_link *peer);

/* --- data ---------------------------------------------------------------- */

od_directory *od_engine_directory(od_engine *engine);

/* The datum for [base, base+size): the known one of that range, or, in a region, that contains it; else a new one. It
 * comes held (pending counts it), so that nobody forgets it before the task or request that needs it has ended; a
 * task's data are released when it completes. Known data that overlap the range otherwise are forgotten when all are
 * idle; if one is in use or has its only copy on a device, or contents are partly in a spill area, OD_EFULL is
 * returned: settle the range (od_engine_range_request), wait, and retry. */
od_status od_engine_datum(od_engine *engine, uintptr_t base, size_t size, od_datum **datum);
/* Likewise the datum of these pieces of a region in parts, which are taken in any case. */
od_status od_engine_part(od_engine *engine, od_pieces *pieces, od_datum **datum);
void od_engine_release(od_engine *engine, od_datum *datum);
/* A datum that overlaps it could be made at once, and it would be forgotten. */
bool od_engine_can_forget(const od_datum *datum);
/* Before there are tasks: device k has room for the datum, with contents as od_datum.valid says (which the caller
 * sets). OD_EFULL: there is no room. */
od_status od_engine_begin_with(od_engine *engine, od_datum *datum, unsigned k);
/* And contents are being loaded there. */
void od_engine_begin_loading(od_engine *engine, od_datum *datum, unsigned k);
/* What device k has, the least recently used first, is written to `data`, at most `most`; what leaves it is gone.
 * Returns how many there are. */
uint32_t od_engine_residents(const od_engine *engine, unsigned k, od_datum **data, uint32_t most);
/* A running kernel touches this page of a region in parts, or what of it lies in the region, and has not named it: the
 * part that it is in, or a new one, is lent to the driver. OD_EBUSY: not while it is being transferred; OD_EINVAL: it
 * lies in several. */
od_status od_engine_lend_part(od_engine *engine, uintptr_t base, size_t size, od_datum **part);
void od_engine_return_part(od_engine *engine, od_datum *part);
/* A running task writes to a datum that it was to read only: from now on it is one of its writers. False, and nothing
 * is done, where the datum is used elsewhere, or lent. */
bool od_engine_write_too(od_engine *engine, od_task *task, uint32_t access);
/* The place of a lent part's current contents, or OD_NOWHERE where these may be any. */
int od_engine_part_source(const od_engine *engine, const od_datum *part);
/* Something has been written to a lent part: the places that must get it. */
od_placeset od_engine_part_holders(od_engine *engine, od_datum *part);
/* Memory on device k for such a page; `account` gives it back. False: there is none; what nobody needs there leaves, if
 * it `evicts`. */
bool od_engine_take_page(od_engine *engine, unsigned k, bool evicts, size_t *account);
void od_engine_give_page(od_engine *engine, unsigned k, size_t account);
/* For the statistics: bytes of such pages have been copied to or from device k; one of its kernels has waited since
 * then for a page of the part, and goes on. */
void od_engine_count_page(od_engine *engine, unsigned k, size_t bytes);
void od_engine_count_fault(od_engine *engine, unsigned k, const od_datum *part, uint64_t since_ns);
/* From now on data of the region are parts, in the window, which it takes; NULL: they are not any more. Data that are
 * known already stay as they are, and make way for others as any that overlap. `alone`: there must be none, as with
 * od_engine_datum(); OD_EFULL: settle the region and retry. */
od_status od_engine_divide(od_engine *engine, od_region *region, od_window *window, bool alone);
/* All that the region holds is in its spill area, and there are no data of it. OD_EFULL: not yet; requests of the kind
 * OD_REQUEST_SETTLE bring it there from now on. OD_EDEVICE: there are no such areas. */
od_status od_engine_gather(od_engine *engine, od_region *region);

/* A request that does `kind` to all data that overlap the range. NULL with OD_OK: there are none. */
od_status od_engine_range_request(od_engine *engine, uintptr_t base, size_t size, od_request_kind kind,
                                  od_request **request);

/* One of this kind (od_task.kind) has run: a chooser predicts others to take so long from now on (od_task.duration).
 * Policies know what was predicted when tasks were submitted, so that a recorded run can be replayed. */
void od_engine_expect(od_engine *engine, const void *kind, double seconds);
/* What a task of this kind that is ready is predicted to take is a guess, since none has run, until od_engine_expect()
 * says better; or it is none any more. */
void od_engine_guess(od_engine *engine, const void *kind, bool is_guess);
/* Tasks of this kind (od_task.kind) are predicted to take so long on a CPU worker (od_task.host_seconds); what is
 * predicted of those that are ready counts from then on. */
void od_engine_expect_host(od_engine *engine, const void *kind, double host_seconds);
/* A task of this kind and class (od_task.kind, .speed_class) with these depend items was submitted. What is known of it
 * before it is ready guides eviction (sched/graph/forecast.h), priorities (sched/graph/levels.h) and policies that plan
 * ahead, and never decides correctness. `seconds`: predicted duration. NULL: out of memory, it is not known then; the
 * functions below take that. */
od_submission *od_engine_submit(od_engine *engine, const void *kind, unsigned speed_class, double seconds,
                                const od_level_use *uses, uint32_t nuses);
/* The program itself gives it this priority: it is known before the task is ready. */
void od_engine_submission_rank(od_submission *submission, int32_t priority);
/* It is ready now, or will never be: its bottom level in seconds, the longest path from its beginning through the tasks
 * submitted so far. What is to be known of it remains: give it to the task (od_task.submission), or withdraw it. */
double od_engine_unsubmit(od_engine *engine, od_submission **submission);
/* Both, of a task whose data are there, of which the first `nuses` are its depend items: where nothing else is to be
 * known of it, it counts in these. It stays where it is, with what is known of it, and has a priority of its own. Not
 * with a guard, nor where spill areas have a bound. */
void od_engine_foresee(od_engine *engine, od_task *task, uint32_t nuses);
void od_engine_foreseen(od_engine *engine, const od_task *task, uint32_t nuses);
/* No task of ours has come of it, or the program has run it itself and it is done. */
void od_engine_withdraw(od_engine *engine, od_submission *submission);

/* For the guard, in the order of submission: an asynchronous data construct is submitted; it will open a region of
 * undefined contents, or close one that begins there; it has been carried out, or will never be. */
od_banker_step od_engine_construct(od_engine *engine);
void od_engine_construct_opens(od_engine *engine, uintptr_t base, size_t size);
void od_engine_construct_closes(od_engine *engine, od_banker_step construct, uintptr_t base);
void od_engine_construct_done(od_engine *engine, od_banker_step construct);

/* A task with `shows` binds its data to the device that it is given: their addresses there are shown to the program,
 * and they stay there until unbound. `write`: the program may write the datum there at any time; only that copy
 * counts. */
void od_engine_bind(od_engine *engine, od_datum *datum, unsigned k, bool write);
/* Likewise a datum of another task that runs on device k, which may go on or end meanwhile. What the task only reads
 * is not bound, others may read it elsewhere, but stays there, too. */
void od_engine_keep_shown(od_engine *engine, od_datum *datum, unsigned k, od_mode mode);
void od_engine_let_go_shown(od_engine *engine, od_datum *datum, unsigned k, od_mode mode);
void od_engine_unbind(od_engine *engine, od_datum *datum, bool write);
/* Instead: the program may have kept the address, which is good as long as the region is open. False, and nothing is
 * done, where the datum is not all of its region, that has been asked for before, or the device is more than half full:
 * what is kept there can be neither moved nor evicted. */
bool od_engine_keep_bound(od_engine *engine, const od_datum *datum);
/* A kernel on device k has stored addresses there of the datum, or in it of others: it stays there until its region
 * closes, as above. False, and nothing is done: it is not all of a region, or is used elsewhere just now. */
bool od_engine_keep_stored(od_engine *engine, od_datum *datum, unsigned k);
/* The datum that lies there in the pool of device k; or NULL. */
od_datum *od_engine_datum_at(const od_engine *engine, unsigned k, size_t offset);
/* Tasks that have waited for that too long (some seconds) run on the host. True: others still wait, or the guard is
 * on. */
bool od_engine_retry(od_engine *engine);

/* True: nothing is under way, and all tasks that are ready wait by the guard's will, for steps before them or for room
 * in the spill area. A program may make those wait for one of these, in ways that nobody sees: a task that waits for a
 * task that was created later. Where the program does not go on (od_engine_events() stays), the first of them is to be
 * let go, whatever it needs. */
bool od_engine_holds_all(const od_engine *engine);
void od_engine_let_go(od_engine *engine);

/* True where the program holds the device address of a datum that overlaps the range. */
bool od_engine_range_is_bound(od_engine *engine, uintptr_t base, size_t size);

/* A construct enters a section (memmgr/data/presence.h): opens a region, or adds a reference to the one meant, or
 * does nothing. OD_EINVAL: refused. OD_EFULL: a datum has its only copy on a device, or is in use and lies partly in
 * it, or a region that kernels alone have opened is in the way: write the range back, wait, and retry. */
od_status od_engine_region_open(od_engine *engine, const od_section *section, bool undefined);
/* What only the program's memory holds of the region will not be changed before the next synchronisation point: it is
 * made safe there. Otherwise OD_REQUEST_SNAPSHOT, before the program goes on. */
void od_engine_region_defer(od_engine *engine, od_region *region);
/* It leaves the section: drops a reference of the region meant (`all`: every reference, map(delete)). When it was the
 * last one, *request is what must be done to the data inside: those in the section go to the host if copy_out.
 * *request may be NULL. */
od_status od_engine_region_close(od_engine *engine, const od_section *section, bool copy_out, bool all,
                                 od_request **request);

/* --- tasks --------------------------------------------------------------- */

/* The caller has filled priority, duration, bound, external, outer, access, user and created_ns; data come from
 * od_engine_datum(), each once. The task is the engine's until complete_task. */
void od_engine_task_ready(od_engine *engine, od_task *task);
/* The same, of a task that device k has been given already: it is behind those in the device's buffer. */
void od_engine_begin_given(od_engine *engine, od_task *task, unsigned k);
/* It has run (od_driver_ops.start_background), and its `seconds` are set. */
void od_engine_background_done(od_engine *engine, od_background *job);
/* Background jobs under way will never end: the thread is missing in a forked child. */
void od_engine_abandon_background(od_engine *engine);
/* Between these two calls tasks become ready together: the policy sees all of them before a device asks for one. */
void od_engine_hold(od_engine *engine);
void od_engine_resume(od_engine *engine);
/* A task that has been started is not to be carried out: it was a reservation (od_task.advisory) whose data are not
 * needed any more. `used`: what it may write has been written. complete_task follows; it counts as no task. */
void od_engine_task_give_up(od_engine *engine, od_task *task, bool used);
/* They share a datum that one of them may write. */
bool od_engine_tasks_conflict(const od_task *a, const od_task *b);
/* The thread that runs the task begins (or ends) to wait for other tasks: it needs no slot meanwhile. */
void od_engine_task_block(od_engine *engine, od_task *task, bool waits);
/* status OD_EDEVICE on a device: the host version will run instead; on a lost one: the task is started again
 * elsewhere. */
void od_engine_task_done(od_engine *engine, od_task *task, od_status status);
/* A failed transfer is started again, a few times; one of a lost device is forgotten. */
void od_engine_transfer_done(od_engine *engine, od_transfer *transfer, od_status status);
/* The device will never answer again. Its contents are recovered where another copy is valid; where not, the program
 * ends (fatal). What is still running there is to be reported as failed. */
void od_engine_device_lost(od_engine *engine, unsigned k);

/* --- memory -------------------------------------------------------------- */

/* Others need some of the devices' memory: each device has so many bytes from now on, but as many as the largest task
 * so far needs there, which are returned. Nothing new is placed behind them, and what is there is evicted as soon as
 * nothing uses it. */
size_t od_engine_shrink(od_engine *engine, size_t memory);
size_t od_engine_memory(const od_engine *engine); /* bytes of each device */
size_t od_engine_memory_least(const od_engine *engine); /* likewise, to which they can shrink */
/* Device k may use so many bytes from the beginning of its memory: what lies behind them can be given back. */
size_t od_engine_memory_end(const od_engine *engine, unsigned k);
/* Data are being written back from there to be evicted. */
bool od_engine_memory_leaves(const od_engine *engine, unsigned k);

/* --- settings ------------------------------------------------------------ */

/* From now on these count. Tasks that devices have been given stay there, all others change hands; so do data. Only for
 * engines whose policy has a chooser. OD_EBUSY: not while the policy plans in the background; OD_ENOMEM: nothing has
 * changed. */
od_status od_engine_adopt(od_engine *engine, const od_settings *settings);
/* A lookahead of so many mean durations of a task from now on; nothing else changes. */
void od_engine_look_ahead(od_engine *engine, uint64_t ahead);
/* What counts now; policy options are not among it. */
void od_engine_settings(const od_engine *engine, od_settings *settings);
/* For choosers: the driver's clocks, of processor time 0 where it has none; the lost devices; seconds that known tasks
 * take at least; whether the program waits for all that it has submitted; what that is since all was done; a job about
 * so many tasks (od_driver_ops.start_background), which is given up where it would have to run under the lock of a real
 * run; and what has been chosen, for observers. */
uint64_t od_engine_clock(const od_engine *engine);
uint64_t od_engine_processor_ns(const od_engine *engine, bool own);
unsigned od_engine_processors(const od_engine *engine);
unsigned od_engine_devices(const od_engine *engine);
od_placeset od_engine_lost(const od_engine *engine);
double od_engine_known_seconds(const od_engine *engine);
/* Of more than one known task in eight it is not known what it uses: its depend items do not say it. Or it is not known
 * yet how large any of the data are. */
bool od_engine_is_vague(const od_engine *engine);
/* Some device loads or computes clearly longer than another. */
bool od_engine_is_uneven(const od_engine *engine);
bool od_engine_is_awaited(const od_engine *engine);
const od_pattern *od_engine_pattern(const od_engine *engine);
/* By kind of task, as known now. */
const od_durations *od_engine_durations(const od_engine *engine);
void od_engine_in_background(od_engine *engine, od_background *job, size_t tasks);
void od_engine_recall(od_engine *engine, const od_recalled_graph *graph, od_recall_found *found, void *arg);
void od_engine_keep_row(const od_engine *engine, const od_recalled_graph *graph, const od_recalled_row *row);
void od_engine_chosen(od_engine *engine, const od_choice *choice);

/* --- the host ------------------------------------------------------------ */

/* A request of `nitems` items, all zero; the caller fills kind, datum (held), offset and bytes of each. NULL: out of
 * memory. */
od_request *od_request_create(uint32_t nitems);
void od_request_destroy(od_request *request);
/* complete_request follows, perhaps from inside this call; the engine has released the data by then. */
void od_engine_request(od_engine *engine, od_request *request);

/* The program begins to wait for all that it has submitted (until it submits more), or has waited: meanwhile results
 * that no task will use any more may go home. True: this has changed. */
bool od_engine_await(od_engine *engine, bool begins);

/* Synchronisation point: writes back the data outside regions and drops their replicas (those that other tasks are
 * about to use are only written back), and seals regions. NULL with OD_OK: nothing to do. */
od_status od_engine_sync_request(od_engine *engine, od_request **request);

/* True where a synchronisation point has nothing to do; and, for `quiet`, no task is known either. */
bool od_engine_is_settled(const od_engine *engine, bool *quiet);

/* --- looking at it ------------------------------------------------------- */

/* With these lookaheads (od_engine_config.ahead) all would have been the same so far; none: that is not known. */
od_ahead_range od_engine_same_ahead(const od_engine *engine);
void od_engine_device_stats(od_engine *engine, unsigned k, od_device_stats *stats);
void od_engine_stats_get(od_engine *engine, od_engine_stats *stats);
const od_choices *od_engine_choices(const od_engine *engine); /* NULL: nothing chooses */
void od_engine_keep(const od_engine *engine); /* what choosers have found is kept by the driver */
/* Changes with every event: a watchdog compares two readings. */
uint64_t od_engine_events(const od_engine *engine);
bool od_engine_is_idle(const od_engine *engine); /* no task between ready and done, no transfer, no request */
void od_engine_explain(const od_engine *engine, FILE *file); /* what goes on, in at most ten lines for the user */
void od_engine_dump(const od_engine *engine, FILE *file);
/* Checks every invariant: pools, masks, counts, lists, limits. */
bool od_engine_is_valid(const od_engine *engine);

#endif
