/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * fork(), system() and popen() in a program that offloads (forks.sh). The argument says when the child comes and what
 * it does; it ends with exit code 3.
 */
#include "check.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { COUNT = 8, STEPS = 4, CHILD_CODE = 3 };

static double *x;
static atomic_bool stop, started;
static bool may_be_stopped; /* a child ends with abort() where the library cannot serve it */

static void offload(double *tiles)
{
#pragma omp parallel num_threads(2)
#pragma omp single
    for (int i = 0; i < COUNT * STEPS; i++) {
        double *tile = tiles + i % COUNT * TILE;
#pragma omp target nowait depend(inout : tile[0 : TILE]) map(tofrom : tile[0 : TILE])
        for (int j = 0; j < TILE; j++)
            tile[j] += 1;
    }
}

static void open_region(void)
{
#pragma omp target enter data map(to : x[0 : COUNT * TILE])
#pragma omp target
    for (int j = 0; j < COUNT * TILE; j++)
        x[j] += 100;
}

static void close_region(void)
{
#pragma omp target exit data map(from : x[0 : COUNT * TILE])
}

static void *offload_until_stopped(void *tiles)
{
    while (!stop) {
        offload(tiles);
        started = true;
    }
    return NULL;
}

/* What the child does before it ends. */
static void just_exit(void)
{
    exit(CHILD_CODE);
}

static void leave_at_once(void)
{
    _exit(CHILD_CODE);
}

static void execute(void)
{
    execl("/bin/sh", "sh", "-c", "exit 3", (char *)NULL);
}

static void offload_and_exit(void)
{
    double before = x[0];
    offload(x);
    CHECK(all_are(x, COUNT * TILE, before + (double)STEPS));
    printf("child: %g\n", x[0]);
    exit(failed_checks ? 1 : CHILD_CODE);
}

static void close_and_exit(void)
{
    double before = x[0];
    close_region();
    CHECK(all_are(x, COUNT * TILE, before + 100));
    offload_and_exit();
}

/* The memory is the child's own: no device of the parent will miss what it writes (OMPDARTS_DEBUG=check). */
static void write_and_exit(void)
{
    for (int j = 0; j < COUNT * TILE; j++)
        x[j] = 7;
    _exit(CHILD_CODE);
}

static void fork_child(void (*act)(void))
{
    int status = 0;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0)
        act();
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    bool stopped = may_be_stopped && WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
    CHECK(stopped || (WIFEXITED(status) && WEXITSTATUS(status) == CHILD_CODE));
}

static void run_commands(void)
{
    char line[64] = "";
    fflush(NULL);
    CHECK(WEXITSTATUS(system("echo from a shell; exit 3")) == CHILD_CODE);
    FILE *pipe = popen("echo from a pipe", "r");
    CHECK(pipe && fgets(line, sizeof line, pipe) && pclose(pipe) == 0);
    fputs(line, stdout);
}

static const struct {
    const char *name;
    void (*act)(void);
} acts[] = {
    {"exit", just_exit},           {"_exit", leave_at_once},   {"exec", execute},
    {"offload", offload_and_exit}, {"region", close_and_exit}, {"write", write_and_exit},
};

static void (*find(const char *name))(void)
{
    for (size_t i = 0; i < sizeof acts / sizeof *acts; i++)
        if (strcmp(acts[i].name, name) == 0)
            return acts[i].act;
    abort();
}

/* The child comes while another thread's tasks are under way. */
static void fork_beside(void (*act)(void))
{
    pthread_t thread;
    double *other = make_tiles(COUNT, 0);
    CHECK(pthread_create(&thread, NULL, offload_until_stopped, other) == 0);
    while (!started)
        usleep(1000);
    for (int i = 0; i < 20; i++)
        fork_child(act);
    stop = true;
    pthread_join(thread, NULL);
    free(other);
}

/* The child comes while tasks are under way that this thread has created and not waited for. */
static void fork_between(void (*act)(void))
{
#pragma omp parallel num_threads(2)
#pragma omp single
    for (int i = 0; i < COUNT * STEPS; i++) {
        double *tile = x + i % COUNT * TILE;
#pragma omp target nowait depend(inout : tile[0 : TILE]) map(tofrom : tile[0 : TILE])
        for (int j = 0; j < TILE; j++)
            tile[j] += 1;
        if (i % COUNT == 0)
            fork_child(act);
    }
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 1;
    const char *when = argv[1];
    x = make_tiles(COUNT, 0);
    if (strcmp(when, "first") == 0) {
        fork_child(find(argv[2]));
    } else if (strcmp(when, "after") == 0) {
        offload(x);
        fork_child(find(argv[2]));
        fork_child(find(argv[2]));
    } else if (strcmp(when, "inside") == 0) {
        open_region();
        fork_child(find(argv[2]));
        close_region();
    } else if (strcmp(when, "beside") == 0) {
        fork_beside(find(argv[2]));
    } else if (strcmp(when, "inside_beside") == 0) {
        may_be_stopped = true;
        open_region();
        fork_beside(find(argv[2]));
        close_region();
    } else if (strcmp(when, "between") == 0) {
        fork_between(find(argv[2]));
    } else {
        offload(x);
        run_commands();
    }
    offload(x);
    CHECK(all_are(x, COUNT * TILE, x[0]));
    printf("parent: %g\n", x[0]);
    free(x);
    return check_result();
}
