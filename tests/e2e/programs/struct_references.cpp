/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * One struct by its name and by references in one kernel: it is one thing. Members of a class through `this`, in a
 * region that holds the object and in one that holds some members.
 */
#include "check.h"

#include <omp.h>

enum { N = 100 };

struct record {
    int a;
    double *p;
    int b;
};

static void by_reference(record &r, record &same)
{
#pragma omp target map(tofrom : r.a, r.p[0 : N]) map(tofrom : same.b)
    {
        r.a++;
        same.b += r.a;
        r.p[0] = same.b;
    }
    CHECK(r.a == 2 && r.b == 4 && r.p[0] == 4);
#pragma omp target map(tofrom : r)
    {
        r.a++;
        same.b++;
        r.b++;
    }
    CHECK(r.a == 3 && r.b == 6);
#pragma omp target enter data map(to : r)
#pragma omp target
    {
        r.a++;
        same.a++;
    }
    CHECK(r.a == 3);
#pragma omp target map(tofrom : same.a, same.p[0 : N]) map(to : r.b)
    {
        r.p[1] = same.a;
        same.a += r.b;
    }
#pragma omp target exit data map(from : same)
    CHECK(r.a == 11 && r.p[1] == 5);
}

class grid {
  public:
    grid() : data(new double[N]), steps(0), scale(2)
    {
        for (int i = 0; i < N; i++)
            data[i] = i;
    }
    ~grid()
    {
        delete[] data;
    }
    void whole()
    {
#pragma omp target enter data map(to : this[0 : 1])
#pragma omp target enter data map(to : data[0 : N])
        scale = 1000; /* the device has 2 */
        for (int i = 0; i < 3; i++)
            step();
        CHECK(steps == 0 && data[1] == 1);
#pragma omp target map(tofrom : steps)
        steps += 10;
#pragma omp target update from(steps)
        CHECK(steps == 13);
#pragma omp target exit data map(from : data[0 : N])
        scale = 2;
#pragma omp target exit data map(release : this[0 : 1])
        CHECK(data[1] == 8 && steps == 13);
    }
    void members()
    {
        steps = 0;
#pragma omp target data map(tofrom : data[0 : N], steps)
        {
#pragma omp target
            for (int i = 0; i < N; i++)
                data[i] /= 8;
#pragma omp target
            steps++;
        }
        CHECK(steps == 1 && data[1] == 1 && data[N - 1] == N - 1);
    }

  private:
    void step()
    {
#pragma omp target
        {
            for (int i = 0; i < N; i++)
                data[i] *= scale;
            steps++;
        }
    }
    double *data;
    int steps;
    double scale;
};

int main()
{
    record s = {1, new double[N], 2};
    by_reference(s, s);
    delete[] s.p;
    grid g;
    g.whole();
    g.members();
    return check_result();
}
