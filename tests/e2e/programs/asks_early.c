/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * SIGUSR1 comes before the first construct, to a program that does nothing about it.
 */
#include "check.h"

#include <signal.h>

int main(void)
{
    int x = 0;
    raise(SIGUSR1);
#pragma omp target map(tofrom: x)
    x++;
    CHECK(x == 1);
    return check_result();
}
