/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A static schedule of a graph that comes again: for each of its tasks the device, and its place in the order.
 *
 * The policy that carries it out gives each device, of its tasks that are ready, the one that comes first. It has no
 * name among the others: it is made for one graph (od_pattern), whose tasks it knows by their numbers in order of
 * submission. Tasks that the schedule does not know of go to whichever device asks first. The next use of a datum is
 * known, as far as tasks have been submitted: the rule belady follows it.
 */
#ifndef OD_SCHED_AUTO_SCHEDULE_H
#define OD_SCHED_AUTO_SCHEDULE_H

#include "sched/oracle/problem.h"

typedef struct od_scheduled {
    uint32_t device; /* OD_SCHEDULE_OPEN: any */
    uint32_t rank;   /* in the order of all tasks; smaller is earlier */
} od_scheduled;

enum { OD_SCHEDULE_OPEN = OD_MAX_DEVICES };

typedef struct od_schedule {
    struct od_schedule *next; /* its owner's */
    char name[24];            /* as a policy is called */
    uint32_t ntasks;
    od_scheduled task[]; /* by number */
} od_schedule;

/* Of so many tasks, all of them open. NULL: out of memory. Freed with free(). */
od_schedule *od_schedule_create(uint32_t ntasks);
/* What was played. */
void od_schedule_take(od_schedule *schedule, const od_play_began *began);
/* From numbers in the graph to places in the problem, which is a part of it, and back. NULL: out of memory. */
od_schedule *od_schedule_for_problem(const od_schedule *schedule, const od_play_problem *problem);
od_schedule *od_schedule_for_graph(const od_schedule *schedule, const od_play_problem *problem);

/* As a line of text, and back. NULL: out of memory, or it is too large for one, or none. Freed with free(). */
char *od_schedule_write(const od_schedule *schedule);
od_schedule *od_schedule_read(const char *text);

/* Settings that carry it out, and otherwise these. It stays with the caller, for as long as anybody uses them. */
od_settings od_schedule_settings(const od_schedule *schedule, const od_settings *others);
/* NULL: they follow no schedule. */
const od_schedule *od_schedule_of(const od_settings *settings);

#endif
