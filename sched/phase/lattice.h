/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Coordinates of items that tasks write, from what these tasks read.
 *
 * The first task that writes an item and reads two others gives it its row, by the first of these, and its column, by
 * the second: of factorisations and products of matrices in tiles these are the tile's own, for all tiles that are
 * updated. Items with one such partner have it for both, and partners themselves have what they give to others. A
 * block-cyclic distribution by such coordinates is where a search for owners begins (owners.c).
 */
#ifndef OD_SCHED_PHASE_LATTICE_H
#define OD_SCHED_PHASE_LATTICE_H

#include "sched/phase/phase.h"

#define OD_NO_LINE UINT32_MAX

typedef struct od_lattice {
    uint32_t *row, *column; /* by item; OD_NO_LINE: it has none; the caller frees them, after a failure, too */
} od_lattice;

od_status od_lattice_find(const od_phase_problem *problem, od_lattice *lattice);

#endif
