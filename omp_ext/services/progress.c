/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* See progress.h. */
#include "omp_ext/services/progress.h"

#include "omp_ext/runtime/runtime.h"
#include "sched/report/progress.h"
#include "util/clock.h"
#include "util/lock.h"
#include "util/log.h"
#include "util/thread.h"

#include <stdio.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

enum { LOOKS = 8, MOST_WIDTH = 250, USUAL_WIDTH = 79 };
static const long refresh_ns = 250000000;
static const double line_every_s = 10, quiet_s = 1; /* short runs show nothing */

static struct {
    od_lock lock;         /* protects the terminal */
    pid_t process;        /* whose thread it is; 0: there is none */
    uint64_t start_ns;
    bool shown, ended;
} progress = {.lock = OD_LOCK_OF(OD_LOCK_PROGRESS)};

static size_t terminal_width(void)
{
    struct winsize size;
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) || size.ws_col < 2)
        return USUAL_WIDTH;
    return size.ws_col - 1 < MOST_WIDTH ? size.ws_col - 1u
                                        : MOST_WIDTH; /* the last column makes some go to the next line */
}

static void print(const od_progress *now, const od_progress *before, bool terminal)
{
    char line[MOST_WIDTH + 1];
    od_progress_line(line, terminal ? terminal_width() : MOST_WIDTH, now, before);
    od_lock_take(&progress.lock);
    if (!progress.ended && terminal)
        fprintf(stderr, "\r\033[K%s", line);
    else if (!progress.ended)
        fprintf(stderr, "ompdarts: %.0f s: %s\n", (double)now->ns * 1e-9, line);
    progress.shown |= terminal && !progress.ended;
    od_lock_give(&progress.lock);
}

/* Rates are those of the last LOOKS looks. */
static void *watch(void *arg)
{
    static od_progress look[LOOKS];
    bool terminal = isatty(STDERR_FILENO);
    double next_s = terminal ? quiet_s : line_every_s;
    (void)arg;
    for (unsigned n = 0; !od_runtime_ended(); n++) {
        od_progress *now = &look[n % LOOKS], *before = &look[n < LOOKS ? 0 : (n + 1) % LOOKS];
        od_progress_look(now, od_runtime_lock(), od_runtime_ndevices(), od_clock_ns() - progress.start_ns);
        od_runtime_unlock();
        double seconds = (double)now->ns * 1e-9;
        if (seconds >= next_s && now->engine.tasks) {
            print(now, before, terminal);
            next_s = terminal ? seconds : seconds + line_every_s;
        }
        nanosleep(&(struct timespec){0, refresh_ns}, NULL);
    }
    return NULL;
}

static void start(const od_run *run)
{
    if (!run->options->progress)
        return;
    progress.start_ns = run->start_ns;
    progress.process = getpid();
    if (od_thread_start(NULL, "od-progress", watch, NULL)) {
        od_log(OD_LOG_WARNING, "runtime", "progress is not shown: out of threads");
        progress.process = 0;
    }
}

void od_progress_end(void)
{
    if (progress.process != getpid())
        return;
    od_lock_take(&progress.lock);
    if (progress.shown)
        fputs("\r\033[K", stderr);
    progress.ended = true;
    od_lock_give(&progress.lock);
}

static void stop(const od_run *run)
{
    (void)run;
    od_progress_end();
}

const od_service od_progress_service = {.start = start, .stop = stop};
