/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Order that ThreadSanitizer cannot see, because it is made by code that is not instrumented.
 */
#ifndef OD_UTIL_TSAN_H
#define OD_UTIL_TSAN_H

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define OD_THREAD_SANITIZER 1
#endif
#endif

#ifdef OD_THREAD_SANITIZER
#include <sanitizer/tsan_interface.h>
/* What this thread has done with the memory comes before ... */
#define OD_TSAN_RELEASE(address) __tsan_release(address)
/* ... what this thread does with it from now on. */
#define OD_TSAN_ACQUIRE(address) __tsan_acquire(address)
/* A function whose writes other threads read only after what it cannot see, such as libomp's start. */
#define OD_TSAN_BEFORE_ALL __attribute__((no_sanitize("thread")))
/* A function that ThreadSanitizer itself calls before it has started. */
#define OD_TSAN_CALLS __attribute__((disable_sanitizer_instrumentation))
/* It does not know pthread_clockjoin_np(), and calls threads that have been joined leaked. */
#define OD_JOIN_UNTIL(thread, end) ((void)(end), pthread_join((thread), NULL))
#else
#define OD_TSAN_BEFORE_ALL
#define OD_TSAN_CALLS
#define OD_JOIN_UNTIL(thread, end) pthread_clockjoin_np((thread), NULL, CLOCK_MONOTONIC, (end))
#define OD_TSAN_RELEASE(address) ((void)(address))
#define OD_TSAN_ACQUIRE(address) ((void)(address))
#endif

#endif
