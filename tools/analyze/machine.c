/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#define _GNU_SOURCE /* pipe2 */
#include "tools/analyze/machine.h"

#include "tools/tools.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* --- CSV -------------------------------------------------------------------------------------- */

/* The next field, without its quotes; NULL: no more. */
static char *next_field(char **rest)
{
    char *begin = *rest, *end;
    if (!begin)
        return NULL;
    if (*begin == '"') {
        end = strchr(++begin, '"');
        if (end)
            *end++ = '\0';
    } else {
        end = begin;
    }
    end = end ? end + strcspn(end, ",\n") : begin + strlen(begin);
    *rest = *end == ',' ? end + 1 : NULL;
    *end = '\0';
    return begin;
}

static void set_value(analyze_run *run, const char *name, const char *value)
{
    const struct {
        const char *name;
        double *value;
    } rows[] = {{"h2d_bytes", &run->loaded},
                {"d2h_bytes", &run->stored},
                {"d2d_bytes", &run->exchanged},
                {"evictions", &run->evictions},
                {"spilled_bytes", &run->spilled},
                {"spill_peak_bytes", &run->host},
                {"makespan_s", &run->makespan}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].name, name) == 0)
            *rows[i].value = strtod(value, NULL);
    if (strcmp(name, "peak_bytes") == 0)
        run->peak = strtoll(value, NULL, 10);
    if (strcmp(name, "mem_bytes") == 0)
        run->memory = strtoll(value, NULL, 10);
}

/* A line of names, and a line of values. */
static bool read_row(FILE *in, analyze_run *run)
{
    char names[2048], values[4096], *name_rest = names, *value_rest = values, *name, *value;
    if (!fgets(names, sizeof names, in) || !fgets(values, sizeof values, in))
        return false;
    while ((name = next_field(&name_rest)) && (value = next_field(&value_rest)))
        set_value(run, name, value);
    return true;
}

/* --- the simulator -------------------------------------------------------------------------------- */

/* In the child: never returns. */
static void execute(const char *path, char *const *arguments, int output, bool quiet)
{
    int nothing = quiet ? open("/dev/null", O_WRONLY | O_CLOEXEC) : -1;
    if (nothing >= 0)
        dup2(nothing, STDERR_FILENO);
    if (dup2(output, STDOUT_FILENO) >= 0)
        execv(path, arguments);
    _exit(OD_EXIT_FAILURE);
}

/* With what it says on standard error, unless `quiet`. */
static od_status run_simulator(char *const *arguments, bool quiet, analyze_run *run)
{
    char path[PATH_MAX];
    int ends[2], ended;
    if (!od_tool_find_helper("ompdarts-sim", path, sizeof path)) {
        od_tool_error("analyze: the simulator is not part of this build");
        return OD_EINVAL;
    }
    if (pipe2(ends, O_CLOEXEC))
        return OD_EIO;
    pid_t child = od_tool_fork();
    if (child == 0)
        execute(path, arguments, ends[1], quiet);
    close(ends[1]);
    FILE *in = fdopen(ends[0], "r");
    bool read = in && read_row(in, run);
    if (in)
        fclose(in);
    else
        close(ends[0]);
    while (child > 0 && waitpid(child, &ended, 0) < 0 && errno == EINTR)
        ;
    return child > 0 && read && WIFEXITED(ended) && WEXITSTATUS(ended) == 0 ? OD_OK : OD_EINVAL;
}

static od_status simulate(const analyze_machine *m, const char *option, const char *value, analyze_policy *policy,
                          int64_t memory)
{
    char size[32], *arguments[] = {(char *)"sim",
                                   (char *)option,
                                   (char *)value,
                                   (char *)"--platform",
                                   (char *)m->platform,
                                   (char *)"--devices",
                                   (char *)m->devices,
                                   (char *)"--sched",
                                   policy->name,
                                   (char *)"--mem",
                                   size,
                                   (char *)"--csv",
                                   (char *)"-",
                                   (char *)"--quiet",
                                   NULL};
    snprintf(size, sizeof size, "%" PRId64, memory);
    return run_simulator(arguments, policy->runs > 0, &policy->run[policy->runs]);
}

od_status analyze_simulate(analyze_machine *machine, const char *option, const char *value, int64_t all_data)
{
    int64_t room = all_data + all_data / 4 + (1 << 20); /* pools round, and have gaps */
    for (int i = 0; i < machine->count; i++) {
        analyze_policy *policy = &machine->policies[i];
        int64_t memory = room;
        while (policy->runs < ANALYZE_RUNS && !simulate(machine, option, value, policy, memory)) {
            policy->runs++;
            memory = policy->runs == 1 ? policy->run[0].peak : policy->run[0].peak / 2;
        }
        if (!policy->runs)
            return OD_EINVAL;
    }
    return OD_OK;
}
