/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The runtime: the real driver of the engine.
 *
 * One lock protects the engine and everything beside it; it is never held
 * while a kernel runs, while bytes are copied, or while libomp or libomptarget is called. Commands that
 * call out (a task or request is complete) are noted under the lock and carried out by
 * od_runtime_unlock(). Lock order: runtime lock, then a transfer queue's.
 *
 *   job       the driver's object around an engine task: a captured target task, what is reserved for a host task,
 *             or a construct of a thread that waits
 *   worker    a thread that runs jobs of one place (a device, or the host)
 */
#ifndef OD_OMP_EXT_RUNTIME_H
#define OD_OMP_EXT_RUNTIME_H

#include "memmgr/device/transfer_queues.h"
#include "omp_ext/libomp/abi.h"
#include "omp_ext/libomp/detach.h"
#include "sched/engine/engine.h"
#include "util/options.h"

#include <pthread.h>
#include <stdatomic.h>

typedef struct od_entry od_entry; /* omp_ext/tasks/entry.h */

typedef struct od_structs od_structs; /* omp_ext/maps/structs.h */

/* A call of __tgt_target_kernel: what compiled code passes. */
typedef struct od_kernel_call {
    od_ident *ident;
    int32_t teams, threads;
    void *kernel; /* host entry: identifies the region */
    od_kernel_args args;
    od_structs *structs; /* what its map list has lost when it was flattened; NULL: nothing */
    const void *from;    /* of the program, where it is called */
} od_kernel_call;

/* A kernel launch as the program wrote it, deeply copied. */
typedef struct od_launch {
    od_kernel_call call; /* its arrays lie in `storage`, `structs` is the launch's */
    uint32_t hidden;     /* of the arguments the last so many, which are the task's data but not passed to the kernel */
    int32_t *access_of;  /* per argument: index into the task's accesses, or -1; in `storage` */
    void **rewritten;    /* room for four arrays of arguments as a device gets them; in `storage` */
    void *storage;       /* malloc'ed: the arrays, and copies of private arguments */
} od_launch;

typedef enum od_job_kind {
    OD_JOB_KERNEL,      /* a captured target task: a worker launches it */
    OD_JOB_RESERVATION, /* for a host task that offloads from inside (omp_ext/tasks/reservation.h) */
    OD_JOB_SYNC,        /* a thread of the program waits for the grant and runs it itself */
} od_job_kind;

typedef struct od_job {
    od_task task;
    od_job_kind kind;
    od_launch launch;    /* of a kernel */
    od_task_entry entry; /* the compiled task's code, for host versions */
    void *kmp_task;
    od_task_entry destructor; /* KERNEL: of the task's private objects, or NULL */
    od_detached detached;     /* libomp's task; of a reservation, its gate's until it is granted */
    struct od_gate *gate;     /* RESERVATION */
    od_entry *cost;           /* where its duration is recorded */
    od_entry *code;           /* and where as that of its compiled task, or NULL */
    bool granted;             /* SYNC, RESERVATION: the engine has started it */
    bool completed;           /* SYNC: the engine is done with it */
    int granted_place;        /* SYNC, RESERVATION */
    uint64_t number;          /* in the recording of the run (omp_ext/services/record.h), or 0 */
    double seconds;           /* that its last run took */
    uint64_t start_ns;        /* of the run */
    const char *name;         /* that the program has given the task (od_tracing_name), or NULL */
    uint64_t from_ns, to_ns;  /* of the run without the time behind others on the device */
    int running_on;           /* its place */
    unsigned attempts;        /* to be shown device addresses, of its own thread (data.c) */
    void *handle;             /* libomptarget's, of a kernel that is still running, or NULL */
    od_ticket *ticket;        /* of what a host task has queued on its device, or NULL */
    od_request *after;        /* KERNEL: a request to carry out before its completion (map(always, from)) */
    od_node live;             /* in the runtime's list of jobs with an event, or of reservations that have not begun */
    struct od_job *next;      /* in a worker queue or the outbox */
} od_job;

typedef struct od_waiter { /* for the end of a request */
    bool done;
    void (*notify)(struct od_waiter *waiter); /* NULL: a thread waits; else called without the lock when done */
    od_request *request;
    struct od_waiter *next;
    void *group; /* notify's */
} od_waiter;

/* Parses the options and resolves the entry points: once, when the library is loaded, or before, when a constructor of
 * another library brings device code; where there was no offload runtime then, when the program has opened a library that brings
 * one. A bad option ends the process before any work starts, with exit code 2. */
void od_runtime_load(void);
extern atomic_bool od_runtime_watches __attribute__((visibility("hidden")));
/* True in programs without an offload runtime, and where the library has been off from the start: hooks forward at once. */
static inline bool od_runtime_is_idle(void)
{
    return !atomic_load_explicit(&od_runtime_watches, memory_order_relaxed);
}

/* True where constructs are to be scheduled; starts everything at the first call. */
bool od_runtime_active(void);
/* True where the library is not off and the program has brought device code. Starts nothing. */
bool od_runtime_offloads(void);
/* True once started, until the process ends. */
bool od_runtime_started(void);
/* True once exit() has been called: tasks that libomp still has are not carried out any more, and constructs that the program
 * meets nevertheless are carried out by the thread that meets them. */
bool od_runtime_ending(void);
/* Once the process unloads its device code, threads other than the one that ends it do not return from here: what they are
 * about to call is being torn down. They end with the process. */
void od_runtime_rest_if_ended(void);
/* Around what a thread of the program lets libomptarget do: the end of the process waits for it. The first may not return,
 * as od_runtime_rest_if_ended. */
void od_runtime_enter_libomptarget(void);
void od_runtime_leave_libomptarget(void);
/* True once nothing is scheduled any more. */
bool od_runtime_ended(void);
/* The last of the program's device images is about to be unloaded: all ends, if the process does. */
void od_runtime_last_image(void);
/* Nothing in this program is to be scheduled; before the start. */
void od_runtime_switch_off(const char *why);
/* The program has brought device code. */
void od_runtime_has_images(void);
const od_options *od_runtime_options(void);

od_engine *od_runtime_lock(void);
/* Like it, but short kernels that the engine starts before the unlock are run by the calling thread at the unlock:
 * to wake a worker would take longer than they do. */
od_engine *od_runtime_lock_inline(void);
/* Like it, for a thread that then waits, alone, for the flag (od_runtime_wait): it makes small copies itself. */
od_engine *od_runtime_lock_to_wait(const bool *flag);
void od_runtime_unlock(void);
/* The calling thread begins to wait for a grant, or ends what it has been granted. */
void od_runtime_note_grant(bool begins);
/* False where a task that libomp ran on the calling thread just now could wait for what the thread holds, or has to do. */
bool od_runtime_may_run_tasks(void);
/* Waits under the lock until *flag is set. */
void od_runtime_wait(const bool *flag);

/* Submits a request and waits; NULL: nothing to do. Takes the request. */
void od_runtime_request(od_request *request);
/* Likewise under the lock, which is gone at the end. */
void od_runtime_request_and_unlock(od_engine *engine, od_request *request);
/* Submits requests (NULL ones are skipped) and returns; completes the task, if any, when all are complete. */
void od_runtime_request_async(od_request *const *requests, size_t n, od_detached task);
/* Brings the data outside regions home: what a taskwait, taskgroup, barrier or join promises. */
void od_runtime_synchronise(void);
/* Makes host memory current for [base, base+size) and forgets device copies, or only reads. Blocks. */
void od_runtime_host_range(uintptr_t base, size_t size, od_request_kind kind);

unsigned od_runtime_ndevices(void);
od_backend *od_runtime_backend(void);
/* A job with an event is about to be given to the engine. Under the lock. */
void od_runtime_note_job(od_job *job);
/* The reservation of a host task whose body begins now, or NULL: none was granted, or it has been revoked. */
od_job *od_runtime_take_reservation(struct od_gate *gate);
/* A thread of the program is about to wait for this SYNC job, and may be the one that would begin tasks whose reservations hold
 * its data: these are revoked. Under the lock. */
void od_runtime_revoke_for(const od_job *waiting);
/* Likewise where the thread waits for any data to be idle. */
void od_runtime_revoke_all(void);
/* The body has ended. `used`: on its data. */
void od_runtime_end_reservation(od_job *job, bool used);
/* The body has ended, and the device is at work on what it has queued there (od_job.ticket). */
void od_runtime_watch_reservation(od_job *job);
/* Something has failed at a place: a device that does not answer any more is taken out of service. Without the lock. */
void od_runtime_probe(int place);
int od_runtime_device_number(unsigned k); /* OpenMP's number of our device k */
/* Our device with OpenMP's number n, or OD_NOWHERE. */
int od_runtime_device_index(int n);
/* OpenMP's number of the virtual device: the default device's, as long as the program sets no other. */
int od_runtime_virtual_number(void);
/* How many threads a region gets that begins on a worker, in a kernel on a host device or in a host version. */
int od_runtime_kernel_threads(void);
/* Our device whose pool contains the address, or OD_NOWHERE. */
int od_runtime_pool_of(uintptr_t address);
void *od_runtime_address(const od_datum *datum, unsigned k); /* device address of a replica */
/* The program has device globals: only device 0 is used from now on. */
void od_runtime_single_device(void);
/* The one device that new tasks may use, or OD_NOWHERE: any. */
int od_runtime_required_device(void);
/* Waits, for two seconds at most, until no job is under way for which `is` holds. */
void od_runtime_await_jobs(bool (*is)(const od_job *job, const void *arg), const void *arg);

/* Runs a job on the calling worker. OD_EBUSY: its device is still at work; od_job_poll() says when not any more. job.c
 * implements these. */
od_status od_job_run(od_job *job, int place);
od_status od_job_poll(od_job *job);
/* Whether threads other than its own are being shown device addresses. data.c */
bool od_job_has_rivals(const od_job *job);
/* Whether running it keeps the thread for longer than a launch. */
bool od_job_blocks(const od_job *job, int place);
void od_job_destroy(od_job *job);

/* Around a fork: in between, nobody else holds the lock. The child has none of our threads; they are started again when it
 * meets a construct. */
void od_runtime_before_fork(void);
void od_runtime_after_fork(bool child);

#endif
