/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What the tests of batch scheduling share: small clusters, logs made in code, the ten variants, a plain simulator. */
#ifndef OD_TESTS_BATCH_WORLD_H
#define OD_TESTS_BATCH_WORLD_H

#include "batch/log/complete.h"
#include "batch/simulate.h"

/* cmocka.h wants these before it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { WORLD_PUBLISHED = 10, WORLD_VARIANTS = 12 }; /* the last two are our own */

typedef struct world_variant {
    const char *policy;
    bool backfill;
} world_variant;

extern const world_variant world_variants[WORLD_VARIANTS];

od_batch_settings world_settings(const world_variant *variant);
const char *world_name(const world_variant *variant); /* valid until the next call */

/* Jobs with all that simulations need, and random clusters and logs. */
void world_add(od_batch_log *log, double submit, double walltime, double duration, uint32_t cores, uint32_t file,
               double size);
void world_random(uint64_t *seed, uint32_t jobs, od_batch_cluster *cluster, od_batch_log *log);

/* The outcomes of the library; to be freed. */
od_batch_outcome *world_simulate(const od_batch_log *log, const od_batch_cluster *cluster, const world_variant *variant,
                                 bool whole);

/* The same by a simulator that is as simple as can be: it plans all waiting jobs at each event, looks at each core and
 * each second in which something changes, and remembers nothing. */
od_batch_outcome *plain_simulate(const od_batch_log *log, const od_batch_cluster *cluster,
                                 const world_variant *variant);

#endif
