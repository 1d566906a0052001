/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * What the runtime carries out.
 *
 *   launch    a kernel, with all that its call points to
 *   job       the driver's object around an engine task: a captured target task, what is reserved for a host task,
 *             or a construct of a thread that waits
 *   waiter    for the end of a request of the engine's
 *   worker    a thread that runs jobs of one place (a device, or the host)
 */
#ifndef OD_OMP_EXT_WORK_H
#define OD_OMP_EXT_WORK_H

#include "memmgr/device/backend.h"
#include "memmgr/window/cut.h"
#include "omp_ext/libomp/abi.h"
#include "omp_ext/libomp/teams/team.h"
#include "omp_ext/libomp/thread.h"
#include "sched/engine/engine.h"

typedef struct od_slice od_slice;     /* omp_ext/slices/slice.h */
typedef struct od_entry od_entry;     /* omp_ext/tasks/entry.h */
typedef struct od_structs od_structs; /* omp_ext/maps/structs/structs.h */
typedef struct od_names od_names;     /* omp_ext/runtime/parts/names.c */
typedef struct od_runner od_runner;

/* A call of __tgt_target_kernel: what compiled code passes. */
typedef struct od_kernel_call {
    od_ident *ident;
    int32_t teams, threads;
    int thread_limit;    /* of the target task around it; 0: that of the thread on which it runs */
    void *kernel;        /* host entry: identifies the region */
    od_kernel_args args; /* what libomptarget gets where the call passes through */
    od_map_args map;     /* its map list, as far as it has been made simple */
    const od_slice *slice; /* a part of its iterations, or it is watched (omp_ext/slices/slices.h); NULL: neither */
    od_runner *runner;   /* who runs it on its device; NULL: od_launch_run() */
    bool apart;          /* no other kernel runs meanwhile (omp_ext/slices/gpus/apart.h): it is none of those */
    od_structs *structs; /* what its map list has lost when it was flattened; NULL: nothing */
    const void *from;    /* of the program, where it is called */
} od_kernel_call;

/* A kernel launch as the program wrote it, deeply copied. */
typedef struct od_launch {
    od_kernel_call call; /* its map list lies in `storage`, `structs` is the launch's */
    uint32_t hidden;     /* of the arguments the last so many, which are the task's data but not passed to the kernel */
    int32_t *access_of;  /* per argument: index into the task's accesses, or -1; in `storage` */
    od_names *names;     /* by which its task says what it uses of arrays, and what faults have shown; NULL: nothing */
    void **rewritten;    /* room for five arrays of arguments as a device gets them; in `storage` */
    void *storage;       /* malloc'ed: the arrays, and copies of private arguments */
} od_launch;

/* Runs a launch whose task has its data on device k, as od_launch_run() does, and waits for its end. 0: done. */
struct od_runner {
    int (*run)(od_runner *runner, const od_launch *launch, const od_task *task, unsigned k);
};

typedef enum od_captured {
    OD_CAPTURED_NOTHING,
    OD_CAPTURED_LAUNCH,
    OD_CAPTURED_DONE,
    OD_CAPTURED_REQUESTS
} od_captured;

/* What a target task's entry turned out to do. */
typedef struct od_capture {
    od_captured what;
    od_launch launch;      /* LAUNCH */
    struct od_request_group *requests; /* REQUESTS: under way, to be carried out before the task completes */
    const struct od_thread *outside; /* the thread as it was before */
    bool has_turn;                   /* among tasks with in_reduction */
} od_capture;

typedef enum od_job_kind {
    OD_JOB_KERNEL,      /* a captured target task: a worker launches it */
    OD_JOB_RESERVATION, /* for a host task that offloads from inside (omp_ext/tasks/reservation.h) */
    OD_JOB_SYNC,        /* a thread of the program waits for the grant and runs it itself */
} od_job_kind;

/* What page faults have shown of one run of a slice (omp_ext/slices/footprint.h). */
enum { OD_TOUCHED_ARGUMENTS = 32, OD_FEW_PAGES = 16 };
typedef struct od_touched_pages {
    od_page_set read, written;
    od_page_set ahead;   /* opened to be read, with others, which it may do without */
    od_page_set opened;  /* likewise to be written */
    unsigned scattered;  /* faults beside no other page of theirs */
    uintptr_t lowest;    /* address that was written; 0: none */
} od_touched_pages;
typedef struct od_touched {
    unsigned arguments, slices;
    bool learns; /* nothing is known yet: it is to show what it uses of what its task has, too */
    od_touched_pages pages[]; /* by argument */
} od_touched;

typedef struct od_job {
    od_task task;
    od_job_kind kind;
    od_launch launch;    /* of a kernel */
    od_task_entry entry; /* the compiled task's code, for host versions */
    void *kmp_task;
    od_task_entry destructor; /* KERNEL: of the task's private objects, or NULL */
    od_modes modes;           /* KERNEL: of arithmetic, with which it runs (omp_ext/libomp/thread.h) */
    od_detached detached;     /* libomp's task; of a reservation, its gate's until it is granted */
    struct od_gate *gate;     /* RESERVATION */
    od_entry *cost;           /* where its duration is recorded */
    od_entry *code;           /* and where as that of its compiled task, or NULL */
    bool granted;             /* SYNC, RESERVATION: the engine has started it */
    bool completed;           /* SYNC: the engine is done with it */
    bool again;               /* KERNEL, SYNC: it has not been able to run, and is submitted once more */
    bool offered;             /* RESERVATION: nothing uses it just now, it may be revoked (od_runtime.offered) */
    bool shown;               /* RESERVATION: the program holds device addresses of its data, or a queue: it stays */
    bool blocked;             /* RESERVATION: shown, and it keeps no other task from running meanwhile */
    bool used;                /* RESERVATION: its data have been shown, or a kernel has run on them */
    uint64_t offered_ns;      /* RESERVATION: since when */
    int granted_place;        /* SYNC, RESERVATION */
    uint64_t number;          /* in the recording of the run (omp_ext/services/record/record.h), or 0 */
    double seconds;           /* that its last run took */
    uint64_t start_ns;        /* of the run */
    bool is_short;            /* as far as is known, a kernel that the thread which begins it waits for */
    od_depend *depends;       /* of its task, malloc'ed, for the trace; NULL: none, or none is written */
    int32_t ndepends;
    const char *name;    /* that the program has given the task (od_tracing_name), or NULL */
    uint16_t split;      /* od_split_take() */
    int running_on;      /* its place */
    unsigned attempts;   /* to be shown device addresses, of its own thread (od_job_has_rivals) */
    void *handle;        /* libomptarget's, of a kernel that is still running, or NULL */
    od_ticket *ticket;   /* of what a host task has queued on its device, or NULL */
    od_request *after;   /* KERNEL: a request to carry out before its completion (map(always, from)) */
    od_touched *touched; /* KERNEL, of a slice: what it has touched beside its part; else NULL */
    void (*ended)(struct od_job *job); /* of a slice: instead of libomp's task, takes the job; without the lock */
    void *slices;        /* ended's */
    struct od_turn *turn; /* of a slice: omp_ext/runtime/parts/order.h; else NULL */
    od_node live;        /* in the runtime's list of jobs with an event, or of offered reservations */
    struct od_job *next; /* in a worker queue or the outbox */
} od_job;

/* A task of ours that goes before a host task (omp_ext/tasks/reservation.h). */
typedef struct od_gate {
    struct od_record *record; /* of the host task, which runs after the gate */
    od_detached detached;     /* the gate task's completion */
    od_job *job;              /* the reservation: granted, not ended, not revoked; or NULL. Runtime lock */
    unsigned holders;         /* of the record and the job; runtime lock */
    struct od_gate *next;     /* in the runtime's outbox */
} od_gate;

typedef struct od_waiter { /* for the end of a request, or of several */
    bool done;
    size_t left; /* requests that have not ended, where a thread waits */
    void (*notify)(struct od_waiter *waiter); /* NULL: a thread waits; else called without the lock when done */
    od_request *request;                      /* notify's */
    struct od_waiter *next;
    void *group; /* notify's */
} od_waiter;

/* What is done with jobs that the engine has started. */
typedef struct od_job_ops {
    od_status (*run)(od_job *job, int place);     /* without the lock. OD_EBUSY: its device is still at work */
    od_status (*poll)(od_job *job);               /* likewise: says when not any more */
    bool (*blocks)(const od_job *job, int place); /* whether running it keeps the thread for longer than a launch */
    /* Likewise where nothing is known: its device has been seen to go on by itself, and it is a kernel there. */
    bool (*only_launches)(const od_job *job, int place);
    void (*finish)(od_job *job);         /* without the lock: it is complete; takes it */
    od_job *(*again)(const od_job *job); /* one that does the same once more, for the engine; or NULL */
    void (*destroy)(od_job *job);        /* such a one */
} od_job_ops;

#endif
