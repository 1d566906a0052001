/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Teams come from a pool whose memory is never given back: a thread that has just notified a team may still be
 * inside of its lock when the team has ended.
 */
#ifndef OD_OMP_EXT_POOL_H
#define OD_OMP_EXT_POOL_H

#include "omp_ext/libomp/teams/team.h"

/* An unused team. Never fails. */
od_team *od_team_take(void);
void od_team_give_back(od_team *team);

/* The library is off after all: tasks and arrivals will not be noted here any more. */
void od_team_let_all_go(void);
/* The process ends: everything posted is passed on by the calling thread. */
void od_team_abandon_all(void);
/* For a fork: the locks of the calling thread's team, whose member it is (or NULL). In the child, when they have been
 * given back, those of other threads' teams are free, too. */
void od_team_locks(void (*visit)(od_lock *lock), const od_member *member);
void od_team_after_fork(void);

#endif
