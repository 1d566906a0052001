/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * tests/e2e/process/interrupted.sh: a program that a signal ends, with data on devices. It prints "wrong" where what it
 * computes is wrong, and "went on" where something comes after a signal that it has sent to itself.
 */
#include "check.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static double a[TILE];

static void many_tasks(void)
{
    static double b[64];
    for (int i = 0; i < 5000; i++) {
#pragma omp target nowait map(tofrom : b[i % 64 : 1]) depend(inout : b[i % 64])
        b[i % 64] += 1;
    }
#pragma omp taskwait
}

static void say(const char *line)
{
    if (write(STDOUT_FILENO, line, strlen(line)) < 0)
        _exit(3);
}

/* The region is open when the signal comes; what the host sees in between must be the devices'. */
static void until_killed(void)
{
    say("ready\n");
#pragma omp target enter data map(to : a)
    for (double step = 1;; step++) {
#pragma omp target
        for (int i = 0; i < TILE; i++)
            a[i] += 1;
#pragma omp target update from(a)
        if (a[0] != step || a[TILE - 1] != step)
            say("wrong\n");
    }
}

/* Writes until nobody reads any more. */
static void to_a_pipe(void)
{
    for (;;)
        if (write(STDOUT_FILENO, "line\n", 5) < 0) {
            fputs("went on\n", stderr);
            _exit(4);
        }
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "killed";
    many_tasks();
    if (!strcmp(how, "killed"))
        until_killed();
    if (!strcmp(how, "pipe"))
        to_a_pipe();
    raise(SIGTERM);
    say("went on\n");
    return 0;
}
