/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* FNV-1a, 64 bits: the same on every machine, so that it may be kept in files. */
#ifndef OD_UTIL_CONTAINER_HASH_H
#define OD_UTIL_CONTAINER_HASH_H

#include <stddef.h>
#include <stdint.h>

#define OD_HASH_START UINT64_C(14695981039346656037)

/* Of what `hash` is of (OD_HASH_START: of nothing), followed by these bytes. */
static inline uint64_t od_hash(uint64_t hash, const void *bytes, size_t size)
{
    const unsigned char *at = bytes;
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ at[i]) * UINT64_C(1099511628211);
    return hash;
}

#endif
