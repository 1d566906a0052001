/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* When the library is loaded: the entry points behind ours, and what has been configured. */
#include "omp_ext/runtime/internal.h"

#include "omp_ext/libomp/call.h"
#include "omp_ext/libomp/teams/detach.h"
#include "omp_ext/libomp/real.h"
#include "omp_ext/process/fatal.h"
#include "omp_ext/process/signals/interrupt.h"
#include "omp_ext/runtime/cpu/alone.h"
#include "util/log.h"
#include "util/memory.h"
#include "util/thread.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

static bool knows_llvm(void)
{
    static const char *const known[] = {"19.", "22."};
    const char *version = od_real_llvm_version();
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strncmp(version, known[i], strlen(known[i])) == 0)
            return true;
    od_log(OD_LOG_WARNING, "runtime", "libomptarget version '%s' is not known (known: 19, 22): ompdarts is off",
           version);
    return false;
}

static bool loaded; /* the entry points have been found */

/* The virtual device goes by the number of our first one, where libomptarget has its own copies of global variables:
 * the program's default device is the same, unless the user says otherwise. */
static void set_default_device(const od_device_choice *devices)
{
    char number[16];
    snprintf(number, sizeof number, "%d", devices->number[0]);
    const od_backend_type *type = od_runtime.options.memory.backend.type;
    if (devices->listed && !(type && type->count)) /* else the list is of other ranks' devices */
        od_environment_default("OMP_DEFAULT_DEVICE", number);
}

/* Without its hidden helper threads libomp counts their places in its table of threads as free, but never uses them:
 * some 25 threads are too many then (LLVM 19 to 22). Our workers and their kernels' threads are among these. */
static void mend_thread_table(void)
{
    const char *helpers = od_environment("LIBOMP_USE_HIDDEN_HELPER_TASK");
    if (helpers && (strcspn(helpers, "0fFnN") == 0 || strcasecmp(helpers, "off") == 0))
        od_environment_default("LIBOMP_NUM_HIDDEN_HELPER_THREADS", "0");
}

/* libomp then carries each task out where it is created, and knows none that complete later. */
static bool has_tasks_at_once(void)
{
    const char *tasking = od_environment("KMP_TASKING");
    bool at_once = tasking && strcmp(tasking, "0") == 0;
    if (at_once)
        od_log(OD_LOG_WARNING, "runtime", "KMP_TASKING=0: tasks run where they are created, nothing is scheduled");
    return at_once;
}

/* OMPDARTS_DEVICES=0, which libomptarget is to know, too. */
static void choose_no_device(void)
{
    if (od_runtime.mandatory)
        od_refuse("OMPDARTS_DEVICES=0 (--devices): OMP_TARGET_OFFLOAD=mandatory forbids the host");
    if (!od_runtime.options.cpu.workers)
        od_refuse("OMPDARTS_DEVICES=0 (--devices): allowed only with CPU workers, set OMPDARTS_CPU (--cpu), too");
    od_environment_default("OMP_TARGET_OFFLOAD", "disabled");
    od_cpu_be_alone();
}

/* OMP_TARGET_OFFLOAD=disabled. True: nothing is scheduled. */
static bool is_disabled(const char *offload)
{
    if (!offload || strcasecmp(offload, "disabled") != 0)
        return false;
    if (od_runtime.options.cpu.workers) {
        od_cpu_be_alone();
        return false;
    }
    /* Whoever asked for a summary learns why there is none. */
    od_log(od_runtime.options.stats.summary ? OD_LOG_WARNING : OD_LOG_INFO, "runtime",
           "OMP_TARGET_OFFLOAD=%s: target regions run on the host, nothing is scheduled", offload);
    return true;
}

static void configure(void)
{
    char error[OD_OPTION_ERROR];
    loaded = true;
    od_runtime.process = getpid();
    if (od_options_parse(&od_runtime.options, error, sizeof error))
        od_refuse(error);
    od_log_set_level(od_runtime.options.log);
    const char *offload = od_environment("OMP_TARGET_OFFLOAD");
    if (!od_runtime.options.disable)
        set_default_device(&od_runtime.options.devices);
    const char *number = od_environment("OMP_DEFAULT_DEVICE");
    od_runtime.virtual_number = number && atoi(number) > 0 ? atoi(number) : 0;
    od_runtime.mandatory = offload && strcasecmp(offload, "mandatory") == 0;
    if (od_runtime.options.disable && od_runtime.options.stats.summary)
        od_log(OD_LOG_WARNING, "runtime", "OMPDARTS_DISABLE=1: nothing is scheduled");
    bool disabled = is_disabled(offload);
    if (!od_runtime.options.disable && od_runtime.options.devices.none)
        choose_no_device();
    if (!od_runtime.options.disable && !disabled && knows_llvm() && !has_tasks_at_once()) {
        enum { RESERVE = 4 << 20 }; /* bytes: for what is under way when there are no more */
        od_memory_reserve(RESERVE);
        /* A thread that asks libomptarget for the end of kernels is made to wait for one after so many questions. */
        mend_thread_table();
        od_environment_default("OMPTARGET_QUERY_COUNT_MAX", "1000000000");
        od_environment_default("OMPTARGET_QUERY_COUNT_THRESHOLD", "1000000000");
        od_process_self.start = od_runtime_start;
        od_process_self.revive = od_runtime_revive;
        od_detach_at_thread_end(od_runtime_synchronise);
        od_team_set_duty(&od_runtime_duty);
        atomic_store(&od_process_self.activity, OD_UNSTARTED);
        atomic_store(&od_runtime_watches, true);
    }
}

static void load_next(void)
{
    const char *missing;
    od_detach_load();
    od_thread_note_places();
    if (od_real_resolve(&missing))
        configure();
    else if (missing)
        od_log(OD_LOG_WARNING, "runtime", "the OpenMP runtime has no %s: ompdarts is off", missing);
    od_interrupt_load(!od_runtime_is_idle());
}

static void forward_where_idle(void)
{
    bool idle = od_runtime_is_idle();
    __atomic_store_n(&od_forward_fork_call, idle ? od_real_table.__kmpc_fork_call : NULL, __ATOMIC_RELAXED);
    __atomic_store_n(&od_forward_fork_teams, idle ? od_real_table.__kmpc_fork_teams : NULL, __ATOMIC_RELAXED);
}

__attribute__((constructor)) void od_runtime_load(void)
{
    static pthread_once_t next = PTHREAD_ONCE_INIT;
    pthread_once(&next, load_next);
    if (!loaded && od_real_resolve_opened()) {
        configure();
        od_interrupt_load(!od_runtime_is_idle());
    }
    forward_where_idle();
}
