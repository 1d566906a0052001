/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Internal control variables of a task that a kernel on a host device may set: what it sets holds for itself alone. */
#ifndef OD_OMP_EXT_ICVS_H
#define OD_OMP_EXT_ICVS_H

typedef struct od_icvs {
    int threads, thread_limit, dynamic, active_levels, schedule, chunk; /* all 0: none are kept */
} od_icvs;

/* Of the calling thread, which libomp knows from then on. */
od_icvs od_icvs_read(void);
/* Around a kernel. `thread_limit`: of the construct's task, or 0. */
od_icvs od_icvs_begin(int thread_limit);
void od_icvs_end(const od_icvs *before);

#endif
