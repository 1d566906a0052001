/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Waiting in a team. See team.h. */
#include "omp_ext/libomp/teams/team.h"

#include "omp_ext/libomp/real.h"
#include "omp_ext/libomp/teams/look.h"
#include "omp_ext/libomp/thread.h"
#include "omp_ext/process/activity.h"
#include "omp_ext/process/memory.h"
#include "util/clock.h"
#include "util/lock.h"
#include "util/thread.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

_Thread_local bool od_detached_completing, od_detached_leaves, od_detached_reporting;
od_libomp_counts od_libomp_counted;

struct od_sleeper {
    pthread_cond_t wake;
    bool woken;
    bool at_barrier; /* may do everything */
    od_sleeper *next, **at;
};

static const od_team_duty *duty;

void od_team_set_duty(const od_team_duty *of_threads)
{
    duty = of_threads;
}

bool od_team_has_duty(void)
{
    return duty->is_there();
}

/* --- waking ------------------------------------------------------------------- */

/* Under the team's lock, as all of these. */
static void wake(od_sleeper *s)
{
    if (s->woken)
        return;
    s->woken = true;
    pthread_cond_signal(&s->wake);
}

/* Rather one that may do everything. */
static void wake_one(const od_team *team)
{
    od_sleeper *found = NULL;
    for (od_sleeper *s = team->sleepers; s && !(found && found->at_barrier); s = s->next)
        if (!s->woken && (!found || s->at_barrier))
            found = s;
    if (found)
        wake(found);
}

void od_member_wake(const od_member *member)
{
    if (member->sleeper)
        wake(member->sleeper);
}

static void wake_all(const od_team *team)
{
    for (od_sleeper *s = team->sleepers; s; s = s->next)
        wake(s);
}

void od_team_wake_all(od_team *team)
{
    if (!atomic_load(&team->sleeping))
        return;
    od_lock_take(&team->lock);
    wake_all(team);
    od_lock_give(&team->lock);
}

void od_team_release(od_team *team, uint64_t arrivals, bool settles)
{
    od_lock_take(&team->lock);
    bool goes_on = team->is_left_early || atomic_load(&team->cancelled) || !od_runtime_offloads() || od_runtime_ended();
    team->is_settling = settles && atomic_load(&team->unsettled) && !goes_on;
    if (settles)
        atomic_store(&team->unsettled, false);
    if (team->is_settling)
        atomic_store(&team->settles, arrivals);
    atomic_store_explicit(&team->released, arrivals, memory_order_release);
    wake_all(team);
    od_lock_give(&team->lock);
}

bool od_team_goes_settling(od_team *team, uint64_t arrivals)
{
    if (atomic_load(&team->released) < arrivals) {
        od_lock_take(&team->lock);
        team->is_left_early |= atomic_load(&team->released) < arrivals;
        od_lock_give(&team->lock);
    }
    return atomic_load(&team->settles) == arrivals;
}

/* Who is about to sleep counts itself before it looks at the news for the last time. */
void od_team_note_task(od_team *team)
{
    if (!atomic_load_explicit(&team->has_tasks, memory_order_relaxed))
        atomic_store(&team->has_tasks, true);
    atomic_fetch_add(&team->news, 1);
    if (!atomic_load(&team->sleeping))
        return;
    od_lock_take(&team->lock);
    wake_one(team);
    od_lock_give(&team->lock);
}

void od_team_pass_news(od_team *team)
{
    if (atomic_load_explicit(&team->sleeping, memory_order_relaxed))
        od_team_note_task(team);
}

/* One less; whoever waits for the last one is woken. That one under the lock: with it, what is counted may end.
 * `parent`: frees itself with it where it has ended before; or NULL. */
static void leave(atomic_uint *count, od_member *member, od_parent *parent)
{
    od_team *team = member->team;
    unsigned n = atomic_load_explicit(count, memory_order_relaxed);
    while (n > 1)
        if (atomic_compare_exchange_weak(count, &n, n - 1))
            return;
    od_lock_take(&team->lock);
    atomic_fetch_sub(count, 1);
    bool last = parent && parent->has_ended && od_children_are_complete(&parent->children);
    if (last) {
        if (atomic_fetch_sub(&team->orphaning, 1) == 1)
            wake_all(team);
    }
    od_member_wake(member);
    od_lock_give(&team->lock);
    if (last)
        free(parent);
}

void od_detached_leave(od_detached task)
{
    if (!task.creator)
        return;
    od_parent *parent = task.creator;
    if (task.group)
        leave(od_children_count(&task.group->children, task.is_programs), parent->member, NULL);
    leave(od_children_count(&parent->children, task.is_programs), parent->member, parent); /* then the member may end */
}

static atomic_bool claims_ended;

/* A thread of the team is told where there may be something for it: successors in the team's queues, or, when claims
 * have ended, the last one that od_team_await_claimed() waits for. The team may have ended, then it is another one,
 * which does no harm. */
static void complete_claimed(od_detached task)
{
    od_detached_completing = true;
    od_detached_leaves = false;
    od_offered_table.complete(task.event);
    od_detached_completing = false;
    od_libomp_count(&od_libomp_counted.complete);
    if (!od_detached_leaves && !atomic_load(&task.team->has_others) && !atomic_load(&claims_ended))
        return;
    atomic_store(&task.team->releases, true);
    od_team_note_task(task.team);
}

void od_detached_report(od_detached task)
{
    if (task.team) {
        complete_claimed(task);
        return;
    }
    bool was = od_detached_reporting;
    od_detached_reporting = true;
    od_detached_end(&task);
    if (task.event)
        REAL(omp_fulfill_event)(task.event);
    od_detached_reporting = was;
    od_detached_leave(task);
}

void od_team_quiesce(od_team *team)
{
    od_lock_take(&team->lock);
    od_lock_give(&team->lock);
}

/* --- completions -------------------------------------------------------------- */

bool od_member_is_elsewhere(const od_member *member)
{
    return REAL(omp_get_num_threads)() > 1 && REAL(omp_get_level)() != member->level;
}

/* Whether the member may report it to libomp. */
static bool may_take(const od_member *member, const od_detached *task)
{
    const od_member *creator = task->creator ? task->creator->member : NULL;
    return !creator ||
           ((creator == member || !task->is_kept) && task->creator->elsewhere == od_member_is_elsewhere(member));
}

static void push(od_team *team, od_detached task)
{
    unsigned n = atomic_load_explicit(&team->nposted, memory_order_relaxed);
    if (team->first && team->first + n == team->capacity && team->first >= team->capacity / 2) {
        memmove(team->posted, team->posted + team->first, n * sizeof *team->posted);
        team->first = 0;
    }
    if (team->first + n == team->capacity) {
        team->capacity = team->capacity ? 2 * team->capacity : 16;
        team->posted = od_alloc_more(team->posted, team->capacity * sizeof *team->posted);
    }
    team->posted[team->first + n] = task;
    if (task.creator)
        atomic_fetch_add(&task.creator->posted, 1);
    atomic_fetch_add(&team->nfree, !task.is_kept);
    atomic_store(&team->nposted, n + 1);
}

static void take_back(od_team *team, const od_detached *task)
{
    if (task->creator)
        atomic_fetch_sub(&task->creator->posted, 1);
    atomic_fetch_sub(&team->nposted, 1);
    atomic_fetch_sub(&team->nfree, !task->is_kept);
}

/* Whoever has created it waits for it here, not in libomp; but for orphans libomp's waits may be. Threads that wait
 * here look there, too, but for those that are alone: these pass on what is posted before they wait in libomp. */
static bool somebody_looks(const od_member *creator, const od_detached *task)
{
    if (!task->creator->has_ended)
        return true;
    if (creator->nthreads == 1)
        return !atomic_load(&creator->inside);
    if (creator->team->is_settling && !atomic_load(&creator->team->inside))
        return true;
    return atomic_load(task->is_kept ? &creator->waits : &creator->team->waiting);
}

/* As its creator's thread keeps it. Not an orphan of a team that settles: that thread may be in libomp's barrier, where
 * others wait for orphans before they come to it. */
static bool is_kept(const od_detached *task)
{
    const od_member *creator = task->creator->member;
    return creator->keeps && !(task->creator->has_ended && creator->team->is_settling);
}

bool od_team_post(od_member *creator, od_detached task)
{
    od_team *team = creator->team;
    od_libomp_count(&od_libomp_counted.posted);
    od_lock_take(&team->lock);
    task.is_kept = is_kept(&task);
    push(team, task);
    bool posted = somebody_looks(creator, &task); /* as in od_team_offer() */
    if (!posted)
        take_back(team, &task);
    else
        od_member_wake(creator);
    if (posted && !task.is_kept)
        wake_one(team);
    od_lock_give(&team->lock);
    return posted;
}

/* Who ceases to wait counts itself out before it looks for the last time: it sees the event, or is seen. */
bool od_team_offer(od_team *team, void *event)
{
    if (!atomic_load(&team->waiting))
        return false;
    const od_detached task = {.event = event};
    od_lock_take(&team->lock);
    push(team, task);
    bool taken = atomic_load(&team->waiting) > 0;
    if (taken)
        wake_one(team);
    else
        take_back(team, &task);
    od_lock_give(&team->lock);
    return taken;
}

enum { AT_ONCE = 16 };

/* Which completions: of children of the creator, and of orphans; with neither: any. */
typedef struct whose {
    const od_parent *creator; /* or NULL */
    bool orphans;             /* of tasks that have ended */
} whose;

/* Under the team's lock. */
static bool is_of(const od_member *member, whose of, const od_detached *task)
{
    bool any = !of.creator && !of.orphans, own = of.creator && task->creator == of.creator;
    bool orphan = of.orphans && task->creator && task->creator->has_ended;
    return (any || own || orphan) && may_take(member, task);
}

/* Takes out the first ones, `most` of them, that the member may pass on; others are notified of the rest. */
static unsigned take_posted(const od_member *member, whose of, od_detached *taken, unsigned most)
{
    od_team *team = member->team;
    unsigned ntaken = 0, nfree = 0, kept = 0, i = 0;
    od_lock_take(&team->lock);
    unsigned n = atomic_load_explicit(&team->nposted, memory_order_relaxed);
    od_detached *posted = team->posted + team->first;
    for (; i < n && ntaken < most; i++)
        if (is_of(member, of, &posted[i])) {
            nfree += !posted[i].is_kept;
            if (posted[i].creator)
                atomic_fetch_sub(&posted[i].creator->posted, 1);
            taken[ntaken++] = posted[i];
        } else {
            kept++;
        }
    for (unsigned from = i, to = i; kept && ntaken && from-- > 0;) /* before the rest */
        if (!is_of(member, of, &posted[from]))
            posted[--to] = posted[from];
    unsigned left = n - ntaken;
    team->first = left ? team->first + ntaken : 0;
    atomic_fetch_sub(&team->nfree, nfree);
    atomic_store_explicit(&team->nposted, left, memory_order_release);
    if (ntaken && left)
        wake_one(team);
    od_lock_give(&team->lock);
    return ntaken;
}

/* Many may be posted of another task than the one that waits. */
static bool may_be_posted(const od_team *team, whose of)
{
    bool only_its = of.creator && !of.orphans;
    return atomic_load(only_its ? &of.creator->posted : &team->nposted) > 0;
}

static bool pass_on(od_member *member, whose of)
{
    od_detached taken[AT_ONCE];
    if (!may_be_posted(member->team, of))
        return false;
    unsigned n = take_posted(member, of, taken, AT_ONCE);
    for (unsigned i = 0; i < n; i++)
        od_detached_report(taken[i]);
    return n > 0;
}

bool od_team_pass_on(od_member *member, const od_parent *creator)
{
    return pass_on(member, (whose){.creator = creator});
}

bool od_team_pass_on_with_orphans(od_member *member, const od_parent *creator)
{
    return pass_on(member, (whose){.creator = creator, .orphans = true});
}

bool od_team_pass_on_one(od_member *member, const od_parent *creator)
{
    const whose of = {.creator = creator};
    od_detached taken;
    if (!may_be_posted(member->team, of) || !take_posted(member, of, &taken, 1))
        return false;
    od_detached_report(taken);
    return true;
}

/* First it is seen there, then it looks: what is posted later is not left to it. */
void od_member_go_inside(od_member *member, bool inside, const od_parent *own)
{
    if (atomic_load_explicit(&member->inside, memory_order_relaxed) != inside) { /* only its thread changes it */
        atomic_store(&member->inside, inside);
        atomic_fetch_add(&member->team->inside, inside ? 1u : -1u);
    }
    while (inside && od_team_pass_on_with_orphans(member, own))
        continue;
}

static bool has_posted_for(const od_member *member, const od_parent *creator)
{
    const od_team *team = member->team;
    const whose of = {.creator = creator};
    unsigned n = may_be_posted(team, of) ? atomic_load_explicit(&team->nposted, memory_order_relaxed) : 0;
    for (unsigned i = 0; i < n; i++)
        if (is_of(member, of, &team->posted[team->first + i]))
            return true;
    return false;
}

/* --- waiting ------------------------------------------------------------------ */

enum {
    SPIN_NS = 20000,              /* about what it takes to wake a thread */
    LOOKS = 64,                   /* libomp looks into one other queue at a time, at random */
    KEEPER_NS = 20 * 1000 * 1000, /* after which one sleeper looks for unannounced tasks */
};

static void begin_waiting(od_member *member, const od_goal *goal)
{
    if (goal->creator)
        return;
    atomic_fetch_add(&member->waits, 1);
    atomic_fetch_add(&member->team->waiting, 1);
}

static void end_waiting(od_member *member, const od_goal *goal)
{
    if (goal->creator)
        return;
    atomic_fetch_sub(&member->team->waiting, 1);
    atomic_fetch_sub(&member->waits, 1);
}

/* In a team of one thread libomp has nothing to run, but for claimed tasks that a worker's completion has released. */
static bool may_have_tasks(const od_team *team, unsigned nthreads)
{
    return (nthreads > 1 || od_offered_table.complete) && atomic_load_explicit(&team->has_tasks, memory_order_acquire);
}

/* Runs tasks of the team that others may have given libomp. These may wait inside of libomp: the thread is not counted
 * among the waiting meanwhile. A task that runs in the barrier at the end of a region has the member around that
 * region, which may be alone. */
static bool run_tasks(od_member *member, od_ident *ident, int32_t gtid, const od_goal *goal)
{
    od_team *team = member->team;
    bool everything = !goal->creator && !od_thread_holds_locks();
    unsigned nthreads = member->nthreads > 1 ? member->nthreads : (unsigned)REAL(omp_get_num_threads)();
    unsigned looks = nthreads * 2 < LOOKS ? nthreads * 2 : LOOKS, before = od_tasks_begun;
    if (!may_have_tasks(team, nthreads))
        return false;
    end_waiting(member, goal);
    const atomic_uint *posted = member->keeps ? &team->nposted : &team->nfree;
    od_look look = {.ident = ident, .most = looks, .stop = goal->creator ? NULL : posted};
    if (everything)
        od_look_for_any(&look, gtid);
    else
        od_look_for_task(&look, gtid);
    begin_waiting(member, goal);
    return before != od_tasks_begun;
}

static void link_in(od_team *team, od_member *member, od_sleeper *s)
{
    s->next = team->sleepers;
    s->at = &team->sleepers;
    if (s->next)
        s->next->at = &s->next;
    team->sleepers = s;
    member->sleeper = s;
    atomic_fetch_add(&team->sleeping, 1);
}

static void take_out(od_team *team, od_member *member, od_sleeper *s)
{
    *s->at = s->next;
    if (s->next)
        s->next->at = s->at;
    member->sleeper = NULL;
    atomic_fetch_sub(&team->sleeping, 1);
}

/* One sleeper of a team that has tasks is the keeper: it looks itself now and then. Nothing needs that, unless a task
 * comes into a queue in a way that we do not see. */
static void sleep_locked(od_team *team, od_sleeper *s, long nap_ns)
{
    bool keeps = !team->has_keeper && atomic_load(&team->has_tasks);
    if (nap_ns) {
        od_condition_nap(&s->wake, &team->lock, nap_ns);
        s->woken = true;
        return;
    }
    if (!keeps) {
        od_condition_wait(&s->wake, &team->lock);
        return;
    }
    team->has_keeper = true;
    od_condition_nap(&s->wake, &team->lock, KEEPER_NS);
    team->has_keeper = false;
    s->woken = true;
}

/* `nap_ns` not 0: no longer than that. */
static void sleep_until_told(od_member *member, const od_goal *goal, uint64_t news, long nap_ns)
{
    od_team *team = member->team;
    od_sleeper s = {.wake = PTHREAD_COND_INITIALIZER, .at_barrier = !goal->creator};
    od_lock_take(&team->lock);
    link_in(team, member, &s);
    while (!s.woken && !has_posted_for(member, goal->creator) && !goal->reached(goal) &&
           atomic_load(&team->news) == news)
        sleep_locked(team, &s, nap_ns);
    take_out(team, member, &s);
    od_lock_give(&team->lock);
    pthread_cond_destroy(&s.wake);
}

/* In a team of one, libomp runs the tasks that have waited for it before it returns: these, too, may wait inside of
 * libomp. */
static bool pass_on_between(od_member *member, const od_goal *goal)
{
    if (!may_be_posted(member->team, (whose){.creator = goal->creator}))
        return false;
    end_waiting(member, goal);
    bool any = od_team_pass_on(member, goal->creator);
    begin_waiting(member, goal);
    return any;
}

static void wait_for(od_member *member, od_ident *ident, const od_goal *goal)
{
    uint64_t since_ns = 0;
    int32_t gtid = REAL(__kmpc_global_thread_num)(ident);
    while (!od_runtime_ended()) {
        uint64_t news = atomic_load(&member->team->news);
        bool own_first = od_thread_holds_locks(); /* what is passed on may release tasks that hide the thread's own */
        if ((own_first && run_tasks(member, ident, gtid, goal)) || pass_on_between(member, goal) ||
            run_tasks(member, ident, gtid, goal)) {
            since_ns = 0;
            continue;
        }
        if (goal->reached(goal))
            return;
        long nap_ns = duty->ask();
        uint64_t now = od_clock_ns();
        since_ns = since_ns ? since_ns : now;
        if (nap_ns ? nap_ns == 1 : now - since_ns < SPIN_NS || !od_runtime_offloads()) {
            sched_yield();
            continue;
        }
        sleep_until_told(member, goal, news, nap_ns);
        since_ns = 0;
    }
}

void od_team_wait(od_member *member, od_ident *ident, const od_goal *goal)
{
    od_libomp_count(goal->team ? &od_libomp_counted.gathers : &od_libomp_counted.waits);
    member->at_barriers += !goal->creator;
    begin_waiting(member, goal);
    duty->begin();
    wait_for(member, ident, goal);
    duty->end();
    end_waiting(member, goal);
    member->at_barriers -= !goal->creator;
    while (od_team_pass_on(member, goal->creator)) /* of what the program has fulfilled since the last look */
        continue;
}

static bool are_complete(const od_goal *goal)
{
    return od_children_are_complete(goal->children);
}

void od_team_await(od_ident *ident, od_member *member, const od_children *children, const od_parent *creator)
{
    od_goal goal = {.reached = are_complete, .creator = creator, .children = children};
    if (!are_complete(&goal))
        od_team_wait(member, ident, &goal);
}

/* --- claimed tasks -------------------------------------------------------------- */

bool od_team_claims(void)
{
    return od_offered_table.complete && !atomic_load_explicit(&claims_ended, memory_order_relaxed);
}

void od_team_end_claims(void)
{
    if (od_team_claims())
        atomic_store(&claims_ended, true);
}

static bool no_claimed_is_left(const od_goal *goal)
{
    (void)goal;
    return atomic_load(&od_libomp_counted.complete) == atomic_load(&od_libomp_counted.claimed);
}

void od_team_await_claimed(od_ident *ident, const od_parent *running)
{
    od_goal goal = {.reached = no_claimed_is_left, .creator = running};
    if (running && !od_self.kernels && !no_claimed_is_left(&goal))
        od_team_wait(running->member, ident, &goal);
}
