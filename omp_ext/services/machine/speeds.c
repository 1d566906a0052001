/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* See speeds.h. */
#include "omp_ext/services/machine/speeds.h"

#include "omp_ext/services/profile.h"
#include "sched/graph/speeds.h"
#include "util/container/hash.h"

#include <stdio.h>

static od_speeds speeds;
static bool unlike;      /* devices may be */
static char devices[64]; /* which these are */

/* LLVM's host devices are alike, unless they are slowed on purpose. */
static bool may_be_unlike(const od_backend *backend)
{
    bool any = !backend->in_process;
    for (unsigned i = 0; i < backend->nslowed; i++)
        for (unsigned k = 1; k < backend->ndevices; k++)
            any |= backend->slowed[i].times[k] != backend->slowed[i].times[0];
    return any;
}

static void name_devices(const od_backend *backend)
{
    const od_backend_ops *ops = backend->ops;
    uint32_t identity = ops->identity ? ops->identity(backend->state) : 0;
    uint64_t slowed = od_hash(OD_HASH_START, backend->slowed, backend->nslowed * sizeof *backend->slowed);
    snprintf(devices, sizeof devices, "%u devices of %s %08x", backend->ndevices, ops->name,
             identity ^ (uint32_t)slowed);
}

static void recall(const od_entry *code, unsigned speed_class)
{
    for (unsigned k = 0; k < speeds.ndevices; k++) {
        double times = od_profile_find_slowness(code, devices, k);
        if (times > 0)
            od_speeds_recall(&speeds, speed_class, k, times);
    }
}

static void keep(const od_entry *code, unsigned speed_class)
{
    for (unsigned k = 0; k < speeds.ndevices; k++) {
        double times = od_speeds_found(&speeds, speed_class, k);
        if (times > 0)
            od_profile_put_slowness(code, devices, k, times);
    }
}

void od_kernel_speeds_start(const od_backend *backend, od_slowness *slowness)
{
    unlike = may_be_unlike(backend);
    od_speeds_init(&speeds, backend->ndevices, slowness);
    name_devices(backend);
    if (unlike)
        recall(NULL, OD_SPEED_GENERAL);
}

unsigned od_kernel_speeds_class(od_entry *code)
{
    if (!unlike || !code)
        return OD_SPEED_GENERAL;
    if (!code->has_speed_class) {
        code->has_speed_class = true;
        code->speed_class = od_slowness_add(speeds.slowness);
        if (code->speed_class != OD_SPEED_GENERAL)
            recall(code, code->speed_class);
    }
    return code->speed_class;
}

void od_kernel_speeds_note(const od_entry *code, unsigned k, double seconds, double predicted)
{
    unsigned speed_class = code ? code->speed_class : OD_SPEED_GENERAL;
    if (!unlike || !od_speeds_note(&speeds, speed_class, k, seconds, predicted))
        return;
    keep(NULL, OD_SPEED_GENERAL);
    if (speed_class != OD_SPEED_GENERAL)
        keep(code, speed_class);
}
