/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * `ompdarts run`: sets the environment, preloads the library, becomes the program. `ompdarts serve` becomes it, too, on
 * the other ranks of an MPI job, where main() is not run (memmgr/device/mpi/module.h).
 *
 * Each row of the option table is a long option here. Everything that can be wrong is checked before the
 * program starts: the values by the library's own parser, the program by looking into its file.
 */
#include "memmgr/device/mpi/module.h"
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

static const char serve_usage_head[] =
    "Usage: ompdarts serve [OPTIONS] [--] PROGRAM\n"
    "\n"
    "Offers this rank's devices to PROGRAM, which rank 0 of the same MPI job runs:\n"
    "  mpirun -n 1 ompdarts run --backend=mpi PROGRAM ARGUMENTS : -n 3 ompdarts serve PROGRAM\n"
    "PROGRAM is the same executable. It is loaded for its device code; its main() is not run. It ends with rank 0.\n"
    "\n"
    "Options:\n";

static const char *const serve_options[] = {"devices", "mem", "backend", "log"};

static const char serve_usage_tail[] =
    "  -h, --help                this text\n"
    "\n"
    "Exit status: 0; 2 when an option or PROGRAM was refused, or the ranks do not belong together; 1 when ompdarts\n"
    "itself failed.\n";

static const char usage_tail[] =
    "  --no-check                start PROGRAM even without device code, because it loads or starts code that has it\n"
    "  -h, --help                this text\n"
    "\n"
    "Exit status: that of PROGRAM; 2 when an option or PROGRAM was refused, 1 when ompdarts itself failed.\n"
    "In both cases PROGRAM was not started.\n";

typedef struct run_request {
    bool serves;             /* `ompdarts serve` */
    bool check;              /* refuse a program without device code */
    bool typed[MAX_OPTIONS]; /* by row: given on the command line */
    const od_option_spec *last; /* of the command line; NULL: none of the table */
    const char *value;          /* of `last`; NULL: it has none */
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

static bool is_for_serving(const od_option_spec *row)
{
    for (size_t i = 0; i < sizeof serve_options / sizeof *serve_options; i++)
        if (strcmp(row->long_option, serve_options[i]) == 0)
            return true;
    return false;
}

static void print_usage(bool serves)
{
    const od_option_spec *row;
    char allowed[OD_OPTION_ERROR];

    fputs(serves ? serve_usage_head : usage_head, stdout);
    for (size_t i = 0; (row = od_option_row(od_all_options, i)); i++) {
        char option[64];
        if (serves && !is_for_serving(row))
            continue;
        bool is_flag = strcmp(row->type, "flag") == 0;
        snprintf(option, sizeof option, "--%s%s", row->long_option, is_flag ? "[=0|1]" : "=VALUE");
        printf("  %-25s ", option);
        print_words(row->help);
        snprintf(allowed, sizeof allowed, "%s%s(default %s)", is_flag ? "" : row->allowed, is_flag ? "" : " ",
                 row->default_value);
        printf("  %-25s ", "");
        print_words(allowed);
    }
    fputs(serves ? serve_usage_tail : usage_tail, stdout);
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
    if (value >= ROW && optarg && !*optarg) {
        od_tool_error("option '--%s' needs a value", od_option_row(od_all_options, (size_t)(value - ROW))->long_option);
        *exit_code = OD_EXIT_REFUSED;
        return false;
    }
    if (value >= ROW) {
        *exit_code = OD_EXIT_FAILURE;
        request->typed[value - ROW] = true;
        request->last = od_option_row(od_all_options, (size_t)(value - ROW));
        request->value = optarg;
        return set_variable(request->last->name, optarg ? optarg : "1", true);
    }
    request->last = NULL;
    if (value == 'h') {
        print_usage(request->serves);
        *exit_code = 0;
        return false;
    }
    request->check = false;
    return true;
}

/* "--cache off": a flag's value needs `=`. */
static bool is_value_of_flag(const char *word, const run_request *request)
{
    static const char *const words[] = {"0", "1", "off", "on", "no", "yes", "false", "true"};
    size_t count = sizeof words / sizeof *words, i = 0;
    while (i < count && strcmp(word, words[i]) != 0)
        i++;
    if (i == count || !request->last || request->value)
        return false;
    od_tool_error("'%s' would be the PROGRAM, did you mean '--%s=%zu'?", word, request->last->long_option, i % 2);
    return true;
}

/* Perhaps PROGRAM was taken for a value. */
static void say_no_program(const run_request *request)
{
    od_log_set_level(OD_LOG_ERROR);
    if (request->value && od_tool_may_run(request->value))
        od_tool_error("no PROGRAM given: '%s' was taken for the value of --%s", request->value,
                      request->last->long_option);
    else if (od_tool_accept_options(request->typed))
        od_tool_error("no PROGRAM given; `ompdarts %s --help` explains", request->serves ? "serve" : "run");
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
    *exit_code = OD_EXIT_REFUSED;
    if (optind == argc)
        say_no_program(request);
    else if (!is_value_of_flag(argv[optind], request))
        return optind;
    return -1;
}

/* --- the program ------------------------------------------------------------ */

/* The file that a shell would run for `name`; false with errno set where there is none. */
static bool find_program(const char *name, char path[PATH_MAX])
{
    const char *folder = od_environment("PATH");

    if (strchr(name, '/') || !folder) {
        snprintf(path, PATH_MAX, "%s", name);
        return od_tool_may_run(path);
    }
    for (;;) {
        size_t length = strcspn(folder, ":");
        int written = snprintf(path, PATH_MAX, "%.*s%s%s", (int)length, folder, length ? "/" : "./", name);
        if (written < PATH_MAX && od_tool_may_run(path))
            return true;
        if (!folder[length])
            break;
        folder += length + 1;
    }
    errno = ENOENT;
    return false;
}

/* Why nothing of a program would be scheduled, and what to do; without a fact, something may be. */
static const struct {
    const char *fact, *remedy;
} in_vain[] = {
    [OD_PROGRAM_PLAIN] = {"was not built with offloading",
                          "compile with -fopenmp -fopenmp-targets=... (or add --no-check if it starts a program that "
                          "was)"},
    [OD_PROGRAM_GCC] = {"was built with GCC's OpenMP runtime (libgomp), which cannot be scheduled",
                        "compile with clang -fopenmp -fopenmp-targets=... (or add --no-check)"},
    [OD_PROGRAM_STATIC] = {"is statically linked, so the library cannot be preloaded",
                           "link it without -static (or add --no-check)"},
    [OD_PROGRAM_PRIVILEGED] = {"runs with other rights than yours (setuid or setgid), so nothing can be preloaded",
                               "use a copy without them (or add --no-check)"},
    [OD_PROGRAM_FOREIGN] = {NULL, NULL},
};

/* False: it is refused. With --no-check one line says it all the same, where there may be no summary. */
static bool is_worth_starting(const char *name, od_program_kind kind, const run_request *request)
{
    const char *fact = in_vain[kind].fact, *stats = od_environment(OD_OPTION_PREFIX "STATS");
    if (fact && request->check)
        od_tool_error("'%s' %s: %s", name, fact, in_vain[kind].remedy);
    else if (fact && (!stats || strcmp(stats, "0") != 0))
        od_tool_error("'%s' %s: only what it loads or starts can be scheduled", name, fact);
    return !fact || !request->check;
}

static bool is_source(const char *name)
{
    static const char *const types[] = {".c", ".cc", ".cpp", ".cxx", ".f90", ".F90"};
    const char *type = strrchr(name, '.');
    for (size_t i = 0; type && i < sizeof types / sizeof *types; i++)
        if (strcmp(type, types[i]) == 0)
            return access(name, F_OK) == 0;
    return false;
}

/* `errno` says why. */
static void say_not_executable(const char *name)
{
    const char *cause = strerror(errno);
    bool is_here = !strchr(name, '/') && od_tool_may_run(name);
    if (is_source(name))
        od_tool_error("cannot run '%s', source code: compile it with clang -fopenmp -fopenmp-targets=...", name);
    else if (od_tool_may_be_trace(name))
        od_tool_error("cannot run '%s', did you mean `ompdarts report %s`?", name, name);
    else
        od_tool_error("cannot run '%s': %s%s%s; allowed: an executable file", name, cause,
                      is_here ? " in $PATH; did you mean ./" : "", is_here ? name : "");
}

/* The process becomes a rank of an MPI job. */
static bool is_rank(const run_request *request)
{
    static const char name[] = "mpi";
    const char *backend = od_environment(OD_OPTION_PREFIX "BACKEND");
    size_t length = backend ? strcspn(backend, ":") : 0;
    return request->serves || (length == strlen(name) && strncmp(backend, name, length) == 0);
}

/* Says why not where the program cannot run under ompdarts. */
static bool accept_program(const char *name, const run_request *request, char path[PATH_MAX])
{
    char pid[16];
    if (!find_program(name, path)) {
        say_not_executable(name);
        return false;
    }
    od_program_kind kind = od_program_inspect(path);
    if (kind == OD_PROGRAM_FOREIGN) {
        od_tool_error("cannot run '%s': neither an executable of this system nor a script that begins with #!", name);
        return false;
    }
    /* SIGUSR1 asks what is being done, and may come before the library is there to answer. A script may have a trap
     * for it, which shells do not set for signals that they find ignored. */
    if (kind == OD_PROGRAM_OFFLOADS && signal(SIGUSR1, SIG_IGN) == SIG_DFL) {
        snprintf(pid, sizeof pid, "%d", (int)getpid());
        setenv(OD_IGNORES_SIGUSR1, pid, 1);
    }
    if (is_rank(request) && kind != OD_PROGRAM_OFFLOADS) { /* it may begin later, or in another process: too late */
        od_tool_error("cannot run '%s' as a rank of an MPI job: not built with offloading", name);
        return false;
    }
    return is_worth_starting(name, kind, request);
}

/* --- the environment --------------------------------------------------------- */

/* Appends it to the library's path. False: there is none. */
static bool add_module(char library[2 * PATH_MAX])
{
    char module[PATH_MAX];
    const char *slash = strrchr(library, '/');
    snprintf(module, sizeof module, "%.*s%s", slash ? (int)(slash - library) + 1 : 0, library, OD_MPI_MODULE);
    if (access(module, R_OK) == 0) {
        size_t length = strlen(library);
        snprintf(library + length, 2 * PATH_MAX - length, ":%s", module);
        return true;
    }
    od_tool_error("cannot find " OD_MPI_MODULE " beside libompdarts.so: this ompdarts was built without MPI");
    return false;
}

/* A sanitizer's runtime must be the first library of all. 0: the first of these is none. */
static size_t sanitizer_length(const char *others)
{
    static const char *const names[] = {"/libclang_rt.", "/libasan.so", "/libtsan.so", "/libubsan.so"};
    size_t length = strcspn(others, " :");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *found = strstr(others, names[i]);
        if (found && found < others + length)
            return length;
    }
    return 0;
}

static bool preload_library(bool as_rank)
{
    char library[2 * PATH_MAX];
    const char *others = od_environment("LD_PRELOAD");

    if (!od_tool_find_library(library, PATH_MAX)) {
        od_tool_error("cannot find libompdarts.so, neither beside this command nor in its installation folder");
        return false;
    }
    if (strpbrk(library, " :")) {
        od_tool_error("cannot preload '%s': the path must not contain blanks or colons", library);
        return false;
    }
    if (as_rank && !add_module(library))
        return false;
    if (!others || !*others)
        return set_variable("LD_PRELOAD", library, true);
    size_t size = strlen(library) + strlen(others) + 3, before = sanitizer_length(others);
    char *both = malloc(size);
    if (!both) {
        od_tool_error("%s", od_status_text(OD_ENOMEM));
        return false;
    }
    snprintf(both, size, "%.*s%s%s%s%s", (int)before, others, before ? ":" : "", library, others[before] ? ":" : "",
             others + before + (before && others[before]));
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

/* Nothing is scheduled in a rank that serves, and nothing reported. */
static bool set_role(const run_request *request)
{
    if (!request->serves)
        return !is_rank(request) || set_variable(OD_MPI_ROLE, "run", true);
    return set_variable(OD_MPI_ROLE, "serve", true) && set_variable(OD_OPTION_PREFIX "DISABLE", "1", true) &&
           set_variable(OD_OPTION_PREFIX "STATS", "0", true);
}

/* UCX, which MPIs use, handles signals of errors, and SIGHUP, as soon as it is loaded. */
static bool leave_signals(bool as_rank)
{
    return !as_rank || (set_variable("UCX_ERROR_SIGNALS", "", false) && set_variable("UCX_DEBUG_SIGNO", "0", false));
}

static bool prepare_environment(const run_request *request)
{
    return preload_library(is_rank(request)) && leave_signals(is_rank(request)) && leave_out_hidden_helpers() &&
           set_role(request) && set_defaults();
}

/* Returns the exit code where it has not. */
static int become_program(int argc, char **argv, run_request *request)
{
    char path[PATH_MAX];
    int exit_code;
    int program = parse_command_line(argc, argv, request, &exit_code);

    if (program < 0)
        return exit_code;
    od_log_set_level(OD_LOG_ERROR); /* the library warns about unknown names once it is loaded */
    if (!od_tool_accept_options(request->typed) || !accept_program(argv[program], request, path))
        return OD_EXIT_REFUSED;
    if (!prepare_environment(request))
        return OD_EXIT_FAILURE;
    execv(path, argv + program);
    od_tool_error("cannot run '%s': %s", argv[program], strerror(errno));
    return OD_EXIT_REFUSED;
}

static int run(int argc, char **argv, bool serves)
{
    run_request request = {.serves = serves, .check = true};
    int exit_code = become_program(argc, argv, &request);
    if (is_rank(&request))
        od_mpi_end_job(exit_code);
    return exit_code;
}

int od_tool_run(int argc, char **argv)
{
    return run(argc, argv, false);
}

int od_tool_serve(int argc, char **argv)
{
    return run(argc, argv, true);
}
