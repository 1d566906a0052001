/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Devices that take pages from each other take turns.
 *
 * Kernels on several devices that keep writing to the same pages would get nothing done but page faults. So pages
 * that have changed hands often go to one device for a while: the others' faults there wait. The devices follow each
 * other in the order in which they have waited, and soon enough for kernels that wait for what another one writes.
 */
#ifndef OD_OMP_EXT_TURNS_H
#define OD_OMP_EXT_TURNS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct od_turns {
    unsigned holder;
    uint64_t until_ns; /* the end of its turn; 0: nobody has had one */
    bool awaited;
    unsigned next;     /* who has waited longest */
    uint64_t since_ns; /* since when */
} od_turns;

enum { OD_TURN_NS = 10000000 };

/* Device k has a fault in such a page, which has waited since then. Whether it gets the page now. */
bool od_turns_take(od_turns *turns, unsigned k, uint64_t since_ns, uint64_t now_ns);
/* Device k needs no more. */
void od_turns_end(od_turns *turns, unsigned k, uint64_t now_ns);

#endif
