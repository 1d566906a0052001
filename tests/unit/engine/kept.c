/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* See kept.h. */
#include "tests/unit/engine/kept.h"

void kept_add(kept_data *kept, od_engine *engine, od_datum *datum, unsigned k, od_mode mode)
{
    int i = kept->count++;
    datum->pending++;
    od_engine_keep_shown(engine, datum, k, mode);
    kept->at[i].datum = datum;
    kept->at[i].k = k;
    kept->at[i].mode = mode;
}

void kept_let_go(kept_data *kept, od_engine *engine)
{
    while (kept->count) {
        int i = --kept->count;
        od_engine_let_go_shown(engine, kept->at[i].datum, kept->at[i].k, kept->at[i].mode);
        od_engine_release(engine, kept->at[i].datum);
    }
}
