/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Programs that are wrong: the host touches a tile of which a device keeps a copy, with nothing that orders it; and
 * faults that are none of that (host_access.sh, OMPDARTS_DEBUG=check). The first argument says how, the second for how
 * many seconds.
 */
#include "check.h"

#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { N = 8 * TILE, JUMPS = 1000 };

static double sum;
static time_t end;

static void reader(double *x, double *y)
{
#pragma omp target nowait depend(in : x[0 : N]) depend(out : y[0 : N]) map(to : x[0 : N]) map(from : y[0 : N])
    for (int i = 0; i < N; i++)
        y[i] = x[i] + 1;
}

/* The task may run any time. */
static bool in_time(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 1000 * 1000}, NULL);
    return time(NULL) < end;
}

/* --- the host touches a tile -------------------------------------------------- */

/* x is an input that stays on its device. */
static void write_input(double *x, double *y)
{
    (void)y;
    while (in_time())
        x[N / 2] += 1;
}

static void write_both(double *x, double *y)
{
    while (in_time()) {
        x[N / 2] += 1;
        y[N / 2] = 1;
    }
}

/* y is a result that has not come home. */
static void read_result(double *x, double *y)
{
    (void)x;
    while (in_time())
        sum += y[N / 2];
}

static void library_call(double *x, double *y)
{
    static double copy[N];
    (void)x;
    while (in_time())
        memcpy(copy, y, sizeof copy);
    sum += copy[N / 2];
}

__attribute__((noinline)) static void map_local(double *y)
{
    double local[N];
    for (int i = 0; i < N; i++)
        local[i] = i;
    reader(local, y);
}

__attribute__((noinline)) static void use_stack(void)
{
    volatile double local[N];
    for (int i = 0; i < N; i++)
        local[i] = i;
}

/* The array is gone before the task has been waited for. */
static void returned(double *x, double *y)
{
    (void)x;
    map_local(y + N + TILE);
    while (in_time())
        use_stack();
}

/* What a tile's first and last page have of others. */
static void edges(double *x, double *y)
{
    (void)y;
    for (int i = 0; i < 200 && in_time(); i++) {
        x[-1] += 1;
        x[N] += 1;
    }
}

/* --- faults elsewhere ----------------------------------------------------------- */

static struct sigaction replaced;
static sigjmp_buf before_fault;

static void tell(int number, siginfo_t *info, void *context)
{
    static const char text[] = "own handler\n";
    bool written = write(STDOUT_FILENO, text, sizeof text - 1) > 0;
    if (replaced.sa_flags & SA_SIGINFO)
        replaced.sa_sigaction(number, info, context);
    _exit(written ? 7 : 8);
}

static void jump(int number, siginfo_t *info, void *context)
{
    (void)number, (void)info, (void)context;
    siglongjmp(before_fault, 1);
}

static void handle(void (*handler)(int, siginfo_t *, void *), struct sigaction *old)
{
    struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
    sigaction(SIGSEGV, &action, old);
}

static void fault(void)
{
    static volatile char *closed;
    if (!closed)
        closed = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    *closed = 1;
}

static void foreign(double *x, double *y)
{
    edges(x, y);
    fault();
}

static void foreign_late(double *x, double *y)
{
    edges(x, y);
    handle(tell, NULL);
    fault();
}

/* The program's handler calls the one that was there before it. */
static void foreign_chain(double *x, double *y)
{
    edges(x, y);
    handle(tell, &replaced);
    reader(x, y);
    edges(x, y);
    fault();
}

static void foreign_jump(double *x, double *y)
{
    volatile int jumps = 0;
    edges(x, y);
    handle(jump, NULL);
    reader(x, y);
    edges(x, y);
    if (sigsetjmp(before_fault, 1))
        jumps++;
    if (jumps < JUMPS)
        fault();
    printf("%d jumps\n", jumps);
}

static void late_handler(double *x, double *y)
{
    handle(tell, NULL);
    reader(x, y);
    write_input(x, y);
}

static const struct {
    const char *name;
    void (*touch)(double *x, double *y);
} ways[] = {
    {"write", write_input},           {"write_both", write_both},     {"read", read_result},
    {"library_call", library_call},   {"returned", returned},         {"edges", edges},
    {"late_handler", late_handler},   {"foreign", foreign},           {"foreign_late", foreign_late},
    {"foreign_chain", foreign_chain}, {"foreign_jump", foreign_jump}, {"crash", foreign},
};

int main(int argc, char **argv)
{
    double *space = make_tiles(3 * N / TILE + 4, 1), *x = space + TILE, *y = x + N + TILE;
    end = time(NULL) + (argc > 2 ? atoi(argv[2]) : 20);
    if (argc > 1 && strcmp(argv[1], "foreign") == 0)
        handle(tell, NULL);
#pragma omp parallel num_threads(4)
#pragma omp single
    {
        reader(x, y);
        for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
            if (argc > 1 && strcmp(argv[1], ways[i].name) == 0)
                ways[i].touch(x, y);
    }
    printf("%g %g %g\n", x[N / 2], y[0], sum);
    free(space);
    return check_result();
}
