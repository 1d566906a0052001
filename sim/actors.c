/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What the actors of a simulation share: the clock, whom to wake, and what follows each event. */
#include "sim/simulate_internal.h"

#include "util/clock.h"

#include <math.h>
#include <simgrid/actor.h>
#include <simgrid/engine.h>
#include <stdlib.h>

/* Actors get text arguments only, and SimGrid runs once per process. */
static simulation *running;

simulation *sim_running(void)
{
    return running;
}

void sim_set_running(simulation *s)
{
    running = s;
}

uint64_t sim_now_ns(void)
{
    return (uint64_t)llround(simgrid_get_clock() * 1e9);
}

void sim_wake(simulation *s, sg_sem_t semaphore)
{
    wake_list *list = &s->wake;
    list->items = sim_grown(list->items, list->count, &list->capacity, sizeof *list->items);
    list->items[list->count++] = semaphore;
}

void sim_fail(simulation *s, const char *message)
{
    if (!s->failed)
        snprintf(s->error, s->error_size, "%s", message);
    s->failed = true;
    sim_wake(s, s->finished);
}

static void show_progress(simulation *s)
{
    enum { CHECK_EVERY = 256 };
    if (!s->machine->progress || s->is_play || s->done % CHECK_EVERY)
        return;
    uint64_t now = od_clock_ns();
    if (now - s->shown_ns < OD_NS_PER_S / 2)
        return;
    s->shown_ns = now;
    fprintf(stderr, "\rompdarts sim: %u of %u tasks, %.3f s simulated ", s->done, s->graph->ntasks,
            simgrid_get_clock());
}

/* As in the runtime: where nothing happens, and all tasks that are ready wait by the guard's will, one goes on. */
static void watch_main(int argc, char **argv)
{
    static const double patience = 0.5; /* seconds */
    simulation *s = running;
    (void)argc, (void)argv;
    while (od_engine_holds_all(s->engine)) {
        uint64_t events = od_engine_events(s->engine);
        sg_actor_sleep_for(patience);
        if (od_engine_events(s->engine) != events || !od_engine_holds_all(s->engine))
            continue;
        od_engine_let_go(s->engine);
        sim_after_event(s);
    }
    s->watched = false;
}

static void watch(simulation *s)
{
    if (s->watched || !od_engine_holds_all(s->engine))
        return;
    s->watched = true;
    sim_start_actor("watch", s->machine->platform->memory, watch_main, 0, true);
}

/* After an event: hands over what has become ready, then wakes whom the engine has given work. */
void sim_after_event(simulation *s)
{
    s->advance(s);
    if (s->machine->cost == SIM_COST_ADDED) {
        od_engine_stats stats;
        od_engine_stats_get(s->engine, &stats);
        s->release = fmax(s->release, simgrid_get_clock()) + (double)(stats.sched_ns - s->counted_ns) * 1e-9;
        s->counted_ns = stats.sched_ns;
    }
    show_progress(s);
    while (s->wake.first < s->wake.count) /* other actors may come here meanwhile */
        sg_sem_release(s->wake.items[s->wake.first++]);
    s->wake.first = s->wake.count = 0;
    watch(s);
}

void sim_start_actor(const char *name, sg_host_t host, void (*code)(int argc, char **argv), unsigned number,
                     bool serves)
{
    char text[16], actor[32];
    snprintf(text, sizeof text, "%u", number);
    snprintf(actor, sizeof actor, "%s%u", name, number);
    char *arguments[] = {actor, text, NULL};
    sg_actor_t started = sg_actor_create(actor, host, code, 2, arguments);
    if (serves) /* an actor that ends may have ended by now */
        sg_actor_daemonize(started);
}

unsigned sim_actor_number(int argc, char **argv)
{
    return argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 0;
}
