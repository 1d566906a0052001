/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Kernels that store device addresses in what is mapped, for later kernels to follow: lists inside arrays, tables of
 * rows, trees whose nodes are in several arrays, a place that a scalar tells the host, and pointers beside attached ones.
 *
 * variants: lists rows tree place attached
 * memory: 80Ki
 */
#include "check.h"

#include <stdlib.h>
#include <string.h>

enum { BLOCKS = 8, NODES = 300, ROUNDS = 6, ROWS = 32, COLUMNS = 100 };

typedef struct node {
    struct node *next;
    double value;
} node;

static node *enter_nodes(void)
{
    node *block = calloc(NODES, sizeof *block);
#pragma omp target enter data map(alloc : block[0 : NODES])
    return block;
}

static void leave_nodes(node *block)
{
#pragma omp target exit data map(delete : block[0 : NODES])
    free(block);
}

static void lists(void)
{
    node *block[BLOCKS];
    double sum[BLOCKS] = {0};
    for (int b = 0; b < BLOCKS; b++)
        block[b] = enter_nodes();
    for (int b = 0; b < BLOCKS; b++) {
        node *of = block[b];
#pragma omp target nowait depend(inout : of[0])
        for (int i = 0; i < NODES; i++)
            of[i] = (node){i + 1 < NODES ? &of[i + 1] : NULL, b};
    }
    for (int r = 0; r < ROUNDS; r++)
        for (int b = 0; b < BLOCKS; b++) {
            node *of = block[b];
            double *s = &sum[b];
#pragma omp target nowait depend(inout : of[0]) map(tofrom : s[0 : 1])
            for (node *n = of; n; n = n->next)
                s[0] += n->value++;
        }
#pragma omp taskwait
    for (int b = 0; b < BLOCKS; b++) {
        CHECK(sum[b] == (double)(NODES * (ROUNDS * b + ROUNDS * (ROUNDS - 1) / 2)));
        leave_nodes(block[b]);
    }
}

/* One kernel fills the table; others write rows through it, or directly. */
static void rows(void)
{
    static double a[ROWS * COLUMNS];
    static double *row[ROWS];
    double sum = 0;
#pragma omp target data map(tofrom : a) map(alloc : row)
    {
#pragma omp target
        for (int i = 0; i < ROWS; i++)
            row[i] = &a[i * COLUMNS];
        for (int r = 0; r < ROUNDS; r++) {
#pragma omp target nowait depend(inout : a[0])
            for (int i = 0; i < ROWS * COLUMNS; i++)
                a[i] += 1;
#pragma omp target nowait depend(inout : a[0])
            for (int i = 0; i < ROWS; i++)
                for (int j = 0; j < COLUMNS; j++)
                    row[i][j] *= 2;
        }
#pragma omp taskwait
#pragma omp target map(tofrom : sum)
        for (int i = 0; i < ROWS; i++)
            sum += row[i][COLUMNS - 1];
    }
    double one = 0;
    for (int r = 0; r < ROUNDS; r++)
        one = 2 * (one + 1);
    CHECK(sum == (double)ROWS * one);
    CHECK(all_are(a, ROWS * COLUMNS, one));
}

/* The nodes of one block have those of the next one as children; blocks are built one by one, and used together. */
static void tree(void)
{
    node *block[BLOCKS];
    for (int b = 0; b < BLOCKS; b++)
        block[b] = enter_nodes();
    for (int b = BLOCKS - 1; b >= 0; b--) {
        node *of = block[b], *children = b + 1 < BLOCKS ? block[b + 1] : NULL;
        if (!children) {
#pragma omp target nowait depend(inout : of[0])
            for (int i = 0; i < NODES; i++)
                of[i] = (node){NULL, i};
        } else {
#pragma omp target nowait depend(inout : of[0]) depend(in : children[0])
            for (int i = 0; i < NODES; i++)
                of[i] = (node){&children[NODES - 1 - i], i};
        }
    }
    double sum = 0;
    node *root = block[0];
    for (int r = 0; r < ROUNDS; r++) {
#pragma omp target nowait depend(inout : root[0], sum) map(tofrom : sum)
        for (int i = 0; i < NODES; i++)
            for (const node *n = &root[i]; n; n = n->next)
                sum += n->value;
    }
#pragma omp taskwait
    CHECK(sum == (double)(ROUNDS * BLOCKS * NODES * (NODES - 1) / 2));
    for (int b = 0; b < BLOCKS; b++)
        leave_nodes(block[b]);
}

/* What the host is told it may give back as a device pointer. */
static void place(void)
{
    static double a[COLUMNS], other[BLOCKS][COLUMNS];
    double *largest = NULL;
    for (int i = 0; i < COLUMNS; i++)
        a[i] = i * 7 % COLUMNS;
#pragma omp target data map(tofrom : a)
    {
#pragma omp target map(from : largest)
        {
            largest = a;
            for (int i = 0; i < COLUMNS; i++)
                largest = a[i] > *largest ? &a[i] : largest;
        }
        for (int b = 0; b < BLOCKS; b++) { /* other work, which moves things about */
#pragma omp target nowait depend(inout : other[b]) map(tofrom : other[b])
            for (int i = 0; i < COLUMNS; i++)
                other[b][i] += 1;
#pragma omp target nowait depend(inout : a[0])
            for (int i = 0; i < COLUMNS; i++)
                a[i] += 1;
        }
#pragma omp taskwait
#pragma omp target is_device_ptr(largest)
        *largest = -1;
    }
    for (int i = 0; i < COLUMNS; i++)
        CHECK(a[i] == (i * 7 % COLUMNS == COLUMNS - 1 ? -1 : i * 7 % COLUMNS + BLOCKS));
}

typedef struct matrix {
    double *data, *second; /* attached; the second row, which a kernel finds */
} matrix;

static void attached(void)
{
    matrix m[BLOCKS];
    for (int b = 0; b < BLOCKS; b++) {
        m[b] = (matrix){.data = calloc(2 * COLUMNS, sizeof(double))};
        matrix *of = &m[b];
#pragma omp target enter data map(to : of[0 : 1])
#pragma omp target enter data map(to : of->data[0 : 2 * COLUMNS])
    }
    for (int r = 0; r < ROUNDS; r++)
        for (int b = 0; b < BLOCKS; b++) {
            matrix *of = &m[b];
#pragma omp target nowait depend(inout : of[0]) map(to : of[0 : 1])
            {
                if (!of->second)
                    of->second = of->data + COLUMNS;
                for (int i = 0; i < COLUMNS; i++)
                    of->second[i] += of->data[i] + b;
            }
#pragma omp target nowait depend(inout : of[0]) map(to : of[0 : 1])
            for (int i = 0; i < COLUMNS; i++)
                of->data[i] += 1;
        }
#pragma omp taskwait
    for (int b = 0; b < BLOCKS; b++) {
        matrix *of = &m[b];
#pragma omp target exit data map(from : of->data[0 : 2 * COLUMNS])
#pragma omp target exit data map(delete : of[0 : 1])
        CHECK(all_are(m[b].data, COLUMNS, ROUNDS));
        CHECK(all_are(m[b].data + COLUMNS, COLUMNS, ROUNDS * b + ROUNDS * (ROUNDS - 1) / 2));
        free(m[b].data);
    }
}

int main(int argc, char **argv)
{
    const char *variant = argc > 1 ? argv[1] : "lists";
    if (!strcmp(variant, "rows"))
        rows();
    else if (!strcmp(variant, "tree"))
        tree();
    else if (!strcmp(variant, "place"))
        place();
    else if (!strcmp(variant, "attached"))
        attached();
    else
        lists();
    return check_result();
}
