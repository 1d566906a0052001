/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What a trace that is read is kept in: arrays that grow, and what of them has been met before. False: out of
 * memory. */
#ifndef OD_TOOLS_REPORT_TRACE_STORE_H
#define OD_TOOLS_REPORT_TRACE_STORE_H

#include "tools/report/trace/trace_types.h"

/* Room for element `count` of an array. NULL: out of memory. */
void *trace_grow(void *array, size_t count, size_t element);

#define TRACE_APPEND(file, array, n, value)                                                                            \
    ({                                                                                                                 \
        void *more = trace_grow((file)->array, (file)->n, sizeof *(file)->array);                                      \
        if (more) {                                                                                                    \
            (file)->array = more;                                                                                      \
            (file)->array[(file)->n++] = (value);                                                                      \
        }                                                                                                              \
        more != NULL;                                                                                                  \
    })

/* Finds names and data by their hashes. */
typedef struct trace_table {
    uint32_t *slot; /* index + 1; 0: free */
    size_t size;    /* a power of two */
} trace_table;

typedef struct trace_store {
    trace_file *file;
    trace_table names, data;
} trace_store;

bool trace_find_name(trace_store *store, const char *name, uint32_t *found);
bool trace_find_datum(trace_store *store, uintptr_t address, uint64_t bytes, uint32_t *found);
/* There are few: those of the program's source. NULL and "": TRACE_NO_NAME. */
bool trace_find_variable(trace_file *file, const char *name, uint32_t *found);
void trace_store_free(trace_store *store); /* not the file */

#endif
