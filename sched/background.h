/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Background jobs: work that takes long and needs no lock, such as planning. Tasks go on meanwhile. */
#ifndef OD_SCHED_BACKGROUND_H
#define OD_SCHED_BACKGROUND_H

#include "util/container/list.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { OD_BACKGROUND_FEW = 64 }; /* tasks: planning for fewer takes no longer than waking a thread */

typedef struct od_background {
    /* Without the lock, perhaps on another thread: touches nothing but the job's own data. */
    void (*run)(struct od_background *job);
    /* Under the lock, when it has run; false: it has not, or its result is obsolete. The job is the owner's again. */
    void (*done)(struct od_background *job, bool carried_out);
    atomic_bool hurry; /* another job waits until it has run: one that may end sooner does */
    double seconds; /* that it took in the background, so that the next is started early enough; 0: it ran at once */

    od_node link;               /* the engine's */
    struct od_background *next; /* the driver's */
} od_background;

#endif
