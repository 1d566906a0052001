/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Structs that pointers in structs lead to: an array of structs with a pointer each, mapped with its owner in one
 * construct; a deep copy made by enter data, level by level, and used through its root; levels that the kernel does not
 * use.
 *
 * memory: 48Ki
 * stats: stats.tasks in (4, 4 + 4 + 2)
 * stats: stats.host_tasks == 0
 * stats: totals.h2d_bytes >= (3 if stats.tasks == 4 else 3 + 2 + 1) * 8192
 */
#include "check.h"

enum { LEAVES = 3 };

typedef struct leaf {
    int n;
    double *v;
} leaf;

typedef struct tree {
    int count;
    leaf *leaves;
    double *own;
} tree;

static tree grow(void)
{
    tree t = {LEAVES, malloc(LEAVES * sizeof(leaf)), make_tiles(1, 100)};
    for (int i = 0; i < LEAVES; i++)
        t.leaves[i] = (leaf){TILE, make_tiles(1, i)};
    return t;
}

static void fell(tree *t)
{
    for (int i = 0; i < t->count; i++)
        free(t->leaves[i].v);
    free(t->leaves);
    free(t->own);
}

/* One construct names all levels. */
static void at_once(void)
{
    tree t = grow();
    leaf *leaves = t.leaves;
    double *v[LEAVES];
    for (int i = 0; i < LEAVES; i++)
        v[i] = leaves[i].v;
    for (int round = 0; round < 4; round++) {
#pragma omp target map(tofrom : t.count, t.leaves[0 : LEAVES]) map(tofrom : t.leaves[0].v[0 : TILE])                   \
    map(tofrom : t.leaves[2].v[0 : TILE])
        {
            for (int i = 0; i < TILE; i++)
                t.leaves[0].v[i] += t.leaves[2].v[i] + t.count;
            t.leaves[1].n++;
        }
    }
    CHECK(t.leaves == leaves && t.count == LEAVES && leaves[1].n == TILE + 4 && leaves[0].n == TILE);
    for (int i = 0; i < LEAVES; i++)
        CHECK(leaves[i].v == v[i]);
    CHECK(all_are(v[0], TILE, 4 * (2 + LEAVES)) && all_are(v[2], TILE, 2));
    fell(&t);
}

/* One construct names all levels, in another order, and the kernel uses another array alone. */
static void unused(void)
{
    tree t = grow();
    double *x = make_tiles(1, 0);
    for (int round = 0; round < 2; round++) {
#pragma omp target map(tofrom : t.leaves[1].v[0 : TILE]) map(tofrom : t.count, t.leaves[0 : LEAVES])                   \
    map(tofrom : x[0 : TILE])
        for (int i = 0; i < TILE; i++)
            x[i] += 1;
    }
    CHECK(t.count == LEAVES && all_are(t.leaves[1].v, TILE, 1) && all_are(x, TILE, 2));
    fell(&t);
    free(x);
}

/* Level by level; the kernels name the root alone. */
static void deep_copy(void)
{
    tree t = grow(), *root = &t;
    leaf *leaves = t.leaves;
#pragma omp target enter data map(to : root[0 : 1])
#pragma omp target enter data map(to : root->leaves[0 : LEAVES])
    for (int i = 0; i < LEAVES; i++) {
#pragma omp target enter data map(to : leaves[i].v[0 : TILE])
    }
    for (int round = 0; round < 4; round++) {
#pragma omp target map(tofrom : root[0 : 1])
        for (int j = 0; j < root->count; j++) {
            for (int i = 0; i < root->leaves[j].n; i++)
                root->leaves[j].v[i] += j + 1;
            if (round == 3)
                root->leaves[j].n = j;
        }
    }
    for (int i = 0; i < LEAVES; i++) {
#pragma omp target exit data map(from : leaves[i].v[0 : TILE])
    }
#pragma omp target exit data map(from : root->leaves[0 : LEAVES])
#pragma omp target exit data map(release : root[0 : 1])
    CHECK(t.leaves == leaves);
    for (int i = 0; i < LEAVES; i++) {
        CHECK(all_are(leaves[i].v, TILE, i + 4 * (i + 1)));
        CHECK(leaves[i].n == i);
    }
    fell(&t);
}

int main(void)
{
    deep_copy();
    if (__clang_major__ > 19) { /* with libomptarget 19 the inner structs come back wrong */
        at_once();
        unused();
    }
    return check_result();
}
