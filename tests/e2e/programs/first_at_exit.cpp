/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The program's first construct is in the destructor of a static object, after main() and after a parallel region. */
#include "check.h"

static double x[TILE], y[TILE];

static struct user {
    ~user()
    {
#pragma omp target enter data map(to : x)
#pragma omp target
        for (int i = 0; i < TILE; i++)
            x[i] += 1;
#pragma omp target exit data map(from : x)
        CHECK(all_are(x, TILE, 1));
        for (int t = 0; t < 4; t++) {
#pragma omp target nowait depend(inout : y[0]) map(tofrom : y)
            for (int i = 0; i < TILE; i++)
                y[i] += 1;
        }
#pragma omp taskwait
        CHECK(all_are(y, TILE, 4));
        bool wrong = check_result();
        fflush(stdout);
        if (wrong)
            _Exit(1);
    }
} the_user;

int main(void)
{
    int threads = 0;
#pragma omp parallel num_threads(3) reduction(+ : threads)
    threads += 1;
    CHECK(threads >= 1);
    return 0;
}
