/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* How many devices work; see working.h. */
#include "sched/working.h"

#include "sched/scene.h"

#include <math.h>

void od_working_init(od_working *w, const od_policy_env *env, int count, bool policy_chooses)
{
    bool chosen = count == OD_WORKING_CHOSEN || (count == OD_WORKING_AS_POLICY && policy_chooses);
    *w = (od_working){.chooses = chosen && env->ndevices > 1, .count = env->ndevices};
    if (count > 0 && (unsigned)count < env->ndevices)
        w->count = (unsigned)count;
}

/* Seconds until so many devices have done all: what is shorter, loads or work, is not quite hidden behind the other. */
static double finish_seconds(const od_policy_env *env, const od_known *known, const od_scene *scene, unsigned devices)
{
    static const double not_hidden = 0.6; /* over the factorisations and products of docs/performance.md */
    double loads, work = known->open_seconds / devices;
    if (od_hold_estimate(&scene->problem, devices, &loads))
        return (double)INFINITY;
    loads /= env->ndevices; /* links are as fast as when all devices load; so many share what there is */
    return fmax(work, loads) + not_hidden * fmin(work, loads);
}

bool od_working_update(od_working *w, const od_policy_env *env, const od_known *known, double *seconds)
{
    static const double clearly = 0.97; /* one device more must bring that */
    od_scene scene;
    size_t open = w->chooses ? known->open.count : 0;
    if (w->chooses && !known->nitems)
        w->estimated = 0; /* what comes next is another batch */
    if (open < w->estimated + w->estimated / 4 + 8 || od_scene_create(&scene, known, env, 0))
        return false;
    w->estimated = open;
    *seconds = (double)INFINITY;
    for (unsigned n = 1; n <= env->ndevices; n += 1 + n / 4) {
        double finish = finish_seconds(env, known, &scene, n);
        if (finish < clearly * *seconds) {
            *seconds = finish;
            w->count = n;
        }
    }
    od_scene_free(&scene);
    return *seconds < (double)INFINITY;
}
