/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Linked with libraries that have target regions, and with one that uses them in its constructor (linked_library.sh).
 * Compiled without OpenMP it has no device code itself.
 */
#include "check.h"

#include <pthread.h>

enum { TILES = 12, STEPS = 5 };

double early(void);
int scale(double *x, int tiles, int steps);

#ifdef _OPENMP
static void *add_one(void *tiles)
{
    double *x = tiles;
    for (int t = 0; t < TILES; t++) {
        double *tile = x + t * TILE;
#pragma omp target nowait depend(inout : tile[0 : TILE]) map(tofrom : tile[0 : TILE])
        for (int i = 0; i < TILE; i++)
            tile[i] += 1;
    }
    return NULL;
}
#endif

int main(void)
{
    double *x = make_tiles(TILES, 0);
    CHECK(early() == 3);
#ifdef _OPENMP
    pthread_t thread; /* which ends with its tasks under way */
    CHECK(!pthread_create(&thread, NULL, add_one, x) && !pthread_join(thread, NULL));
#endif
    CHECK(scale(x, TILES, STEPS));
    CHECK(all_are(x, (size_t)TILES * TILE, x[0]));
    printf("%.17g\n", x[0]);
    free(x);
    return check_result();
}
