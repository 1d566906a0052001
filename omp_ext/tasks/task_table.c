/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Records of libomp tasks by address. See task_table.h. */
#include "omp_ext/tasks/task_table.h"

#include "omp_ext/runtime/runtime.h"

#include <stdint.h>
#include <stdlib.h>

/* A fork takes all locks, and ThreadSanitizer can follow 64 that one thread holds. */
enum { SHARD_BITS = 5, SHARDS = 1 << SHARD_BITS, BUCKETS = 512 };

static struct shard {
    od_lock lock; /* protects the buckets */
    od_record *bucket[BUCKETS];
} shards[SHARDS] = {[0 ... SHARDS - 1] = {.lock = OD_LOCK_OF(OD_LOCK_RECORDS)}};

static uint64_t hash(const void *task)
{
    return (uint64_t)(uintptr_t)task * UINT64_C(0x9e3779b97f4a7c15);
}

static struct shard *shard_of(const void *task)
{
    return &shards[hash(task) >> (64 - SHARD_BITS)];
}

static od_record **bucket_of(struct shard *s, const void *task)
{
    return &s->bucket[(hash(task) >> 48) % BUCKETS];
}

static od_record **locate(struct shard *s, const void *task)
{
    od_record **at = bucket_of(s, task);
    while (*at && (*at)->task != task)
        at = &(*at)->next;
    return at;
}

void od_task_table_add(od_record *record)
{
    struct shard *s = shard_of(record->task);
    od_lock_take(&s->lock);
    od_record **bucket = bucket_of(s, record->task);
    record->next = *bucket;
    *bucket = record;
    od_lock_give(&s->lock);
}

od_record *od_task_table_find(const void *task)
{
    struct shard *s = shard_of(task);
    od_lock_take(&s->lock);
    od_record *record = *locate(s, task);
    od_lock_give(&s->lock);
    return record;
}

od_record *od_task_table_take(const void *task)
{
    struct shard *s = shard_of(task);
    od_lock_take(&s->lock);
    od_record **at = locate(s, task);
    od_record *record = *at;
    if (record)
        *at = record->next;
    od_lock_give(&s->lock);
    return record;
}

void od_record_free(od_record *record)
{
    if (record->gate)
        od_gate_release(record->gate);
    free(record->depends);
    free(record);
}

void od_task_table_locks(void (*visit)(od_lock *lock))
{
    for (size_t i = 0; i < SHARDS; i++)
        visit(&shards[i].lock);
}
