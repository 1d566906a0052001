/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A program that blocks all signals before libomp has threads, as servers do that leave them to one thread. Kernels
 * write to an array that they seemed only to read: the program's own threads (alone), threads of a kernel's region
 * (region) and league (league), and those of kernels on workers (tasks). The program's threads keep their mask.
 * The signal ends a process to which it is sent.
 *
 * variants: alone region league tasks
 * environment: OMP_MAX_ACTIVE_LEVELS=4
 */
#include "check.h"

#include <omp.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { N = 8 * TILE, THREADS = 4, ROUNDS = 4 };

static double in[N]; /* the first THREADS elements are written to, the others are 1 */
static double sums[THREADS];

static bool all_is_blocked(void)
{
    sigset_t now;
    pthread_sigmask(SIG_SETMASK, NULL, &now);
    return sigismember(&now, SIGSEGV) && sigismember(&now, SIGBUS) && sigismember(&now, SIGUSR1);
}

static double sum(const double *x)
{
    double s = 0;
    for (int i = THREADS; i < N; i++)
        s += x[i];
    return s;
}

static void alone(int t)
{
    double s = 0;
#pragma omp target map(tofrom : s)
    {
        s = sum(in);
        in[t] += 1;
    }
    sums[t] += s;
}

static void region(int t)
{
    double s = 0;
#pragma omp target parallel num_threads(2) map(tofrom : s)
    if (omp_get_thread_num() == omp_get_num_threads() - 1) {
        s = sum(in);
        in[t] += 1;
    }
    sums[t] += s;
}

static void league(int t)
{
    double s = 0;
#pragma omp target teams num_teams(2) thread_limit(1) map(tofrom : s)
    if (omp_get_team_num() == omp_get_num_teams() - 1) {
        s = sum(in);
        in[t] += 1;
    }
    sums[t] += s;
}

static void by_threads(void (*kernel)(int))
{
    for (int round = 0; round < ROUNDS; round++)
#pragma omp parallel for schedule(static, 1) num_threads(THREADS)
        for (int t = 0; t < THREADS; t++)
            kernel(t);
}

/* Of the threads that main has started some are left to regions of workers. */
static void leave_threads(void)
{
#pragma omp parallel num_threads(3 * THREADS)
    CHECK(all_is_blocked());
#pragma omp parallel num_threads(2)
    CHECK(all_is_blocked());
}

static void by_tasks(void)
{
    leave_threads();
    for (int round = 0; round < ROUNDS; round++) {
        for (int t = 0; t < THREADS; t++) {
            double *s = &sums[t];
#pragma omp target parallel num_threads(3) nowait map(tofrom : s[0 : 1]) depend(inout : s[0])
            if (omp_get_thread_num() == omp_get_num_threads() - 1) {
                s[0] += sum(in);
                in[t] += 1;
            }
        }
#pragma omp taskwait
    }
}

static void run(const char *variant)
{
    if (!strcmp(variant, "tasks"))
        by_tasks();
    else
        by_threads(!strcmp(variant, "alone") ? alone : !strcmp(variant, "region") ? region : league);
}

static bool ends_by_signal(void)
{
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        sigset_t none;
        sigemptyset(&none);
        setrlimit(RLIMIT_CORE, &(struct rlimit){0});
        pthread_sigmask(SIG_SETMASK, &none, NULL);
        raise(SIGSEGV);
        _exit(0);
    }
    return child > 0 && waitpid(child, &status, 0) == child && WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV;
}

int main(int argc, char **argv)
{
    sigset_t every;
    sigfillset(&every);
    pthread_sigmask(SIG_SETMASK, &every, NULL);
    for (int i = 0; i < N; i++)
        in[i] = i >= THREADS;
#pragma omp target enter data map(to : in)
    run(argc > 1 ? argv[1] : "alone");
#pragma omp target exit data map(from : in)
    for (int t = 0; t < THREADS; t++) {
        CHECK(in[t] == (double)ROUNDS);
        CHECK(sums[t] == (double)(ROUNDS * (N - THREADS)));
    }
    CHECK(all_is_blocked());
    CHECK(ends_by_signal());
    return check_result();
}
