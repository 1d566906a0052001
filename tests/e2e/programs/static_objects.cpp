/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Objects of static storage that enter their data in constructors or in main(), and leave it in destructors, after
 * main(): results arrive, and kernels, updates, tasks and parallel regions there are carried out. `exit` ends by
 * exit(), with a kernel in a handler of it that was registered before the first construct.
 *
 * variants: data kernels updates tasks regions exit
 */
#include "check.h"

#include <cstring>

enum { N = 4 * TILE };

static const char *variant = "";

static bool is(const char *name)
{
    return strcmp(variant, name) == 0;
}

/* Destroyed last. */
static struct result {
    ~result()
    {
        bool wrong = check_result();
        fflush(stdout);
        if (wrong)
            _Exit(1);
    }
} the_result;

class field
{
    double *x, sum;

public:
    explicit field(bool enters) : x(make_tiles(4, 1)), sum(1)
    {
        if (enters)
            enter();
    }

    void enter()
    {
        double *p = x;
#pragma omp target enter data map(to : p[0 : N])
    }

    void add(double value)
    {
        double *p = x;
        sum += value;
#pragma omp target teams distribute parallel for
        for (int i = 0; i < N; i++)
            p[i] += value;
    }

    void add_by_tasks(double value)
    {
        double *p = x;
        sum += value;
        for (int t = 0; t < 4; t++) {
            double *tile = p + t * TILE;
#pragma omp target nowait depend(inout : tile[0 : TILE]) map(tofrom : tile[0 : TILE])
            for (int i = 0; i < TILE; i++)
                tile[i] += value;
        }
    }

    /* Tasks of the host beside target tasks, on data outside regions. */
    static void use_tasks()
    {
        static double y[N];
        for (int i = 0; i < N; i++)
            y[i] = 1;
#pragma omp target nowait depend(inout : y[0 : N]) map(tofrom : y[0 : N])
        for (int i = 0; i < N; i++)
            y[i] += 1;
#pragma omp task depend(inout : y[0 : N])
        for (int i = 0; i < N; i++)
            y[i] *= 2;
#pragma omp task depend(inout : y[0 : N])
        {
#pragma omp target map(tofrom : y[0 : N])
            for (int i = 0; i < N; i++)
                y[i] += 1;
        }
#pragma omp taskwait
        CHECK(all_are(y, N, 5));
    }

    ~field()
    {
        double *p = x;
        if (is("kernels") || is("exit"))
            add(1);
        if (is("tasks")) {
            add_by_tasks(2);
            add_by_tasks(1);
#pragma omp taskwait
            use_tasks();
        }
        if (is("regions")) {
#pragma omp parallel num_threads(3)
#pragma omp single
            {
                add_by_tasks(3);
                use_tasks();
            }
        }
        if (is("updates")) {
#pragma omp target update from(p[0 : N])
            CHECK(all_are(x, N, sum));
            x[0] = x[N - 1] = -1;
#pragma omp target update to(p[0 : N])
#pragma omp target
            for (int i = 0; i < N; i++)
                p[i] += p[i] < 0 ? 1 + 7 : 0;
#pragma omp target update from(p[0 : N])
            CHECK(x[0] == 7 && x[N - 1] == 7 && all_are(x + 1, N - 2, sum));
            x[0] = x[N - 1] = sum;
#pragma omp target update to(p[0 : 1])
#pragma omp target update to(p[N - 1 : 1])
        }
#pragma omp target exit data map(from : p[0 : N])
        CHECK(all_are(x, N, sum));
        free(x);
    }
};

static field in_main(false), in_constructor(true);

static void handler()
{
    in_constructor.add(3);
}

int main(int argc, char **argv)
{
    if (argc > 1)
        variant = argv[1];
    if (is("exit"))
        atexit(handler);
    static field local(true);
    in_main.enter();
    in_main.add_by_tasks(2);
    in_constructor.add_by_tasks(1);
    local.add(2);
#pragma omp taskwait
    in_main.add(1);
    if (is("exit"))
        exit(0);
    return 0;
}
