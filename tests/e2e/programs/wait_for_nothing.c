/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A program that hangs by its own fault: it waits for a task whose event nobody fulfils. The watchdog says so. With the
 * argument `barrier` one of two threads never comes to the barrier; with `signal N` it sends itself that signal, with
 * `loop` it offloads without end.
 */
#include <omp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void offload(double *x)
{
#pragma omp target nowait depend(inout : x[0]) map(tofrom : x[0 : 1000])
    for (int i = 0; i < 1000; i++)
        x[i] += i;
#pragma omp taskwait
}

int main(int argc, char **argv)
{
    static double x[1000];
    omp_event_handle_t never = (omp_event_handle_t)0;
    offload(x);
    printf("%g\n", x[999]);
    fflush(stdout);
    while (argc > 1 && strcmp(argv[1], "loop") == 0)
        offload(x);
    if (argc > 2 && strcmp(argv[1], "signal") == 0) {
        raise(atoi(argv[2]));
        sleep(5);
        return 1; /* it should have ended the program */
    }
    if (argc > 1 && strcmp(argv[1], "barrier") == 0) {
#pragma omp parallel num_threads(2)
        {
            if (omp_get_thread_num() == 0)
                pause();
#pragma omp barrier
        }
    }
#pragma omp task detach(never)
    {
    }
#pragma omp taskwait
    return 0;
}
