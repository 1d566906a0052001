/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A world for the engine: data with real contents at every place, tasks that check what they read, and a
 * driver whose events happen in an order that the test chooses.
 *
 * Contents of a datum at a place are one counter per task. A reading and writing task adds one to its own counter; a
 * task that only writes leaves what a serial execution would. So a lost update, a stale
 * read and a lost dirty tile all show as a wrong counter.
 */
#ifndef OD_TESTS_ENGINE_WORLD_H
#define OD_TESTS_ENGINE_WORLD_H

#include "sched/engine/engine.h"

enum {
    W_TASKS = 8,
    W_DATA = 8,
    W_DEVICES = OD_PLACE_WORDS > 1 ? 70 : 4, /* with sets of several words (test_engine_wide) they lie in two */
    W_PLACES = W_DEVICES + 2,                /* these, the spill area, the host */
};

typedef struct w_use {
    int datum;
    od_mode mode;
} w_use;

typedef struct w_task {
    int nuses;
    w_use use[4];
    unsigned after; /* bit i: depends on task i */
} w_task;

typedef struct w_graph {
    int ntasks, ndata;
    size_t size[W_DATA]; /* bytes */
    w_task task[W_TASKS];
    bool keep;      /* copies may be kept between tasks */
    bool region;    /* all data lie in one open region, whose close copies them out; implies keep */
    bool shared;    /* tasks share data without dependences: only own counters are checked */
    int host_reads; /* datum that the host asks for in the middle, or -1 */
} w_graph;

typedef struct w_contents {
    unsigned char count[W_TASKS];
} w_contents;

typedef struct w_machine {
    unsigned ndevices;
    size_t memory;
    unsigned buffer, slots;
    unsigned ahead; /* tasks of mean duration */
    bool early;       /* results go to the host while the program waits */
    int active;       /* as in od_engine_config */
    bool background;       /* plans end as events of their own */
    bool peer;
    bool fast_peers; /* links between devices are ten times as fast as those from the host */
    od_recompute recompute; /* tasks that write one datum, and do not read it, are pure */
    unsigned losses;        /* bit i: device i, counted from the last one, is lost at some moment */
    unsigned shrinks;    /* how many bytes others take of each device, one at a time */
    bool never_gives_up; /* no loss can take the only copy of a datum */
    const char *policy;  /* as OMPDARTS_SCHED */
    const char *evict;   /* NULL: what suits the policy */
    int failing_task;    /* its device run fails, or -1 */
    unsigned reserving;  /* bit t: task t makes a reservation first, and runs as part of it, or without it */
    unsigned keeping;    /* bit t: the program has the addresses of what task t has used on a device, to the end */
    unsigned cpus;       /* CPU workers */
    bool devices_only;   /* which take nothing */
    bool in_process;     /* device code reaches host memory: CPU workers use what is in spill areas */
    uint64_t *taken;     /* NULL, or the tasks that CPU workers have run are added */
    uint64_t *reruns;      /* NULL, or their number is added */
    uint64_t *decisions; /* NULL, or by od_decision_kind: those of the policy are added */
} w_machine;

/* Choices: how many there are, and which is taken. Returns a number in [0, n). */
typedef unsigned (*w_choose)(void *arg, unsigned n);

/* Runs the graph to its end, every next event chosen. False, with a message, where a rule is broken:
 * deadlock, limit, stale read, lost write, broken invariant. A run also ends well where the engine gives up because the
 * only copy of a datum was on a device that is lost. */
bool w_run(const w_graph *graph, const w_machine *machine, w_choose choose, void *arg);

/* Adds the dependences that the order of submission and the modes imply. */
void w_add_dependences(w_graph *graph);
/* Contents before and after each task of a serial execution, and after all. */
void w_run_serially(const w_graph *graph, w_contents (*before)[W_DATA], w_contents (*after)[W_DATA], w_contents *last);
/* It writes one datum, and does not read that. */
bool w_is_pure(const w_task *task);
/* Of task t on a CPU worker: cheap, not known, or refused. */
double w_host_seconds(int t);

#endif
