/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A kernel's program as a separate process. See kernel_run.h. */
#include "tools/bench/kernel_run.h"

#include "tools/tools.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

void od_bench_path(char path[PATH_MAX], const bench_request *r, const bench_kernel *k, size_t p,
                        const char *ending)
{
    int start = snprintf(path, PATH_MAX, "%s/", r->output);
    snprintf(path + start, PATH_MAX - (size_t)start, "%s-%zu-%s.%s", k->name, p + 1, r->policies[p].label, ending);
    for (char *c = path + start; *c; c++)
        if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-+.", *c))
            *c = '_';
}

/* Starts argv[0] and takes what it prints, up to `size`. Its exit status, or -1 where it could not be started. */
static int output_of(char *const *argv, char *text, size_t size)
{
    int ends[2], status;
    ssize_t n;
    size_t length = 0;

    if (pipe(ends))
        return -1;
    pid_t child = od_tool_fork();
    int error = errno;
    if (child == 0) {
        dup2(ends[1], STDOUT_FILENO);
        close(ends[0]);
        close(ends[1]);
        execv(argv[0], argv);
        _exit(127);
    }
    close(ends[1]);
    while (child > 0 && length < size - 1) {
        n = read(ends[0], text + length, size - 1 - length);
        if (n == 0 || (n < 0 && errno != EINTR))
            break;
        length += n > 0 ? (size_t)n : 0;
    }
    text[length] = '\0';
    close(ends[0]);
    if (child < 0) {
        errno = error;
        return -1;
    }
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static double member(const cJSON *object, const char *name)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);
    return cJSON_IsNumber(item) ? item->valuedouble : 0;
}

static cJSON *read_json(const char *path)
{
    char *text = NULL;
    size_t size = 0;
    FILE *file = fopen(path, "re");
    if (!file)
        return NULL;
    cJSON *json = getdelim(&text, &size, '\0', file) > 0 ? cJSON_Parse(text) : NULL;
    free(text);
    fclose(file);
    return json;
}

static bool take_statistics(const char *path, bench_result *out)
{
    cJSON *stats = read_json(path);
    const cJSON *totals = cJSON_GetObjectItemCaseSensitive(stats, "totals");
    if (totals) {
        int ndevices = cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(stats, "devices"));
        double time = out->traced_s * (ndevices > 0 ? ndevices : 1);
        const char *evict = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(stats, "eviction"));
        snprintf(out->evict, sizeof out->evict, "%s", evict ? evict : "");
        out->tasks = member(stats, "tasks");
        out->host_tasks = member(stats, "host_tasks");
        out->in_bytes = member(totals, "h2d_bytes");
        out->out_bytes = member(totals, "d2h_bytes");
        out->peer_bytes = member(totals, "d2d_bytes");
        out->loads = member(totals, "loads");
        out->reloads = member(totals, "reloads");
        out->evictions = member(totals, "evictions");
        out->stalled = time > 0 ? member(totals, "stall_s") / time : 0;
    }
    cJSON_Delete(stats);
    if (!totals)
        od_tool_error("bench: %s: no statistics: the program was not scheduled", path);
    return totals != NULL;
}

/* The line of JSON that the program printed. All runs of a kernel must have the same result, to the last bit. */
static bool take_line(const char *line, bool timed, const char *expected, bench_result *out)
{
    cJSON *json = cJSON_Parse(line);
    const char *checksum = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(json, "checksum"));
    double seconds = member(json, "seconds");
    bool right = checksum && seconds > 0 && (!*expected || strcmp(checksum, expected) == 0);
    if (right) {
        snprintf(out->checksum, sizeof out->checksum, "%s", checksum);
        out->flop = member(json, "gflops") * seconds * 1e9;
    }
    if (right && timed) {
        out->seconds[out->rounds++] = seconds;
    } else if (right) {
        out->traced_s = seconds;
        out->residual = member(json, "residual");
    }
    if (!right)
        od_tool_error("bench: %s", checksum ? "the result differs from that of the runs before"
                                            : "the program's output is not that of a benchmark");
    cJSON_Delete(json);
    return right;
}

/* Nothing of an earlier benchmark may pass for what a run leaves. */
static bool is_gone(const char *path)
{
    if (unlink(path) == 0 || errno == ENOENT)
        return true;
    od_tool_error("bench: %s: %s", path, strerror(errno));
    return false;
}

/* What the run is: the program and its own arguments. */
typedef struct call {
    const bench_request *request;
    const bench_kernel *kernel;
    size_t policy;
    const char *program;
    bool timed;
} call;

enum { MOST_ARGUMENTS = 10, MOST_OPTIONS = 16 };

/* The program's own command line at argv. Numbers are written to `text`. */
static void put_program(const call *c, char **argv, char text[2][16])
{
    const bench_request *r = c->request;
    snprintf(text[0], sizeof text[0], "%u", r->tiles);
    snprintf(text[1], sizeof text[1], "%u", r->tile);
    char *own[MOST_ARGUMENTS] = {(char *)c->program, "--json", "--style", (char *)r->style, "--type", (char *)r->type,
                                 text[0], text[1], c->timed ? "--no-check" : NULL};
    memcpy(argv, own, sizeof own);
}

/* As anybody would start it, but for libomp's hidden helper threads, with which LLVM 19 fails: `ompdarts run` leaves
 * them out, too. */
static int run_without_library(const call *c, char *line, size_t size)
{
    char *argv[MOST_ARGUMENTS], text[2][16];
    put_program(c, argv, text);
    setenv("LIBOMP_NUM_HIDDEN_HELPER_THREADS", "0", 0);
    return output_of(argv, line, size);
}

static int run_under_library(const call *c, const char *statistics, const char *events, char *line, size_t size)
{
    const bench_request *r = c->request;
    char command[PATH_MAX], sched[300], evict[48], memory[48], devices[300], backend[300], stats[PATH_MAX + 16],
        trace[PATH_MAX + 16], text[2][16];
    ssize_t length = readlink("/proc/self/exe", command, sizeof command - 1);
    command[length < 0 ? 0 : length] = '\0';
    snprintf(sched, sizeof sched, "--sched=%s", r->policies[c->policy].sched);
    snprintf(evict, sizeof evict, "--evict=%s", r->policies[c->policy].evict);
    snprintf(memory, sizeof memory, "--mem=%zu", od_bench_memory_bytes(r, c->kernel));
    snprintf(devices, sizeof devices, "--devices=%s", r->devices);
    snprintf(backend, sizeof backend, "--backend=%s", r->backend);
    snprintf(stats, sizeof stats, "--stats=%s", c->timed ? "0" : statistics);
    snprintf(trace, sizeof trace, "--trace=%s", c->timed ? "0" : events);
    char *argv[MOST_OPTIONS + MOST_ARGUMENTS] = {
        command, "run",   "--progress=0", "--record=0", "--debug=0", sched, evict, memory,
        devices, backend, stats,          trace,        "--"};
    char **end = argv;
    while (*end)
        end++;
    put_program(c, end, text);
    return output_of(argv, line, size);
}

bool od_bench_run(const bench_request *r, const bench_kernel *k, size_t p, const char *program, bool timed,
                  const char *expected, bench_result *out)
{
    const bench_policy *policy = &r->policies[p];
    const call c = {r, k, p, program, timed};
    char statistics[PATH_MAX], events[PATH_MAX], line[4096];
    bool plain = od_bench_is_plain(policy);
    od_bench_path(statistics, r, k, p, "stats.json");
    od_bench_path(events, r, k, p, "trace.json");
    if (!timed && (!is_gone(statistics) || !is_gone(events)))
        return false;
    int status = plain ? run_without_library(&c, line, sizeof line)
                       : run_under_library(&c, statistics, events, line, sizeof line);
    if (status < 0) {
        od_tool_error("bench: %s: %s", program, strerror(errno));
        return false;
    }
    if (status != 0) {
        od_tool_error("bench: %s under %s: exit status %d%s", program, policy->label, status,
                      status == 1 ? ": a wrong result" : "");
        return false;
    }
    return take_line(line, timed, expected, out) && (timed || plain || take_statistics(statistics, out));
}
