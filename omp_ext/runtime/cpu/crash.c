/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* See crash.h. */
#define _GNU_SOURCE 1 /* struct sigaction */
#include "omp_ext/runtime/cpu/crash.h"

#include "omp_ext/libomp/thread.h"
#include "omp_ext/process/signals/signals.h"
#include "omp_ext/runtime/cpu/cpu.h"
#include "omp_ext/runtime/workers.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

static const struct crash {
    int number;
    const char *name;
} crashes[] = {{.number = SIGSEGV, .name = "SIGSEGV"},
               {.number = SIGBUS, .name = "SIGBUS"},
               {.number = SIGFPE, .name = "SIGFPE"},
               {.number = SIGILL, .name = "SIGILL"},
               {.number = SIGABRT, .name = "SIGABRT"}};

enum { CRASHES = sizeof crashes / sizeof *crashes };

static void tell(const od_job *job, const char *signal_name)
{
    char line[400];
    const char *kernel = od_cpu_kernel_name(job->launch.call.kernel);
    int length = snprintf(line, sizeof line,
                          "ompdarts: %s in the host version of kernel %s, task %" PRIu64 ", which a CPU worker runs "
                          "(OMPDARTS_CPU_EXCLUDE leaves kernels to devices)\n",
                          signal_name, kernel ? kernel : "?", job->task.id);
    if (length > 0 && (size_t)length < sizeof line && write(STDERR_FILENO, line, (size_t)length) < 0)
        return; /* nothing else can be done about it */
}

static bool on_crash(const siginfo_t *info, void *context)
{
    const struct crash *c = crashes;
    (void)context;
    while (c->number != info->si_signo)
        c++;
    if (od_self.mode == OD_HOST_VERSION && od_self.job && od_workers_have_me())
        tell(od_self.job, c->name);
    return false;
}

void od_crash_start(void)
{
    struct sigaction wanted;
    for (const struct crash *c = crashes; c < crashes + CRASHES; c++)
        if (!od_signals_wanted(c->number, &wanted) && wanted.sa_handler == SIG_DFL)
            od_signals_take(c->number, on_crash);
}
