/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A library with device variables (late_library.sh): each device has its own, so that kernels which go on with them
 * must all run on one.
 */
enum { TILE = 1024 };

#pragma omp declare target
double late_offset = 1;
static long kernels;
#pragma omp end declare target

int count(double *x, int tiles, int steps);
int count(double *x, int tiles, int steps)
{
    double next = 2;
    long seen = 0, before = 0;
#pragma omp target map(from : before)
    before = kernels;
    for (int step = 0; step < steps; step++) {
#pragma omp parallel num_threads(2)
#pragma omp single
        for (int t = 0; t < tiles; t++) {
            double *tile = x + t * TILE;
#pragma omp target nowait depend(inout : tile[0 : TILE]) depend(inout : kernels) map(tofrom : tile[0 : TILE])
            {
                for (int j = 0; j < TILE; j++)
                    tile[j] += late_offset;
                kernels++;
            }
        }
        late_offset = next++;
#pragma omp target update to(late_offset)
    }
#pragma omp target map(from : seen)
    seen = kernels;
    late_offset = 1;
#pragma omp target update to(late_offset)
    return seen - before == (long)tiles * steps;
}
