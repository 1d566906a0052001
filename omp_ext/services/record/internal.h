/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * What the files of a recording share: the text (file.c), indexes (table.c), which tasks precede which (order.c). All
 * under the recorder's lock.
 */
#ifndef OD_OMP_EXT_RECORD_INTERNAL_H
#define OD_OMP_EXT_RECORD_INTERNAL_H

#include "omp_ext/libomp/abi.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* --- file.c --- */

/* False: errno says why not. */
bool od_recording_open(const char *path);
/* Set and cleared under the lock; the first look is without it. */
extern atomic_bool od_recording_on __attribute__((visibility("hidden")));
static inline bool od_recording_is_on(void)
{
    return atomic_load_explicit(&od_recording_on, memory_order_acquire);
}

__attribute__((format(printf, 1, 2))) void od_recording_put(const char *format, ...);
void od_recording_end_line(void);
uint64_t od_recording_lines(void);
void od_recording_flush(void);
/* Nothing more is written, with a warning. */
void od_recording_give_up(const char *why);
void od_recording_close(void);

/* --- table.c --- */

/* What has been given an index: a datum, a kernel, an address of depend items. */
typedef struct od_recording_key {
    uint64_t first, second;
    uint32_t index;
    struct od_recording_key *next;
} od_recording_key;

typedef struct od_recording_table {
    od_recording_key **bucket;
    size_t nbuckets;
    uint32_t count;
} od_recording_table;

/* The index of a key; *is_new: it has just been given one. */
uint32_t od_recording_index(od_recording_table *table, uint64_t first, uint64_t second, bool *is_new);

/* --- order.c --- */

/* A new task's number; 0: out of memory. */
uint64_t od_recording_add_task(void);
/* It comes after those that libomp puts before one with this item of this thread's. */
void od_recording_order(uint64_t number, const od_depend *depend);
void od_recording_complete(uint64_t number);
/* Writes the numbers of the tasks before it, once. */
void od_recording_put_before(uint64_t number);

#endif
