/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A program that has offload code and runs none of it: nothing starts, and nothing is left at the end.
 */
#include "check.h"

int main(int argc, char **argv)
{
    (void)argv;
    if (argc > 100) {
#pragma omp target
        failed_checks = 1;
    }
    return check_result();
}
