/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Two threads whose kernels count in one struct that a region holds, with atomic updates: no count is lost. Beside it
 * they reach arrays of their own through the struct's pointers. Likewise where each kernel brings the struct.
 *
 * variants: present brought
 */
#include "check.h"

#include <omp.h>
#include <string.h>

enum { N = 64, ROUNDS = 100, PER_KERNEL = 640 };

typedef struct shared {
    double *mine[2];
    long count;
} shared;

static void count(shared *s, int t)
{
    double *mine = s->mine[t];
    for (int round = 0; round < ROUNDS; round++) {
#pragma omp target teams distribute parallel for map(tofrom : s[0 : 1], s->mine[t][0 : N])
        for (int i = 0; i < PER_KERNEL; i++) {
#pragma omp atomic
            s->count++;
            if (i < N)
                s->mine[t][i] += 1;
        }
    }
    CHECK(s->mine[t] == mine);
}

static void count_both(shared *s)
{
#pragma omp parallel num_threads(2)
    count(s, omp_get_thread_num());
}

int main(int argc, char **argv)
{
    shared s = {{calloc(N, sizeof(double)), calloc(N, sizeof(double))}, 0};
    if (argc > 1 && strcmp(argv[1], "present") == 0) {
#pragma omp target data map(tofrom : s)
        count_both(&s);
    } else { /* sequentially: plain libomptarget loses updates where one kernel's copy goes while another's comes */
        for (int t = 0; t < 2; t++)
            count(&s, t);
    }
    CHECK(s.count == 2L * ROUNDS * PER_KERNEL);
    for (int t = 0; t < 2; t++) {
        CHECK(all_are(s.mine[t], N, ROUNDS));
        free(s.mine[t]);
    }
    return check_result();
}
