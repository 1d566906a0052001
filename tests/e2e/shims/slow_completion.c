/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A libomp that takes its time with completed tasks: preloaded after libompdarts.so, omp_fulfill_event() pauses before
 * and after its work. If the program's exit comes to this library's end while a thread is still inside, libomp would be
 * ended under that thread's feet: the program ends with 99 and a line that says so.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { EXIT_CAUGHT = 99 };

static atomic_uint inside;
static _Thread_local unsigned own; /* of these, calls on this thread: a task that becomes ready may end the program */

static void look(void)
{
    unsigned others = atomic_load(&inside) - own;
    if (!others)
        return;
    fprintf(stderr, "slow_completion: exit, and %u threads are inside of omp_fulfill_event()\n", others);
    fflush(NULL);
    _exit(EXIT_CAUGHT);
}

/* Before the library's own, whose handler hence comes first. */
__attribute__((constructor)) static void prepare(void)
{
    atexit(look);
}

void omp_fulfill_event(uintptr_t event);

void omp_fulfill_event(uintptr_t event)
{
    static const struct timespec pause = {.tv_nsec = 10000000};
    void (*fulfill)(uintptr_t) = (void (*)(uintptr_t))dlsym(RTLD_NEXT, "omp_fulfill_event");
    atomic_fetch_add(&inside, 1);
    own++;
    nanosleep(&pause, NULL);
    fulfill(event);
    nanosleep(&pause, NULL);
    own--;
    atomic_fetch_sub(&inside, 1);
}
