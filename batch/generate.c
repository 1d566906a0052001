/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Made-up logs; see generate.h. Most jobs are short and have few cores, a few last long, as in the logs of clusters. */
#include "batch/generate.h"

#include "batch/log/complete.h"

#include <inttypes.h>
#include <math.h>

#define SHORTEST 60.0 /* s */
#define LONGEST 86400.0

static double uniform(uint64_t *state)
{
    uint64_t x = *state += UINT64_C(0x9e3779b97f4a7c15); /* splitmix64 */
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (double)((x ^ (x >> 31)) >> 11) * 0x1p-53;
}

/* 1, 2, 4, ... up to all cores; the more the rarer. */
static uint32_t draw_cores(uint64_t *state, uint32_t most)
{
    uint32_t cores = 1;
    while (cores < most && uniform(state) < 0.4)
        cores *= 2;
    return cores < most ? cores : most;
}

void od_batch_generate(const od_batch_workload *workload, const od_batch_cluster *cluster, FILE *out)
{
    const od_batch_node *node = &cluster->nodes[0];
    uint64_t state = workload->seed;
    double now = 0, all = 0;
    for (uint32_t k = 0; k < cluster->count; k++)
        all += cluster->nodes[k].cores;
    fputs("job,submit_s,walltime_s,duration_s,cores,user,file,size_gb\n", out);
    for (uint32_t job = 0, file = 0; job < workload->jobs; file++) {
        uint32_t count = 1 + (uint32_t)(pow(uniform(&state), 3) * workload->burst),
                 cores = draw_cores(&state, node->cores);
        uint32_t user = (uint32_t)(uniform(&state) * 100);
        double size = node->memory * ((double)cores / node->cores), load = size / node->bandwidth, work = 0;
        double longest = SHORTEST * pow(LONGEST / SHORTEST, pow(uniform(&state), 2));
        double walltime = od_batch_usual_walltime(1.5 * (longest + load));
        for (uint32_t i = 0; i < count && job < workload->jobs; i++) {
            double duration = ceil(longest * (0.3 + 0.7 * uniform(&state)));
            work += (duration + load) * cores;
            fprintf(out, "%" PRIu32 ",%.0f,%g,%g,%" PRIu32 ",u%" PRIu32 ",f%" PRIu32 ",%.17g\n", ++job, floor(now),
                    walltime, duration, cores, user, file, size);
        }
        now += work / all / workload->load * -log(1 - uniform(&state));
    }
}
