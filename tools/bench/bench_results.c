/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The results of `ompdarts bench`; see bench_results.h. */
#include "tools/bench/bench_results.h"

#include "tools/tools.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool od_bench_is_plain(const bench_policy *policy)
{
    return strcmp(policy->sched, BENCH_PLAIN) == 0;
}

uint64_t od_bench_data_bytes(const bench_request *r, const bench_kernel *k)
{
    double element = strcmp(r->type, "double") == 0 ? 8 : 4;
    return (uint64_t)(k->data(r->tiles) * r->tile * r->tile * element);
}

size_t od_bench_memory_bytes(const bench_request *r, const bench_kernel *k)
{
    return r->memory ? r->memory : (size_t)((double)od_bench_data_bytes(r, k) * r->percent / 100);
}

static int compare_seconds(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(const bench_result *x)
{
    unsigned n = x->rounds;
    double sorted[MAX_ROUNDS];
    memcpy(sorted, x->seconds, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, compare_seconds);
    return (sorted[(n - 1) / 2] + sorted[n / 2]) / 2;
}

static void print_scheduled(const bench_result *x)
{
    printf(" %9.1f %9.1f %9.1f %8.0f %8.0f %9.0f %8.1f %7.0f\n", x->in_bytes * 1e-6, x->out_bytes * 1e-6,
           x->peer_bytes * 1e-6, x->loads, x->reloads, x->evictions, 100 * x->stalled, x->host_tasks);
}

void od_bench_print(const bench_request *r, const bench_kernel *k, const bench_result *results)
{
    int width = (int)strlen("policy");
    for (size_t p = 0; p < r->npolicies; p++)
        if ((int)strlen(r->policies[p].label) > width)
            width = (int)strlen(r->policies[p].label);
    printf("%s: %u x %u tiles of %u x %u %ss, %.1f MB of data, %.1f MB on each device; median of %u runs\n", k->name,
           r->tiles, r->tiles, r->tile, r->tile, r->type, (double)od_bench_data_bytes(r, k) * 1e-6,
           (double)od_bench_memory_bytes(r, k) * 1e-6, r->rounds);
    printf("%-*s %9s %8s %9s %9s %9s %9s %8s %8s %9s %8s %7s\n", width, "policy", "time s", "speedup", "GFlop/s",
           "MB in", "MB out", "MB peer", "loads", "reloads", "evictions", "stall %", "on host");
    for (size_t p = 0; p < r->npolicies; p++) {
        printf("%-*s %9.3f %8.2f %9.2f", width, r->policies[p].label, median(&results[p]),
               median(&results[0]) / median(&results[p]), results[p].flop / median(&results[p]) * 1e-9);
        if (od_bench_is_plain(&r->policies[p]))
            printf(" %9s %9s %9s %8s %8s %9s %8s %7s\n", "-", "-", "-", "-", "-", "-", "-", "-");
        else
            print_scheduled(&results[p]);
    }
    printf("\n");
}

static cJSON *describe_run(const bench_policy *p, const bench_result *x)
{
    cJSON *run = cJSON_CreateObject();
    cJSON_AddStringToObject(run, "policy", p->sched);
    cJSON_AddItemToObject(run, "seconds", cJSON_CreateDoubleArray(x->seconds, (int)x->rounds));
    cJSON_AddNumberToObject(run, "median_s", median(x));
    cJSON_AddNumberToObject(run, "gflops", x->flop / median(x) * 1e-9);
    cJSON_AddNumberToObject(run, "residual", x->residual);
    cJSON_AddStringToObject(run, "checksum", x->checksum);
    if (od_bench_is_plain(p))
        return run;
    cJSON_AddStringToObject(run, "eviction", x->evict);
    cJSON_AddNumberToObject(run, "tasks", x->tasks);
    cJSON_AddNumberToObject(run, "host_tasks", x->host_tasks);
    cJSON_AddNumberToObject(run, "h2d_bytes", x->in_bytes);
    cJSON_AddNumberToObject(run, "d2h_bytes", x->out_bytes);
    cJSON_AddNumberToObject(run, "d2d_bytes", x->peer_bytes);
    cJSON_AddNumberToObject(run, "loads", x->loads);
    cJSON_AddNumberToObject(run, "reloads", x->reloads);
    cJSON_AddNumberToObject(run, "evictions", x->evictions);
    cJSON_AddNumberToObject(run, "stalled", x->stalled);
    return run;
}

void od_bench_describe(cJSON *all, const bench_request *r, const bench_kernel *k, const bench_result *results)
{
    cJSON *of = cJSON_CreateObject();
    cJSON_AddStringToObject(of, "kernel", k->name);
    cJSON_AddStringToObject(of, "style", r->style);
    cJSON_AddStringToObject(of, "type", r->type);
    cJSON_AddStringToObject(of, "target", r->target);
    cJSON_AddStringToObject(of, "devices", r->devices);
    cJSON_AddStringToObject(of, "backend", r->backend);
    cJSON_AddNumberToObject(of, "tiles", r->tiles);
    cJSON_AddNumberToObject(of, "tile", r->tile);
    cJSON_AddNumberToObject(of, "data_bytes", (double)od_bench_data_bytes(r, k));
    cJSON_AddNumberToObject(of, "memory_bytes", (double)od_bench_memory_bytes(r, k));
    cJSON *runs = cJSON_AddArrayToObject(of, "runs");
    for (size_t p = 0; p < r->npolicies; p++)
        cJSON_AddItemToArray(runs, describe_run(&r->policies[p], &results[p]));
    cJSON_AddItemToArray(all, of);
}

bool od_bench_write(const bench_request *r, const cJSON *results)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/results.json", r->output);
    char *text = cJSON_Print(results);
    FILE *file = fopen(path, "we");
    bool done = text && file && fprintf(file, "%s\n", text) > 0;
    if (file && fclose(file))
        done = false;
    free(text);
    if (!done)
        od_tool_error("bench: %s: %s", path, strerror(errno));
    return done;
}
