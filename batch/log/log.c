/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Jobs, clusters and words; see log.h. */
#include "batch/log/log.h"

#include "util/container/array.h"

#include <math.h>
#include <stdlib.h>

void od_batch_cluster_free(od_batch_cluster *cluster)
{
    free(cluster->nodes);
    *cluster = (od_batch_cluster){0};
}

od_batch_job *od_batch_log_add(od_batch_log *log)
{
    if (!od_array_reserve(&log->jobs, &log->room, (uint64_t)log->count + 1, sizeof *log->jobs))
        return NULL;
    od_batch_job *job = &log->jobs[log->count];
    *job =
        (od_batch_job){.number = log->count++, .user = OD_BATCH_NONE, .session = OD_BATCH_NONE, .file = OD_BATCH_NONE};
    job->walltime = job->size = (double)NAN;
    return job;
}

double od_batch_load(double size, const od_batch_node *node)
{
    return size / node->bandwidth;
}

double od_batch_shortest_load(double size, const od_batch_cluster *cluster)
{
    double shortest = HUGE_VAL;
    for (uint32_t k = 0; k < cluster->count; k++)
        shortest = fmin(shortest, od_batch_load(size, &cluster->nodes[k]));
    return shortest;
}

double od_batch_reference(const od_batch_job *job, const od_batch_cluster *cluster)
{
    return fmin(od_batch_shortest_load(job->size, cluster) + job->duration, job->walltime);
}

void od_batch_log_free(od_batch_log *log)
{
    free(log->jobs);
    od_names_free(&log->user_names);
    od_names_free(&log->session_names);
    od_names_free(&log->file_names);
    *log = (od_batch_log){0};
}
