/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Teams of the program's threads, and how these wait: blocked, but for whatever there is to do for them.
 *
 *   team      the threads of a parallel region, or a thread outside of any
 *   member    a thread's part in a team
 *   parent    a task, implicit or explicit, and those of its children that the library will complete
 *   posted    a completion that a device has left with the team, for a thread of it to pass on to libomp
 *
 * A thread that waits here passes on what is posted, and runs tasks of libomp's queues when notified that there may be
 * some. When there is nothing to do it sleeps until somebody has something for it: a completion, a task, the end of
 * what it waits for.
 */
#ifndef OD_OMP_EXT_TEAM_H
#define OD_OMP_EXT_TEAM_H

#include "omp_ext/libomp/abi.h"
#include "omp_ext/libomp/returned.h"

#include "util/lock.h"
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct od_member od_member;
typedef struct od_sleeper od_sleeper;

typedef struct od_children {
    atomic_uint pending; /* that we are to complete, and have not */
    atomic_uint events;  /* whose events the program has not fulfilled */
} od_children;

static inline atomic_uint *od_children_count(od_children *children, bool programs)
{
    return programs ? &children->events : &children->pending;
}

typedef struct od_taskgroup {
    od_children children; /* of the task that has begun it, created since */
    struct od_taskgroup *outer;
} od_taskgroup;

typedef struct od_parent {
    od_member *member; /* of the thread that runs the task, which is tied */
    const void *task;  /* libomp's, of an explicit one */
    bool elsewhere;    /* it runs where od_member_is_elsewhere() */
    bool has_had_any;  /* children */
    bool has_ended;    /* before them, which wait for the program: its team counts it, the last one frees it. Under the
                          team's lock */
    bool was_inside;   /* where it began (od_member) */
    od_children children;
    atomic_uint posted;  /* of these, with the team. Changed under its lock */
    od_taskgroup *group; /* the innermost that it has begun, or NULL */
} od_parent;

/* One task. Without an event it is not detached, or not yet. */
typedef struct od_detached {
    void *event;
    od_kmp_task *task;   /* a target task: it has an event from the moment when its code returns before it has ended */
    od_parent *creator;  /* that counts it, or NULL */
    od_taskgroup *group; /* that counts it, or NULL */
    struct od_team *team; /* of a claimed task, which libomp counts: its creator's; `event` is the task */
    bool is_programs;     /* event */
    bool is_kept;         /* posted: nobody but its creator's thread may pass it on (od_member) */
} od_detached;

/* libomp's, and not ended. */
static inline bool od_detached_is_live(const od_detached *detached)
{
    return detached->event || detached->task;
}

/* It has ended: from now on there is an event only if libomp is to be told. */
static inline void od_detached_end(od_detached *detached)
{
    if (detached->task)
        detached->event = od_task_ended(detached->task);
    detached->task = NULL;
}

typedef struct od_team {
    _Atomic uint64_t arrivals; /* of threads at barriers */
    _Atomic uint64_t released; /* of these: the threads that have arrived go on */
    _Atomic uint64_t settles;  /* likewise, but only after a barrier of libomp's, to arrive again */
    atomic_bool unsettled;     /* tasks that may leave children behind were created since, or have done so */
    atomic_bool cancelled;     /* the region */
    atomic_bool has_tasks;     /* libomp's queues of the team may hold some */
    atomic_bool has_others;    /* tasks have been created in it that nobody claims: completions may queue them */
    atomic_bool releases;      /* a claimed task of it has completed since a thread that is alone has looked */
    atomic_bool detaches;      /* a thread of it has created a task that we are to complete */
    bool gathers;              /* its threads wait for each other before a barrier; the same for all of them */
    _Atomic uint64_t news;     /* times that a task was created */
    atomic_uint sleeping;      /* sleepers */
    atomic_uint waiting;       /* threads in od_team_wait() at barriers that run no task there */
    atomic_uint inside;        /* threads that wait in libomp at the end of a taskgroup */
    atomic_uint orphaning;     /* explicit tasks that have ended before children that are counted */
    atomic_uint nposted;
    atomic_uint nfree; /* of these: not only their creator's thread may pass them on */
    od_lock lock;         /* protects what follows */
    od_detached *posted;  /* malloc'ed: a queue, */
    unsigned first, capacity; /* its first one, of `nposted` */
    od_sleeper *sleepers;
    bool has_keeper;    /* one of them looks after a while */
    bool is_settling;   /* all threads are, or were last, where orphans are left for them to see */
    bool is_left_early; /* a thread has gone on before all had arrived: no barrier is for all of them any more */
    struct od_team *next_free, *next;
} od_team;

struct od_member {
    od_member *outer; /* the same thread's, around it */
    od_team *team;
    unsigned nthreads; /* of the team */
    int level;         /* of its region: how deep it is in others */
    bool keeps;             /* completes its own tasks, as no other thread may free their memory */
    bool serialized;        /* of __kmpc_serialized_parallel; malloc'ed */
    atomic_uint waits;      /* the thread is in od_team_wait() at a barrier and runs no task there */
    atomic_bool inside;     /* likewise in libomp */
    unsigned at_barriers;   /* waits of its thread at barriers that have begun and not ended */
    od_parent implicit;     /* the implicit task */
    od_parent *interrupted; /* the explicit task of the thread around the region, or NULL */
    bool in_task;           /* there is one, whether known or not */
    bool beside_events;     /* od_serial_is_beside_events() */
    od_sleeper *sleeper;    /* under the team's lock: the thread sleeps; else NULL */
};

/*
 * What a thread waits for. Whose children it completes meanwhile, and what it runs, is what libomp's scheduling
 * constraint says: in a task that waits for its own, descendants of that task. A successor of another one's child would
 * lie in the thread's queue before them, where libomp does not look for what is behind it. At barriers (`creator` NULL)
 * it is everything.
 */
typedef struct od_goal {
    bool (*reached)(const struct od_goal *goal);
    const od_parent *creator; /* the task that waits, or NULL */
    const od_children *children;
    const od_team *team;
    uint64_t arrivals;
    const atomic_bool *flag;
    const od_member *member;
} od_goal;

/* What threads do for the devices while they wait. Set once, before the first wait. */
typedef struct od_team_duty {
    bool (*is_there)(void);
    void (*begin)(void);
    /* Returns the nanoseconds after which it is to be called again; 1: at once; 0: there is nothing to do. */
    long (*ask)(void);
    void (*end)(void);
} od_team_duty;
void od_team_set_duty(const od_team_duty *duty);
/* There is something to do for a thread that waits. */
bool od_team_has_duty(void);

/* Waits until the goal is reached. The calling thread is the member. */
void od_team_wait(od_member *member, od_ident *ident, const od_goal *goal);
/* Likewise, until all of these are complete. creator: as od_goal has it. */
void od_team_await(od_ident *ident, od_member *member, const od_children *children, const od_parent *creator);

/* The task completes in another way: it was not detached after all. */
void od_detached_leave(od_detached task);
/* The task is complete: on the thread that runs it, or that passes on what others have left. */
void od_detached_report(od_detached task);

/* What the library has done in libomp's stead. */
typedef struct od_libomp_counts {
    atomic_ullong claimed;  /* target tasks that libomp has handed over, */
    atomic_ullong complete; /* and those of them that are complete */
    atomic_ullong detached; /* others, made detachable, with a trampoline */
    atomic_ullong waits;    /* of ours before one of libomp's, for tasks */
    atomic_ullong gathers;  /* before a barrier, for the other threads: processors are for devices meanwhile */
    atomic_ullong posted;   /* completions left with a team */
    atomic_ullong recorded;   /* host tasks with dependences to which something of the library's may apply, */
    atomic_ullong unrecorded; /* and others, once it has been started */
    atomic_ullong uncounted; /* tasks of threads that are alone, given to libomp as they are (serial.h) */
    atomic_ullong asked;       /* launches and data constructs about which libomptarget has asked, */
    atomic_ullong intercepted; /* and those that it would not have asked about */
} od_libomp_counts;

extern od_libomp_counts od_libomp_counted __attribute__((visibility("hidden")));

static inline void od_libomp_count(atomic_ullong *of)
{
    atomic_fetch_add_explicit(of, 1, memory_order_relaxed);
}

/* A completion for the team: any thread of it passes it on, or only the one that keeps it. By any thread. False: nobody
 * who might waits here, and libomp must be notified at once. */
bool od_team_post(od_member *creator, od_detached task);
/* An event that the program fulfils. False: no thread of the team waits here, and libomp must be notified at once. */
bool od_team_offer(od_team *team, void *event);
/* The calling thread is the member's, but for libomp in another team of several threads: it runs a task in the barrier
 * at the end of a parallel region inside, or in a region that has begun without us. Ends of its tasks that another
 * thread of the member's team reported, or itself back there, libomp would not finish. */
bool od_member_is_elsewhere(const od_member *member);
/* The calling thread passes on what is posted for it, of that creator or (NULL) of all. False: nothing was. */
bool od_team_pass_on(od_member *member, const od_parent *creator);
/* Likewise of that creator (NULL: of none) and of tasks that have ended. */
bool od_team_pass_on_with_orphans(od_member *member, const od_parent *creator);
/* Likewise one, of that creator. */
bool od_team_pass_on_one(od_member *member, const od_parent *creator);
/* A thread of the team has given libomp a task. */
void od_team_note_task(od_team *team);
/* All threads of the team have arrived, `arrivals` times. `settles`: at a barrier of the program's. */
void od_team_release(od_team *team, uint64_t arrivals, bool settles);
/* The calling thread goes on. True: like all of them, through a barrier of libomp's, to arrive again. */
bool od_team_goes_settling(od_team *team, uint64_t arrivals);
/* The thread of a member has something to look at. Under the team's lock. */
void od_member_wake(const od_member *member);
/* A task begins to run on a thread of the team: another one may look for more. */
void od_team_pass_news(od_team *team);
/* The goal of everybody may have been reached. */
void od_team_wake_all(od_team *team);
static inline bool od_children_are_complete(const od_children *children)
{
    return !atomic_load_explicit(&children->pending, memory_order_acquire) &&
           !atomic_load_explicit(&children->events, memory_order_acquire);
}
/* The member's thread is about to wait in libomp, or has. `own`: the task that runs there, or NULL. */
void od_member_go_inside(od_member *member, bool inside, const od_parent *own);
/* Until all who have notified the member are out of the team's lock. */
void od_team_quiesce(od_team *team);

/* Whether libomp is to hand over target tasks. Some programs need those counted here: from a certain moment on it does
 * so no more, and what it has before can be waited for. */
bool od_team_claims(void);
void od_team_end_claims(void);
void od_team_await_claimed(od_ident *ident, const od_parent *running);

/* The calling thread completes a claimed task; and has left a claimed successor to a thread of the team. */
extern _Thread_local bool od_detached_completing __attribute__((visibility("hidden"), tls_model("initial-exec")));
extern _Thread_local bool od_detached_leaves __attribute__((visibility("hidden"), tls_model("initial-exec")));

/* The calling thread reports a completion: in a team of one, libomp runs what it releases on top of that. */
extern _Thread_local bool od_detached_reporting __attribute__((visibility("hidden"), tls_model("initial-exec")));

#endif
