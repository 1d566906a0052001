/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * What a task costs whose kernel begins when another one has ended: chains of target nowait tasks, each of which
 * depends on the one before it, on data that stay on the device. Prints the microseconds that a link has taken.
 */
#include "bench/common/clock.h"
#include "bench/common/command.h"
#include "bench/common/memory.h"

#include <stdio.h>
#include <stdlib.h>

enum { TILE = 4096, DEFAULT_LINKS = 500 };

static void run(int *x, size_t links, size_t chains)
{
    for (size_t i = 0; i < links * chains; i++) {
        int *tile = x + i % chains * TILE;
#pragma omp target teams distribute parallel for nowait depend(inout : tile[0]) map(tofrom : tile [0:TILE])
        for (int j = 0; j < TILE; j++)
            tile[j] = 3 * tile[j] + j;
    }
#pragma omp taskwait
}

int main(int argc, char **argv)
{
    uint64_t chains = 1, links = DEFAULT_LINKS;
    const bench_option options[] = {
        {"chains", "N", "beside each other (default: 1)", bench_take_number, &chains, 1, 1000, 1, NULL},
        {.name = NULL},
    };
    const bench_command command = {.usage = "Usage: chain [OPTION]... [LINKS]\n",
                                   .options = options,
                                   .notes = BENCH_EXIT_CODES,
                                   .expected = "one argument, LINKS",
                                   .most = 1};
    if (bench_parse(argc, argv, &command) > 0)
        links = bench_number("LINKS", argv[argc - 1], 1, 1000000);
    size_t size = chains * TILE;
    int *x = bench_alloc(size, sizeof *x);
    for (size_t i = 0; i < size; i++)
        x[i] = 0;
#pragma omp target enter data map(to : x [0:size])
    run(x, 16, chains);
    double start = bench_now();
    run(x, links, chains);
    double seconds = bench_now() - start;
#pragma omp target exit data map(from : x [0:size])
    printf("%.3f\n", seconds * 1e6 / (double)links);
    free(x);
    return 0;
}
