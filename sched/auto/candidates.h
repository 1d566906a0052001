/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The settings that `auto` chooses among. */
#ifndef OD_SCHED_AUTO_CANDIDATES_H
#define OD_SCHED_AUTO_CANDIDATES_H

#include "memmgr/device/topology.h"
#include "sched/settings.h"

enum { OD_CANDIDATES_MAX = 64 };

typedef struct od_candidate {
    od_settings settings;
    const char *policy; /* with its options, as it would be written */
    char name[96];      /* all of it, for people */
} od_candidate;

/* What they are for. Of what is given these stay: a lookahead above 0, a number of active devices, an eviction rule
 * other than the policy's own, and whether CPU workers are used. */
typedef struct od_work {
    const od_settings *given;
    unsigned ndevices;
    uint32_t ntasks;
    const od_topology *topology;
    od_placeset lost; /* devices */
    bool depends;  /* some tasks wait for others */
} od_work;

/* The same settings. */
bool od_candidate_is_same(const od_candidate *a, const od_candidate *b);
/* The same but, perhaps, for their lookahead. */
bool od_candidate_is_alike(const od_candidate *a, const od_candidate *b);
/* The same number for settings that are alike, and seldom for others. */
uint64_t od_candidate_hash(const od_candidate *candidate);
/* Sets its name. */
void od_candidate_name(od_candidate *candidate);
/* With what a run begins, on devices that are `uneven` or not: a policy as it is by itself, but for what stays of what
 * is given. */
od_candidate od_candidates_first(bool uneven, const od_settings *given);
/* What may be worth a try, the most promising first, at most so many; returns how many there are. */
unsigned od_candidates(od_candidate *candidates, unsigned most, const od_work *work);
/* Those that differ from the best of them in one thing: active devices, lookahead, or task buffer. */
unsigned od_candidates_near(od_candidate *candidates, unsigned most, const od_candidate *best, const od_work *work);
/* Those with each lookahead and each task buffer together, and all else like the best of them. */
unsigned od_candidates_ahead(od_candidate *candidates, unsigned most, const od_candidate *best, const od_work *work);
/* Those that have another policy and eviction rule than the best of them, and the same active devices. */
unsigned od_candidates_alike(od_candidate *candidates, unsigned most, const od_candidate *best, const od_work *work);

/* The other combinations of policy and rule, lookahead, and active devices (those of the best, all, as many as load
 * fastest), one by one. False: this one is not to be tried; there are none from OD_CANDIDATES_GRID on. */
enum { OD_CANDIDATES_POLICIES = 22, OD_CANDIDATES_FAST = 18, OD_CANDIDATES_GRID = OD_CANDIDATES_POLICIES * 5 * 3 };
bool od_candidates_of_grid(unsigned number, const od_candidate *best, const od_work *work, od_candidate *candidate);
/* Policies and rules with several task buffers and lookaheads on these devices, one by one: the first
 * OD_CANDIDATES_POLICIES are each policy with what is given. False: this one is not to be tried; there are none from
 * OD_CANDIDATES_ON_SET on. */
enum { OD_CANDIDATES_ON_SET = OD_CANDIDATES_POLICIES * 9 };
bool od_candidates_on_set(unsigned number, od_placeset devices, const od_work *work, od_candidate *candidate);
/* Those on other sets of the devices `among`, which od_device_sets_near() or od_device_sets_exchanged() finds, and all
 * else like the best of them: at most OD_CANDIDATES_MAX. */
typedef unsigned od_near_sets(const od_topology *topology, od_placeset among, od_placeset set, od_placeset *near);
unsigned od_candidates_on_near_sets(od_candidate *candidates, const od_candidate *best, od_placeset among,
                                    const od_work *work, od_near_sets *find);
/* A policy with its options that candidates may have, by its name; NULL: there is none. */
const char *od_candidates_policy(const char *name);
/* The user has left the eviction rule open. */
bool od_candidates_may_set_rule(const od_settings *given);
/* Devices that are not lost, bit k: device k. */
od_placeset od_candidates_devices(const od_work *work);

#endif
