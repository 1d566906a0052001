/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* See speeds.h. */
#include "sched/graph/speeds.h"

#include <math.h>

enum { FIRST = 16, LATEST = 32 };              /* tasks of a device before anything is said of it; that count */
static const double alike = 1.3, unlike = 1.5; /* below which devices are alike again; from which they are not */
/* There are many classes, so one of them differs by chance: more tasks count, and while these are few the difference
 * has to be larger. */
enum { LATEST_OF_CLASS = 64 };
static const double unlike_at_first = 2;
static const double news = 1.1;                /* by how much a slowness changes at least */
static const double shortest = 100e-6;         /* seconds: what shorter tasks take is not what they compute */

void od_speeds_init(od_speeds *speeds, unsigned ndevices, od_slowness *slowness)
{
    *speeds = (od_speeds){.ndevices = ndevices, .slowness = slowness};
    od_slowness_init(slowness);
}

static void average(od_speed *speed, double ratio, uint32_t latest)
{
    speed->ratio += (ratio - speed->ratio) / (speed->tasks < latest ? ++speed->tasks : latest);
}

static bool is_known(const od_speeds *speeds, unsigned speed_class, unsigned k)
{
    return speeds->of[speed_class][k].tasks >= FIRST;
}

/* How many times what all tasks together take on a device tasks of the class take there, on those where that is known;
 * 0: it is on none. */
static double beside_general(const od_speeds *speeds, unsigned speed_class)
{
    double sum = 0;
    unsigned count = 0;
    for (unsigned k = 0; k < speeds->ndevices; k++)
        if (is_known(speeds, speed_class, k)) {
            sum += speeds->of[speed_class][k].ratio / speeds->slowness->times[OD_SPEED_GENERAL][k];
            count++;
        }
    return count ? sum / count : 0;
}

/* What tasks of the class take on each device, times what was predicted; 0: nothing is known. */
static void find_ratios(const od_speeds *speeds, unsigned speed_class, double *ratio)
{
    double beside = speed_class == OD_SPEED_GENERAL ? 0 : beside_general(speeds, speed_class);
    for (unsigned k = 0; k < speeds->ndevices; k++)
        ratio[k] = is_known(speeds, speed_class, k) ? speeds->of[speed_class][k].ratio
                                                    : beside * speeds->slowness->times[OD_SPEED_GENERAL][k];
}

static double least_above_0(const double *ratio, unsigned count)
{
    double least = INFINITY;
    for (unsigned k = 0; k < count; k++)
        least = ratio[k] > 0 ? fmin(least, ratio[k]) : least;
    return least;
}

/* What a slowness is by now, if it has changed. */
static double slowness_now(double old, double found, bool at_first)
{
    if (found < (old > 1 ? alike : at_first ? unlike_at_first : unlike))
        return 1;
    return found > old * news || found < old / news ? found : old;
}

static bool set(od_slowness *slowness, unsigned speed_class, unsigned k, double now)
{
    double *times = &slowness->times[speed_class][k];
    bool other = now < *times || now > *times;
    *times = now;
    slowness->changes += other;
    return other;
}

static bool update(od_speeds *speeds, unsigned speed_class)
{
    double ratio[OD_MAX_DEVICES];
    od_slowness *slowness = speeds->slowness;
    bool any = false;
    find_ratios(speeds, speed_class, ratio);
    double fastest = least_above_0(ratio, speeds->ndevices);
    for (unsigned k = 0; k < speeds->ndevices; k++) {
        bool at_first = speed_class != OD_SPEED_GENERAL && speeds->of[speed_class][k].tasks < LATEST_OF_CLASS;
        if (ratio[k] > 0)
            any |= set(slowness, speed_class, k,
                       slowness_now(slowness->times[speed_class][k], ratio[k] / fastest, at_first));
        else if (speed_class != OD_SPEED_GENERAL)
            any |= set(slowness, speed_class, k, slowness->times[OD_SPEED_GENERAL][k]);
    }
    return any;
}

/* Of all classes, which know it of devices that have not run enough of their tasks. */
static bool update_general(od_speeds *speeds)
{
    bool any = update(speeds, OD_SPEED_GENERAL);
    for (unsigned c = 1; any && c < speeds->slowness->classes; c++)
        update(speeds, c);
    return any;
}

bool od_speeds_note(od_speeds *speeds, unsigned speed_class, unsigned k, double seconds, double predicted)
{
    if (seconds < shortest || predicted < shortest)
        return false;
    average(&speeds->of[OD_SPEED_GENERAL][k], seconds / predicted, LATEST);
    bool any = update_general(speeds);
    if (speed_class == OD_SPEED_GENERAL)
        return any;
    od_speed *own = &speeds->of[speed_class][k];
    if (own->begun)
        average(own, seconds / predicted, LATEST_OF_CLASS);
    own->begun = true;
    return update(speeds, speed_class) || any;
}

double od_speeds_found(const od_speeds *speeds, unsigned speed_class, unsigned k)
{
    unsigned known = 0;
    for (unsigned i = 0; i < speeds->ndevices; i++)
        known += is_known(speeds, speed_class, i);
    return known > 1 && is_known(speeds, speed_class, k) ? speeds->slowness->times[speed_class][k] : 0;
}

void od_speeds_recall(od_speeds *speeds, unsigned speed_class, unsigned k, double slowness)
{
    speeds->of[speed_class][k] = (od_speed){.tasks = FIRST, .ratio = slowness, .begun = true};
    if (speed_class == OD_SPEED_GENERAL)
        update_general(speeds);
    else
        update(speeds, speed_class);
}
