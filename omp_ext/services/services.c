/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The list of services, in the order in which they are called. See services.h. */
#include "omp_ext/services/services.h"

#include "omp_ext/services/check/check.h"
#include "omp_ext/services/info.h"
#include "omp_ext/services/progress.h"
#include "omp_ext/services/profile.h"
#include "omp_ext/services/record/record.h"
#include "omp_ext/services/summary.h"
#include "omp_ext/services/tracing.h"
#include "omp_ext/services/watchdog.h"

static const od_service *const services[] = {
    &od_check_service,    &od_recorder_service, &od_tracing_service, &od_info_service, &od_progress_service,
    &od_watchdog_service, &od_profile_service,  &od_summary_service, /* prints last: files are written */
};

enum { SERVICES = sizeof services / sizeof *services };

void od_services_start(const od_run *run)
{
    for (unsigned i = 0; i < SERVICES; i++)
        if (services[i]->start)
            services[i]->start(run);
}

void od_services_stop(const od_run *run)
{
    for (unsigned i = 0; i < SERVICES; i++)
        if (services[i]->stop)
            services[i]->stop(run);
}

void od_services_interrupt(const od_run *run)
{
    for (unsigned i = 0; i < SERVICES; i++)
        if (services[i]->interrupt)
            services[i]->interrupt(run);
}

void od_services_before_fork(void)
{
    for (unsigned i = 0; i < SERVICES; i++)
        if (services[i]->before_fork)
            services[i]->before_fork();
}

void od_services_after_fork(bool child)
{
    for (unsigned i = SERVICES; i-- > 0;)
        if (services[i]->after_fork)
            services[i]->after_fork(child);
}

void od_services_revive(const od_run *run)
{
    for (unsigned i = 0; i < SERVICES; i++)
        if (services[i]->revive)
            services[i]->revive(run);
}
