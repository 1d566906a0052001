/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Host memory of the library's own. Some is held in reserve: when the system has no more, the reserve is given back,
 * once, and the request is tried again. So what is under way can end, and whoever begins something can look first
 * whether memory is short.
 *
 * The process's address space may be limited, too (`ulimit -v`). What the library reserves of it the program lacks
 * later, and some programs do not survive that, or ask for ever: so what is useful but not needed is reserved only
 * where it is a small part of what is left.
 */
#ifndef OD_UTIL_MEMORY_H
#define OD_UTIL_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

/* Holds so many bytes in reserve; called once. Less is held where there is less. */
void od_memory_reserve(size_t bytes);
/* True from when the reserve was given back. */
bool od_memory_is_short(void);

/* Bytes that the process may still reserve; SIZE_MAX: no limit. */
size_t od_space_left(void);
bool od_space_is_limited(void);
/* Whether something that is not needed may take so many bytes. */
bool od_space_admits(size_t bytes);

/* As in C; NULL: the reserve is used up as well. */
void *od_malloc(size_t bytes) __attribute__((malloc));
void *od_calloc(size_t n, size_t bytes) __attribute__((malloc));
void *od_realloc(void *old, size_t bytes);

#endif
