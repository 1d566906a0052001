/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * False sharing: tiles of 100 x 100 doubles in a matrix that is stored by columns (LAPACK's layout), entered whole. A
 * tile's columns have 800 bytes, so each page belongs to several tiles, which tasks on several devices write to at once.
 * Sweeps of A(i,j) -= A(i,k) A(k,j) / 100 over tiles drawn by the seed, ordered by what depend clauses name:
 *
 *   element    a tile's first element, as LAPACK-style codes do: nothing says which bytes are used
 *   columns    each of a tile's columns, by an iterator
 *   unnamed    one place per tile outside of the matrix; a section of the matrix is named that nobody writes to
 *   blocks     tiles are contiguous instead, begin anywhere in a page, and are named as sections
 *
 * variants: element columns unnamed blocks
 * memory: 600Ki
 * run: OMPDARTS_DEVICES=4 OMPDARTS_MEM=1Mi OMPDARTS_DEBUG=jitter=0.0005
 * run: OMPDARTS_DEVICES=4 OMPDARTS_MEM=1Mi OMPDARTS_COHERENCE=strict OMPDARTS_SCHED=eager
 */
#include "check.h"

#include <stdint.h>
#include <string.h>

enum { B = 100, TILES = 5, MOST = TILES * B, GAP = 40 };

typedef struct layout {
    size_t ld;             /* elements from one column to the next */
    size_t at[TILES][TILES]; /* where tiles begin */
    size_t size;
} layout;

static uint64_t state;
static char token[TILES][TILES];

static int draw(int n)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (int)((state >> 33) % (uint64_t)n);
}

static layout make_layout(bool blocks)
{
    layout l = {.ld = blocks ? B : MOST};
    for (int i = 0; i < TILES; i++)
        for (int j = 0; j < TILES; j++)
            l.at[i][j] = blocks ? (size_t)(j * TILES + i) * (B * B + GAP) : (size_t)(j * B) * l.ld + (size_t)(i * B);
    l.size = blocks ? (size_t)TILES * TILES * (B * B + GAP) : (size_t)MOST * MOST;
    return l;
}

#pragma omp declare target
static void multiply(double *c, const double *x, const double *y, size_t ld)
{
    for (int j = 0; j < B; j++)
        for (int k = 0; k < B; k++) {
            double factor = y[(size_t)j * ld + (size_t)k] * 0.01;
            for (int i = 0; i < B; i++)
                c[(size_t)j * ld + (size_t)i] -= x[(size_t)k * ld + (size_t)i] * factor;
        }
}
#pragma omp end declare target

/* Tile c from tiles x and y, all of them different. */
typedef struct step {
    int c[2], x[2], y[2];
} step;

static step draw_step(void)
{
    step s;
    int i = draw(TILES), j = draw(TILES), k = draw(TILES);
    if (k == i || k == j) /* only the neighbours, then: they share its pages */
        s = (step){{i, j}, {(i + 1) % TILES, j}, {(i + 2) % TILES, j}};
    else
        s = (step){{i, j}, {i, k}, {k, j}};
    return s;
}

static void submit(const char *style, double *a, const layout *l, const step *s)
{
    size_t c = l->at[s->c[0]][s->c[1]], x = l->at[s->x[0]][s->x[1]], y = l->at[s->y[0]][s->y[1]], ld = l->ld;
    char *tc = &token[s->c[0]][s->c[1]], *tx = &token[s->x[0]][s->x[1]], *ty = &token[s->y[0]][s->y[1]];
    size_t n = l->size + 2 * MOST, spare = l->size;
    if (!strcmp(style, "element")) {
#pragma omp target nowait map(to : a[0 : n]) depend(in : a[x], a[y]) depend(inout : a[c])
        multiply(a + c, a + x, a + y, ld);
    } else if (!strcmp(style, "columns")) {
#pragma omp target nowait map(to : a[0 : n])                                                                           \
    depend(iterator(size_t j = 0 : B), in : a[x + j * ld : B], a[y + j * ld : B])                                      \
    depend(iterator(size_t j = 0 : B), inout : a[c + j * ld : B])
        multiply(a + c, a + x, a + y, ld);
    } else if (!strcmp(style, "unnamed")) {
#pragma omp target nowait map(to : a[0 : n]) depend(in : tx[0], ty[0], a[spare : 2 * MOST]) depend(inout : tc[0])
        multiply(a + c, a + x, a + y, ld);
    } else {
#pragma omp target nowait map(to : a[0 : n]) depend(in : a[x : B * B], a[y : B * B]) depend(inout : a[c : B * B])
        multiply(a + c, a + x, a + y, ld);
    }
}

int main(int argc, char **argv)
{
    const char *style = argc > 1 ? argv[1] : "element";
    int seed = argc > 2 ? atoi(argv[2]) : 1, steps = argc > 3 ? atoi(argv[3]) : 40;
    layout l = make_layout(!strcmp(style, "blocks"));
    size_t all = l.size + 2 * MOST;
    double *memory = malloc((all + 3) * sizeof *memory), *a = memory + 3, *expected = malloc(all * sizeof *expected);
    state = (uint64_t)seed * 7919;
    for (size_t i = 0; i < all; i++)
        a[i] = expected[i] = (double)(i % 17) / 16;
#pragma omp target enter data map(to : a[0 : all])
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < steps; i++) {
        step s = draw_step();
        multiply(expected + l.at[s.c[0]][s.c[1]], expected + l.at[s.x[0]][s.x[1]], expected + l.at[s.y[0]][s.y[1]], l.ld);
        submit(style, a, &l, &s);
    }
#pragma omp target exit data map(from : a[0 : all])
    CHECK(!memcmp(a, expected, l.size * sizeof *a));
    free(memory);
    free(expected);
    return check_result();
}
