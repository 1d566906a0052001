/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Planning of `auto` that takes time: it may use a hundredth of the time of so many processors, as in a real run, and
 * what it decides counts when it would have been decided there. So that a simulation has the same result every time,
 * its clock of processor time is none: it goes on by a fixed step each time that it is read, which the oracle does at
 * the beginning of a play and once in 64 moments of it. Plans of other policies take no time.
 */
#include "sim/simulate_internal.h"

#include <simgrid/actor.h>
#include <simgrid/engine.h>

uint64_t sim_processor_ns(void *driver, bool own)
{
    static const uint64_t step_ns = 100000; /* about what plays take on one core of the machine of the tests */
    simulation *s = driver;
    return own ? s->planned_ns += step_ns : sim_now_ns() + 1; /* 0: not known */
}

static void plan_main(int argc, char **argv)
{
    simulation *s = sim_running();
    od_background *job = s->job[sim_actor_number(argc, argv)];
    uint64_t begun_ns = s->planned_ns;
    job->run(job);
    job->seconds = (double)(s->planned_ns - begun_ns) * 1e-9;
    sg_actor_sleep_for(job->seconds);
    od_engine_background_done(s->engine, job);
    sim_after_event(s);
}

bool sim_plan_in_background(void *driver, od_background *job, size_t tasks)
{
    simulation *s = driver;
    if (tasks < OD_BACKGROUND_FEW)
        return false;
    s->job = sim_grown(s->job, s->njobs, &s->jobs_capacity, sizeof *s->job);
    s->job[s->njobs] = job;
    sim_start_actor("plan", s->machine->platform->memory, plan_main, s->njobs++, false);
    return true;
}
