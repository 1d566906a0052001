/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* See crash.h. */
#define _GNU_SOURCE 1 /* struct sigaction */
#include "omp_ext/runtime/cpu/crash.h"

#include "omp_ext/libomp/thread.h"
#include "omp_ext/runtime/cpu/cpu.h"
#include "omp_ext/runtime/workers.h"
#include "util/signal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

static struct crash {
    int number;
    const char *name;
    struct sigaction previous;
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

static void on_crash(int number, siginfo_t *info, void *context)
{
    int error = errno;
    struct crash *c = crashes;
    while (c->number != number)
        c++;
    if (od_self.mode == OD_HOST_VERSION && od_self.job && od_workers_have_me())
        tell(od_self.job, c->name);
    od_signal_pass_on(&c->previous, number, info, context);
    errno = error;
}

bool od_crash_is_own(const struct sigaction *action)
{
    return (action->sa_flags & SA_SIGINFO) && action->sa_sigaction == on_crash;
}

void od_crash_start(void)
{
    struct sigaction ours = {.sa_sigaction = on_crash, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    sigemptyset(&ours.sa_mask);
    for (struct crash *c = crashes; c < crashes + CRASHES; c++)
        if (!sigaction(c->number, NULL, &c->previous) && c->previous.sa_handler == SIG_DFL)
            sigaction(c->number, &ours, NULL);
}
