/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The `ompdarts` command: picks the subcommand.
 */
#include "tools/tools.h"
#include "util/options.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* From the folder of the installed command to that of the library. */
#ifndef OMPDARTS_LIBRARY_SUBDIR
#define OMPDARTS_LIBRARY_SUBDIR "../lib"
#endif
/* To that of the programs that it starts. */
#ifndef OMPDARTS_HELPER_SUBDIR
#define OMPDARTS_HELPER_SUBDIR "../libexec/ompdarts"
#endif

static const char usage[] =
    "Usage: ompdarts COMMAND [ARGUMENTS]\n"
    "\n"
    "Schedules the target tasks of unmodified OpenMP programs over all devices of this machine.\n"
    "\n"
    "Commands:\n"
    "  run [OPTIONS] PROGRAM [ARGUMENTS]  run a program under ompdarts\n"
    "  env [--markdown | --man]           list the options and their values\n"
    "  info [--policies | --rules]        show what was found: library, policies, LLVM, devices, machine\n"
    "  bench [OPTIONS] [KERNEL...]        run tiled kernels under several policies and compare them\n"
    "  sim [OPTIONS]                      simulate a workload on another machine\n"
    "  report TRACE... [-o REPORT.html]   tell what happened in a run, or compare some\n"
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

static const command commands[] = {{"run", od_tool_run},     {"env", od_tool_env}, {"info", od_tool_info},
                                   {"bench", od_tool_bench}, {"sim", od_tool_sim}, {"report", od_tool_report},
                                   {"trace", od_tool_trace}};
static const char *const command_names[] = {"run", "env", "info", "bench", "sim", "report", "trace", NULL};

void od_tool_error(const char *format, ...)
{
    char text[2048];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    fprintf(stderr, "ompdarts: %s\n", text);
}

void od_tool_unknown(const char *what, const char *text, const char *const *known)
{
    char all[512] = "", name[256];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(text, "="), text); /* of an option with its value */
    const char *nearest = od_nearest_name(name, known);

    if (nearest) {
        od_tool_error("unknown %s '%s', did you mean '%s'?", what, name, nearest);
        return;
    }
    for (size_t length = 0; *known && length < sizeof all; known++)
        length += (size_t)snprintf(all + length, sizeof all - length, " %s", *known);
    od_tool_error("unknown %s '%s'; there are:%s", what, name, all);
}

void od_tool_bad_argument(char *const *argv, const char *const *known)
{
    for (size_t i = 1; argv[i]; i++) {
        bool found = false;
        for (size_t j = 0; known[j]; j++)
            found |= strcmp(argv[i], known[j]) == 0;
        if (!found) {
            od_tool_unknown("argument", argv[i], known);
            return;
        }
    }
    od_tool_error("%s takes one argument", argv[0]);
}

static void unknown_long_option(const char *text, const struct option *options)
{
    enum { MOST = 64 };
    char names[MOST][32];
    const char *known[MOST + 1];
    size_t count = 0;

    for (; options[count].name && count < MOST; count++) {
        snprintf(names[count], sizeof names[count], "--%s", options[count].name);
        known[count] = names[count];
    }
    known[count] = NULL;
    od_tool_unknown("option", text, known);
}

void od_tool_bad_option(char *const *argv, int result, const struct option *options)
{
    const char *text = argv[optind - 1], *next = argv[optind];
    bool is_long = strncmp(text, "--", 2) == 0;

    if (optopt && optopt < 256 && next && next[0] == '-' && next[1] != '-' && strchr(next, optopt))
        is_long = false; /* one of several letters: getopt has not gone on yet */
    if (!is_long)
        od_tool_error(result == ':' ? "option '-%c' needs a value" : "unknown option '-%c'; --help lists all", optopt);
    else if (result == ':')
        od_tool_error("option '%s' needs a value", text);
    else if (optopt)
        od_tool_error("option '%.*s' takes no value", (int)strcspn(text, "="), text);
    else
        unknown_long_option(text, options);
}

bool od_tool_folder(char *path, size_t size)
{
    ssize_t length = readlink("/proc/self/exe", path, size - 1);

    if (length < 0)
        return false;
    path[length] = '\0';
    *strrchr(path, '/') = '\0';
    return true;
}

bool od_tool_find_library(char *path, size_t size)
{
    static const char *const folders[] = {".", OMPDARTS_LIBRARY_SUBDIR};
    char command_path[PATH_MAX];

    if (!od_tool_folder(command_path, sizeof command_path))
        return false;
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        char candidate[2 * PATH_MAX], resolved[PATH_MAX];
        snprintf(candidate, sizeof candidate, "%s/%s/libompdarts.so", command_path, folders[i]);
        if (realpath(candidate, resolved) && (size_t)snprintf(path, size, "%s", resolved) < size)
            return true;
    }
    return false;
}

bool od_tool_find_helper(const char *name, char *path, size_t size)
{
    /* In the build tree the simulator lies beside this command, the kernels in bench/. */
    static const char *const folders[] = {OMPDARTS_HELPER_SUBDIR, "bench", "."};
    char command_path[PATH_MAX];

    if (!od_tool_folder(command_path, sizeof command_path))
        return false;
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        if ((size_t)snprintf(path, size, "%s/%s/%s", command_path, folders[i], name) < size && access(path, X_OK) == 0)
            return true;
    return false;
}

/* What could not be printed is a failure. */
static int flushed(int status)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return status;
    od_tool_error("standard output: %s", strerror(errno));
    return status ? status : OD_EXIT_FAILURE;
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
        return argc > 1 ? 0 : OD_EXIT_REFUSED;
    }
    if (strcmp(name, "--version") == 0) {
        puts("ompdarts " OMPDARTS_VERSION);
        return 0;
    }
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (strcmp(name, commands[i].name) == 0)
            return flushed(commands[i].function(argc - 1, argv + 1));
    od_tool_unknown(*name == '-' ? "option" : "command", name, *name == '-' ? options : command_names);
    return OD_EXIT_REFUSED;
}
