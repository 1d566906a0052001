/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The watchdog. See watchdog.h. */
#include "omp_ext/services/watchdog.h"

#include "omp_ext/runtime/runtime.h"
#include "util/clock.h"
#include "util/fair.h"
#include "util/thread.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

static double retry_s;
static atomic_int waiting; /* threads, in libomp */
static _Thread_local int noted __attribute__((tls_model("initial-exec"))); /* so often the calling one is counted */

/* The watchdog may be started in the middle of a wait. */
void od_watchdog_note_wait(bool begins)
{
    if (begins && retry_s > 0) {
        noted++;
        atomic_fetch_add_explicit(&waiting, 1, memory_order_relaxed);
    } else if (!begins && noted) {
        noted--;
        atomic_fetch_sub_explicit(&waiting, 1, memory_order_relaxed);
    }
}

static _Noreturn void dump_and_abort(const od_engine *engine, uint64_t ns)
{
    fprintf(stderr, "ompdarts: watchdog: no progress for %.0f s; %d threads wait in libomp\n",
            (double)ns / (double)OD_NS_PER_S, atomic_load(&waiting));
    od_engine_explain(engine, stderr);
    od_engine_dump(engine, stderr);
    abort();
}

static uint64_t process_cpu_ns(void)
{
    struct timespec used;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return (uint64_t)used.tv_sec * OD_NS_PER_S + (uint64_t)used.tv_nsec;
}

typedef enum health {
    WELL, /* something has happened, or nothing is to happen */
    SPINNING, /* threads wait in libomp and use no more processor time than waiting takes; one may be running a task */
    STUCK,
} health;

/* One look, `elapsed_ns` after the last. */
static health look(const od_engine *engine, uint64_t elapsed_ns)
{
    static uint64_t seen, cpu_seen_ns;
    uint64_t events = od_engine_events(engine), cpu_ns = process_cpu_ns();
    double cpus = (double)(cpu_ns - cpu_seen_ns) / (double)elapsed_ns;
    int waiters = atomic_load_explicit(&waiting, memory_order_relaxed);
    bool moved = events != seen;
    seen = events;
    cpu_seen_ns = cpu_ns;
    if (moved)
        return WELL;
    if (!od_engine_is_idle(engine))
        return STUCK;
    if (!waiters || cpus > waiters + 0.05)
        return WELL;
    return cpus < 0.02 ? STUCK : SPINNING;
}

enum {
    MORE_PATIENCE = 6, /* times as long with threads that spin */
    LOOK_NS = 50 * 1000 * 1000,
    MOST_NS = 5 * LOOK_NS, /* between two looks: in longer ones the process was stopped, by a debugger or a shell */
};

static uint64_t lap(od_fair *fair)
{
    uint64_t ns = od_fair_lap(fair);
    return ns < MOST_NS ? ns : MOST_NS;
}

typedef struct illness {
    od_fair fair;
    uint64_t own_ns, others_from_ns;
} illness;

static uint64_t others_had_ns(void)
{
    const od_backend *backend = od_runtime_backend();
    return backend->ops->had_ns ? backend->ops->had_ns(backend->state) : od_clock_ns();
}

static void begin(illness *is)
{
    is->own_ns = 0;
    is->others_from_ns = others_had_ns();
    od_fair_begin(&is->fair, 0, false);
}

/* What the process has had since it began, or the ranks whose devices it uses, where that is less. */
static uint64_t length_of(illness *is)
{
    uint64_t others_ns = others_had_ns() - is->others_from_ns;
    is->own_ns += lap(&is->fair);
    return is->own_ns < others_ns ? is->own_ns : others_ns;
}

static void *watch(void *arg)
{
    (void)arg;
    uint64_t last_ns = od_clock_ns(), ill_ns = 0;
    illness since;
    bool spun = false, counts = false;
    while (!od_runtime_ended()) {
        nanosleep(&(struct timespec){0, LOOK_NS}, NULL);
        const od_engine *engine = od_runtime_lock();
        uint64_t now = od_clock_ns();
        health is = look(engine, now - last_ns);
        last_ns = now;
        spun = is == SPINNING || (spun && is != WELL);
        if (is == WELL)
            ill_ns = 0;
        else if (counts)
            ill_ns = length_of(&since);
        else
            begin(&since);
        counts = is != WELL;
        if ((double)ill_ns > retry_s * (double)OD_NS_PER_S * (spun ? MORE_PATIENCE : 1))
            dump_and_abort(engine, ill_ns);
        od_runtime_unlock();
    }
    return NULL;
}

static void start(const od_run *run)
{
    retry_s = run->options->debug.watchdog_s;
    if (retry_s > 0 && od_thread_start(NULL, "od-watchdog", watch, NULL))
        od_log(OD_LOG_WARNING, "runtime", "the watchdog could not be started: out of threads");
}

/* Of the parent's threads only the one that has forked is there. */
static void revive(const od_run *run)
{
    atomic_store(&waiting, noted);
    start(run);
}

const od_service od_watchdog_service = {.start = start, .revive = revive};
