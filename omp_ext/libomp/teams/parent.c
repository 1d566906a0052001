/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Explicit tasks and their ends. See parent.h. */
#include "omp_ext/libomp/teams/parent.h"

#include "omp_ext/libomp/teams/detach.h"
#include "omp_ext/libomp/teams/look.h"
#include "omp_ext/libomp/thread.h"
#include "omp_ext/process/memory.h"

#include <pthread.h>
#include <stdlib.h>

/* Outside of regions there are no barriers, and a thread may end before an event. */
bool od_parent_may_leave(const od_parent *parent)
{
    return !parent->elsewhere && (parent->member->level || atomic_load(&parent->children.pending));
}

/* False: before its children, the last of which frees it. */
static bool has_left(od_parent *parent)
{
    od_team *team = parent->member->team;
    od_lock_take(&team->lock);
    bool complete = od_children_are_complete(&parent->children);
    parent->has_ended = !complete;
    if (!complete) {
        atomic_fetch_add(&team->orphaning, 1);
        atomic_store(&team->unsettled, true);
    }
    od_lock_give(&team->lock);
    return complete;
}

#define OD_QUICK_TO_REACH __attribute__((tls_model("initial-exec")))
static _Thread_local od_parent *spare OD_QUICK_TO_REACH; /* the thread's next task's */
static _Thread_local bool has_kept OD_QUICK_TO_REACH;    /* one, ever */
static pthread_key_t spare_key;
static bool has_key;
static pthread_once_t first_spare = PTHREAD_ONCE_INIT;

static void free_spare(void *of_thread)
{
    od_parent **at = of_thread;
    free(*at);
    *at = NULL;
}

static void create_key(void)
{
    has_key = !pthread_key_create(&spare_key, free_spare);
}

static od_parent *take_parent(void)
{
    od_parent *parent = spare ? spare : od_alloc(sizeof *parent);
    spare = NULL;
    return parent;
}

static void keep_parent(od_parent *parent)
{
    if (!has_kept && !pthread_once(&first_spare, create_key) && has_key)
        has_kept = !pthread_setspecific(spare_key, &spare);
    if (spare || !has_kept)
        free(parent);
    else
        spare = parent;
}

od_parent *od_parent_begin(int32_t gtid)
{
    od_member *member = od_member_begun();
    od_parent *parent = take_parent();
    *parent = (od_parent){.member = member,
                          .task = od_detach_current_task(gtid),
                          .elsewhere = od_member_is_elsewhere(member),
                          .was_inside = atomic_load(&member->inside)};
    od_member_go_inside(member, false, NULL);
    return parent;
}

void od_parent_end(od_parent *parent)
{
    od_member *member = parent->member;
    bool was_inside = parent->was_inside;
    bool complete = !parent->has_had_any || has_left(parent);
    if (complete)
        keep_parent(parent);
    /* What was posted for the task, where nobody else may look. */
    while (!complete && !od_thread_holds_locks() && !od_detached_reporting && od_team_pass_on(member, parent))
        continue;
    if (was_inside)
        od_member_go_inside(member, true, NULL);
}

void od_detach_task_begins(void)
{
    const od_member *member = od_member_self;
    od_tasks_begun++;
    if (member && member->nthreads > 1)
        od_team_pass_news(member->team);
}
