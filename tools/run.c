/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * `ompdarts run`: sets the environment, preloads the library, becomes the program.
 *
 * Each row of the option table is a long option here. Everything that can be wrong is checked before the
 * program starts: the values by the library's own parser, the program by looking into its file.
 */
#include "omp_ext/options.h"
#include "tools/tools.h"
#include "util/log.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
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
    "  --no-check                start PROGRAM even without device code, because it loads or starts code that has it\n"
    "  -h, --help                this text\n"
    "\n"
    "Exit status: that of PROGRAM; 2 when an option or PROGRAM was refused, 1 when ompdarts itself failed.\n"
    "In both cases PROGRAM was not started.\n";

typedef struct run_request {
    bool check;              /* refuse a program without device code */
    bool typed[MAX_OPTIONS]; /* by row: given on the command line */
} run_request;

/* --- the command line ------------------------------------------------------- */

/* As $COLUMNS says, else of the terminal, where it is not too wide to read. */
static size_t columns(void)
{
    enum { LEAST = 60, MOST = 110 };
    struct winsize window;
    uint32_t wanted;
    const char *variable = od_environment("COLUMNS");
    if (variable && !od_parse_count(variable, UINT16_MAX, &wanted))
        return wanted < LEAST ? LEAST : wanted;
    wanted = ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) == 0 ? window.ws_col : 0;
    return wanted == 0 || wanted > MOST ? MOST : wanted < LEAST ? LEAST : wanted;
}

/* Words behind the column of options, broken into lines. */
static void print_words(const char *text)
{
    enum { INDENT = 28 };
    size_t width = columns() - INDENT, used = 0;

    while (*(text += strspn(text, " "))) {
        size_t length = strcspn(text, " ");
        if (used && used + 1 + length > width) {
            printf("\n%*s", INDENT, "");
            used = 0;
        }
        used += (size_t)printf("%s%.*s", used ? " " : "", (int)length, text);
        text += length;
    }
    putchar('\n');
}

static void print_usage(void)
{
    const od_option_spec *row;
    char allowed[OD_OPTION_ERROR];

    fputs(usage_head, stdout);
    for (size_t i = 0; (row = od_option_row(od_all_options, i)); i++) {
        char option[64];
        bool is_flag = strcmp(row->type, "flag") == 0;
        snprintf(option, sizeof option, "--%s%s", row->long_option, is_flag ? "[=0|1]" : "=VALUE");
        printf("  %-25s ", option);
        print_words(row->help);
        snprintf(allowed, sizeof allowed, "%s%s(default %s)", is_flag ? "" : row->allowed, is_flag ? "" : " ",
                 row->default_value);
        printf("  %-25s ", "");
        print_words(allowed);
    }
    fputs(usage_tail, stdout);
}

static void build_options(struct option options[MAX_OPTIONS])
{
    const od_option_spec *row;
    size_t count = 0;

    for (; (row = od_option_row(od_all_options, count)); count++) {
        int argument = strcmp(row->type, "flag") == 0 ? optional_argument : required_argument;
        options[count] = (struct option){row->long_option, argument, NULL, ROW + (int)count};
    }
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
    if (value >= ROW) {
        *exit_code = OD_EXIT_FAILURE;
        request->typed[value - ROW] = true;
        return set_variable(od_option_row(od_all_options, (size_t)(value - ROW))->name, optarg ? optarg : "1", true);
    }
    if (value == 'h') {
        print_usage();
        *exit_code = 0;
        return false;
    }
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
    *exit_code = OD_EXIT_REFUSED;
    od_log_set_level(OD_LOG_ERROR);
    if (od_tool_accept_options(request->typed)) /* else PROGRAM was taken for a value */
        od_tool_error("no PROGRAM given; `ompdarts run --help` explains");
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
        return "was not built with offloading: compile with -fopenmp -fopenmp-targets=... (or add --no-check if it "
               "starts a program that was)";
    case OD_PROGRAM_GCC:
        return "was built with GCC's OpenMP runtime (libgomp), which cannot be scheduled: compile with clang -fopenmp "
               "-fopenmp-targets=... (or add --no-check)";
    case OD_PROGRAM_STATIC:
        return "is statically linked, so the library cannot be preloaded: link it without -static (or add --no-check)";
    case OD_PROGRAM_PRIVILEGED:
        return "runs with other rights than yours (setuid or setgid), so nothing can be preloaded: use a copy without "
               "them (or add --no-check)";
    default:
        return NULL;
    }
}

/* Says why not where the program cannot run under ompdarts. */
static bool accept_program(const char *name, const run_request *request, char path[PATH_MAX])
{
    if (!find_program(name, path)) {
        const char *cause = strerror(errno);
        bool is_here = !strchr(name, '/') && is_executable_file(name);
        od_tool_error("cannot run '%s': %s%s%s; allowed: an executable file", name, cause,
                      is_here ? " in $PATH; did you mean ./" : "", is_here ? name : "");
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
    /* SIGUSR1 asks what is being done, and may come before the library is there to answer. A script may have a trap
     * for it, which shells do not set for signals that they find ignored. */
    if (kind == OD_PROGRAM_OFFLOADS)
        signal(SIGUSR1, SIG_IGN);
    return !why;
}

/* --- the environment --------------------------------------------------------- */

static bool preload_library(void)
{
    char library[PATH_MAX];
    const char *others = od_environment("LD_PRELOAD");

    if (!od_tool_find_library(library, sizeof library)) {
        od_tool_error("cannot find libompdarts.so, neither beside this command nor in its installation folder");
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

/* What the user has set counts; an empty variable is as good as none. */
static bool set_default(const char *name, const char *value)
{
    const char *own = od_environment(name);
    return (own && *own) || set_variable(name, value, true);
}

static bool set_defaults(void)
{
    return set_default("OMPDARTS_STATS", "summary") &&
           (!isatty(STDERR_FILENO) || set_default("OMPDARTS_PROGRESS", "1"));
}

static bool prepare_environment(void)
{
    return preload_library() && leave_out_hidden_helpers() && set_defaults();
}

int od_tool_run(int argc, char **argv)
{
    run_request request = {.check = true};
    char path[PATH_MAX];
    int exit_code;
    int program = parse_command_line(argc, argv, &request, &exit_code);

    if (program < 0)
        return exit_code;
    od_log_set_level(OD_LOG_ERROR); /* the library warns about unknown names once it is loaded */
    if (!od_tool_accept_options(request.typed) || !accept_program(argv[program], &request, path))
        return OD_EXIT_REFUSED;
    if (!prepare_environment())
        return OD_EXIT_FAILURE;
    execv(path, argv + program);
    od_tool_error("cannot run '%s': %s", argv[program], strerror(errno));
    return OD_EXIT_REFUSED;
}
