/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Events of the program's own detached tasks. A thread that waits in omp_ext/libomp/teams/team.h does not look into the
 * queues where libomp puts the rest of such a task's completion when another thread fulfils its event. So these tasks
 * are counted and completed like ours (detach.h). Where the task that creates one is not known, its event goes to
 * whoever waits in the team, or else to libomp, and then the team is notified that there is something to look for.
 */
#include "omp_ext/libomp/teams/events.h"

#include "omp_ext/libomp/teams/detach.h"
#include "omp_ext/process/memory.h"
#include "omp_ext/libomp/real.h"
#include "omp_ext/process/activity.h"
#include "omp_ext/libomp/thread.h"

#include <stdlib.h>

typedef struct event {
    od_detached task; /* its event; counted, or without a creator */
    /* of the thread that has created the task; it may have ended, then it is another one, which does no harm */
    od_team *team;
    struct event *next;
} event;

enum { BUCKETS = 256 };

static od_lock lock = OD_LOCK_OF(OD_LOCK_EVENTS); /* protects the buckets */
static event *buckets[BUCKETS];

static event **bucket_of(const void *handle)
{
    return &buckets[((uintptr_t)handle * UINT64_C(0x9e3779b97f4a7c15)) >> 56];
}

static void add(void *handle)
{
    od_team_end_claims();
    event *e = od_alloc(sizeof *e);
    *e = (event){.team = od_member_begun()->team, .task = od_detached_join(true)};
    e->task.event = handle;
    od_lock_take(&lock);
    event **bucket = bucket_of(handle);
    e->next = *bucket;
    *bucket = e;
    od_lock_give(&lock);
    atomic_fetch_add(&od_events_expected, 1);
}

/* The event, which is forgotten and the caller's to free, or NULL. */
static event *take(const void *handle)
{
    if (!atomic_load(&od_events_expected))
        return NULL;
    od_lock_take(&lock);
    event **at = bucket_of(handle), *e;
    while (*at && (*at)->task.event != handle)
        at = &(*at)->next;
    e = *at;
    if (e)
        *at = e->next;
    od_lock_give(&lock);
    if (e)
        atomic_fetch_sub(&od_events_expected, 1);
    return e;
}

/* Takes the next of them out of its task's count. False: there is none. */
static bool disown_one(const od_parent *parent, od_detached *counted)
{
    od_lock_take(&lock);
    event *found = NULL;
    for (unsigned i = 0; i < BUCKETS && !found; i++)
        for (found = buckets[i]; found && found->task.creator != parent;)
            found = found->next;
    if (found) {
        *counted = found->task;
        found->task = (od_detached){.event = counted->event};
    }
    od_lock_give(&lock);
    return found;
}

void od_events_disown(const od_parent *parent)
{
    od_detached counted;
    while (disown_one(parent, &counted))
        od_detached_leave(counted);
}

void *__kmpc_task_allow_completion_event(od_ident *ident, int32_t gtid, void *task)
{
    void *handle = REAL(__kmpc_task_allow_completion_event)(ident, gtid, task);
    if (!od_runtime_is_idle() && od_runtime_offloads() && !od_self.kernels)
        add(handle);
    return handle;
}

static void complete(const event *e)
{
    if (e->task.creator) {
        od_detached_complete(e->task);
    } else if (!od_team_offer(e->team, e->task.event)) {
        REAL(omp_fulfill_event)(e->task.event);
        od_team_note_task(e->team);
    }
}

void omp_fulfill_event(void *handle)
{
    event *e = od_runtime_is_idle() ? NULL : take(handle);
    if (e)
        complete(e);
    else
        REAL(omp_fulfill_event)(handle);
    free(e);
}

void od_events_locks(void (*visit)(od_lock *lock))
{
    visit(&lock);
}
