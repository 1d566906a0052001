/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Taskloops, whose copies libomp 19 miscounts in teams of one thread. See omp_ext/libomp/teams/serial.h. */
#include "omp_ext/libomp/teams/detach.h"
#include "omp_ext/libomp/ompt.h"
#include "omp_ext/libomp/real.h"
#include "omp_ext/libomp/teams/serial.h"
#include "omp_ext/libomp/thread.h"
#include "omp_ext/process/activity.h"

#include <string.h>

static uint64_t *moved(uint64_t *bound, const void *from, void *to)
{
    return (uint64_t *)(void *)((char *)to + ((char *)bound - (const char *)from));
}

/* What compiled code makes of a task's contents; libomp copies them bytewise before. */
typedef void (*duplicator)(void *to, void *from, int32_t last);

typedef struct loop {
    od_kmp_task *pattern;    /* of its tasks */
    uint64_t *lower, *upper; /* in it */
    od_kmp_task *given;      /* by the program, where that is another one; or NULL */
    od_own_task own;         /* around the loop then */
} loop;

/* Another pattern, as the program wanted it allocated, in a task of which no others are under way. */
static loop uncounted(od_ident *ident, int32_t gtid, loop l, duplicator duplicate)
{
    od_allocation made = od_self.allocated;
    od_kmp_task *given = l.pattern;
    od_own_task own = od_serial_begin_task();
    od_kmp_task *copy = REAL(__kmpc_omp_task_alloc)(ident, gtid, made.flags, made.size, made.shareds, given->entry);
    void *shareds = copy->shareds;
    memcpy(copy, given, made.size);
    copy->shareds = shareds;
    if (made.shareds)
        memcpy(shareds, given->shareds, made.shareds);
    if (duplicate)
        duplicate(copy, given, 0);
    else if (made.flags & OD_TASK_DESTRUCTORS)
        given->destructor = (void *)(uintptr_t)od_do_nothing;
    given->entry = od_do_nothing;
    return (loop){copy, moved(l.lower, given, copy), moved(l.upper, given, copy), given, own};
}

/* A taskloop begins; a team of one gets another pattern. */
static loop begin_loop(od_ident *ident, int32_t gtid, loop l, duplicator duplicate)
{
    const od_allocation *made = &od_self.allocated;
    if (od_serial_is_alone() && made->task == l.pattern && !(made->flags & OD_TASK_DETACHABLE)) {
        l = uncounted(ident, gtid, l, duplicate);
        od_self.serial_loops++;
    }
    od_detach_note_task(OD_CREATES_PROGRAMS);
    return l;
}

static void end_loop(od_ident *ident, int32_t gtid, const loop *l)
{
    if (!l->given)
        return;
    od_self.serial_loops--;
    od_serial_end_task(l->own);
    REAL(__kmpc_omp_task)(ident, gtid, l->given);
}

void __kmpc_taskloop(od_ident *ident, int32_t gtid, void *task, int32_t condition, uint64_t *lower, uint64_t *upper,
                     int64_t stride, int32_t nogroup, int32_t schedule, uint64_t grain, void *duplicate)
{
    if (od_runtime_is_idle()) {
        REAL(__kmpc_taskloop)
        (ident, gtid, task, condition, lower, upper, stride, nogroup, schedule, grain, duplicate);
        return;
    }
    loop given = {.pattern = task, .lower = lower, .upper = upper};
    loop l = begin_loop(ident, gtid, given, (duplicator)(uintptr_t)duplicate);
    OD_PROGRAM_CALL;
    REAL(__kmpc_taskloop)
    (ident, gtid, l.pattern, condition, l.lower, l.upper, stride, nogroup, schedule, grain, duplicate);
    end_loop(ident, gtid, &l);
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
    loop given = {.pattern = task, .lower = lower, .upper = upper};
    loop l = begin_loop(ident, gtid, given, (duplicator)(uintptr_t)duplicate);
    OD_PROGRAM_CALL;
    REAL(__kmpc_taskloop_5)
    (ident, gtid, l.pattern, condition, l.lower, l.upper, stride, nogroup, schedule, grain, modifier, duplicate);
    end_loop(ident, gtid, &l);
}
