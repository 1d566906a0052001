/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Data, tasks and a random generator for tests of policies and eviction rules, without an engine. */
#ifndef OD_TESTS_SCHED_WORLD_H
#define OD_TESTS_SCHED_WORLD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sched/evict.h"
#include "sched/graph/known.h"
#include "sched/policy.h"

#include <stdlib.h>
#include <string.h>

static inline od_datum *world_datum(uint32_t id, size_t size, unsigned ndevices)
{
    od_datum *datum = calloc(1, sizeof *datum + ndevices * sizeof datum->replica[0]);
    assert_non_null(datum);
    datum->id = id;
    datum->base = 4096 * (uintptr_t)(id + 1);
    datum->size = size;
    datum->valid = od_placeset_of(OD_HOST);
    datum->home = OD_NOWHERE;
    for (unsigned k = 0; k < ndevices; k++)
        datum->replica[k].datum = datum;
    return datum;
}

/* A task that reads `nreads` of the data, given by index. */
static inline od_task *world_task(uint64_t id, od_datum *const *data, const uint32_t *reads, uint32_t nreads)
{
    od_task *task = calloc(1, sizeof *task);
    od_access *access = calloc(nreads ? nreads : 1, sizeof *access);
    assert_true(task && access);
    *task = (od_task){.id = id, .place = OD_NOWHERE, .bound = OD_NOWHERE, .duration = 1e-3, .naccess = nreads};
    task->access = access;
    for (uint32_t i = 0; i < nreads; i++)
        access[i] = (od_access){.datum = data[reads[i]], .mode = OD_READ};
    return task;
}

static inline void world_task_free(od_task *task)
{
    free(task->access);
    free(task);
}

/* One millisecond per byte from the host, half of it where another device holds the datum. */
static inline double world_transfer_time_from(void *engine, const od_datum *datum, od_placeset places, unsigned k)
{
    (void)engine;
    bool peer = od_placeset_intersect(places, od_placeset_without(od_placeset_below(OD_MAX_DEVICES), k));
    return (double)datum->size * (peer ? 0.5e-3 : 1e-3);
}

static inline double world_transfer_time(void *engine, const od_datum *datum, unsigned k)
{
    return world_transfer_time_from(engine, datum, datum->valid, k);
}

/* What devices have been given; the test keeps it. */
typedef struct world_loads {
    od_device_load device[OD_MAX_DEVICES];
} world_loads;

static inline od_device_load world_load(void *engine, unsigned k)
{
    const world_loads *loads = engine;
    return loads ? loads->device[k] : (od_device_load){0};
}

static inline od_policy_env world_env(unsigned ndevices, uint64_t seed, world_loads *loads)
{
    static const size_t memory = SIZE_MAX;
    return (od_policy_env){.ndevices = ndevices,
                           .buffer = 5,
                           .memory = &memory,
                           .seed = seed,
                           .engine = loads,
                           .transfer_time = world_transfer_time,
                           .transfer_time_from = world_transfer_time_from,
                           .inbound = 50,
                           .load = world_load};
}

/* `known` stays the caller's to destroy, after the policy: it is there where the policy wants it. */
static inline void *world_create_with(const od_policy_ops *ops, unsigned ndevices, uint64_t seed, od_known **known)
{
    od_policy_env env = world_env(ndevices, seed, NULL);
    void *state = NULL;
    *known = ops->wants_known ? od_known_create(ndevices, NULL, NULL) : NULL;
    assert_true(*known || !ops->wants_known);
    env.known = *known;
    assert_int_equal(od_policy_create(ops, &env, &state), OD_OK);
    return state;
}

static inline void *world_create(const od_policy_ops *ops, unsigned ndevices, uint64_t seed)
{
    od_policy_env env = world_env(ndevices, seed, NULL);
    void *state = NULL;
    assert_int_equal(od_policy_create(ops, &env, &state), OD_OK);
    return state;
}

/* The policy that a value of OMPDARTS_SCHED names. */
static inline void *world_choose(const char *text, od_policy_env env, const od_policy_ops **ops)
{
    od_policy_choice choice;
    char error[256];
    if (od_policy_choose(text, &choice, error, sizeof error))
        fail_msg("%s", error);
    env.values = choice.values;
    *ops = choice.ops;
    void *state = NULL;
    assert_int_equal(od_policy_create(choice.ops, &env, &state), OD_OK);
    return state;
}

/* A number below `limit`; xorshift64*. */
static inline uint32_t world_random(uint64_t *seed, uint32_t limit)
{
    *seed ^= *seed >> 12;
    *seed ^= *seed << 25;
    *seed ^= *seed >> 27;
    return (uint32_t)((*seed * UINT64_C(0x2545f4914f6cdd1d)) >> 33) % limit;
}

static inline void world_check(const od_policy_ops *ops, void *state)
{
    if (ops->is_valid)
        assert_true(ops->is_valid(state));
}

#endif
