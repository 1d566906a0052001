/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * `ompdarts run`: sets the environment, preloads the library, becomes the program.
 *
 * Each row of the option table is a long option here. Everything that can be wrong is checked before the
 * program starts: the values by the library's own parser, the program by looking into its file.
 */
#include "sched/evict.h"
#include "sched/policy.h"
#include "tools/tools.h"
#include "util/log.h"
#include "util/options.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    MAX_OPTIONS = 64,
    ROW = 256, /* getopt value of the table's first row; below: letters */
};

static const char usage_head[] =
    "Usage: ompdarts run [OPTIONS] [--] PROGRAM [ARGUMENTS]\n"
    "\n"
    "Runs PROGRAM, built by clang with -fopenmp -fopenmp-targets=..., under ompdarts and prints a summary\n"
    "when it ends. Each option sets the environment variable of the same meaning (`ompdarts env`).\n"
    "\n"
    "Options:\n";

static const char usage_tail[] =
    "  --no-summary              print no summary\n"
    "  --no-progress             do not tell how far PROGRAM is, which is the default on a terminal\n"
    "  --no-check                start PROGRAM even if it has no device code: it loads or starts what has\n"
    "  -h, --help                this text\n"
    "\n"
    "Exit status: that of PROGRAM; 2 when an option or PROGRAM was refused, 1 when ompdarts itself failed.\n"
    "In both cases PROGRAM was not started.\n";

typedef struct run_request {
    bool summary;  /* wanted unless --no-summary */
    bool check;    /* refuse a program without device code */
    bool progress; /* on a terminal */
} run_request;

/* --- the command line ------------------------------------------------------- */

static void print_usage(void)
{
    size_t count;
    const od_option_spec *table = od_option_table(&count);

    fputs(usage_head, stdout);
    for (size_t i = 0; i < count; i++) {
        char option[64];
        bool is_flag = strcmp(table[i].type, "flag") == 0;
        snprintf(option, sizeof option, "--%s%s", table[i].long_option, is_flag ? "[=0|1]" : "=VALUE");
        printf("  %-25s %s\n", option, table[i].help);
        if (is_flag)
            printf("  %-25s (default %s)\n", "", table[i].default_value);
        else
            printf("  %-25s %s (default %s)\n", "", table[i].allowed, table[i].default_value);
    }
    fputs(usage_tail, stdout);
}

static void build_options(struct option options[MAX_OPTIONS])
{
    size_t count;
    const od_option_spec *table = od_option_table(&count);

    for (size_t i = 0; i < count; i++) {
        int argument = strcmp(table[i].type, "flag") == 0 ? optional_argument : required_argument;
        options[i] = (struct option){table[i].long_option, argument, NULL, ROW + (int)i};
    }
    options[count++] = (struct option){"no-summary", no_argument, NULL, 'q'};
    options[count++] = (struct option){"no-progress", no_argument, NULL, 'p'};
    options[count++] = (struct option){"no-check", no_argument, NULL, 'n'};
    options[count++] = (struct option){"help", no_argument, NULL, 'h'};
    options[count] = (struct option){0};
}

static bool set_variable(const char *name, const char *value, bool overwrite)
{
    if (setenv(name, value, overwrite) == 0)
        return true;
    od_tool_error("cannot set %s: %s", name, strerror(errno));
    return false;
}

/* Handles one option; returns false when the command must end with *exit_code. */
static bool take_option(int value, run_request *request, int *exit_code)
{
    size_t count;
    const od_option_spec *table = od_option_table(&count);

    if (value >= ROW) {
        *exit_code = OD_EXIT_FAILURE;
        return set_variable(table[value - ROW].name, optarg ? optarg : "1", true);
    }
    if (value == 'h') {
        print_usage();
        *exit_code = 0;
        return false;
    }
    if (value == 'q')
        request->summary = false;
    else if (value == 'p')
        request->progress = false;
    else
        request->check = false;
    return true;
}

/* Sets the variables that the options name. Returns the index of PROGRAM, or -1 and the exit code. */
static int parse_command_line(int argc, char **argv, run_request *request, int *exit_code)
{
    struct option options[MAX_OPTIONS];
    int value;

    build_options(options);

    opterr = 0;
    while ((value = getopt_long(argc, argv, "+:h", options, NULL)) != -1) {
        if (value == '?' || value == ':') {
            od_tool_bad_option(argv, value, options);
            *exit_code = OD_EXIT_REFUSED;
            return -1;
        }
        if (!take_option(value, request, exit_code))
            return -1;
    }
    if (optind < argc)
        return optind;
    od_tool_error("no PROGRAM given; `ompdarts run --help` tells how");
    *exit_code = OD_EXIT_REFUSED;
    return -1;
}

/* --- the program ------------------------------------------------------------ */

static bool is_executable_file(const char *path)
{
    struct stat info;

    if (stat(path, &info) != 0)
        return false;
    errno = S_ISDIR(info.st_mode) ? EISDIR : EACCES;
    return S_ISREG(info.st_mode) && access(path, X_OK) == 0;
}

/* The file that a shell would run for `name`; false with errno set where there is none. */
static bool find_program(const char *name, char path[PATH_MAX])
{
    const char *folder = od_environment("PATH");

    if (strchr(name, '/') || !folder) {
        snprintf(path, PATH_MAX, "%s", name);
        return is_executable_file(path);
    }
    for (;;) {
        size_t length = strcspn(folder, ":");
        int written = snprintf(path, PATH_MAX, "%.*s%s%s", (int)length, folder, length ? "/" : "./", name);
        if (written < PATH_MAX && is_executable_file(path))
            return true;
        if (!folder[length])
            break;
        folder += length + 1;
    }
    errno = ENOENT;
    return false;
}

/* Why nothing of it would be scheduled, with what to do; NULL: something may be. */
static const char *why_in_vain(od_program_kind kind)
{
    switch (kind) {
    case OD_PROGRAM_PLAIN:
        return "was not built with offloading: compile with -fopenmp -fopenmp-targets=... (or add --no-check if it starts "
               "a program that was)";
    case OD_PROGRAM_GCC:
        return "was built with GCC's OpenMP runtime (libgomp), nothing of it can be scheduled: compile with clang -fopenmp "
               "-fopenmp-targets=... (or add --no-check)";
    case OD_PROGRAM_STATIC:
        return "is linked statically, so the library cannot be preloaded: link it without -static (or add --no-check)";
    case OD_PROGRAM_PRIVILEGED:
        return "runs with other rights than yours (setuid or setgid), so nothing can be preloaded: use a copy without them "
               "(or add --no-check)";
    default:
        return NULL;
    }
}

/* Says why not where the program cannot run under ompdarts. */
static bool accept_program(const char *name, const run_request *request, char path[PATH_MAX])
{
    if (!find_program(name, path)) {
        od_tool_error("cannot run '%s': %s; allowed: an executable file", name, strerror(errno));
        return false;
    }
    od_program_kind kind = od_program_inspect(path);
    if (kind == OD_PROGRAM_FOREIGN) {
        od_tool_error("cannot run '%s': neither an executable of this system nor a script that begins with #!", name);
        return false;
    }
    const char *why = request->check ? why_in_vain(kind) : NULL;
    if (why)
        od_tool_error("'%s' %s", name, why);
    return !why;
}

/* --- the environment --------------------------------------------------------- */

static bool accept_options(void)
{
    od_options options;
    od_policy_choice policy;
    char error[1024];

    /* The library warns about unknown names once it is loaded. */
    od_log_set_level(OD_LOG_ERROR);
    if (od_options_parse(&options, od_policy_names(), od_evict_names(), error, sizeof error) == OD_OK &&
        od_policy_choose(options.sched, &policy, error, sizeof error) == OD_OK)
        return true;
    od_tool_error("%s", error);
    return false;
}

static bool preload_library(void)
{
    char library[PATH_MAX];
    const char *others = od_environment("LD_PRELOAD");

    if (!od_tool_find_library(library, sizeof library)) {
        od_tool_error("cannot find libompdarts.so, neither beside this command nor where it was to be installed");
        return false;
    }
    if (strpbrk(library, " :")) {
        od_tool_error("cannot preload '%s': the path must not contain blanks or colons", library);
        return false;
    }
    if (!others || !*others)
        return set_variable("LD_PRELOAD", library, true);
    size_t size = strlen(library) + strlen(others) + 2;
    char *both = malloc(size);
    if (!both) {
        od_tool_error("%s", od_status_text(OD_ENOMEM));
        return false;
    }
    snprintf(both, size, "%s:%s", library, others);
    bool done = set_variable("LD_PRELOAD", both, true);
    free(both);
    return done;
}

/* libomp's hidden helper threads fail assertions on target nowait tasks with dependences in LLVM 19, and no
 * task that we schedule needs them. (LIBOMP_USE_HIDDEN_HELPER_TASK=0 would leave their places in libomp's table
 * of threads unused and uncounted: see the library's configure().) */
static bool leave_out_hidden_helpers(void)
{
    return od_environment("LIBOMP_USE_HIDDEN_HELPER_TASK") ||
           set_variable("LIBOMP_NUM_HIDDEN_HELPER_THREADS", "0", false);
}

/* What the user has set counts, on a terminal or not. */
static bool set_progress(const run_request *request)
{
    if (!request->progress)
        return set_variable("OMPDARTS_PROGRESS", "0", true);
    return !isatty(STDERR_FILENO) || set_variable("OMPDARTS_PROGRESS", "1", false);
}

static bool prepare_environment(const run_request *request)
{
    return preload_library() && leave_out_hidden_helpers() && set_progress(request) &&
           set_variable("OMPDARTS_SUMMARY", request->summary ? "1" : "0", !request->summary);
}

int od_tool_run(int argc, char **argv)
{
    run_request request = {.summary = true, .check = true, .progress = true};
    char path[PATH_MAX];
    int exit_code;
    int program = parse_command_line(argc, argv, &request, &exit_code);

    if (program < 0)
        return exit_code;
    if (!accept_options() || !accept_program(argv[program], &request, path))
        return OD_EXIT_REFUSED;
    if (!prepare_environment(&request))
        return OD_EXIT_FAILURE;
    execv(path, argv + program);
    od_tool_error("cannot run '%s': %s", argv[program], strerror(errno));
    return OD_EXIT_REFUSED;
}
