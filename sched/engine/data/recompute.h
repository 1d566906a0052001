/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Recompute or reload (OMPDARTS_RECOMPUTE). A datum that a task has made from nothing but data that are still what they
 * were need not be written back when it is evicted: it is dropped, and the task runs again when somebody needs it.
 *
 * A recipe is such a task (od_task.pure) with one datum written, its product, whose contents were undefined before or
 * written as a whole. It lasts until the contents of its product or of one of its inputs change. While the product is
 * dropped nothing may change an input: whoever is about to, a task or a request, waits until the product has been made
 * again. An input of a dropped product is not dropped itself, so a rerun needs nothing that has to be made first, and a
 * product that has been made again stays, or is written back, until a task has used it: every rerun is of use.
 *
 * A rerun is a task of the engine's own. It goes before all others of its device's task buffer and before all that wait
 * for rights, and therefore ends whatever else waits. What the program holds on devices could leave it no memory: the
 * first task that makes the program hold something waits until nothing is dropped, and nothing is from then on.
 */
#ifndef OD_SCHED_ENGINE_DATA_RECOMPUTE_H
#define OD_SCHED_ENGINE_DATA_RECOMPUTE_H

#include "sched/engine/engine.h"
#include "sched/task.h"

typedef struct od_recipe_use {
    od_node link; /* in od_datum.recipes of an input */
    od_recipe *recipe;
    od_datum *datum;
} od_recipe_use;

struct od_recipe {
    od_task *task; /* the driver's: the producer once more */
    od_datum *product;
    od_node link;   /* in od_engine.recipes */
    od_node want;   /* in od_engine.wanted: to run again, and not yet given to a device */
    double seconds; /* that the producer took */
    int where;      /* the device that needs the product, or OD_NOWHERE: any */
    bool wanted;    /* it runs again, or will */
    bool fresh;     /* made again, and not used since */
    bool last;      /* then an input may change */
    bool held;      /* whoever holds it frees it */
    uint32_t ninputs;
    od_recipe_use input[];
};

/* data/recipe.c */
/* A task starts on a device: what it writes, and whether from nothing, is still to be seen. */
void od_recipe_begin(const od_engine *e, od_task *t);
/* It has ended well. */
void od_recipe_note(od_engine *e, const od_task *t);
/* The contents of the datum are others from now on, or nobody's: it cannot be made again, */
void od_recipe_forget(od_engine *e, od_datum *d);
/* nor what has been made from it. */
void od_recipe_changed(od_engine *e, od_datum *d);
/* The only contents are on k, which evicts them: true where they need not be written back. */
bool od_recipe_drops(od_engine *e, od_datum *d, unsigned k);
/* Somebody needs what has been dropped, on k or anywhere (OD_NOWHERE). */
void od_recipe_want(od_engine *e, od_datum *d, int k);
/* Somebody is about to change the datum. True: what has been made from it, and dropped, has to be made again before. */
bool od_recipe_secures(od_engine *e, od_datum *d);
/* Contents must be made again before the task may have its data there. */
bool od_recipe_precedes(od_engine *e, const od_task *t, int place);
/* A task has arrived; where it makes the program hold what is on devices nothing is dropped any more. */
void od_recipe_stop(od_engine *e, const od_task *t);
/* The product is not dropped any more. */
void od_recipe_settle(od_engine *e, od_recipe *r);
void od_recipe_destroy(od_engine *e, od_recipe *r);
void od_recipe_destroy_all(od_engine *e);

#endif
