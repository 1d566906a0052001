/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Pointers in device copies. See relocate.h. */
#include "omp_ext/maps/structs/relocate.h"

#include "util/lock.h"

enum { WORDS = 64 }; /* per copy, at most */

typedef struct place {
    unsigned k;
} place;

static uintptr_t address_of(void *arg, const od_datum *pointee)
{
    return (uintptr_t)od_runtime_address(pointee, ((const place *)arg)->k);
}

/* The next words that lie side by side. 0: all are written. */
static unsigned next_words(const od_access *access, unsigned k, uint32_t *next, size_t *offset, uintptr_t *values)
{
    place here = {k};
    od_runtime_lock();
    od_patches *patches = access->datum->replica[k].patches;
    unsigned n = od_patches_due(patches, access->relocations, next, offset, values, WORDS, address_of, &here);
    od_runtime_unlock();
    return n;
}

od_status od_relocate(const od_access *access, unsigned k)
{
    /* What counts as written is written when another task that wants it as well asks. */
    static od_lock one_at_a_time[OD_MAX_DEVICES] = {
        [0 ... OD_MAX_DEVICES - 1] = OD_LOCK_OF(OD_LOCK_RELOCATE)};
    const od_backend *backend = od_runtime_backend();
    uintptr_t values[WORDS];
    uint32_t next = 0;
    size_t offset = 0;
    unsigned n;
    od_status status = OD_OK;
    od_lock_take(&one_at_a_time[k]);
    while (!status && (n = next_words(access, k, &next, &offset, values))) {
        char *to = (char *)od_runtime_address(access->datum, k) + offset;
        status = backend->ops->copy(backend->state, (int)k, to, OD_HOST, values, n * sizeof values[0]);
    }
    if (status) { /* what has been noted may not have arrived */
        od_runtime_lock();
        od_patches_spoil(access->datum->replica[k].patches);
        od_runtime_unlock();
    }
    od_lock_give(&one_at_a_time[k]);
    return status;
}
