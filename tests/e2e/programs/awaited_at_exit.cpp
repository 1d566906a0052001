/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Chains of tasks that the program leaves behind when it ends, and awaits in an exit handler, or in the destructor of a
 * static object, that has been there before the first construct: all of them are carried out.
 *
 * variants: handler object hosts
 * memory: 48Ki
 */
#include "check.h"

#include <cstring>

enum { TASKS = 20 };

static double v[TILE];
static bool with_hosts, in_destructor;

static void check()
{
    CHECK(v[1] == (with_hosts ? TASKS * (1 + 10) : TASKS));
    const bool wrong = check_result();
    fflush(stdout);
    if (wrong)
        _Exit(1);
}

static struct owner {
    ~owner()
    {
        if (!in_destructor)
            return;
#pragma omp target exit data map(from : v) depend(inout : v)
        check();
    }
} owned;

static void end()
{
    if (in_destructor)
        return;
#pragma omp taskwait
    check();
}

static void create()
{
    if (in_destructor) {
#pragma omp target enter data map(to : v)
    }
    for (int i = 0; i < TASKS; i++) {
#pragma omp target nowait depend(inout : v) map(tofrom : v)
        for (int k = 0; k < TILE; k++)
            v[k] += k;
        if (with_hosts) {
#pragma omp task depend(inout : v)
            v[1] += 10;
        }
    }
}

int main(int argc, char **argv)
{
    in_destructor = argc > 1 && !strcmp(argv[1], "object");
    with_hosts = argc > 1 && !strcmp(argv[1], "hosts");
    atexit(end);
    create();
}
