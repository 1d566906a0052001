/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Detached tasks of libomp, and the waits for them.
 *
 * When a thread outside the team completes a detached task, libomp 19 leaves the rest of the completion, which
 * releases the task's successors, in a task queue of the team. Its barriers do not cope with that: the primary thread
 * may leave one with the rest still in a queue, where the team looks two barriers later, or never; a thread that
 * takes it from another's queue after that changes the number of unfinished threads when the next barrier has set it
 * anew already; and from the barrier that ends a region the primary thread goes on while others still look at the
 * region. Nor do threads: the rest frees the task's memory, and a thread that frees what another one has allocated
 * remembers it when that one has long ended.
 *
 * So a completion is reported to libomp by a thread of the task's team, which carries out all of it at once. A
 * device leaves it with the team (omp_ext/libomp/teams/team.h), and every wait of libomp's for a detached task is
 * preceded by one of ours, in which the thread passes on what devices leave. No libomp wait begins before all that it
 * would wait for is complete as far as devices are concerned. What libomp discards (OMP_CANCELLATION) ends by its
 * destructor (omp_ext/tasks/discarded.c).
 *
 * Before a barrier a thread waits for its own tasks. Then it could go in; but libomp's waits keep a processor busy,
 * which devices may need. So it waits for the other threads of the team first, blocked, except in regions whose code
 * is known to detach no tasks. Where the team has created host tasks, that is repeated after one barrier of libomp's in
 * which all of these run: they may leave children behind, which wait for the program, and for which libomp's does not.
 */
#ifndef OD_OMP_EXT_DETACH_H
#define OD_OMP_EXT_DETACH_H

#include "omp_ext/libomp/teams/team.h"

/* Once, before libomp makes its own thread-specific key, whose destructor waits for tasks, too: destructors run in the
 * order of their keys. */
void od_detach_load(void);

/* The calling thread's, in its innermost region; NULL: none. Apart from od_self, which is exchanged for each explicit
 * task that runs here. */
extern _Thread_local od_member *od_member_self __attribute__((visibility("hidden"), tls_model("initial-exec")));

/* The program has tasks with a detach clause. */
extern atomic_bool od_program_detaches __attribute__((visibility("hidden")));

/* Of the program's own detached tasks, not fulfilled yet (events.c). */
extern atomic_uint od_events_expected __attribute__((visibility("hidden")));

/* The calling thread's, in a region or outside of any; NULL: it has not offloaded yet. */
od_member *od_member_now(void);

/* Likewise, but made where there is none yet. */
od_member *od_member_begun(void);

/* What a thread outside of regions that has offloaded calls when it ends, after its tasks; set before there are such
 * threads. */
void od_detach_at_thread_end(void (*function)(void));

/* False in a region that has begun without us: one that gcc has compiled (GOMP_parallel), or from which the program has
 * opened its first library with device code. Nobody waits for detached tasks there before libomp does. */
bool od_detach_knows_region(void);
/* The calling thread creates a detached task, whose event the program fulfils or we do: by whom it is counted from now
 * on. */
od_detached od_detached_join(bool programs);
/* True inside of a taskgroup that the running task has begun; where the task has children, too, that the library
 * will complete. */
bool od_detach_in_group(void);
bool od_detach_group_waits(void);
/* The calling thread waits at a barrier, and runs nothing there but what it has found. */
bool od_detach_is_at_barrier(void);
/* Some are under way. */
bool od_detach_has_children(void);
/* True where libomp counts no children of the running task for the library. */
bool od_detach_is_childless(void);
/* The task is complete. By any thread for which the above holds, not under the runtime's lock. */
void od_detached_complete(od_detached task);

/* Libomp's task that runs on the calling thread: of each another address. */
const void *od_detach_current_task(int32_t gtid);
/* The task that runs there, where children of it may wait for events that the program fulfils, else NULL. */
od_parent *od_parent_awaits_program(void);
/* False where libomp has put another task on top of it, of which we know nothing: a later part of an untied one. */
bool od_parent_runs(const od_parent *parent);
/* The task that runs on the calling thread; NULL: it has no children of ours. */
od_parent *od_parent_now(void);
/* Waits for the children of the task that runs on the calling thread, for those of its innermost taskgroup, and until
 * what the items name is released. Libomp's wait follows. */
void od_detach_await_children(od_ident *ident);
/* libomp's waits here would be for children of a task around the calling thread's region that wait for the program. */
bool od_detach_is_beside_events(void);
/* Children of the task around the calling thread's region, as far as they may end now. */
void od_detach_finish_around(od_ident *ident);
void od_detach_await_group(od_ident *ident);
void od_detach_await_items(od_ident *ident, int32_t ndepends, od_depend *depends, int32_t n_noalias,
                           od_depend *noalias);
/* Later tasks with such items come after all that these name now; the thread does not wait. */
void od_detach_order_items(od_ident *ident, int32_t ndepends, od_depend *depends, int32_t n_noalias,
                           od_depend *noalias);
/* Waits for the children of the running task that the library completes, not for events of the program's. */
void od_detach_await_ours(od_ident *ident);
/* Around a taskgroup. */
void od_detach_begin_group(void);
void od_detach_end_group(void);
/* The calling thread is about to create a task that nobody claims, which a completion may leave in a queue. */
void od_detach_expect_task(void);
/* The calling thread has given libomp a task: one that a scheduler runs, one of the library's that others may run, or
 * one with code of the program's, which may create more. Completions of the running task's children are passed on, and
 * what they release may run here: a scheduling point. */
typedef enum od_creation { OD_CREATES_CLAIMED, OD_CREATES_OURS, OD_CREATES_PROGRAMS } od_creation;
void od_detach_note_task(od_creation creation);
/* A task begins to run on it. */
void od_detach_task_begins(void);
/* Until the end of the block the calling thread waits in libomp, for children of its task or for all that have been
 * created in a taskgroup. */
#define OD_WAITS_FOR_CHILDREN OD_WAITS_INSIDE_(false)
#define OD_WAITS_FOR_GROUP OD_WAITS_INSIDE_(true)
#define OD_WAITS_INSIDE_(group)                                                                                        \
    __attribute__((cleanup(od_detach_come_out), unused)) const od_inside od_waits_inside = od_detach_go_inside(group)
typedef struct od_inside {
    od_member *member; /* or NULL */
    bool was;
} od_inside;
od_inside od_detach_go_inside(bool group);
static inline void od_detach_come_out(const od_inside *before)
{
    if (before->member)
        od_member_go_inside(before->member, before->was, od_parent_now());
}
/* A taskyield of the program: completions that others have left are passed on. */
void od_detach_pass_on(void);

/* Around a region's code in each thread of its team. */
void od_member_begin(od_member *member, od_team *team, int32_t number);
void od_member_end(od_ident *ident, od_member *member);
/* Around the code of a region that libomp runs serially, on the thread that meets it. */
void od_serialized_begin(void);
void od_serialized_end(od_ident *ident);
/* The calling thread is about to begin a parallel region. Where that has one thread, inside another such region,
 * libomp 19 counts the tasks of both together, and orders them by their dependences, but only runs those of the inner
 * one: so this waits for the outer one's, unless they may wait for an event that the program fulfils. */
void od_detach_before_region(od_ident *ident);
/* The calling thread is about to enter a barrier, which all threads of its team do. Nothing in a kernel. */
void od_detach_before_barrier(od_ident *ident, int32_t gtid);
/* Likewise, a reduction with nowait in which the threads wait for each other, but not for all of their tasks. */
void od_detach_before_reduction(od_ident *ident, int32_t gtid);
/* Likewise, where other threads of the team wait for this one in another entry point, or not at all. */
void od_detach_before_half_barrier(od_ident *ident, int32_t gtid);
/* True where the threads of the calling one's team wait for each other in a reduction with nowait, as in a barrier. */
bool od_detach_reduces_in_barrier(void);

#endif
