/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Places, and sets of them.
 *
 * A place is a device, 0 to OD_MAX_DEVICES - 1, or one of the special ones, which are the last bits of a set. A set has
 * as many words as the build's number of devices needs (OMPDARTS_MAX_DEVICES). With one word each function is the few
 * instructions that an integer would need; with several, what concerns one place touches one word, and a walk skips
 * empty words, so that it costs what the places in the set cost.
 */
#ifndef OD_MEMMGR_DATA_PLACESET_H
#define OD_MEMMGR_DATA_PLACESET_H

#include <stdbool.h>
#include <stdint.h>

#ifndef OMPDARTS_MAX_DEVICES
#define OMPDARTS_MAX_DEVICES 61 /* with the special places one word */
#endif

enum {
    OD_MAX_DEVICES = OMPDARTS_MAX_DEVICES,
    OD_PLACE_WORDS = (OD_MAX_DEVICES + 3 + 63) / 64,
    OD_RECIPE = 64 * OD_PLACE_WORDS - 3, /* no place: contents made again by a task (sched/engine/data/recompute.h) */
    OD_SPILL = 64 * OD_PLACE_WORDS - 2,  /* the spill area of the datum's region as a place */
    OD_HOST = 64 * OD_PLACE_WORDS - 1,   /* the program's own memory as a place */
    OD_NOWHERE = -1,                     /* no place */
};

typedef struct od_placeset {
    uint64_t word[OD_PLACE_WORDS];
} od_placeset;

/* The empty set. */
#define OD_NO_PLACES ((od_placeset){{0}})

/* --- one place ------------------------------------------------------------------------------- */

/* Places are int where they may be OD_NOWHERE, and unsigned where they are devices: int64_t takes both. */
static inline unsigned od_placeset_word(int64_t place)
{
    return OD_PLACE_WORDS == 1 ? 0 : (unsigned)place / 64; /* compilers keep what has a constant index in a register */
}

static inline uint64_t od_placeset_bit(int64_t place)
{
    return UINT64_C(1) << ((unsigned)place % 64);
}

static inline bool od_placeset_has(od_placeset set, int64_t place)
{
    return set.word[od_placeset_word(place)] & od_placeset_bit(place);
}

static inline void od_placeset_add(od_placeset *set, int64_t place)
{
    set->word[od_placeset_word(place)] |= od_placeset_bit(place);
}

static inline void od_placeset_remove(od_placeset *set, int64_t place)
{
    set->word[od_placeset_word(place)] &= ~od_placeset_bit(place);
}

static inline od_placeset od_placeset_of(int64_t place)
{
    od_placeset set = OD_NO_PLACES;
    od_placeset_add(&set, place);
    return set;
}

static inline od_placeset od_placeset_with(od_placeset set, int64_t place)
{
    od_placeset_add(&set, place);
    return set;
}

static inline od_placeset od_placeset_without(od_placeset set, int64_t place)
{
    od_placeset_remove(&set, place);
    return set;
}

/* --- sets ------------------------------------------------------------------------------------ */

/* The places 0 to n - 1. */
static inline od_placeset od_placeset_below(unsigned n)
{
    od_placeset set = OD_NO_PLACES;
    for (unsigned w = 0; w < od_placeset_word(n); w++)
        set.word[w] = UINT64_MAX;
    set.word[od_placeset_word(n)] = od_placeset_bit(n) - 1;
    return set;
}

/* Those that are devices. */
static inline od_placeset od_placeset_devices(od_placeset set)
{
    set.word[OD_PLACE_WORDS - 1] &= od_placeset_bit(OD_RECIPE) - 1;
    return set;
}

static inline od_placeset od_placeset_union(od_placeset a, od_placeset b)
{
    for (unsigned w = 0; w < OD_PLACE_WORDS; w++)
        a.word[w] |= b.word[w];
    return a;
}

static inline od_placeset od_placeset_intersection(od_placeset a, od_placeset b)
{
    for (unsigned w = 0; w < OD_PLACE_WORDS; w++)
        a.word[w] &= b.word[w];
    return a;
}

/* Those of a that are not in b. */
static inline od_placeset od_placeset_minus(od_placeset a, od_placeset b)
{
    for (unsigned w = 0; w < OD_PLACE_WORDS; w++)
        a.word[w] &= ~b.word[w];
    return a;
}

static inline bool od_placeset_is_empty(od_placeset set)
{
    uint64_t any = 0;
    for (unsigned w = 0; w < OD_PLACE_WORDS; w++)
        any |= set.word[w];
    return !any;
}

static inline bool od_placeset_equal(od_placeset a, od_placeset b)
{
    uint64_t differ = 0;
    for (unsigned w = 0; w < OD_PLACE_WORDS; w++)
        differ |= a.word[w] ^ b.word[w];
    return !differ;
}

/* True where it is the only one. */
static inline bool od_placeset_is_only(od_placeset set, int64_t place)
{
    return od_placeset_equal(set, od_placeset_of(place));
}

static inline bool od_placeset_intersect(od_placeset a, od_placeset b)
{
    return !od_placeset_is_empty(od_placeset_intersection(a, b));
}

static inline unsigned od_placeset_count(od_placeset set)
{
    unsigned count = 0;
    for (unsigned w = 0; w < OD_PLACE_WORDS; w++)
        count += (unsigned)__builtin_popcountll(set.word[w]);
    return count;
}

/* --- as text --------------------------------------------------------------------------------- */

enum { OD_PLACESET_TEXT = 16 * OD_PLACE_WORDS + 1 }; /* bytes that one takes */

/* A hexadecimal number, bit p for place p; returns `text`. */
const char *od_placeset_write(od_placeset set, char text[OD_PLACESET_TEXT]);
/* False: the text is none. */
bool od_placeset_read(const char *text, od_placeset *set);

/* --- walks ----------------------------------------------------------------------------------- */

/*
 * Ascending, over the set as it is when the walk begins:
 *
 *     for (od_placeset_walk at = od_placeset_begin(set); od_placeset_next(&at);)
 *         use(at.place);
 */
typedef struct od_placeset_walk {
    od_placeset left;
    unsigned word;
    unsigned place;
} od_placeset_walk;

static inline od_placeset_walk od_placeset_begin(od_placeset set)
{
    return (od_placeset_walk){.left = set};
}

/* False: there are no more. */
static inline bool od_placeset_next(od_placeset_walk *at)
{
    unsigned w = OD_PLACE_WORDS == 1 ? 0 : at->word;
    while (!at->left.word[w])
        if (++w >= OD_PLACE_WORDS)
            return false;
    at->place = 64 * w + (unsigned)__builtin_ctzll(at->left.word[w]);
    at->left.word[w] &= at->left.word[w] - 1;
    at->word = w;
    return true;
}

/*
 * The places that are in two sets, which are not copied. They may change at places that have been passed.
 *
 *     for (od_placeset_walk2 at = od_placeset_begin2(&a, &b); od_placeset_next2(&at);)
 *         use(at.place);
 */
typedef struct od_placeset_walk2 {
    const od_placeset *a, *b;
    uint64_t left; /* of the word */
    unsigned word;
    unsigned place;
} od_placeset_walk2;

static inline od_placeset_walk2 od_placeset_begin2(const od_placeset *a, const od_placeset *b)
{
    return (od_placeset_walk2){.a = a, .b = b, .left = a->word[0] & b->word[0]};
}

/* False: there are no more. */
static inline bool od_placeset_next2(od_placeset_walk2 *at)
{
    while (!at->left) {
        if (++at->word >= OD_PLACE_WORDS)
            return false;
        at->left = at->a->word[at->word] & at->b->word[at->word];
    }
    at->place = 64 * at->word + (unsigned)__builtin_ctzll(at->left);
    at->left &= at->left - 1;
    return true;
}

/* Of a set that is not empty. */
static inline unsigned od_placeset_first(od_placeset set)
{
    unsigned w = 0;
    while (!set.word[w] && w + 1 < OD_PLACE_WORDS)
        w++;
    return 64 * w + (unsigned)__builtin_ctzll(set.word[w]);
}

#endif
