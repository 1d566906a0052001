/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * What the files of the runtime share, and those of omp_ext/process that start and stop it. From the bottom up:
 *
 *   lock.c          the lock, and what is carried out when it is given back
 *   places.c        devices and their numbers
 *   rivals.c        who is shown device addresses
 *   transfers.c     copies
 *   parts/learnt.c  what faults have shown of kernels
 *   parts/names.c   likewise, around the addresses by which tasks name what they use
 *   parts/touched.c faults of kernels, and what they show
 *   parts/kernels.c kernels with parts that run
 *   parts/order.c   slices that begin before the launch before has ended
 *   parts/shown.c   what kernels can do with parts
 *   parts/pages.c   what kernels touch of arrays in parts
 *   parts/late.c    page faults of slices that began early, or come late
 *   parts/serve.c   what a page fault gets a kernel
 *   parts/windows.c arrays in parts
 *   reservations.c  what is granted to host tasks before they run
 *   wait.c          threads of the program that wait
 *   requests.c      what the program asks of its data
 *   room.c          device memory for others
 *   driver.c        the engine's commands
 */
#ifndef OD_OMP_EXT_INTERNAL_H
#define OD_OMP_EXT_INTERNAL_H

#include "memmgr/device/host_copy.h"
#include "omp_ext/runtime/devices.h"
#include "omp_ext/runtime/planner.h"
#include "omp_ext/runtime/runtime.h"
#include "omp_ext/runtime/workers.h"
#include "omp_ext/services/service.h"
#include "util/lock.h"

#pragma GCC visibility push(hidden)

/* Of the calling thread's own copies (omp_ext/runtime/own_copies.h). */
typedef struct od_copy_ops {
    /* Makes them, which is one event, and will make so many bytes' that follow. Called without the lock, returns with
     * it. Nothing is reported to libomp in between: it might run a task of the program's here, which might wait for
     * what these copies bring. */
    void (*make)(size_t most_bytes);
    /* Under the lock: they are for other threads. */
    void (*leave)(void);
} od_copy_ops;

typedef struct od_runtime_state {
    od_lock lock;           /* protects the engine, the queues, the outbox, and what has been learnt */
    pthread_cond_t changed; /* a waiter's flag has been set */
    od_options options;
    od_backend backend;
    od_engine *engine;
    const od_job_ops *jobs;
    const od_copy_ops *copies;
    od_transfer_queues *transfers;
    od_host_copies *host_copies;
    od_workers *workers;
    od_planner *planner;
    od_devices devices;
    int virtual_number;
    int kernel_threads;                 /* od_runtime_kernel_threads() */
    od_topology *links;                 /* of the machine */
    od_job *jobs_done, **jobs_done_end; /* outbox: completed jobs */
    od_waiter *requests_done;           /* outbox: completed requests with a notify */
    od_gate *gates;                     /* outbox: gates to be opened */
    unsigned nreservations;             /* granted and not ended */
    od_list offered;                    /* od_job.live: of these, those that may be revoked, oldest offer first */
    unsigned waiting;                   /* threads of the program that wait for `changed` */
    od_list live;                       /* od_job.live: submitted, with an event, not complete */
    bool single_device;
    bool divided;        /* a region has been in parts */
    bool mandatory;
    uint64_t start_ns;
    unsigned busy;       /* transfers and jobs that the driver is carrying out */
    pid_t process;       /* whose threads we have */
    bool inherited;      /* from the process that has forked this one: that one reports */
    unsigned onlookers;  /* threads that wait for `changed` and want to look after each event */
    bool stopping;       /* and nothing new is started */
    bool abandoned;      /* libomp is ending, and gets no more reports */
    atomic_uint reporting; /* threads that report to libomp, without the lock, what has completed */
    bool deferred;        /* a thread counts the seconds of tasks that wait for what the program holds */
    bool must_reclaim;         /* the back-end has been notified of host memory that it must forget */
    unsigned reclaiming;       /* threads that wait until it has; none goes back to the program before */
    /* Set when the lock is given back, to be looked at without it by those who come after what has changed them: */
    atomic_bool settled; /* a synchronisation point would do nothing, */
    atomic_bool quiet;   /* nor would the beginning of a wait */
    atomic_bool has_regions;
} od_runtime_state;

extern od_runtime_state od_runtime;

/* --- lock.c --- */

extern const od_workers_ops od_runtime_workers_ops;
/* Jobs that the calling thread is inside of. */
extern _Thread_local unsigned od_own_jobs __attribute__((tls_model("initial-exec")));

/* Gives the lock back; what has been noted for libomp stays noted. */
void od_runtime_release(void);
/* The calling thread runs the job when it gives the lock back, as its event has started it and it is short. Else
 * false. */
bool od_runtime_run_inline(od_job *job);
/* Under the lock: those that the calling thread has not begun are for workers. */
void od_runtime_leave_inline_jobs(void);
/* What the engine learns of a job that has ended. */
void od_runtime_note_duration(const od_job *job);

/* --- places.c --- */

/* What services are notified of. */
od_run od_runtime_run(void);
extern const char od_single_device_text[];

/* --- transfers.c --- */

/* The calling thread copies within the host as soon as it waits. */
extern _Thread_local bool od_helps_to_copy __attribute__((tls_model("initial-exec")));

/* For od_driver_ops and od_transfer_config. */
void od_runtime_start_transfer(void *driver, od_transfer *transfer);
void od_runtime_transfer_done(void *arg, od_transfer *transfer, od_status status);
/* Under the lock: gives it to the threads that copy; a copy has ended. */
void od_runtime_submit_transfer(od_transfer *transfer);
void od_runtime_end_transfer(od_transfer *transfer, od_status status);
extern const od_copy_ops od_runtime_copy_ops;
/* A copy has failed. Without the lock. */
void od_runtime_probe_both(const od_transfer *transfer);

/* --- windows.c, under the lock --- */

/* For od_driver_ops. */
void od_runtime_occupy(void *driver, od_datum *datum, unsigned k);
void od_runtime_discard_part(void *driver, od_datum *datum, unsigned k);

/* What a kernel has touched: an address in a window, and around it what it may use from now on. */
typedef struct od_touch {
    const od_window *window;
    uintptr_t host;    /* address, as the next one */
    uintptr_t opened;
    size_t size;       /* of what is opened, in bytes */
    bool write;
    bool gradually; /* more and more is opened at once, as more is used */
} od_touch;

/* --- learnt.c, under the lock --- */

/* The kernel has touched more of this argument than depend clauses say; `named`: but that is being learnt. */
void od_runtime_note_more(const void *kernel, unsigned argument, bool named, bool write);
typedef struct od_learnt_strides {
    od_strides strides;
    bool seen; /* by a kernel of which all that it touched was seen, and later ones have touched little more */
    unsigned failures; /* later ones that have touched more */
    unsigned mixed;    /* of which it was not sure what was theirs: others ran on the device, too */
    unsigned guesses;  /* of which other strides say as much */
    unsigned contradicted; /* how often one that was alone showed another stride than its array's */
} od_learnt_strides;
/* Too little was known of what it touches; it may be nothing that can be known. */
void od_runtime_note_failure(const void *kernel, int32_t argument, od_learnt_strides *learnt);
/* Around its argument's item with this number, to be changed. NULL: nothing is known, or there is no room. */
od_learnt_strides *od_runtime_known_strides(const void *kernel, int32_t argument, uint32_t number, bool add);

/* --- names.c, under the lock --- */

/* Whether the task names what it uses of this argument; names may be NULL. */
bool od_runtime_is_named(const od_names *names, int32_t argument);
void od_runtime_note_touched(od_names *names, const od_touch *touch);
/* Its kernel is about to run; all that it touches is to have page faults, until as much as it takes is known of it. */
void od_runtime_begin_to_learn(const od_task *task);
/* Another kernel runs on its device meanwhile: whose page faults there are is not known. */
void od_runtime_disturb_learning(const od_task *task);
bool od_runtime_learns(const od_task *task);
/* What was found of an array counts if it is divided again. */
void od_runtime_recall_tiling(od_window *window);
/* Its kernel has ended. */
void od_runtime_end_to_learn(const od_task *task);

/* --- touched.c, under the lock --- */

/* A kernel of this task has touched what its task has not named, or, of a slice, what it has not been seen to use. */
void od_runtime_note_fault(const od_task *task, const od_touch *touch);
/* All that its kernel touches is to show, although its task has named it. */
bool od_runtime_is_watched(const od_task *task);
/* How many pages around the address, of those in a range of host addresses, a slice is known to use in the same way.
 * UINT32_MAX: pages here and there. */
uint32_t od_runtime_pages_around(const od_task *task, const od_touch *touch, od_span within);

/* --- kernels.c, under the lock --- */

enum { OD_RUNTIME_VIEWS = OD_MAX_DEVICES + 1 };
typedef struct od_running_kernels {
    od_task **task; /* malloc'ed */
    unsigned count, capacity;
} od_running_kernels;
extern od_running_kernels od_runtime_kernels[OD_RUNTIME_VIEWS];
void od_runtime_begin_kernel(od_task *task, unsigned k);
void od_runtime_end_kernel(const od_task *task, unsigned k);
/* A kernel runs on device k whose task is on the host (od_runtime_open_pages()). */
bool od_runtime_runs_by_pages(unsigned k);
/* Single pages that may be protected apart from what is around them. */
size_t od_runtime_most_pages(void);
/* What the kernels that run on a device may do with a datum, by what their tasks have named. */
od_window_access od_runtime_granted(const od_datum *datum, unsigned k);
/* The window and the device on which a running kernel's fault may be. NULL: there is none. */
od_window *od_runtime_find_window(uintptr_t at, unsigned *k, uintptr_t *host);
/* Of all kernels that run there: which one it was is not known. */
void od_runtime_note_faults(unsigned k, const od_datum *part, uint64_t since_ns, const od_touch *touch);

/* --- shown.c, under the lock --- */

/* The pages that the host range touches; ends the program where the system cannot. */
void od_runtime_protect(const od_window *window, unsigned k, uintptr_t base, size_t size, od_window_access access);
/* Kernels on device k can do this with it from now on; ends the program where the system cannot. The part is not lent,
 * here and below. */
void od_runtime_show(od_datum *datum, unsigned k, od_window_access access);
/* They can already. */
void od_runtime_note_shown(od_datum *datum, unsigned k, od_window_access access);
/* A kernel that has used it, and may have written it, has ended. */
void od_runtime_leave_part(od_datum *datum, unsigned k, bool written);
/* It is about to be copied to or from there: nobody writes to it unnoticed. */
void od_runtime_share_part(od_datum *datum, unsigned k);
/* It is not there any more: kernels that do not use it cannot read it either. */
void od_runtime_hide_part(od_datum *datum, unsigned k);
/* Kernels that do not use it have to ask: on all devices; on one, for all parts of a window, as far as the
 * system permits. */
void od_runtime_hide_unused(od_datum *datum);
void od_runtime_hide_window(const od_window *window, unsigned k);

/* --- pages.c, under the lock --- */

typedef struct od_page_given { /* to a kernel */
    od_datum *part; /* it is of */
    uintptr_t begin;
    size_t size; /* of what lies in the array */
} od_page_given;
struct od_fault;
/* A kernel on device k, or outside, has a fault in the page that begins at this host address, and gets it. OD_EBUSY:
 * not now; OD_ENOMEM. */
od_status od_runtime_give_page(od_window *window, uintptr_t page, unsigned k, const struct od_fault *fault,
                               od_page_given *given);

/* --- serve.c, under the lock --- */

od_status od_runtime_watch_pages(void);

/* --- reservations.c, under the lock --- */

/* The gate opens at the next unlock. */
void od_runtime_open_gate(od_job *job);
void od_runtime_grant_reservation(od_job *job);
/* Reservations that have been offered since before this moment; those that are shown then only keep no task from
 * running. */
void od_runtime_revoke_before(uint64_t before_ns, bool shown_too);
/* A thread counts the seconds of tasks that wait for what the program holds. False: there is none to be had now. */
bool od_runtime_start_retries(void);

/* --- wait.c, under the lock but the first --- */

/* Of threads that wait in their team: they ask for the ends of kernels. Without the lock. */
extern const od_team_duty od_runtime_duty;
/* The calling thread will wait for the flag, alone. */
void od_runtime_prepare_to_wait(const bool *flag);
/* The calling thread is about to go back to the program: it waits for those that reclaim. */
void od_runtime_await_reclaimed(void);

enum { OD_PATIENCE_S = 2 };
/* Under the lock, by an onlooker: until the condition holds, or that time is over. True: it holds. */
bool od_runtime_wait_patiently(bool (*condition)(const void *arg), const void *arg);

/* --- driver.c --- */

extern od_driver_ops od_runtime_driver_ops;

/* A background job of the engine's has run. */
void od_runtime_background_done(od_background *job);

/* --- omp_ext/process/stop.c --- */

/* A handler of exit(). */
void od_runtime_begin_to_end(int status, void *arg);
/* For od_interrupt_start(). */
void od_runtime_report_interrupted(int signal);
void od_runtime_show_state(bool internals);

/* --- omp_ext/process/start.c: for od_process --- */

void od_runtime_start(void);
void od_runtime_revive(void);

#pragma GCC visibility pop

#endif
