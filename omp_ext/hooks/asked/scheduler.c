/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Launches and data constructs about which libomptarget asks: with the series in patches/ it asks before it maps
 * anything, as docs/rfc-offload-scheduler.md describes. Our entry points only pass on then. What a target task's code
 * launches is taken over, and launched later with the addresses of our replicas (launch.c); constructs are carried out
 * here, or by libomptarget without being asked again.
 */
#include "omp_ext/hooks/asked/answers.h"

#include "omp_ext/libomp/ompt.h"
#include "omp_ext/libomp/real.h"
#include "omp_ext/libomp/teams/team.h"
#include "omp_ext/maps/args.h"
#include "omp_ext/process/activity.h"

_Thread_local const void *od_asked_from;

static od_offload_answer launch(od_offload_launch *asked, void **addresses)
{
    (void)addresses; /* it is launched when its data are there */
    od_libomp_count(&od_libomp_counted.asked);
    int failed = od_answer_kernel(asked->ident, asked->device, asked->teams, asked->threads, asked->region,
                                  asked->args, od_asked_from);
    return failed ? OD_ON_HOST : OD_TAKEN;
}

static int data(od_offload_construct *asked, int before)
{
    const od_offload_maps *maps = &asked->maps;
    if (!before)
        return 0;
    od_libomp_count(&od_libomp_counted.asked);
    od_map_args args = {maps->count, maps->bases, maps->begins,  maps->sizes,
                        maps->types, maps->names, maps->mappers, od_types_together(maps->count, maps->types)};
    od_answer_data(asked->kind, asked->ident, asked->device, &args, od_asked_from);
    return 1;
}

/* --- the entry points without being asked -------------------------------------- */

static int kernel(od_ident *ident, int64_t device, int32_t teams, int32_t threads, void *region, od_kernel_args *args)
{
    od_offload_launch given = od_offload_launch_of(ident, device, teams, threads, region, args);
    return od_offered_table.launch(&given, NULL, NULL);
}

#define OD_UNASKED(name, kind)                                                                                         \
    static void name(od_ident *ident, int64_t device, int32_t n, void **bases, void **begins, int64_t *sizes,          \
                     int64_t *types, void **names, void **mappers)                                                     \
    {                                                                                                                  \
        od_offload_construct given = {kind, ident, device, {n, bases, begins, sizes, types, names, mappers}};          \
        od_offered_table.data(&given);                                                                                 \
    }

OD_UNASKED(begin, OD_ENTER_DATA)
OD_UNASKED(end, OD_EXIT_DATA)
OD_UNASKED(update, OD_UPDATE_DATA)

static const od_offload_scheduler scheduler = {.version = 1, .launch = launch, .data = data};

/* Called when libomptarget starts, again after it has ended. */
const od_offload_scheduler *ompx_start_offload_scheduler(unsigned version, od_ompt_lookup lookup);
const od_offload_scheduler *ompx_start_offload_scheduler(unsigned version, od_ompt_lookup lookup)
{
    (void)version; /* all have what the first one has */
    if (od_runtime_is_idle())
        return NULL;
    if (!od_offered_table.launch) {
        od_ompt_find(lookup, "ompx_launch", &od_offered_table.launch);
        od_ompt_find(lookup, "ompx_data", &od_offered_table.data);
        od_real_use_offered(kernel, begin, end, update);
    }
    return &scheduler;
}
