/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Logs and clusters as files. */
#ifndef OD_BATCH_LOG_READ_H
#define OD_BATCH_LOG_READ_H

#include "batch/log/log.h"

#include <stdio.h>

/*
 * Reads jobs into an empty log: CSV where the first line that is no comment has a comma, else the Standard Workload
 * Format. Order is that of the file, gaps are left (od_batch_log_complete()).
 *
 * CSV begins with the names of its columns, in any order: submit_s, duration_s and cores are needed; job, walltime_s,
 * user, session, file and size_gb may be missing, others are passed over. Without users a session is one.
 *
 * OD_EINVAL, with the line and one sentence in `error`; OD_EIO with errno; OD_ENOMEM. The log is to be freed in any
 * case.
 */
od_status od_batch_log_read(FILE *file, od_batch_log *log, char *error, size_t size);

/* N:CORES:MEM:BANDWIDTH with GB and GB/s, or a file with such lines, a comment from # on. Errors as above. */
od_status od_batch_cluster_read(const char *text, od_batch_cluster *cluster, char *error, size_t size);

#endif
