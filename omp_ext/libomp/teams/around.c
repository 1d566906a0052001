/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Tasks around regions of one thread. See around.h. */
#include "omp_ext/libomp/teams/around.h"

/* The task around a region, where it is of one of these and we know it. */
static od_parent *parent_around(const od_member *member)
{
    od_member *outer = member->outer;
    od_parent *implicit = outer && !member->in_task ? &outer->implicit : NULL;
    od_parent *around = member->interrupted ? member->interrupted : implicit;
    return around && around->member->nthreads == 1 && around->member->level ? around : NULL;
}

/* An explicit task around it that is around no region outside of it: children of what is further out may wait for that
 * task. */
static bool is_first_in_task(const od_member *member)
{
    return member->interrupted || (member->in_task && !(member->outer && member->outer->in_task));
}

/* The next of these tasks, from the region's member outwards; NULL: there are no more. */
static od_parent *next_around(const od_member **at)
{
    od_parent *around = NULL;
    while (*at && (*at)->nthreads == 1 && !around) {
        const od_member *m = *at;
        around = parent_around(m);
        *at = is_first_in_task(m) ? NULL : m->outer;
    }
    return around;
}

void od_around_finish(od_ident *ident, const od_member *member)
{
    const od_member *at = member;
    for (od_parent *around; (around = next_around(&at));) {
        while (od_team_pass_on(around->member, NULL))
            continue;
        if (!atomic_load(&around->children.events))
            od_team_await(ident, around->member, &around->children, NULL);
    }
}

bool od_around_expects_events(const od_member *member)
{
    bool any = false;
    for (od_parent *around; !any && (around = next_around(&member));)
        any = atomic_load(&around->children.events);
    return any;
}
