/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Detached tasks, and waiting for them. See detach.h. */
#define _GNU_SOURCE /* gettid */
#include "omp_ext/libomp/teams/detach.h"

#include "omp_ext/process/activity.h"
#include "omp_ext/process/memory.h"
#include "omp_ext/libomp/real.h"
#include "omp_ext/libomp/teams/around.h"
#include "omp_ext/libomp/teams/look.h"
#include "omp_ext/libomp/teams/pool.h"
#include "omp_ext/libomp/teams/serial.h"
#include "omp_ext/libomp/thread.h"

#include "util/options.h"
#include <stdlib.h>
#include <unistd.h>

_Thread_local od_member *od_member_self;
atomic_uint od_events_expected;
atomic_bool od_program_detaches;
static _Thread_local od_member root; /* of a thread outside of regions, from its first detached task on */
/* Threads of libomp's own, and the initial thread, do not end before the process. */
static _Thread_local enum { NOT_KNOWN, STAYS, MAY_END } lifetime;
static _Thread_local bool leaves_dependences; /* it may end, and has been the primary thread of a team with tasks */

/* --- members ------------------------------------------------------------------ */

static bool may_end(void)
{
    if (lifetime == NOT_KNOWN)
        lifetime = getpid() == gettid() ? STAYS : MAY_END;
    return lifetime == MAY_END;
}

static void begin(od_member *member, od_team *team, unsigned nthreads)
{
    *member = (od_member){.outer = od_member_self,
                          .team = team,
                          .nthreads = nthreads,
                          .level = REAL(omp_get_level)(),
                          .keeps = may_end()};
    member->implicit.member = member;
}

static bool has_no_orphans(const od_goal *goal)
{
    return !atomic_load(&goal->member->team->orphaning);
}

/* Children that explicit tasks of the team have left. */
static void await_orphans(od_ident *ident, od_member *member)
{
    od_goal goal = {.reached = has_no_orphans, .member = member};
    if (!has_no_orphans(&goal))
        od_team_wait(member, ident, &goal);
}

static void (*synchronise)(void);

void od_detach_at_thread_end(void (*function)(void))
{
    synchronise = function;
}

/* Data are written back here, too: joining the thread cannot be seen. */
static void end_tasks(void)
{
    od_detach_await_children(NULL);
    await_orphans(NULL, &root);
    REAL(__kmpc_omp_taskwait)(NULL, REAL(__kmpc_global_thread_num)(NULL));
    synchronise();
    od_team_quiesce(root.team);
    od_team_give_back(root.team);
    root.team = NULL;
}

static void do_nothing(int32_t *gtid, int32_t *tid)
{
    (void)gtid, (void)tid;
}

/* libomp keeps the thread's team for others, with the dependences of tasks that its implicit tasks have created.
 * Those of the primary one are in memory that ends with it (patches/: 0019). A team that grows gets new ones. */
static void leave_no_dependences(void)
{
    static od_ident nowhere = {.reserved = {0, 2 /* of compiled code */}, .source = ";unknown;unknown;0;0;;"};
    int32_t gtid = REAL(__kmpc_global_thread_num)(NULL);
    for (int32_t nthreads = 2; nthreads <= 3; nthreads++) {
        REAL(__kmpc_push_num_threads)(&nowhere, gtid, nthreads);
        ((od_fork_function)REAL(__kmpc_fork_call))(&nowhere, 0, (void *)do_nothing);
    }
}

static void end_root(void *arg)
{
    (void)arg;
    if (od_runtime_ended())
        return;
    if (root.team)
        end_tasks();
    if (leaves_dependences)
        leave_no_dependences();
    leaves_dependences = false;
}

static pthread_key_t root_key;
static bool reduction_is_chosen; /* how to reduce: by the user, not by libomp */

void od_detach_load(void)
{
    pthread_key_create(&root_key, end_root);
    reduction_is_chosen = od_environment("KMP_DETERMINISTIC_REDUCTION") || od_environment("KMP_FORCE_REDUCTION");
}

static od_member *begin_root(void)
{
    if (!root.team) {
        od_member *inner = od_member_self;
        od_member_self = NULL;
        begin(&root, od_team_take(), 1);
        root.level = 0;
        od_member_self = inner;
        if (may_end())
            pthread_setspecific(root_key, &root);
    }
    return &root;
}

od_member *od_member_now(void)
{
    return od_member_self ? od_member_self : root.team ? &root : NULL;
}

od_member *od_member_begun(void)
{
    return od_member_self ? od_member_self : begin_root();
}

/* Of each task another address, at no cost. */
const void *od_detach_current_task(int32_t gtid)
{
    return REAL(__kmpc_omp_get_target_async_handle_ptr)(gtid);
}

bool od_parent_runs(const od_parent *parent)
{
    return parent->task == od_detach_current_task(REAL(__kmpc_global_thread_num)(NULL));
}

bool od_detach_knows_region(void)
{
    return REAL(omp_get_level)() == (od_member_self ? od_member_self->level : 0);
}

/* The innermost task of those that run on the calling thread of which we know, or NULL. */
static od_parent *known_parent(void)
{
    od_member *member = od_self.family.parent ? NULL : od_member_now();
    return member ? &member->implicit : od_self.family.parent;
}

od_parent *od_parent_now(void)
{
    od_parent *parent = known_parent();
    bool runs = parent && (od_self.family.parent ? od_parent_runs(parent) : !REAL(omp_in_explicit_task)());
    return runs ? parent : NULL;
}

/* --- detached tasks ------------------------------------------------------------- */

od_detached od_detached_join(bool programs)
{
    od_member_begun();
    od_parent *parent = od_parent_now();
    if (!parent)
        return (od_detached){0};
    od_team *team = parent->member->team;
    parent->has_had_any = true;
    atomic_fetch_add_explicit(od_children_count(&parent->children, programs), 1, memory_order_relaxed);
    if (parent->group)
        atomic_fetch_add_explicit(od_children_count(&parent->group->children, programs), 1, memory_order_relaxed);
    if (!atomic_load_explicit(&team->detaches, memory_order_relaxed)) {
        atomic_store(&team->has_tasks, true);
        atomic_store(&team->detaches, true);
    }
    return (od_detached){.creator = parent, .group = parent->group, .is_programs = programs};
}

bool od_detach_in_group(void)
{
    const od_parent *parent = known_parent();
    return parent && parent->group && od_parent_now();
}

static bool has_children(const od_parent *parent)
{
    return !od_children_are_complete(&parent->children);
}

bool od_detach_group_waits(void)
{
    const od_parent *parent = known_parent();
    return parent && parent->group && has_children(parent) && od_parent_now();
}

bool od_detach_has_children(void)
{
    const od_parent *parent = known_parent();
    return parent && has_children(parent) && od_parent_now();
}

/* Claimed tasks are libomp's to count. */
bool od_detach_is_childless(void)
{
    const od_parent *parent = known_parent();
    return parent && !has_children(parent) && !od_offered_table.complete && od_parent_now();
}

static bool is_of_my_team(const od_parent *parent)
{
    const od_member *self = od_member_now(), *creator = parent->member;
    return self && (self == creator || (self->team == creator->team && !creator->keeps)) &&
           parent->elsewhere == od_member_is_elsewhere(self);
}

bool od_detach_is_at_barrier(void)
{
    const od_member *self = od_member_now();
    return self && self->at_barriers && !od_self.family.parent;
}

/* What is released would lie in the thread's queue: it waits at a barrier, or in the creator, or is running that. */
static bool may_run_here(const od_parent *creator)
{
    return creator == od_parent_now() || od_detach_is_at_barrier();
}

/* Not on top of another report: libomp runs what is released on top of the task that has ended, and so on along a chain
 * of tasks, until the stack ends. */
static bool may_report_now(void)
{
    return od_thread_may_run_tasks() && !od_detached_reporting;
}

/* In a team of one, libomp runs what the completion releases at once, on top of what the thread is at. */
void od_detached_complete(od_detached task)
{
    od_detached_end(&task);
    od_member *creator = task.creator ? task.creator->member : NULL;
    bool may_emit = !creator || (is_of_my_team(task.creator) && may_report_now() && may_run_here(task.creator));
    od_team *team = creator && task.event && !od_runtime_ended() && !may_emit ? creator->team : NULL;
    if (team && od_team_post(creator, task))
        return;
    bool was = od_thread_at_scheduling_point(false);
    od_detached_report(task);
    od_thread_at_scheduling_point(was);
    if (team)
        od_team_note_task(team); /* it may have ended, then it is another one, which does no harm */
}

/* --- waiting -------------------------------------------------------------------- */

static bool have_arrived(const od_goal *goal)
{
    return atomic_load_explicit(&goal->team->released, memory_order_acquire) >= goal->arrivals ||
           atomic_load_explicit(&goal->team->cancelled, memory_order_relaxed) || !od_runtime_offloads();
}

/* Children of the task that runs here, or of one that libomp takes for it, may wait for an event of the program's. */
static bool expects_events(const od_member *member)
{
    const od_parent *parent = od_parent_now();
    if (!parent) /* nobody counts them */
        return atomic_load(&od_events_expected) > 0;
    return atomic_load(&parent->children.events) || od_around_expects_events(member);
}

static bool is_in_implicit_task(void)
{
    const od_member *member = od_member_self;
    return member && !od_self.family.parent && (member->in_task || !REAL(omp_in_explicit_task)());
}

od_parent *od_parent_awaits_program(void)
{
    od_parent *parent = known_parent();
    return parent && atomic_load(&parent->children.events) && od_parent_now() ? parent : NULL;
}

/* Where a kernel runs in the task of the program's that waits for it, its taskwait waits for that task's children. */
static void await_children(od_ident *ident)
{
    od_parent *parent = od_parent_now();
    if (parent && (!od_self.kernels || od_detach_knows_region()))
        od_team_await(ident, parent->member, &parent->children, parent);
}

static bool ours_have_left(const od_goal *goal)
{
    return !atomic_load_explicit(&goal->children->pending, memory_order_acquire);
}

void od_detach_await_ours(od_ident *ident)
{
    od_parent *parent = od_parent_now();
    od_goal goal = {.reached = ours_have_left, .creator = parent, .children = parent ? &parent->children : NULL};
    if (parent && !od_self.kernels && !ours_have_left(&goal))
        od_team_wait(parent->member, ident, &goal);
}

void od_detach_finish_around(od_ident *ident)
{
    if (!od_self.kernels && is_in_implicit_task())
        od_around_finish(ident, od_member_self);
}

void od_detach_await_children(od_ident *ident)
{
    await_children(ident);
    od_detach_finish_around(ident);
}

bool od_detach_is_beside_events(void)
{
    return !od_self.kernels && is_in_implicit_task() && od_around_expects_events(od_member_self);
}

void od_detach_await_group(od_ident *ident)
{
    od_parent *parent = od_parent_now();
    if (parent && parent->group && !od_self.kernels)
        od_team_await(ident, parent->member, &parent->group->children, parent);
}

void od_detach_begin_group(void)
{
    od_member_begun();
    od_parent *parent = od_parent_now();
    if (!parent)
        return;
    od_taskgroup *group = od_alloc_zeroed(1, sizeof *group);
    group->outer = parent->group;
    parent->group = group;
}

void od_detach_end_group(void)
{
    od_parent *parent = od_parent_now();
    od_taskgroup *group = parent ? parent->group : NULL;
    if (!group)
        return;
    od_team_quiesce(parent->member->team);
    parent->group = group->outer;
    free(group);
}

/* --- tasks that threads may run -------------------------------------------------- */

void od_detach_expect_task(void)
{
    od_member *member = od_member_now();
    if (member && !atomic_load_explicit(&member->team->has_others, memory_order_relaxed))
        atomic_store(&member->team->has_others, true);
}

/* Where a claimed task has something for another thread, it says so by itself. */
static void tell_others(od_team *team, od_creation creation)
{
    if (creation == OD_CREATES_CLAIMED && !od_team_has_duty())
        return;
    if (creation == OD_CREATES_PROGRAMS && !atomic_load_explicit(&team->unsettled, memory_order_relaxed))
        atomic_store(&team->unsettled, true);
    od_team_note_task(team);
}

/* Tasks that are released may run here: descendants of the task that is, which is no part of another one. */
static bool may_pass_on_here(void)
{
    return !od_self.kernels && od_self.mode == OD_PLAIN && !od_self.family.parent && od_detach_knows_region() &&
           !REAL(omp_in_explicit_task)() && may_report_now() && !od_thread_holds_locks();
}

/* A thread that creates tasks and does not wait completes those before: their successors are not to wait for that.
 * Where it is alone, nobody else finds what ends of claimed tasks have released. */
static void complete_those_before(od_member *member)
{
    bool releases = member->nthreads == 1 && atomic_load(&member->team->releases);
    if (!releases && !atomic_load(&member->team->nposted))
        return;
    bool was = od_thread_at_scheduling_point(true);
    while (may_pass_on_here() && od_team_pass_on_one(member, &member->implicit))
        continue;
    if (releases && may_pass_on_here() && atomic_exchange(&member->team->releases, false))
        od_look_for_all(may_pass_on_here);
    od_thread_at_scheduling_point(was);
}

void od_detach_note_task(od_creation creation)
{
    od_member *member = od_member_now();
    if (!member)
        return;
    if (member->nthreads > 1)
        tell_others(member->team, creation);
    complete_those_before(member);
}

void od_detach_pass_on(void)
{
    od_member *member = od_member_now();
    const od_parent *creator = member ? od_parent_now() : NULL;
    bool is_around_all = creator && creator == &member->implicit && member->nthreads == 1;
    while (creator && (is_around_all ? od_team_pass_on_with_orphans : od_team_pass_on)(member, creator))
        continue;
}

/* Among the children of a task there are no orphans, for which somebody has to look; but what a team of one waits for
 * nobody else completes. */
od_inside od_detach_go_inside(bool group)
{
    od_member *member = od_self.kernels ? NULL : od_member_now();
    if (member && !group && member->nthreads > 1)
        member = NULL;
    od_inside before = {member, member && atomic_load(&member->inside)};
    if (member)
        od_member_go_inside(member, true, od_parent_now());
    return before;
}

/* --- regions ---------------------------------------------------------------------- */

static _Thread_local bool begins_in_task; /* the region that the thread is about to begin */

void od_member_begin(od_member *member, od_team *team, int32_t number)
{
    unsigned nthreads = (unsigned)REAL(omp_get_num_threads)();
    if (number > 0)
        lifetime = STAYS;
    begin(member, team, nthreads);
    member->interrupted = od_self.family.parent;
    member->in_task = number <= 0 && begins_in_task;
    member->beside_events = nthreads == 1 && atomic_load(&od_events_expected) && od_around_expects_events(member);
    od_self.family.parent = NULL;
    od_serial_set_beside_events(member->beside_events);
    od_member_self = member;
}

void od_member_end(od_ident *ident, od_member *member)
{
    od_team_await(ident, member, &member->implicit.children, NULL);
    await_orphans(ident, member);
    if (atomic_load_explicit(&member->team->detaches, memory_order_relaxed))
        od_team_quiesce(member->team);
    if (member->keeps && member->nthreads > 1 && atomic_load_explicit(&member->team->has_tasks, memory_order_relaxed)) {
        leaves_dependences = true;
        pthread_setspecific(root_key, &root);
    }
    od_self.family.parent = member->interrupted;
    od_member_self = member->outer;
    od_serial_set_beside_events(od_member_self && od_member_self->beside_events);
}

/* Of a team of one thread: until the children of the task that runs there have ended. */
static void finish_alone(od_ident *ident, int32_t gtid, const od_member *member)
{
    await_children(ident);
    if (atomic_load_explicit(&member->team->detaches, memory_order_relaxed) && !od_around_expects_events(member))
        REAL(__kmpc_omp_taskwait)(ident, gtid);
}

void od_detach_before_region(od_ident *ident)
{
    od_member *member = od_member_self;
    begins_in_task = REAL(omp_in_explicit_task)();
    if (od_self.kernels || !member || member->nthreads > 1 || od_thread_holds_locks())
        return;
    od_detach_pass_on();
    if (expects_events(member))
        return;
    int32_t gtid = REAL(__kmpc_global_thread_num)(ident);
    if (od_team_claims() && od_runtime_offloads())
        REAL(__kmpc_omp_taskwait)(ident, gtid);
    finish_alone(ident, gtid, member);
}

void od_serialized_begin(void)
{
    od_member *member = od_alloc(sizeof *member);
    od_member_begin(member, od_team_take(), 0);
    member->serialized = true;
}

void od_serialized_end(od_ident *ident)
{
    od_member *member = od_member_self;
    if (!member || !member->serialized)
        return;
    finish_alone(ident, REAL(__kmpc_global_thread_num)(ident), member);
    od_member_end(ident, member);
    od_team_give_back(member->team);
    free(member);
}

/* --- barriers ----------------------------------------------------------------------- */

/* Blocked until all threads of the team have arrived. True: these are to go through a barrier of libomp's, and to
 * gather again. */
static bool gather(od_ident *ident, od_member *member, bool settles)
{
    od_team *team = member->team;
    uint64_t before = atomic_fetch_add(&team->arrivals, 1), all = (before / member->nthreads + 1) * member->nthreads;
    od_goal goal = {.reached = have_arrived, .team = team, .arrivals = all};
    if (before + 1 == all)
        od_team_release(team, all, settles);
    else
        od_team_wait(member, ident, &goal);
    return od_team_goes_settling(team, all);
}

/* A task that runs in a barrier of libomp's may leave children behind, for which that does not wait. So one barrier is
 * for the tasks, and then there is another one. */
static void settle(od_ident *ident, int32_t gtid, od_member *member)
{
    while (gather(ident, member, true)) {
        await_orphans(ident, member);
        REAL(__kmpc_barrier)(ident, gtid);
    }
}

/* What libomp's barrier would wait for has ended. True: the other threads of the team wait there, too. */
static bool await_own(od_ident *ident, int32_t gtid)
{
    od_member *member = od_member_self;
    if (od_self.kernels || !od_detach_knows_region())
        return false;
    if (od_serial_is_alone()) {
        od_around_finish(ident, od_member_self);
        od_member *now = od_member_now(); /* also outside of all regions */
        if (now)
            finish_alone(ident, gtid, now);
        if (!od_member_self || !expects_events(od_member_self))
            od_serial_before_barrier(ident, gtid);
        return false;
    }
    if (!member)
        return false;
    if (atomic_load_explicit(&member->team->detaches, memory_order_relaxed)) {
        od_team_await(ident, member, &member->implicit.children, NULL);
        REAL(__kmpc_omp_taskwait)(ident, gtid);
    }
    return true;
}

void od_detach_before_half_barrier(od_ident *ident, int32_t gtid)
{
    await_own(ident, gtid);
}

/* Orphans may wait for what the program does after it. */
void od_detach_before_reduction(od_ident *ident, int32_t gtid)
{
    if (await_own(ident, gtid) && od_member_self->team->gathers)
        gather(ident, od_member_self, false);
}

void od_detach_before_barrier(od_ident *ident, int32_t gtid)
{
    if (await_own(ident, gtid) && od_member_self->team->gathers)
        settle(ident, gtid, od_member_self);
    if (!od_self.kernels && od_detach_knows_region() && od_member_now())
        await_orphans(ident, od_member_now());
}

/* libomp reduces teams of more than four threads along a tree, smaller ones where it is told to. */
bool od_detach_reduces_in_barrier(void)
{
    const od_member *member = od_member_self;
    unsigned largest_without = reduction_is_chosen ? 1 : 4;
    return member && !od_self.kernels && member->nthreads > largest_without;
}
