/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Whether slices pay for the program. A kernel that is faster in slices leaves its arrays in parts on all devices, and
 * kernels that run whole then bring them together: what the one gains others may lose. So all launches since slices
 * came are compared with what they took before. Plain numbers.
 */
#ifndef OD_OMP_EXT_SLICES_BALANCE_H
#define OD_OMP_EXT_SLICES_BALANCE_H

#include <stdbool.h>
#include <stdint.h>

typedef struct od_balance {
    uint64_t launches, whole; /* since slices came; and since the last one in slices */
    double before_s, now_s;   /* what those would have taken before, and what they have */
    uint64_t losses;          /* how often slices have not paid */
    double lost_s;            /* the last time */
    bool disturbed;           /* arrays may be in parts */
} od_balance;

/* A launch was in slices; `settled`: not on trial, and would have taken so long in one piece. */
void od_balance_note_sliced(od_balance *b, bool settled, double before_s, double seconds);
/* A launch was whole. `before_s` 0: that is not known. */
void od_balance_note_whole(od_balance *b, double before_s, double seconds);

#endif
