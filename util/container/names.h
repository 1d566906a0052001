/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Words, each with a number, from 0 in the order in which they came. A zeroed od_names is empty. */
#ifndef OD_UTIL_CONTAINER_NAMES_H
#define OD_UTIL_CONTAINER_NAMES_H

#include "util/container/index.h"

typedef struct od_names {
    char **text;    /* malloc'ed, by number */
    uint32_t *like; /* by number: the next one with the same hash */
    uint32_t count, room;
    od_index by_hash;
} od_names;

/* The number of a word, new or known; OD_NO_POSITION: out of memory. */
uint32_t od_names_number(od_names *names, const char *word);
/* OD_NO_POSITION: not there. */
uint32_t od_names_find(const od_names *names, const char *word);
void od_names_free(od_names *names);

#endif
