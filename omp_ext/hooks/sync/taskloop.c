/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Taskloops, whose copies libomp 19 miscounts in teams of one thread. See omp_ext/libomp/serial.h. */
#include "omp_ext/libomp/detach.h"
#include "omp_ext/libomp/ompt.h"
#include "omp_ext/libomp/real.h"
#include "omp_ext/libomp/serial.h"
#include "omp_ext/libomp/thread.h"
#include "omp_ext/process/activity.h"
#include "omp_ext/process/memory.h"

#include <stdlib.h>
#include <string.h>

/* Ours (sync.c): libomp's would not learn of the detached tasks that end meanwhile. */
int32_t __kmpc_omp_taskwait(od_ident *ident, int32_t gtid);

static int32_t do_nothing(int32_t gtid, void *task)
{
    (void)gtid;
    (void)task;
    return 0;
}

/* The pattern of the copies, allocated anew with the program's own flags while nothing is under way; the first one ends
 * without having done anything. */
static void *uncounted_pattern(od_ident *ident, int32_t gtid, od_kmp_task *pattern)
{
    od_allocation made = od_self.allocated;
    char *contents = od_alloc(made.size + made.shareds);
    memcpy(contents, pattern, made.size);
    if (made.shareds)
        memcpy(contents + made.size, pattern->shareds, made.shareds);
    od_task_entry entry = pattern->entry;
    pattern->entry = do_nothing;
    if (made.flags & OD_TASK_DESTRUCTORS)
        pattern->destructor = (void *)(uintptr_t)do_nothing;
    REAL(__kmpc_omp_task)(ident, gtid, pattern);
    __kmpc_omp_taskwait(ident, gtid);

    od_kmp_task *copy = REAL(__kmpc_omp_task_alloc)(ident, gtid, made.flags, made.size, made.shareds, entry);
    void *shareds = copy->shareds;
    memcpy(copy, contents, made.size);
    copy->entry = entry;
    copy->shareds = shareds;
    if (made.shareds)
        memcpy(shareds, contents + made.size, made.shareds);
    free(contents);
    return copy;
}

static uint64_t *moved(uint64_t *bound, const void *from, void *to)
{
    return (uint64_t *)(void *)((char *)to + ((char *)bound - (const char *)from));
}

typedef struct loop {
    void *task;
    uint64_t *lower, *upper; /* in the task */
    unsigned serial;         /* 1: its team has one thread; 0 */
} loop;

/* A taskloop begins; a team of one gets another pattern. */
static loop begin_loop(od_ident *ident, int32_t gtid, loop l)
{
    const od_allocation *made = &od_self.allocated;
    if (od_serial_is_alone() && made->task == l.task && !(made->flags & OD_TASK_DETACHABLE)) {
        void *task = uncounted_pattern(ident, gtid, l.task);
        l = (loop){task, moved(l.lower, l.task, task), moved(l.upper, l.task, task), 1};
    }
    od_detach_note_task();
    od_self.serial_loops += l.serial;
    return l;
}

void __kmpc_taskloop(od_ident *ident, int32_t gtid, void *task, int32_t condition, uint64_t *lower, uint64_t *upper,
                     int64_t stride, int32_t nogroup, int32_t schedule, uint64_t grain, void *duplicate)
{
    if (od_runtime_is_idle()) {
        REAL(__kmpc_taskloop)
        (ident, gtid, task, condition, lower, upper, stride, nogroup, schedule, grain, duplicate);
        return;
    }
    loop l = begin_loop(ident, gtid, (loop){task, lower, upper, 0});
    OD_PROGRAM_CALL;
    REAL(__kmpc_taskloop)
    (ident, gtid, l.task, condition, l.lower, l.upper, stride, nogroup, schedule, grain, duplicate);
    od_self.serial_loops -= l.serial;
}

void __kmpc_taskloop_5(od_ident *ident, int32_t gtid, void *task, int32_t condition, uint64_t *lower, uint64_t *upper,
                       int64_t stride, int32_t nogroup, int32_t schedule, uint64_t grain, int32_t modifier,
                       void *duplicate)
{
    if (od_runtime_is_idle()) {
        REAL(__kmpc_taskloop_5)
        (ident, gtid, task, condition, lower, upper, stride, nogroup, schedule, grain, modifier, duplicate);
        return;
    }
    loop l = begin_loop(ident, gtid, (loop){task, lower, upper, 0});
    OD_PROGRAM_CALL;
    REAL(__kmpc_taskloop_5)
    (ident, gtid, l.task, condition, l.lower, l.upper, stride, nogroup, schedule, grain, modifier, duplicate);
    od_self.serial_loops -= l.serial;
}
