/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* See thread.h. */
#define _GNU_SOURCE /* femode_t */
#include "omp_ext/libomp/thread.h"

#include "omp_ext/libomp/real.h"
#include "util/options.h"

#include <fenv.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <strings.h>

_Thread_local od_thread od_self;

/* Constructs that the calling thread waits for or has been granted; apart from od_self, which is exchanged for each
 * task. */
static _Thread_local unsigned own_grants;

void od_thread_note_grant(bool begins)
{
    own_grants += begins ? 1u : -1u;
}

static _Thread_local bool at_scheduling_point;

bool od_thread_at_scheduling_point(bool is)
{
    bool was = at_scheduling_point;
    at_scheduling_point = is;
    return was;
}

bool od_thread_may_run_tasks(void)
{
    return at_scheduling_point && !own_grants && od_self.mode != OD_ON_DEVICE && !od_self.job && !od_self.holds;
}

void od_thread_leave_capture(void)
{
    if (od_self.mode == OD_CAPTURE)
        od_self = (od_thread){.mode = OD_PLAIN, .own_default_device = od_self.own_default_device};
}

/* --- locks of the program ------------------------------------------------------- */

static _Thread_local unsigned locks_held;

void od_thread_note_lock(bool taken)
{
    if (taken)
        locks_held++;
    else
        locks_held -= locks_held > 0; /* another thread may have taken it */
}

bool od_thread_holds_locks(void)
{
    return locks_held > 0;
}

/* libomp says no until it is ready for parallel regions, which the first one makes it, also one in a kernel: half of a
 * final task's children would be as others are. No thread has the number -1, so this does that and nothing else. */
bool od_thread_in_final(void)
{
    enum { NOBODY = -1 };
    static atomic_bool is_ready;
    if (!atomic_load_explicit(&is_ready, memory_order_relaxed)) {
        REAL(__kmpc_masked)(NULL, REAL(__kmpc_global_thread_num)(NULL), NOBODY);
        atomic_store(&is_ready, true);
    }
    return REAL(omp_in_final)();
}

/* --- floating-point arithmetic -------------------------------------------------- */

static od_modes helpers_modes;
static bool has_helpers;
static pthread_once_t first_target_task = PTHREAD_ONCE_INIT;

_Static_assert(sizeof(femode_t) <= sizeof(od_modes), "fits");

od_modes od_thread_modes(void)
{
    od_modes modes = {0};
    femode_t now;
    fegetmode(&now);
    memcpy(&modes, &now, sizeof now);
    return modes;
}

void od_thread_set_modes(od_modes modes)
{
    femode_t now;
    memcpy(&now, &modes, sizeof now);
    fesetmode(&now);
}

static bool is_false(const char *value)
{
    return value && (strcspn(value, "0fFnN") == 0 || strcasecmp(value, "off") == 0);
}

static void note_helpers_modes(void)
{
    const char *threads = od_environment("LIBOMP_NUM_HIDDEN_HELPER_THREADS");
    has_helpers = !is_false(od_environment("LIBOMP_USE_HIDDEN_HELPER_TASK")) && !(threads && strcmp(threads, "0") == 0);
    helpers_modes = od_thread_modes();
}

void od_thread_note_target_task(void)
{
    pthread_once(&first_target_task, note_helpers_modes);
}

od_modes od_thread_task_modes(void)
{
    return has_helpers ? helpers_modes : od_thread_modes();
}
