/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Damaged documents for tests of readers: bytes exchanged, pieces left out or repeated, cut off, words replaced. The
 * same for a seed on every machine. Failures are cmocka's.
 */
#ifndef TESTS_UNIT_DAMAGE_H
#define TESTS_UNIT_DAMAGE_H

#include <stddef.h>
#include <stdint.h>

enum { DAMAGE_MOST = 16384 };

typedef struct document {
    char text[DAMAGE_MOST];
    size_t length;
} document;

/* What a format is sensitive to. */
typedef struct damage_alphabet {
    const char *bytes; /* that others become, one of them may be 0 */
    size_t nbytes;
    const char *const *words; /* that words become */
    size_t nwords;
    const char *ends; /* bytes between words */
} damage_alphabet;

/* The first bytes of the file, at most `most`. */
document damage_load(const char *path, size_t most);
/* The document with one to three damages. */
document damage(const document *doc, const damage_alphabet *alphabet, uint64_t *seed);

#endif
