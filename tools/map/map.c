/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * `ompdarts map`: what each construct of a program did with the data that it maps. The program runs under `ompdarts
 * run` with a temporary trace, which is read when it has ended.
 */
#include "tools/map/listing.h"
#include "tools/tools.h"
#include "util/file/name.h"
#include "util/nearest.h"
#include "util/options.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FEW = 20 }; /* so many runs of constructs are listed one by one */

static const char usage[] =
    "Usage: ompdarts map [--each | --sums] [-o FILE] [OPTIONS] [--] PROGRAM [ARGUMENTS]\n"
    "       ompdarts map [--each | --sums] [-o FILE] --from=TRACE.json\n"
    "\n"
    "Runs PROGRAM under ompdarts and prints what each construct did with the data that it maps: what was moved to a\n"
    "device and why, what was present, kept, evicted or written back. Variables and source lines are named if the\n"
    "program was compiled with -g. OPTIONS, after those below, are those of `ompdarts run`.\n"
    "\n"
    "Options:\n"
    "  --each             list every run of a construct, in order\n"
    "  --sums             sum over the runs of each construct (default: --each for few runs, --sums for more)\n"
    "  --from=TRACE       use the trace of an earlier run (`ompdarts run --trace`)\n"
    "  -o, --output=FILE  write to FILE; '-' is standard output (default: standard error if PROGRAM is run)\n"
    "  -h, --help         this text\n"
    "\n"
    "Columns of the sums: how often the data were moved to a device: new there, again after leaving (evicted),\n"
    "writing (elsewhere) or return (to the host); how often they were present, empty (nothing to copy) or used on the\n"
    "host. Then they were kept, went back to the host, were evicted for a task, for others (prefetches) or for order\n"
    "(they were in the way), or were written elsewhere; back MB were written back to the host.\n"
    "\n"
    "Exit status: that of PROGRAM; 1 when ompdarts itself failed; 2 when an option, PROGRAM or TRACE was refused.\n";

typedef struct request {
    bool each, sums;
    const char *from, *output; /* NULL: not given */
    char **program;            /* with the options of `run` before it */
} request;

/* An own option at the end of the command line was not taken for lack of its value. */
static bool lacks_value(const char *option)
{
    return strcmp(option, "--from") == 0 || strcmp(option, "--output") == 0 || strcmp(option, "-o") == 0;
}

static bool is_misspelt(const char *word)
{
    static const char *const own[] = {"--each", "--sums", "--from", "--output", NULL};
    char name[32];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(word, "="), word);
    if (strncmp(word, "--", 2) != 0 || od_tool_is_option_of_run(word) || !od_nearest_name(name, own))
        return false;
    od_tool_unknown("option", word, own);
    return true;
}

static bool is_complete(const request *r)
{
    const char *program = *r->program;
    if (program && lacks_value(program))
        od_tool_error("option '%s' needs a value", program);
    else if (program && is_misspelt(program))
        return false;
    else if (program && !r->from && od_tool_may_be_trace(program))
        od_tool_error("map: '%s' is no program, did you mean '--from=%s'?", program, program);
    else if ((program != NULL) == (r->from != NULL))
        od_tool_error("map: %s; `ompdarts map --help` explains",
                      r->from ? "a PROGRAM and a trace" : "no PROGRAM given");
    else if (r->from && r->output && od_file_is_same(r->output, r->from))
        od_tool_error("map: -o %s would replace the trace; allowed: another file", r->output);
    else
        return true;
    return false;
}

/* False: `status` is the command's. */
static bool parse(char **argv, request *r, int *status)
{
    *status = OD_EXIT_REFUSED;
    for (argv++; *argv; argv++) {
        const char *output = strncmp(*argv, "--output=", 9) == 0 ? *argv + 9 : NULL;
        if (strcmp(*argv, "--help") == 0 || strcmp(*argv, "-h") == 0) {
            fputs(usage, stdout);
            *status = 0;
            return false;
        }
        if (strcmp(*argv, "--each") == 0 || strcmp(*argv, "--sums") == 0) {
            *((*argv)[2] == 'e' ? &r->each : &r->sums) = true;
        } else if (strncmp(*argv, "--from=", 7) == 0) {
            r->from = *argv + 7;
        } else if (strcmp(*argv, "--from") == 0 && argv[1]) {
            r->from = *++argv;
        } else if (output) {
            r->output = output;
        } else if ((strcmp(*argv, "-o") == 0 || strcmp(*argv, "--output") == 0) && argv[1]) {
            r->output = *++argv;
        } else {
            break;
        }
    }
    r->program = argv;
    return is_complete(r);
}

/* --- the run ---------------------------------------------------------------------- */

static volatile sig_atomic_t child; /* 0: none */

static void pass_on(int signal)
{
    if (child)
        kill((pid_t)child, signal);
}

/* Signals are the program's, and this command goes on and prints what is known. The terminal's interrupt it gets from
 * there, too. */
static void leave_signals(void)
{
    static const int passed_on[] = {SIGTERM, SIGHUP, SIGQUIT};
    struct sigaction forward = {.sa_handler = pass_on, .sa_flags = SA_RESTART}, ignore = {.sa_handler = SIG_IGN};
    sigaction(SIGINT, &ignore, NULL);
    for (size_t i = 0; i < sizeof passed_on / sizeof *passed_on; i++)
        if (signal(passed_on[i], SIG_DFL) == SIG_IGN)
            signal(passed_on[i], SIG_IGN);
        else
            sigaction(passed_on[i], &forward, NULL);
}

/* Its exit status. */
static int await_child(void)
{
    int status = 0;
    pid_t ended;
    while ((ended = waitpid((pid_t)child, &status, 0)) < 0 && errno == EINTR)
        ;
    child = 0;
    return ended < 0 ? OD_EXIT_FAILURE : WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int run(char **program, char *trace)
{
    char command[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", command, sizeof command - 1);
    char *own[] = {command, "run", "--stats=0", trace};
    size_t n = sizeof own / sizeof *own, count = 0;
    while (program[count])
        count++;
    char **argv = calloc(n + count + 1, sizeof *argv);
    if (!argv || length < 0) {
        free(argv);
        return OD_EXIT_FAILURE;
    }
    command[length] = '\0';
    memcpy(argv, own, sizeof own);
    memcpy(argv + n, program, count * sizeof *argv);
    fflush(stdout);
    pid_t forked = od_tool_fork();
    if (forked == 0) {
        execv(command, argv);
        _exit(OD_EXIT_FAILURE);
    }
    free(argv);
    if (forked < 0) {
        od_tool_error("map: %s", strerror(errno));
        return OD_EXIT_FAILURE;
    }
    child = forked;
    leave_signals();
    return await_child();
}

/* --- the account -------------------------------------------------------------------- */

static int print_account(const request *r, const trace_file *trace)
{
    map_account account;
    const char *output = r->output ? r->output : r->from ? "-" : "/dev/stderr";
    bool to_stdout = strcmp(output, "-") == 0, to_stderr = !r->output && !r->from;
    FILE *out = to_stdout ? stdout : to_stderr ? stderr : od_tool_create("map", output);
    const char *name = to_stdout ? "standard output" : output;
    if (!out)
        return OD_EXIT_FAILURE;
    od_status status = map_account_make(trace, &account);
    if (!status) {
        bool few = trace->ntasks + trace->nconstructs <= FEW;
        if (r->each || (few && !r->sums))
            status = map_list_each(trace, &account, out);
        if (!status && (r->sums || (!few && !r->each)))
            status = map_list_sums(trace, &account, out);
        map_account_free(&account);
    }
    bool failed = fflush(out) || ferror(out);
    if (!to_stdout && !to_stderr)
        failed |= fclose(out) != 0;
    if (status || failed)
        od_tool_error("map: %s: %s", name, status ? od_status_text(status) : strerror(errno));
    return status || failed ? OD_EXIT_FAILURE : 0;
}

static int print_trace(const request *r, const char *path)
{
    char error[1200];
    trace_file trace;
    if (trace_file_read(path, &trace, error, sizeof error)) {
        od_tool_error("map: %s", error);
        return OD_EXIT_REFUSED;
    }
    int status = print_account(r, &trace);
    trace_file_free(&trace);
    return status;
}

/* Its own file took the place of ours. */
static bool has_trace_option(char **program)
{
    for (; *program; program++)
        if (strcmp(*program, "--trace") == 0 || strncmp(*program, "--trace=", 8) == 0)
            return true;
    return false;
}

static int run_and_print(const request *r)
{
    const char *folder = od_environment("TMPDIR");
    char option[PATH_MAX + 16], *path = option + strlen("--trace=");
    snprintf(option, sizeof option, "--trace=%.4000s/ompdarts-map-XXXXXX", folder && *folder ? folder : "/tmp");
    int file = mkstemp(path);
    if (file < 0) {
        od_tool_error("map: %s: %s", path, strerror(errno));
        return OD_EXIT_FAILURE;
    }
    close(file);
    int status = run(r->program, option);
    FILE *trace = fopen(path, "re");
    bool any = trace && fgetc(trace) != EOF; /* else nothing was scheduled, which `run` has said */
    if (trace)
        fclose(trace);
    int printed = any ? print_trace(r, path) : 0;
    if (!any && has_trace_option(r->program)) {
        od_tool_error("map: --trace: no second trace; `ompdarts map --from=TRACE` reads the one that has been written");
        printed = OD_EXIT_REFUSED;
    }
    unlink(path);
    return status ? status : printed;
}

int od_tool_map(int argc, char **argv)
{
    request r = {0};
    int status;
    (void)argc;
    if (!parse(argv, &r, &status))
        return status;
    return r.from ? print_trace(&r, r.from) : run_and_print(&r);
}
