/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Recorded runs and the simulator's workloads as graphs. A datum is in memory from the first task that uses it to the
 * last one: data that are made on a device and die there, and data that come from the host and are kept as long as they
 * are needed. What the program's own thread waits for is left out: another program with the same dependences may not
 * wait.
 */
#ifndef OD_TOOLS_ANALYZE_RECORDED_H
#define OD_TOOLS_ANALYZE_RECORDED_H

#include "dag/graph.h"

/* OD_EINVAL, OD_EIO or OD_ENOMEM, with one line in `error`. `memory`: bytes of each device of the run. */
od_status analyze_read_recorded(const char *path, od_dag *dag, int64_t *memory, char *error, size_t size);
od_status analyze_make_workload(const char *text, od_dag *dag, char *error, size_t size);

#endif
