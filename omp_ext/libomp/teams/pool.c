/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* All teams that there are. See pool.h. */
#include "omp_ext/libomp/teams/pool.h"

#include "omp_ext/libomp/real.h"
#include "omp_ext/process/memory.h"
#include "util/lock.h"

#include <stdlib.h>

static od_lock pool_lock = OD_LOCK_OF(OD_LOCK_TEAM_POOL);
static od_team *free_teams, *all_teams;

static od_team *make(void)
{
    od_team *team = od_alloc_zeroed(1, sizeof *team);
    od_lock_init(&team->lock, OD_LOCK_TEAM);
    team->next = all_teams;
    all_teams = team;
    return team;
}

od_team *od_team_take(void)
{
    od_lock_take(&pool_lock);
    od_team *team = free_teams;
    if (team)
        free_teams = team->next_free;
    else
        team = make();
    od_lock_give(&pool_lock);
    atomic_store_explicit(&team->arrivals, 0, memory_order_relaxed);
    atomic_store_explicit(&team->released, 0, memory_order_relaxed);
    atomic_store_explicit(&team->settles, 0, memory_order_relaxed);
    atomic_store_explicit(&team->unsettled, false, memory_order_relaxed);
    atomic_store_explicit(&team->cancelled, false, memory_order_relaxed);
    atomic_store_explicit(&team->has_tasks, false, memory_order_relaxed);
    atomic_store_explicit(&team->has_others, false, memory_order_relaxed);
    atomic_store_explicit(&team->releases, false, memory_order_relaxed);
    atomic_store_explicit(&team->detaches, false, memory_order_relaxed);
    team->gathers = false;
    team->is_settling = team->is_left_early = false;
    team->first = 0;
    atomic_store_explicit(&team->orphaning, 0, memory_order_relaxed);
    atomic_store_explicit(&team->inside, 0, memory_order_relaxed);
    atomic_store_explicit(&team->nposted, 0, memory_order_relaxed);
    atomic_store_explicit(&team->nfree, 0, memory_order_relaxed);
    return team;
}

void od_team_give_back(od_team *team)
{
    od_lock_take(&pool_lock);
    team->next_free = free_teams;
    free_teams = team;
    od_lock_give(&pool_lock);
}

void od_team_let_all_go(void)
{
    od_lock_take(&pool_lock);
    od_team *team = all_teams;
    od_lock_give(&pool_lock);
    for (; team; team = team->next) {
        atomic_store(&team->has_tasks, true);
        od_team_wake_all(team);
    }
}

void od_team_abandon_all(void)
{
    od_lock_take(&pool_lock);
    od_team *team = all_teams;
    od_lock_give(&pool_lock);
    for (; team; team = team->next) {
        od_lock_take(&team->lock);
        unsigned n = atomic_exchange(&team->nposted, 0);
        atomic_store(&team->nfree, 0);
        od_detached *posted = team->posted;
        unsigned first = team->first;
        team->posted = NULL;
        team->first = team->capacity = 0;
        od_lock_give(&team->lock);
        for (unsigned i = first; i < first + n; i++)
            REAL(omp_fulfill_event)(posted[i].event);
        free(posted);
    }
}

void od_team_locks(void (*visit)(od_lock *lock), const od_member *member)
{
    visit(&pool_lock);
    if (member)
        visit(&member->team->lock);
}

/* A thread that the child does not have may have been inside of its team's lock. */
void od_team_after_fork(void)
{
    for (od_team *team = all_teams; team; team = team->next)
        od_lock_init(&team->lock, OD_LOCK_TEAM);
}
