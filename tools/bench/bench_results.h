/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The results of `ompdarts bench`: a table, and a JSON file. */
#ifndef OD_TOOLS_BENCH_BENCH_RESULTS_H
#define OD_TOOLS_BENCH_BENCH_RESULTS_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MAX_POLICIES = 16, MAX_KERNELS = 4, MAX_ROUNDS = 1000, MAX_TILES = 4096, MAX_TILE = 32768 };

/* Tiles of the data that devices work on, in units of one tile; n tiles along each side. */
typedef struct bench_kernel {
    const char *name;
    double (*data)(double n);
} bench_kernel;

typedef struct bench_policy {
    char label[300]; /* as the user wrote it */
    char sched[256];
    char evict[32]; /* "auto" where none was named */
} bench_policy;

#define BENCH_PLAIN "none" /* in place of a policy: without the library */

typedef struct bench_request {
    const bench_kernel *kernels[MAX_KERNELS];
    size_t nkernels;
    bench_policy policies[MAX_POLICIES];
    size_t npolicies;
    unsigned tiles, tile, rounds;
    size_t memory;  /* bytes of each device; 0: `percent` of the data */
    double percent; /* of the data */
    const char *devices, *backend, *style, *type, *target, *output;
} bench_request;

/* What the runs of one kernel under one policy have shown. */
typedef struct bench_result {
    double seconds[MAX_ROUNDS]; /* of the timed rounds so far */
    unsigned rounds;
    double flop;
    char checksum[32];
    /* Of the traced run, over all devices. */
    char evict[32]; /* the rule in use */
    double traced_s, residual;
    double tasks, host_tasks, in_bytes, out_bytes, peer_bytes, loads, reloads, evictions;
    double stalled; /* share of the devices' time */
} bench_result;

bool od_bench_is_plain(const bench_policy *policy);
uint64_t od_bench_data_bytes(const bench_request *r, const bench_kernel *k);
size_t od_bench_memory_bytes(const bench_request *r, const bench_kernel *k); /* of each device */

/* `results`: by policy. */
void od_bench_print(const bench_request *r, const bench_kernel *k, const bench_result *results);
/* Appends to the array. */
void od_bench_describe(cJSON *all, const bench_request *r, const bench_kernel *k, const bench_result *results);
/* False: not possible; the reason has been printed. */
bool od_bench_write(const bench_request *r, const cJSON *results);

#endif
