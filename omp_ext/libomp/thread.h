/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * What the constructs that a thread meets mean just now.
 *
 *   PLAIN         the program's own code: constructs are carried out, and waited for
 *   CAPTURE       our trampoline runs a target task's entry to learn its launch: nothing is carried out
 *   INSPECT       a data construct's entry is run to see its list (omp_ext/tasks/constructs.h)
 *   HOST_VERSION  a region's host version runs: a launch answers "not on a device"
 *   ON_DEVICE     a host task whose data are reserved on a device (omp_ext/tasks/reservation.h): its constructs use
 * them
 *                 there
 */
#ifndef OD_OMP_EXT_THREAD_H
#define OD_OMP_EXT_THREAD_H

#include "memmgr/device/backend.h"
#include "omp_ext/libomp/abi.h"
#include "sched/split/split.h"
#include "util/lock.h"

typedef struct od_parent od_parent;   /* team.h */
typedef struct od_entry od_entry;     /* omp_ext/tasks/entry.h */
typedef struct od_job od_job;         /* omp_ext/runtime/work.h */
typedef struct od_capture od_capture; /* omp_ext/runtime/work.h */
typedef struct od_slice od_slice;     /* omp_ext/slices/slice.h */
typedef struct od_task od_task;       /* sched/task.h */

typedef enum od_thread_mode { OD_PLAIN, OD_CAPTURE, OD_INSPECT, OD_HOST_VERSION, OD_ON_DEVICE } od_thread_mode;

/* An allocation by __kmpc_omp_task_alloc. */
typedef struct od_allocation {
    void *task;
    size_t size, shareds; /* bytes */
    int32_t flags;        /* as the program gave them */
    bool is_uncounted;    /* given to libomp like that, by a thread that is alone (serial.h) */
} od_allocation;

/* An explicit task and the target tasks that it creates. */
typedef struct od_family {
    bool has_children;       /* there are some */
    od_parent *parent;       /* the task, whose end waits for them or leaves them; NULL: an implicit one (od_member) */
    struct od_family *outer; /* it is undeferred: of the task around it; malloc'ed */
} od_family;

typedef struct od_thread {
    od_thread_mode mode;
    od_capture *capture;      /* CAPTURE */
    const struct od_inspection *inspection; /* INSPECT */
    struct od_gate *gate;     /* ON_DEVICE */
    od_job *job;              /* HOST_VERSION; ON_DEVICE: the gate's, while a construct uses it, else NULL */
    int place;                /* ON_DEVICE: where the job's data are */
    unsigned shown;           /* ON_DEVICE: data constructs open in which the job's data are in use */
    od_entry *learning;       /* PLAIN: the host task whose first run this is */
    bool offloads, unsuited;  /* what it has done so far: offload; something that must stay in place */
    const od_depend *depends; /* its depend items */
    int32_t ndepends;
    const void *detachable;  /* the task allocated last, if we have made it detachable */
    const void *claimed;     /* likewise a target task that a scheduler runs, not submitted yet */
    od_allocation allocated; /* the task allocated last */
    const char *task_name;   /* od_tracing_name() of the next scheduled task that it creates, or NULL */
    struct {                 /* omp_ext/split/split.c */
        uint16_t next;       /* what the next target task is that it creates, or 0 */
        bool was_split;      /* that was to be split */
        uint16_t parent[OD_SPLIT_LEVELS]; /* by level: the task that it has split last, and has not done with; or 0 */
        uint8_t to[OD_SPLIT_LEVELS];      /* and to which level; 0: as the rule says of each child */
    } split;
    const char *body_name;   /* of the host task that runs here: its constructs' where they have none, or NULL */
    od_family family;        /* of the explicit task that runs here (tasks.c) */
    unsigned serial_loops;   /* taskloops of teams of one thread that run here (serial.h) */
    unsigned holds;          /* PLAIN: constructs open in which the program was shown device addresses */
    int held_place;          /* and the device of these */
    uint64_t shown_host;     /* one bit per construct that shows addresses, the innermost lowest: of host memory */
    struct od_shown_own *shown_own; /* what the innermost construct shows that shows the job's data (hooks/shown.c) */
    struct od_reach *reach;  /* of the innermost such construct in whose data pointers are attached, or NULL */
    bool entered;            /* a device is current on the thread (queue.h) */
    unsigned entered_place;  /* which one of ours */
    od_queue *queue;         /* of it, that the program has been given, or NULL */
    bool launching;          /* a kernel, which libomptarget may leave running: it keeps its state in */
    void *async_handle;      /* this, NULL when the kernel has ended */
    unsigned kernels;        /* kernels and host versions of regions running here: their parallel regions and tasks are
                              * their own, not the program's */
    int league;              /* in a team of a league: omp_get_level() + 1 there; else 0 */
    od_task *awaited;        /* the kernel that runs here, on a thread of the program, or NULL */
    bool stands_in;          /* for a worker, which would have to be woken to run that kernel */
    const od_slice *slice;   /* of the kernel that runs here, of whose iterations it is a part, or which is watched */
    unsigned slice_locks;    /* critical sections open here that exclude those of other slices */
    unsigned sections;       /* and those that do not */
    unsigned slice_reductions; /* of slice_locks, reductions */
    int thread_limit;        /* CAPTURE: what the task's clause says, or 0 */
    bool own_default_device; /* this thread called omp_set_default_device */
} od_thread;

/* Every hook looks at it, also in programs that offload nothing: no call for its address. */
extern _Thread_local od_thread od_self __attribute__((visibility("hidden"), tls_model("initial-exec")));

/* The calling thread begins to wait for a grant of the engine's, or ends what it has been granted. */
void od_thread_note_grant(bool begins);
/* The calling thread is, or is not, at a task scheduling point of the program, where only libomp runs code of the
 * program. Returns what it was before. */
bool od_thread_at_scheduling_point(bool is);
/* False where a task that libomp ran on the calling thread just now could wait for what the thread holds, or has to do:
 * for a lock of the program's, too, outside of task scheduling points. */
bool od_thread_may_run_tasks(void);

/* The code of the target task that runs on the calling thread comes to where libomp may run other tasks on top of it:
 * it is the host's version, and nothing of it is captured. */
void od_thread_leave_capture(void);

/* The task that runs here is final: those that it creates are to run at once. */
bool od_thread_in_final(void);

/* Locks of the program. A thread that waits at a barrier runs any task: not while it holds a lock, or is in a critical
 * section, which that task may want. */
void od_thread_note_lock(bool taken);
bool od_thread_holds_locks(void);

/*
 * How floating-point arithmetic rounds, treats denormal numbers and traps (femode_t). A kernel of a target task runs
 * with the modes of the thread that runs the task. With hidden helper threads libomp runs it on one of these, which
 * have the modes of the thread that has created the first target task.
 */
typedef struct od_modes {
    uint64_t word;
} od_modes;

void od_thread_note_target_task(void); /* one is created */
od_modes od_thread_task_modes(void);   /* the calling thread runs it */
od_modes od_thread_modes(void);        /* of the calling thread now */
void od_thread_set_modes(od_modes modes);

#endif
