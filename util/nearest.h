/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Which of the known words was meant by one that is not known. */
#ifndef OD_UTIL_NEAREST_H
#define OD_UTIL_NEAREST_H

enum { OD_NEAREST_LONGEST = 64 }; /* longer words are far from all */

/* The word of `known` (NULL-terminated) that `text` was probably meant to be, or NULL. */
const char *od_nearest_name(const char *text, const char *const *known);

#endif
