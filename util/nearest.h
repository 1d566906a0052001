/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Which of the known words was meant by one that is not known. */
#ifndef OD_UTIL_NEAREST_H
#define OD_UTIL_NEAREST_H

#include <stddef.h>

enum { OD_NEAREST_LONGEST = 64 }; /* longer words are far from all */

/* The word of `known` (NULL-terminated) that `text` was probably meant to be, or NULL: one that differs by few letters,
 * or of which one is the beginning of the other. */
const char *od_nearest_name(const char *text, const char *const *known);

/* "unknown name; allowed: EXTRA, KNOWN, ...; did you mean KNOWN?"; `extra` may be NULL. */
void od_nearest_explain(const char *text, const char *extra, const char *const *known, char *cause, size_t size);

#endif
