/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * An explicit task leaves a task whose event is fulfilled later, and a target task behind that. `outside`: it runs
 * inside of a taskgroup that it is not in, and the event is fulfilled behind the taskgroup. `keeper`: on a thread that may
 * end before the process, while it waits in libomp. `plain`: on a thread that waits in a barrier, and another one waits
 * for it.
 *
 * variants: outside keeper plain
 */
#include "check.h"

#include <omp.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

enum { MS = 1000 };

static int x[4];
static omp_event_handle_t event;
static int done;

static void *fulfil(void *unused)
{
    (void)unused;
    usleep(20 * MS);
    omp_fulfill_event(event);
    return NULL;
}

static void start(void *(*run)(void *), pthread_t *thread)
{
    if (pthread_create(thread, NULL, run, NULL))
        abort();
}

static void leave(void)
{
    omp_event_handle_t own = (omp_event_handle_t)0;
#pragma omp task detach(own) depend(inout : x)
    x[0] = 5;
    event = own;
#pragma omp target nowait depend(inout : x) map(tofrom : x)
    x[0] = x[0] * 3 + 1;
}

static void leave_and_fulfil(void)
{
    pthread_t thread;
    leave();
    start(fulfil, &thread);
    pthread_detach(thread);
}

static void outside(void)
{
#pragma omp parallel num_threads(2)
    if (omp_get_thread_num() == 0) {
#pragma omp task
        leave();
#pragma omp taskgroup
        {
#pragma omp taskwait
        }
        omp_fulfill_event(event);
#pragma omp atomic write
        done = 1;
    } else {
        for (int stop = 0; !stop; usleep(100)) {
#pragma omp atomic read
            stop = done;
        }
    }
}

static void *keeper(void *unused)
{
    (void)unused;
#pragma omp parallel num_threads(2)
    if (omp_get_thread_num() == 0) {
#pragma omp taskgroup
        {
#pragma omp task
            leave_and_fulfil();
        }
    }
    return NULL;
}

static void plain(int with)
{
#pragma omp parallel num_threads(2)
#pragma omp single
    if (with) {
#pragma omp taskgroup
        {
#pragma omp task
            leave_and_fulfil();
#pragma omp task
            usleep(10 * MS);
        }
    }
}

int main(int argc, char **argv)
{
    const char *which = argc > 1 ? argv[1] : "outside";
    pthread_t thread;
#pragma omp target map(tofrom : x)
    x[1] = 7;
    if (!strcmp(which, "outside")) {
        outside();
    } else if (!strcmp(which, "keeper")) {
        start(keeper, &thread);
        pthread_join(thread, NULL);
    } else {
        plain(0); /* its code detaches nothing, as far as it has been seen */
        plain(1);
    }
    CHECK(x[0] == 16 && x[1] == 7);
    return check_result();
}
