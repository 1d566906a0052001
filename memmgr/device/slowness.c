/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* See slowness.h. */
#include "memmgr/device/slowness.h"

#include <math.h>
#include <string.h>

void od_slowness_init(od_slowness *slowness)
{
    slowness->classes = 1;
    for (unsigned k = 0; k < OD_MAX_DEVICES; k++)
        slowness->times[OD_SPEED_GENERAL][k] = 1;
}

unsigned od_slowness_add(od_slowness *slowness)
{
    if (slowness->classes == OD_SPEED_CLASSES)
        return OD_SPEED_GENERAL;
    memcpy(slowness->times[slowness->classes], slowness->times[OD_SPEED_GENERAL], sizeof slowness->times[0]);
    return slowness->classes++;
}

bool od_slowness_is_mixed(const od_slowness *slowness, unsigned ndevices)
{
    const double *general = slowness->times[OD_SPEED_GENERAL];
    for (unsigned c = 1; c < slowness->classes; c++)
        for (unsigned k = 0; k < ndevices; k++)
            if (slowness->times[c][k] < general[k] || slowness->times[c][k] > general[k])
                return true;
    return false;
}

double od_slowness_least(const od_slowness *slowness, unsigned k)
{
    double least = slowness->times[OD_SPEED_GENERAL][k];
    for (unsigned c = 1; c < slowness->classes; c++)
        least = fmin(least, slowness->times[c][k]);
    return least;
}
