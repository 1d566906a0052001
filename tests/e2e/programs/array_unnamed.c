/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Tasks that touch other parts of whole arrays than their depend clauses name, which is legal because something else
 * orders them: here, that tasks between two taskwaits write to different elements, and read what none of them writes.
 * The elements of one page belong to many tasks. Random programs, by seed; right whatever the sections say.
 *
 * variants: 1 2
 * memory: 160Ki
 * run: OMPDARTS_MEM=400Ki OMPDARTS_DEBUG=jitter=0.0005
 * run: OMPDARTS_MEM=160Ki OMPDARTS_SPILL=0
 */
#include "check.h"

#include <stdint.h>

enum { N = 24 * TILE, ROUNDS = 6, TASKS = 8, PAGE = 512 };

static double *a, *b, *expected_a, *expected_b;
static uint64_t state;

static int draw(int n)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (int)((state >> 33) % (uint64_t)n);
}

/* Task t of a round writes to elements of `a` from `first` on, every `stride`-th, `count` of them, and adds elements of `b`. */
typedef struct work {
    int first, stride, count, from;
} work;

static void expect(const work *w, int round)
{
    for (int i = 0; i < w->count; i++)
        expected_a[w->first + i * w->stride] =
            0.5 * expected_a[w->first + i * w->stride] + expected_b[(w->from + 3 * i) % N] + round;
}

static work draw_work(int t)
{
    int chunk = N / TASKS;
    switch (draw(3)) {
    case 0: /* every TASKS-th element, anywhere */
        return (work){t, TASKS, N / TASKS, draw(N)};
    default: /* a part of a chunk of its own is the same for all kinds: elements are this task's by their number */
        return (work){t + draw(8) * TASKS * PAGE / 4, TASKS, draw(chunk / 4) + 1, draw(N)};
    }
}

/* Where sections begin, each task's elsewhere: no two tasks of a round depend on each other. */
static int section_begin(int t)
{
    return (t * 2 + draw(2)) * (N / TASKS / 2) + draw(40) + t;
}

static void submit(work w, int begin, int length, int other, bool reads, int round)
{
    double *x = a, *y = b;
    int first = w.first, stride = w.stride, count = w.count, from = w.from;
    if (reads) { /* says that it only reads what it writes to */
#pragma omp target nowait depend(in : x[begin : length]) depend(in : y[other : PAGE * 2])
        for (int i = 0; i < count; i++)
            x[first + i * stride] = 0.5 * x[first + i * stride] + y[(from + 3 * i) % N] + round;
    } else {
#pragma omp target nowait depend(inout : x[begin : length]) depend(in : y[other : PAGE * 2])
#pragma omp parallel for num_threads(2)
        for (int i = 0; i < count; i++)
            x[first + i * stride] = 0.5 * x[first + i * stride] + y[(from + 3 * i) % N] + round;
    }
}

static void round_of_tasks(int round)
{
    for (int t = 0; t < TASKS; t++) {
        work w = draw_work(t);
        int begin = section_begin(t), length = PAGE + draw(N / TASKS / 2);
        if (begin + length > N)
            length = N - begin;
        expect(&w, round);
        submit(w, begin, length, draw(N - 2 * PAGE), draw(3) == 0, round);
    }
#pragma omp taskwait
}

/* Changes of `b`: sections, by tasks that name a page and write to more. */
static void change_inputs(int round)
{
    for (int t = 0; t < 4; t++) {
        int begin = t * (N / 4) + draw(PAGE), length = draw(N / 4 - PAGE) + 1;
        double *y = b;
        for (int i = 0; i < length; i++)
            expected_b[begin + i] += t + round;
#pragma omp target nowait depend(inout : y[begin : PAGE])
        for (int i = 0; i < length; i++)
            y[begin + i] += t + round;
    }
#pragma omp taskwait
}

static void look(int begin)
{
#pragma omp target update from(a[begin : PAGE])
    for (int i = 0; i < PAGE; i++)
        CHECK(a[begin + i] == expected_a[begin + i]);
}

static void change(int begin, int value)
{
    for (int i = 0; i < PAGE; i++)
        a[begin + i] = expected_a[begin + i] = value;
#pragma omp target update to(a[begin : PAGE])
}

static void sometimes(int round)
{
    int what = draw(4), begin = draw(N - PAGE);
    if (what == 0)
        look(begin);
    else if (what == 1)
        change(begin, round);
    else if (what == 2)
        change_inputs(round);
}

static double *make(void)
{
    double *x = (double *)malloc((N + 3) * sizeof *x) + 3;
    for (int i = 0; i < N; i++)
        x[i] = i % 7;
    return x;
}

static bool is_right(const double *x, const double *expected)
{
    for (int i = 0; i < N; i++)
        if (x[i] != expected[i]) {
            printf("element %d is %.17g, not %.17g\n", i, x[i], expected[i]);
            return false;
        }
    return true;
}

int main(int argc, char **argv)
{
    state = argc > 1 ? (uint64_t)atoi(argv[1]) * 7919 : 1;
    a = make();
    b = make();
    expected_a = make();
    expected_b = make();
#pragma omp target enter data map(to : a[0 : N], b[0 : N])
#pragma omp parallel
#pragma omp single
    for (int round = 0; round < ROUNDS; round++) {
        round_of_tasks(round);
        sometimes(round);
    }
#pragma omp target exit data map(from : a[0 : N], b[0 : N])
    CHECK(is_right(a, expected_a));
    CHECK(is_right(b, expected_b));
    return check_result();
}
