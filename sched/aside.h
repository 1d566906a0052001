/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Work that takes long and needs no lock, such as planning: it is done aside while tasks go on. */
#ifndef OD_SCHED_ASIDE_H
#define OD_SCHED_ASIDE_H

#include "util/container/list.h"

#include <stdbool.h>
#include <stdint.h>

enum { OD_ASIDE_FEW = 64 }; /* tasks: planning for fewer takes no longer than waking a thread */

typedef struct od_aside {
    /* Without the lock, perhaps on another thread: it uses nothing but what belongs to it. */
    void (*run)(struct od_aside *aside);
    /* Under the lock, when it has run; false: it has not, or what it found does not count any more. The aside is the owner's again. */
    void (*done)(struct od_aside *aside, bool carried_out);
    double seconds; /* that it took, known to `done`; set by who has run it */

    od_node link;          /* the engine's */
    struct od_aside *next; /* the driver's */
} od_aside;

#endif
