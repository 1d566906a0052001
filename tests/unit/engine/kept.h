/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Data whose device addresses the program has kept (od_engine_keep_shown). */
#ifndef OD_TESTS_KEPT_H
#define OD_TESTS_KEPT_H

#include "tests/unit/engine/engine_world.h"

typedef struct kept_data {
    struct {
        od_datum *datum;
        unsigned k;
        od_mode mode;
    } at[4 * W_TASKS];
    int count;
} kept_data;

/* A task that runs on device k uses the datum. */
void kept_add(kept_data *kept, od_engine *engine, od_datum *datum, unsigned k, od_mode mode);
void kept_let_go(kept_data *kept, od_engine *engine);

#endif
