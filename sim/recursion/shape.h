/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * What tile kernels are recursively: each is an algorithm over the blocks of its tiles, which calls such kernels. So a
 * factorisation of a matrix of n x n tiles is what a factorisation of one tile is split into.
 *
 *   potrf       {A}        A = L L^T, the lower triangle
 *   trsm        {L, A}     A = A L^-T (of Cholesky)
 *   syrk        {A, C}     C = C - A A^T, the lower triangle
 *   gemm-nt     {A, B, C}  C = C - A B^T
 *   getrf       {A}        A = L U, without pivoting
 *   trsm-left   {L, A}     A = L^-1 A
 *   trsm-right  {U, A}     A = A U^-1
 *   gemm        {A, B, C}  C = C + A B
 *   gemm-first  {A, B, C}  C = A B
 */
#ifndef OD_SIM_RECURSION_SHAPE_H
#define OD_SIM_RECURSION_SHAPE_H

#include "sched/split/split.h"
#include "sched/task.h"

typedef enum sim_op {
    SIM_POTRF,
    SIM_TRSM,
    SIM_SYRK,
    SIM_GEMM_NT,
    SIM_GETRF,
    SIM_TRSM_LEFT,
    SIM_TRSM_RIGHT,
    SIM_GEMM,
    SIM_GEMM_FIRST,
    SIM_OPS,
} sim_op;

enum { SIM_OPERANDS = 3 };

/* Which blocks of its tile an operand is. */
typedef enum sim_part { SIM_WHOLE, SIM_LOWER, SIM_UPPER } sim_part;

typedef struct sim_operand {
    od_mode mode;
    sim_part part;
} sim_operand;

typedef struct sim_op_info {
    const char *kernel; /* name in tables of kernel times */
    double flops;       /* of b^3, b being the order of the tile */
    unsigned noperands;
    sim_operand operand[SIM_OPERANDS];
} sim_op_info;

extern const sim_op_info sim_ops[SIM_OPS];

/* Where an operand of a child lies: in which of the parent's, and there in which block. */
typedef struct sim_place {
    uint8_t operand;
    uint16_t row, column;
} sim_place;

typedef struct sim_child {
    sim_op op;
    sim_place place[SIM_OPERANDS];
    double level_s; /* the longest path from its beginning to the end of the last child */
} sim_child;

typedef struct sim_children {
    sim_child *items;
    uint32_t count, capacity;
    unsigned parts; /* blocks per side of a tile */
} sim_children;

/* What `op` becomes with so many blocks per side, in the order of a sequential program; ends the program when memory is
 * short. level_s is 0. */
void sim_children_make(sim_op op, unsigned parts, sim_children *children);
void sim_children_free(sim_children *children);
/* Fills level_s; seconds by sim_op. Returns the longest of all. */
double sim_children_levels(sim_children *children, const double *seconds);

/* The same as a graph, whose arrays are the caller's to free. */
void sim_children_graph(const sim_children *children, od_split_graph *graph);
void sim_split_graph_free(od_split_graph *graph);

#endif
