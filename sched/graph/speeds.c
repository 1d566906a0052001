/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* See speeds.h. */
#include "sched/graph/speeds.h"

#include <math.h>

enum { FIRST = 16, LATEST = 32 };              /* tasks of a device before anything is said of it; that count */
static const double alike = 1.3, unlike = 1.5; /* below which devices are alike again; from which they are not */
static const double news = 1.1;                /* by how much a slowness changes at least */
static const double shortest = 100e-6;         /* seconds: what shorter tasks take is not what they compute */

void od_speeds_init(od_speeds *speeds, unsigned ndevices)
{
    *speeds = (od_speeds){.ndevices = ndevices};
    for (unsigned k = 0; k < ndevices; k++)
        speeds->slowness[k] = 1;
}

static double ratio_of_fastest(const od_speeds *speeds)
{
    double least = INFINITY;
    for (unsigned k = 0; k < speeds->ndevices; k++)
        if (speeds->tasks[k] >= FIRST)
            least = fmin(least, speeds->ratio[k]);
    return least;
}

/* What device k's slowness is by now, if it has changed. */
static double slowness_now(const od_speeds *speeds, unsigned k, double fastest)
{
    double old = speeds->slowness[k], found = speeds->ratio[k] / fastest;
    if (speeds->tasks[k] < FIRST)
        return old;
    if (found < (old > 1 ? alike : unlike))
        return 1;
    return found > old * news || found < old / news ? found : old;
}

bool od_speeds_note(od_speeds *speeds, unsigned k, double seconds, double predicted)
{
    if (seconds < shortest || predicted < shortest)
        return false;
    double weight = 1.0 / (speeds->tasks[k] < LATEST ? ++speeds->tasks[k] : LATEST);
    speeds->ratio[k] += (seconds / predicted - speeds->ratio[k]) * weight;
    bool any = false;
    double fastest = ratio_of_fastest(speeds);
    for (unsigned i = 0; i < speeds->ndevices && isfinite(fastest); i++) {
        double now = slowness_now(speeds, i, fastest);
        any |= now < speeds->slowness[i] || now > speeds->slowness[i];
        speeds->slowness[i] = now;
    }
    return any;
}
