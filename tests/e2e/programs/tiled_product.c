/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A tiled matrix product as users write it: each block is an allocation of its own; one target task per triple of
 * blocks, ordered by the first elements of the blocks; checked against a product on the host. With libomp 19's hidden
 * helper threads this kind of program aborts now and then; with several products in a run, in most runs
 * (tiled_product.sh).
 */
#include "check.h"

#include <math.h>

enum { PRODUCTS = 4, ORDER = 256, BLOCK = 16, BLOCKS = ORDER / BLOCK, ELEMENTS = BLOCK * BLOCK };

typedef struct blocks {
    double *at[BLOCKS][BLOCKS];
} blocks;

static void allocate(blocks *m)
{
    for (int i = 0; i < BLOCKS; i++)
        for (int j = 0; j < BLOCKS; j++) {
            m->at[i][j] = calloc(ELEMENTS, sizeof(double));
            if (!m->at[i][j])
                abort();
        }
}

static void release(blocks *m)
{
    for (int i = 0; i < BLOCKS; i++)
        for (int j = 0; j < BLOCKS; j++)
            free(m->at[i][j]);
}

static double *element(const blocks *m, int i, int j)
{
    return &m->at[i / BLOCK][j / BLOCK][i % BLOCK * BLOCK + j % BLOCK];
}

static void multiply(const blocks *x, const blocks *y, blocks *z)
{
#pragma omp parallel
#pragma omp master
    for (int i = 0; i < BLOCKS; i++)
        for (int j = 0; j < BLOCKS; j++) {
            double *c = z->at[i][j];
            for (int k = 0; k < BLOCKS; k++) {
                double *a = x->at[i][k], *b = y->at[k][j];
#pragma omp target nowait depend(in : a[0], b[0]) depend(inout : c[0]) map(to : a[0 : ELEMENTS], b[0 : ELEMENTS])      \
    map(tofrom : c[0 : ELEMENTS])
#pragma omp parallel for
                for (int row = 0; row < BLOCK; row++)
                    for (int column = 0; column < BLOCK; column++) {
                        double sum = 0;
                        for (int l = 0; l < BLOCK; l++)
                            sum += a[row * BLOCK + l] * b[l * BLOCK + column];
                        c[row * BLOCK + column] += sum;
                    }
            }
        }
}

int main(void)
{
    blocks a, b, c;
    allocate(&a);
    allocate(&b);
    allocate(&c);
    for (int i = 0; i < ORDER; i++)
        for (int j = 0; j < ORDER; j++) {
            *element(&a, i, j) = (i + 2 * j) % 7 - 3;
            *element(&b, i, j) = i % 5 + j % 3 - 2;
        }
    for (int product = 0; product < PRODUCTS; product++)
        multiply(&a, &b, &c);
    for (int i = 0; i < ORDER; i++)
        for (int j = 0; j < ORDER; j++) {
            double sum = 0;
            for (int k = 0; k < ORDER; k++)
                sum += *element(&a, i, k) * *element(&b, k, j);
            CHECK(fabs(*element(&c, i, j) - (double)PRODUCTS * sum) < 1e-9);
        }
    release(&a);
    release(&b);
    release(&c);
    return check_result();
}
