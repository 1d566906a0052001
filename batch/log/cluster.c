/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Clusters as text: lines of N:CORES:MEM:BANDWIDTH. */
#include "util/file/lines.h"
#include "batch/log/read.h"
#include "util/container/array.h"

#include <errno.h>
#include <math.h>
#include <string.h>

static bool positive(od_lines *in, const char *what, const char *text, double most, double *value)
{
    return (od_number(text, 0, most, value) && *value > 0) ||
           od_refuse_line(in, "%s is '%.40s', not a number above 0 and up to %g", what, text, most);
}

static bool counts(od_lines *in, const char *what, const char *text, double most, double *value)
{
    if (!positive(in, what, text, most, value))
        return false;
    return *value <= floor(*value) || od_refuse_line(in, "%s is '%.40s', not a whole number", what, text);
}

/* False: refused, or without a word: out of memory. */
static bool add_nodes(od_lines *in, char *text, od_batch_cluster *cluster)
{
    char *fields[4];
    double count, cores, memory, bandwidth;
    if (od_fields(text, ':', fields, 4) != 4)
        return od_refuse_line(in, "not N:CORES:MEM:BANDWIDTH, such as 450:20:128:0.1 (GB and GB/s)");
    if (!counts(in, "the number of nodes", fields[0], OD_BATCH_MOST_NODES, &count) ||
        !counts(in, "the number of cores", fields[1], OD_BATCH_MOST_CORES, &cores) ||
        !positive(in, "the memory", fields[2], 1e9, &memory) ||
        !positive(in, "the bandwidth", fields[3], 1e9, &bandwidth))
        return false;
    uint64_t all = (uint64_t)cluster->count + (uint64_t)count;
    if (all > OD_BATCH_MOST_NODES)
        return od_refuse_line(in, "more than %d nodes", OD_BATCH_MOST_NODES);
    if (!od_array_reserve(&cluster->nodes, &cluster->room, all, sizeof *cluster->nodes))
        return false;
    while (cluster->count < all)
        cluster->nodes[cluster->count++] = (od_batch_node){(uint32_t)cores, memory, bandwidth};
    return true;
}

static od_status read_file(od_lines *in, od_batch_cluster *cluster)
{
    while (od_next_line(in, "#")) {
        in->text[strcspn(in->text, "#")] = '\0';
        if (!add_nodes(in, in->text, cluster))
            return *in->error ? OD_EINVAL : OD_ENOMEM;
    }
    if (!*in->error && !ferror(in->file) && !cluster->count)
        od_refuse_line(in, "no nodes");
    return *in->error ? OD_EINVAL : ferror(in->file) ? OD_EIO : OD_OK;
}

od_status od_batch_cluster_read(const char *text, od_batch_cluster *cluster, char *error, size_t size)
{
    od_lines in = {.number = 1, .error = error, .size = size};
    *error = '\0';
    if (strchr(text, ':')) {
        char copy[256];
        snprintf(copy, sizeof copy, "%s", text);
        return add_nodes(&in, copy, cluster) ? OD_OK : *error ? OD_EINVAL : OD_ENOMEM;
    }
    in.number = 0;
    in.file = fopen(text, "re");
    if (!in.file)
        return OD_EIO;
    od_status status = read_file(&in, cluster);
    int problem = errno;
    od_lines_free(&in);
    fclose(in.file);
    errno = problem;
    return status;
}
