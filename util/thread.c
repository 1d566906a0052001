/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Threads that take no signals, and the check of the order in which they take locks. See thread.h, lock.h. */
#define _GNU_SOURCE 1 /* pthread_setname_np, affinity */

#include "util/thread.h"

#include "util/clock.h"
#include "util/memory.h"

#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { MOST_CPUS = 8192 }; /* that Linux may be built for */

/* Where the process's threads may run; empty: not known. Written before there are threads. */
static struct {
    size_t size; /* bytes of `cpus`, or 0 */
    union {
        cpu_set_t set;
        unsigned char bytes[MOST_CPUS / 8];
    } cpus;
} places;

void od_thread_note_places(void)
{
    if (sched_getaffinity(0, sizeof places.cpus, &places.cpus.set) == 0)
        places.size = sizeof places.cpus;
}

unsigned od_thread_processors(void)
{
    cpu_set_t set;
    int n = sched_getaffinity(0, sizeof set, &set) ? 0 : CPU_COUNT(&set);
    return n > 0 ? (unsigned)n : (unsigned)sysconf(_SC_NPROCESSORS_ONLN);
}

uintptr_t od_thread_stack_end(void)
{
    static _Thread_local uintptr_t end;
    pthread_attr_t attributes;
    void *base;
    size_t size;
    if (end || pthread_getattr_np(pthread_self(), &attributes))
        return end;
    if (!pthread_attr_getstack(&attributes, &base, &size))
        end = (uintptr_t)base + size;
    pthread_attr_destroy(&attributes);
    return end;
}

const void *od_thread_places(size_t *bytes)
{
    *bytes = places.size;
    return &places.cpus;
}

void od_thread_set_places(const void *noted, size_t bytes)
{
    places.size = bytes <= sizeof places.cpus ? bytes : 0;
    memcpy(&places.cpus, noted, places.size);
}

typedef struct beginning {
    const char *name;
    void *(*run)(void *);
    void *arg;
    size_t stack; /* bytes; 0: as many as the system gives */
} beginning;

static int create_anywhere(pthread_t *started, const beginning *what, bool placed)
{
    pthread_attr_t attributes;
    int error = pthread_attr_init(&attributes);
    if (error)
        return error;
    if (what->stack)
        pthread_attr_setstacksize(&attributes, what->stack);
    if (placed)
        error = pthread_attr_setaffinity_np(&attributes, places.size, &places.cpus.set);
    if (!error)
        error = pthread_create(started, &attributes, what->run, what->arg);
    pthread_attr_destroy(&attributes);
    return error;
}

static int create(pthread_t *started, const beginning *what)
{
    if (places.size && !create_anywhere(started, what, true))
        return 0;
    return create_anywhere(started, what, false); /* processors may have been taken away since */
}

static od_status start(pthread_t *thread, const beginning *what)
{
    char shown[16];                                                /* the longest that Linux takes */
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL}; /* its own; blocked, they would end the process */
    sigset_t every, before;
    pthread_t started;

    sigfillset(&every);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        sigdelset(&every, faults[i]);
    pthread_sigmask(SIG_SETMASK, &every, &before);
    int error = create(&started, what);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error)
        return OD_ENOMEM;
    assert(strncmp(what->name, OD_THREAD_PREFIX, strlen(OD_THREAD_PREFIX)) == 0);
    snprintf(shown, sizeof shown, "%s", what->name);
    pthread_setname_np(started, shown);
    if (thread)
        *thread = started;
    else
        pthread_detach(started);
    return OD_OK;
}

od_status od_thread_start(pthread_t *thread, const char *name, void *(*run)(void *), void *arg)
{
    beginning what = {name, run, arg, od_space_is_limited() ? OD_THREAD_SMALL_STACK : 0};
    return start(thread, &what);
}

static size_t program_stack; /* bytes; 0: as many as the system gives */

void od_thread_set_program_stack(size_t bytes)
{
    program_stack = bytes;
}

od_status od_thread_start_for_program(pthread_t *thread, const char *name, void *(*run)(void *), void *arg)
{
    return start(thread, &(beginning){name, run, arg, program_stack});
}

void od_thread_go_anywhere(void)
{
    if (places.size)
        sched_setaffinity(0, places.size, &places.cpus.set);
}

bool od_lock_take_until(od_lock *lock, uint64_t end_ns)
{
    struct timespec end = od_clock_time(end_ns);
    bool taken = pthread_mutex_clocklock(&lock->mutex, CLOCK_MONOTONIC, &end) == 0;
    if (taken)
        od_lock_note(lock, true);
    return taken;
}

int od_thread_defer_cancellation(void)
{
    int before;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    return before;
}

void od_thread_admit_cancellation(int before)
{
    pthread_setcancelstate(before, NULL);
}

void od_condition_wait(pthread_cond_t *condition, od_lock *lock)
{
    int before = od_thread_defer_cancellation();
    pthread_cond_wait(condition, &lock->mutex);
    od_thread_admit_cancellation(before);
}

bool od_condition_wait_until(pthread_cond_t *condition, od_lock *lock, uint64_t end_ns)
{
    struct timespec end = od_clock_time(end_ns);
    int before = od_thread_defer_cancellation();
    bool late = pthread_cond_clockwait(condition, &lock->mutex, CLOCK_MONOTONIC, &end);
    od_thread_admit_cancellation(before);
    return !late;
}

void od_thread_nap(long ns)
{
    int before = od_thread_defer_cancellation();
    nanosleep(&(struct timespec){.tv_nsec = ns}, NULL);
    od_thread_admit_cancellation(before);
}

void od_condition_nap(pthread_cond_t *condition, od_lock *lock, long ns)
{
    od_condition_wait_until(condition, lock, od_clock_ns() + (uint64_t)ns);
}

long od_nap_until_asked(double left_ns, long least)
{
    const double most = 100e3;
    double nap_ns = left_ns > 0 ? left_ns / 2 : -left_ns / 16;
    return nap_ns < (double)least ? least : (long)(nap_ns < most ? nap_ns : most);
}

int od_thread_nap_short(void)
{
    int before = prctl(PR_GET_TIMERSLACK);
    prctl(PR_SET_TIMERSLACK, 1000);
    return before;
}

void od_thread_nap_as_before(int slack)
{
    prctl(PR_SET_TIMERSLACK, (unsigned long)slack);
}

/* --- the order of locks ------------------------------------------------------- */

#ifndef NDEBUG
enum { MOST_HELD = 64 };

static _Thread_local struct {
    const od_lock *lock[MOST_HELD]; /* in the order in which they were taken */
    size_t count;
} held;

static void add(const od_lock *lock)
{
    const od_lock *last = held.count ? held.lock[held.count - 1] : NULL;
    assert(!last || last->rank < lock->rank || (last->rank == lock->rank && last < lock));
    assert(held.count < MOST_HELD);
    held.lock[held.count++] = lock;
}

static void take_out(const od_lock *lock)
{
    size_t i = held.count;
    while (i > 0 && held.lock[i - 1] != lock)
        i--;
    assert(i > 0);
    held.count--;
    for (; i <= held.count; i++)
        held.lock[i - 1] = held.lock[i];
}

void od_lock_note(const od_lock *lock, bool taken)
{
    if (taken)
        add(lock);
    else
        take_out(lock);
}
#endif
