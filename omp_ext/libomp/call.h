/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Calls of functions whose number of arguments is known at run time only: the code of a parallel region gets one
 * pointer for each variable that it shares.
 */
#ifndef OD_OMP_EXT_CALL_H
#define OD_OMP_EXT_CALL_H

#include <stdbool.h>
#include <stddef.h>

enum { OD_CALL_MIN = 8 }; /* words[0..OD_CALL_MIN) must be readable, however few there are: they fill registers */

/* Calls function(words[0], …, words[count - 1]), all integers or pointers; it may be variadic. What it returns is
 * lost. */
void od_call(void (*function)(void), size_t count, void *const *words) __attribute__((visibility("hidden")));

/* Whether the program looks at what a call has returned, of which `from` is the return address: code that clang has
 * made with -fopenmp-offload-mandatory has no host version of a kernel, and does not ask whether that is to run. True
 * where it is not known: on other processors, and in code that is not optimised. */
bool od_call_result_is_used(const void *from) __attribute__((visibility("hidden")));

/*
 * The variadic entry points. C cannot pass their arguments on as they are; where it can be written, they jump to
 * libomp's while od_forward_… names these, and to OD_FORK_CALL and OD_FORK_TEAMS otherwise.
 */
#if (defined(__x86_64__) && !defined(__ILP32__)) || (defined(__aarch64__) && defined(__linux__))
#define OD_FORK_CALL od_fork_call
#define OD_FORK_TEAMS od_fork_teams
#else
#define OD_FORK_CALL __kmpc_fork_call
#define OD_FORK_TEAMS __kmpc_fork_teams
#endif

extern void *od_forward_fork_call __attribute__((visibility("hidden"))); /* libomp's, or NULL */
extern void *od_forward_fork_teams __attribute__((visibility("hidden")));

#endif
