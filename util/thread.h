/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Threads of the library inside somebody else's program: they leave its signals to its own threads, and run wherever
 * the process may run, not only where the program has bound the thread that starts them.
 */
#ifndef OD_UTIL_THREAD_H
#define OD_UTIL_THREAD_H

#include "util/lock.h"
#include "util/status.h"

#include <pthread.h>
#include <stdint.h>

/* Notes where the process may run: when the library is loaded, before anybody binds a thread. */
void od_thread_note_places(void);
/* What has been noted, and is noted so in a module, which has places of its own. */
const void *od_thread_places(size_t *bytes);
void od_thread_set_places(const void *noted, size_t bytes);
/* The calling thread, which is one of ours, has been bound by somebody: it may run anywhere again. */
void od_thread_go_anywhere(void);
#define OD_THREAD_PREFIX "od-" /* of the names of all threads that are started here */

/* Processors that the caller may use. */
unsigned od_thread_processors(void);
/* Where the calling thread's stack ends, which grows downwards from there; 0: not known. */
uintptr_t od_thread_stack_end(void);

/* Starts a thread that debuggers show by `name` (at most 15 characters count, the prefix among them). `thread` NULL: it
 * is detached and ends with the process. Its stack is small where the address space is limited. OD_ENOMEM: out of
 * threads. */
enum { OD_THREAD_SMALL_STACK = 1 << 20 };
od_status od_thread_start(pthread_t *thread, const char *name, void *(*run)(void *), void *arg);
/* Likewise, for code of the program: with a stack of the size that was set for it, or the usual one. */
void od_thread_set_program_stack(size_t bytes);
od_status od_thread_start_for_program(pthread_t *thread, const char *name, void *(*run)(void *), void *arg);

/* False: somebody else has it still at that time of od_clock_ns(). */
bool od_lock_take_until(od_lock *lock, uint64_t end_ns);
/*
 * Waits of threads that may be the program's, which may cancel them (pthread_cancel): it takes effect after the
 * construct that they are in, not in the middle of it.
 */
void od_condition_wait(pthread_cond_t *condition, od_lock *lock);
/* False: it is that time of od_clock_ns(). */
bool od_condition_wait_until(pthread_cond_t *condition, od_lock *lock, uint64_t end_ns);
void od_thread_nap(long ns);
/* Around other calls that may be cancellation points. */
int od_thread_defer_cancellation(void); /* returns what the other one takes */
void od_thread_admit_cancellation(int before);
/* Waits for it, for `ns` at most; a thread that does so often calls od_thread_nap_short() first: by
 * default a wait takes 50 us longer. */
void od_condition_nap(pthread_cond_t *condition, od_lock *lock, long ns);
int od_thread_nap_short(void); /* returns what the other one takes, for a thread of the program */
void od_thread_nap_as_before(int slack);
/* How long to nap before asking whether something has ended that is predicted to do so in `left_ns`: half of that, so
 * that the questions become more frequent towards its end. What is late is asked more and more seldom. `least` ns at
 * least. */
long od_nap_until_asked(double left_ns, long least);

#endif
