/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Constructs that starve: what one wants overlaps what others use, one after the other. When they have done so for
 * long, the others wait for it. Not for ever: their kernels may wait for each other.
 */
#ifndef OD_OMP_EXT_HUNGER_H
#define OD_OMP_EXT_HUNGER_H

#include "memmgr/extent/spans.h"

#include <stdbool.h>
#include <stdint.h>

/* Of a construct that waits. Begins as zero. */
typedef struct od_hunger {
    uint64_t since_ns; /* 0: it has not waited */
    uint32_t uses;     /* of the region then (od_region) */
    bool starves;
    od_span range; /* that it wants then */
} od_hunger;

/* It has not got what overlaps the range. Takes the runtime's lock, as the next. */
void od_hunger_note(od_hunger *hunger, od_span range);
/* It has got it, or does without. */
void od_hunger_end(const od_hunger *hunger);
/* Another construct starves for what overlaps the range; the one with this hunger may not have it yet. Under the
 * runtime's lock. */
bool od_hunger_gives_way(const od_hunger *hunger, od_span range);

#endif
