/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A library that a program is linked with (linked_library.sh) and that offloads in its constructor, before main() and
 * before the constructors of whatever is preloaded.
 */
enum { TILE = 1024, TILES = 12 };

static double sum;

int scale(double *x, int tiles, int steps);

__attribute__((constructor)) static void prepare(void)
{
    static double x[TILES * TILE];
    for (int i = 0; i < TILES * TILE; i++)
        x[i] = 1;
    sum = scale(x, TILES, 1) ? x[0] : -1;
}

double early(void);
double early(void)
{
    return sum;
}
