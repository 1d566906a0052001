/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The `ompdarts` command: picks the subcommand.
 */
#include "tools/tools.h"
#include "util/options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char usage[] =
    "Usage: ompdarts COMMAND [ARGUMENTS]\n"
    "\n"
    "Schedules the target tasks of unmodified OpenMP programs over all devices of this machine.\n"
    "\n"
    "Commands:\n"
    "  run [OPTIONS] PROGRAM [ARGUMENTS]  run a program under ompdarts\n"
    "  serve [OPTIONS] PROGRAM            offer this rank's devices to rank 0 of an MPI job\n"
    "  env [--markdown | --man]           list the options and their values\n"
    "  info [--policies | --rules | --svg]\n"
    "                                     show what was found: library, policies, LLVM, devices, links, machine\n"
    "  history [show | clear] [TEXT]      show or clear what earlier runs have measured\n"
    "  bench [OPTIONS] [KERNEL...]        run tiled kernels under several policies and compare them\n"
    "  sim [OPTIONS]                      simulate a workload on another machine\n"
    "  batch LOG --nodes=WHICH [OPTIONS]  simulate a cluster whose jobs share input files, under several schedulers\n"
    "  analyze FILE [OPTIONS]             how much memory a task graph needs, and how to keep every schedule below a "
    "bound\n"
    "  report TRACE... [-o REPORT.html]   explain a run, or compare several\n"
    "  map [OPTIONS] PROGRAM [ARGUMENTS]  run a program and show what its constructs did with their data\n"
    "  trace convert TRACE.json TRACE.paje\n"
    "                                     convert a trace for ViTE\n"
    "\n"
    "`ompdarts COMMAND --help` describes a command; `ompdarts --version` prints the version.\n"
    "\n"
    "Exit status: 0 success; 1 ompdarts itself failed; 2 the command line, an option or the program\n"
    "was refused before any work started. `run` otherwise ends with the program's own status.\n";

typedef struct command {
    const char *name;
    int (*function)(int argc, char **argv);
} command;

static const command commands[] = {{"run", od_tool_run},         {"serve", od_tool_serve}, {"env", od_tool_env},
                                   {"info", od_tool_info},
                                   {"history", od_tool_history}, {"bench", od_tool_bench}, {"sim", od_tool_sim},
                                   {"report", od_tool_report},   {"map", od_tool_map}, {"trace", od_tool_trace},
                                   {"batch", od_tool_batch},     {"analyze", od_tool_analyze}};
static const char *const command_names[] = {"run", "serve", "env", "info", "history", "bench", "sim", "report", "map",
                                            "trace", "batch", "analyze", NULL};

/* Not a command: the name of a program, or of a trace. */
static void unknown_command(const char *name)
{
    if (od_tool_may_be_trace(name))
        od_tool_error("unknown command '%s', did you mean `ompdarts report %s`?", name, name);
    else if (od_tool_may_run(name))
        od_tool_error("unknown command '%s', did you mean `ompdarts run %s%s`?", name, strchr(name, '/') ? "" : "./",
                      name);
    else
        od_tool_unknown("command", name, command_names);
}

/* What could not be printed is a failure. A command that has failed has said why. */
static int flushed(int status)
{
    if (status || (fflush(stdout) == 0 && !ferror(stdout)))
        return status;
    od_tool_error("standard output: %s", strerror(errno));
    return OD_EXIT_FAILURE;
}

int main(int argc, char **argv)
{
    static const char *const options[] = {"--help", "--version", NULL};
    static char help_option[] = "--help";
    const char *name = argc > 1 ? argv[1] : "--help";

    if (strcmp(name, "help") == 0 && argc > 2) { /* of a command */
        argv[1] = argv[2];
        argv[2] = help_option;
        name = argv[1];
    }
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "help") == 0) {
        fputs(usage, argc > 1 ? stdout : stderr);
        return argc > 1 ? flushed(0) : OD_EXIT_REFUSED;
    }
    if (strcmp(name, "--version") == 0 || strcmp(name, "version") == 0) {
        puts("ompdarts " OMPDARTS_VERSION);
        return flushed(0);
    }
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (strcmp(name, commands[i].name) == 0)
            return flushed(commands[i].function(argc - 1, argv + 1));
    if (*name == '-' && od_tool_is_option_of_run(name))
        od_tool_error("options are behind the command: `ompdarts run %s`", name);
    else if (*name == '-')
        od_tool_unknown("option", name, options);
    else
        unknown_command(name);
    return OD_EXIT_REFUSED;
}
