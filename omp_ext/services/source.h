/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Where compiled code comes from, as the compiler records it: names for people. */
#ifndef OD_OMP_EXT_SOURCE_H
#define OD_OMP_EXT_SOURCE_H

#include "omp_ext/tasks/entry.h"

/* The parts of a kernel's name, "__omp_offloading_<device id>_<file id>_<function>_l<line>". */
typedef struct od_region_name {
    const char *function; /* not terminated */
    int length;
    int line;
} od_region_name;

/* False: it is none. */
bool od_source_region(const char *kernel, od_region_name *region);

/* The file of ";file;function;line;column;;", not terminated. Returns its length; 0: compiled without -g. */
int od_source_file(const od_ident *ident, const char **file);

/* The variable of ";variable;file;line;column;;", as the program wrote it, not terminated. NULL: compiled without
 * -g. */
const char *od_source_variable(const char *map_name, size_t *length);

/* "file:line" of a construct. False: compiled without -g. */
bool od_source_place(const od_ident *ident, char *text, size_t size);

struct od_source {
    char name[128];   /* "function:line" of a kernel, C++ names in readable form; the symbol of other code, or "task" */
    char source[256]; /* "file:line", or empty */
};
typedef struct od_source od_source;

/* Of an entry, made at the first call. NULL: out of memory. Under the runtime's lock. */
const od_source *od_source_of(od_entry *entry);

#endif
