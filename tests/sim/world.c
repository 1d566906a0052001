/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "world.h"

#include <math.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static od_status run(const sim_graph *graph, const sim_workload *workload, const world_setting *setting,
                     world_outcome *outcome)
{
    sim_platform platform;
    sim_machine machine = {.platform = &platform,
                           .ndevices = setting->devices,
                           .active = setting->active,
                           .memory = setting->memory,
                           .cpus = setting->cpus,
                           .cores = 1,
                           .buffer = setting->buffer ? setting->buffer : 5,
                           .seed = setting->seed};
    char *error = outcome->error;
    size_t size = sizeof outcome->error;
    od_status status = od_policy_choose(setting->policy, &machine.policy, error, size);
    if (!status)
        status = sim_platform_load(setting->platform, &sim_one_node, &platform, error, size);
    if (status)
        return status;
    machine.evict = od_evict_find(setting->evict ? setting->evict : machine.policy.ops->default_evict);
    status = sim_run(graph, &machine, &outcome->result, error, size);
    outcome->bounds = sim_bounds_of(graph, workload, &machine);
    sim_platform_free(&platform);
    return status;
}

world_outcome world_run(const sim_graph *graph, const sim_workload *workload, const world_setting *setting)
{
    int ends[2];
    world_outcome outcome = {.status = OD_EIO};
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        outcome.status = run(graph, workload, setting, &outcome);
        bool written = write(ends[1], &outcome, sizeof outcome) == sizeof outcome;
        _exit(!written);
    }
    close(ends[1]);
    size_t got = 0;
    for (ssize_t n; (n = read(ends[0], (char *)&outcome + got, sizeof outcome - got)) > 0;)
        got += (size_t)n;
    close(ends[0]);
    waitpid(child, NULL, 0);
    assert_int_equal(got, sizeof outcome); /* else it has crashed */
    return outcome;
}

bool world_in_child(bool (*function)(void *argument), void *argument)
{
    int status;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(!function(argument));
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

void world_near(double value, double expected, double tolerance)
{
    if (!(fabs(value - expected) <= tolerance))
        fail_msg("%.12g instead of %.12g", value, expected);
}

sim_graph world_workload(const char *text, uint64_t seed, sim_workload *workload)
{
    char error[256] = "";
    sim_graph graph;
    *workload = (sim_workload){.seed = seed};
    if (sim_workload_parse(text, workload, error, sizeof error))
        fail_msg("%s: %s", text, error);
    sim_workload_make(workload, &graph);
    return graph;
}
