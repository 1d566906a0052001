/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Asynchronous data constructs as the guard (sched/guard) wants to know them: when they are submitted, not when they
 * are carried out.
 *
 * What a construct will enter or leave is in its compiled task, which passes it to libomptarget when it runs. Once code
 * has run and was a data construct, it always is: other instances are looked at by running their code in mode INSPECT,
 * in which the call only shows its list. Those that were submitted before that was known are looked at then.
 */
#ifndef OD_OMP_EXT_CONSTRUCTS_H
#define OD_OMP_EXT_CONSTRUCTS_H

#include "omp_ext/tasks/entry.h"
#include "omp_ext/tasks/task_table.h"

/* A task that shares nothing with the program is submitted. Locked. Nothing where the guard is off. */
void od_construct_submit(od_engine *engine, od_record *record);
/* It is about to run, or will never; then it has been carried out, or will never be. */
void od_construct_begin(od_record *record);
void od_construct_end(od_record *record);
/* Its code has turned out to be a data construct. */
void od_construct_learn(od_record *record);

/* INSPECT: the list of a construct that enters or leaves. */
void od_construct_show(const od_map_args *args, bool enters);

#endif
