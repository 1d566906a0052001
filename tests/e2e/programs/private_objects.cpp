/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Firstprivate objects with constructors and destructors live as long as their task's body: of host tasks that offload
 * from inside, and of target tasks of which the host version runs. Those of a taskloop's tasks are copied as the program
 * copies them: an object may hold its own address.
 *
 * memory: 24Ki
 */
/* Said of clang's own counters of a taskloop. */
#pragma clang diagnostic ignored "-Wsign-conversion"
#pragma clang diagnostic ignored "-Wshorten-64-to-32"
#include "check.h"

enum { COUNT = 8, ROUNDS = 10 };

struct counts {
    int dead_uses, alive;
};

class counted
{
  public:
    counted(int v, counts *in) : value(v), state(ALIVE), all(in)
    {
        __atomic_fetch_add(&all->alive, 1, __ATOMIC_RELAXED);
    }
    counted(const counted &other) : value(other.get()), state(ALIVE), all(other.all)
    {
        __atomic_fetch_add(&all->alive, 1, __ATOMIC_RELAXED);
    }
    ~counted()
    {
        value = -1000;
        state = DEAD;
        __atomic_fetch_sub(&all->alive, 1, __ATOMIC_RELAXED);
    }
    int get() const
    {
        if (*static_cast<const volatile int *>(&state) != ALIVE)
            __atomic_fetch_add(&all->dead_uses, 1, __ATOMIC_RELAXED);
        return *static_cast<const volatile int *>(&value);
    }

  private:
    static constexpr int ALIVE = 0x5afe, DEAD = 0xdead;
    int value, state;
    counts *all; /* outlives the object */
};

class pointing : public counted
{
  public:
    pointing(int v, counts *in) : counted(v, in), self(this)
    {
    }
    pointing(const pointing &other) : counted(*other.self), self(this)
    {
    }
    int get() const
    {
        return self->counted::get() + (self != this);
    }

  private:
    const counted *self;
};

static void offload_and_add(double *x, const counted &one)
{
#pragma omp target data map(tofrom : x [0:TILE]) use_device_ptr(x)
#pragma omp target is_device_ptr(x)
    for (int i = 0; i < TILE; i++)
        x[i] += 1;
    CHECK(one.get() == 1);
}

static void check_host_tasks(counts *all, bool in_region)
{
    double *x = make_tiles(COUNT, 0);
    counted one(1, all);
#pragma omp target data map(tofrom : x [0:COUNT * TILE]) if (in_region)
#pragma omp parallel firstprivate(one)
#pragma omp single
    for (int round = 0; round < ROUNDS; round++)
        for (int t = 0; t < COUNT; t++) {
            double *tile = x + t * TILE;
#pragma omp task depend(inout : tile [0:TILE]) firstprivate(one)
            offload_and_add(tile, one);
        }
    CHECK(all_are(x, COUNT * TILE, ROUNDS));
    free(x);
}

/* On the host, as a clause says. */
static void check_target_tasks(counts *all, bool offloads)
{
    double *x = make_tiles(COUNT, 0);
    counted one(1, all);
#pragma omp parallel
#pragma omp single
    for (int t = 0; t < COUNT; t++) {
        double *tile = x + t * TILE;
#pragma omp target nowait depend(inout                                                                                 \
                                 : tile [0:TILE]) map(tofrom                                                           \
                                                      : tile [0:TILE]) firstprivate(one) if (target                    \
                                                                                             : offloads)
        for (int i = 0; i < TILE; i++)
            tile[i] += one.get();
    }
    CHECK(all_are(x, COUNT * TILE, 1));
    free(x);
}

/* Larger than a device of the tight runs. */
static void check_large_target_tasks(counts *all)
{
    double *x = make_tiles(COUNT, 0);
    counted one(1, all);
#pragma omp parallel
#pragma omp single
#pragma omp target nowait depend(inout : x [0:COUNT * TILE]) map(tofrom : x [0:COUNT * TILE]) firstprivate(one)
    for (int i = 0; i < COUNT * TILE; i++)
        x[i] += one.get();
    CHECK(all_are(x, COUNT * TILE, 1));
    free(x);
}

/* In a team of one thread. */
static void check_taskloop(counts *all)
{
    enum { LENGTH = 32 };
    double *x = make_tiles(1, 0);
    pointing one(1, all);
    int sum = 0;
#pragma omp target nowait map(tofrom : x [0:TILE])
    for (int i = 0; i < TILE; i++)
        x[i] += 1;
#pragma omp taskwait /* or libomp fails an assertion, without the library */
#pragma omp taskloop grainsize(4) firstprivate(one) shared(sum)
    for (int i = 0; i < LENGTH; i++)
#pragma omp atomic
        sum += one.get();
#pragma omp taskwait
    CHECK(sum == LENGTH && all_are(x, TILE, 1));
    free(x);
}

int main()
{
    counts all = {};
    check_host_tasks(&all, false);
    check_host_tasks(&all, true);
    check_target_tasks(&all, false);
    check_large_target_tasks(&all);
    check_taskloop(&all);
    CHECK(all.dead_uses == 0);
    CHECK(all.alive == 0);
    return check_result();
}
