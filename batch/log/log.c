/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Jobs, clusters and words; see log.h. */
#include "batch/log/log.h"

#include "util/container/array.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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
    *job = (od_batch_job){.number = log->count++, .user = OD_BATCH_NONE, .session = OD_BATCH_NONE, .file = OD_BATCH_NONE};
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

/* --- words ------------------------------------------------------------------------- */

static uint32_t hash_of(const char *word)
{
    uint64_t hash = UINT64_C(14695981039346656037); /* FNV-1a */
    for (; *word; word++)
        hash = (hash ^ (unsigned char)*word) * UINT64_C(1099511628211);
    return (uint32_t)(hash ^ (hash >> 32));
}

static bool make_room(od_batch_names *names)
{
    uint32_t room = names->room, like_room = room;
    return od_array_reserve(&names->like, &like_room, (uint64_t)names->count + 1, sizeof *names->like) &&
           od_array_reserve(&names->text, &names->room, (uint64_t)names->count + 1, sizeof *names->text);
}

/* Behind `first`, the word with the same hash that was there before all others. */
static uint32_t append(od_batch_names *names, const char *word, uint32_t hash, uint32_t first)
{
    char *copy = strdup(word);
    if (!copy || !make_room(names) ||
        (first == OD_NO_POSITION && od_index_add(&names->by_hash, hash, names->count) != OD_OK)) {
        free(copy);
        return OD_BATCH_NONE;
    }
    names->text[names->count] = copy;
    names->like[names->count] = first == OD_NO_POSITION ? OD_BATCH_NONE : names->like[first];
    if (first != OD_NO_POSITION)
        names->like[first] = names->count;
    return names->count++;
}

uint32_t od_batch_name_number(od_batch_names *names, const char *word)
{
    uint32_t hash = hash_of(word), first = od_index_find(&names->by_hash, hash);
    for (uint32_t i = first; i != OD_BATCH_NONE; i = names->like[i])
        if (strcmp(names->text[i], word) == 0)
            return i;
    return append(names, word, hash, first);
}

static void free_names(od_batch_names *names)
{
    for (uint32_t i = 0; i < names->count; i++)
        free(names->text[i]);
    free(names->text);
    free(names->like);
    od_index_free(&names->by_hash);
}

void od_batch_log_free(od_batch_log *log)
{
    free(log->jobs);
    free_names(&log->user_names);
    free_names(&log->session_names);
    free_names(&log->file_names);
    *log = (od_batch_log){0};
}
