/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Eviction rules: which replica leaves a full device.
 *
 * The engine keeps each device's resident replicas in a list, least recently used first,
 * and asks `victim` when memory is needed. The rule only reads. Guarantee: a
 * returned victim satisfies od_victim_allowed(). Callbacks run under the engine's lock.
 */
#ifndef OD_SCHED_EVICT_H
#define OD_SCHED_EVICT_H

#include "sched/policy.h"

enum { OD_EVICT_INTERFACE = 3 };

typedef struct od_evict_query {
    unsigned k;              /* the device that needs memory */
    const od_list *resident; /* its replicas (od_replica.lru), least recently used first */
    const od_list *buffer;   /* its task buffer (od_task.link), head first */
    const od_task *head;     /* the task that must get its memory, whose own data are not victims; NULL: a prefetch */
    const od_policy_ops *policy; /* for future_uses */
    void *policy_state;
    bool bounded; /* new spill areas have a bound: */
    size_t room;  /* bytes of such an area, at most */
} od_evict_query;

/* True where the replica may leave: present, unpinned, not bound, no task of the program holds its
 * address; for a prefetch also used by no buffered task; for a head, not one of its own data; with room where its
 * contents must go. */
bool od_victim_allowed(const od_evict_query *query, const od_replica *replica);

/* True where the only contents are there, and there is no room for them elsewhere. */
bool od_victim_has_no_place(const od_evict_query *query, const od_datum *datum);

/* The place in the task buffer of the first task that uses the datum; the buffer's length if none does. */
size_t od_evict_place_in_buffer(const od_evict_query *query, const od_datum *datum);

typedef struct od_evict_ops {
    unsigned interface_version; /* OD_EVICT_INTERFACE */
    const char *name;           /* value of OMPDARTS_EVICT */
    const char *description;
    /* The replica to evict, or NULL when none is allowed. */
    od_replica *(*victim)(const od_evict_query *query);
    /* The numbers by which it was chosen, at most OD_MAX_SCORES; their count is returned. NULL: there are none. */
    unsigned (*explain)(const od_evict_query *query, const od_replica *victim, od_score *scores);
} od_evict_ops;

const od_evict_ops *od_evict_find(const char *name);
const char *const *od_evict_names(void); /* sorted, NULL-terminated */

#define OD_REGISTER_EVICT(ops) OD_REGISTER(od_evict_rules, od_evict_ops, ops)

#endif
