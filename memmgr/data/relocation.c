/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Relocations and patches: merges of sorted arrays. See relocation.h. */
#include "memmgr/data/relocation.h"
#include "util/memory.h"

#include <assert.h>
#include <stdlib.h>

typedef struct patch {
    size_t offset;
    const od_datum *pointee; /* counts while there are users */
    ptrdiff_t delta;
    uint32_t users;
    uintptr_t holds; /* device address that the word holds, 0: unknown */
} patch;

struct od_patches {
    uint32_t count;
    patch at[];
};

od_relocations *od_relocations_create(uint32_t capacity)
{
    return od_calloc(1, sizeof(od_relocations) + capacity * sizeof(od_relocation));
}

static int by_offset(const void *a, const void *b)
{
    size_t x = ((const od_relocation *)a)->offset, y = ((const od_relocation *)b)->offset;
    return (x > y) - (x < y);
}

void od_relocations_sort(od_relocations *r)
{
    qsort(r->at, r->count, sizeof r->at[0], by_offset);
}

bool od_relocations_agree(const od_relocations *a, const od_relocations *b)
{
    if (a == b || !a || !b)
        return true;
    for (uint32_t i = 0, j = 0; i < a->count && j < b->count;) {
        const od_relocation *x = &a->at[i], *y = &b->at[j];
        if (x->offset == y->offset && (x->pointee != y->pointee || x->delta != y->delta))
            return false;
        i += x->offset <= y->offset;
        j += y->offset <= x->offset;
    }
    return true;
}

static uint32_t count_of(const od_patches *patches)
{
    return patches ? patches->count : 0;
}

bool od_patches_allow(const od_patches *patches, const od_relocations *wanted)
{
    for (uint32_t i = 0, j = 0; i < wanted->count && j < count_of(patches);) {
        const od_relocation *w = &wanted->at[i];
        const patch *p = &patches->at[j];
        if (w->offset == p->offset && p->users && (w->pointee != p->pointee || w->delta != p->delta))
            return false;
        i += w->offset <= p->offset;
        j += p->offset <= w->offset;
    }
    return true;
}

/* How many of the words have no patch yet. */
static uint32_t count_new(const od_patches *patches, const od_relocations *wanted)
{
    uint32_t n = 0, j = 0;
    for (uint32_t i = 0; i < wanted->count; i++) {
        while (j < count_of(patches) && patches->at[j].offset < wanted->at[i].offset)
            j++;
        n += j == count_of(patches) || patches->at[j].offset != wanted->at[i].offset;
    }
    return n;
}

/* The same patches, and one without users for each word that had none. */
static od_status extend(od_patches **patches, const od_relocations *wanted, uint32_t added)
{
    uint32_t old = count_of(*patches), count = old + added;
    od_patches *more = od_calloc(1, sizeof *more + count * sizeof more->at[0]);
    if (!more)
        return OD_ENOMEM;
    for (uint32_t i = 0, j = 0; more->count < count; more->count++) {
        bool known = j < old && (i == wanted->count || (*patches)->at[j].offset <= wanted->at[i].offset);
        patch *p = &more->at[more->count];
        if (known) {
            i += i < wanted->count && (*patches)->at[j].offset == wanted->at[i].offset;
            *p = (*patches)->at[j++];
        } else {
            p->offset = wanted->at[i++].offset;
        }
    }
    free(*patches);
    *patches = more;
    return OD_OK;
}

/* The patch of the word, at or after *j. */
static patch *find(od_patches *patches, uint32_t *j, size_t offset)
{
    while (patches->at[*j].offset != offset) {
        ++*j;
        assert(*j < patches->count);
    }
    return &patches->at[*j];
}

od_status od_patches_take(od_patches **patches, const od_relocations *wanted)
{
    uint32_t added = count_new(*patches, wanted);
    if (added && extend(patches, wanted, added))
        return OD_ENOMEM;
    for (uint32_t i = 0, j = 0; i < wanted->count; i++) {
        patch *p = find(*patches, &j, wanted->at[i].offset);
        assert(!p->users || (p->pointee == wanted->at[i].pointee && p->delta == wanted->at[i].delta));
        p->pointee = wanted->at[i].pointee;
        p->delta = wanted->at[i].delta;
        p->users++;
    }
    return OD_OK;
}

void od_patches_leave(od_patches *patches, const od_relocations *wanted)
{
    for (uint32_t i = 0, j = 0; i < wanted->count; i++)
        find(patches, &j, wanted->at[i].offset)->users--;
}

void od_patches_spoil(od_patches *patches)
{
    for (uint32_t j = 0; j < count_of(patches); j++)
        patches->at[j].holds = 0;
}

void od_patches_free(od_patches *patches)
{
    free(patches);
}

unsigned od_patches_due(od_patches *patches, const od_relocations *wanted, uint32_t *next, size_t *offset,
                        uintptr_t *values, unsigned room, uintptr_t (*address)(void *arg, const od_datum *pointee),
                        void *arg)
{
    unsigned n = 0;
    for (uint32_t j = *next; *next < wanted->count && n < room; ++*next) { /* there is a patch for each word before */
        const od_relocation *w = &wanted->at[*next];
        uintptr_t value = address(arg, w->pointee) + (uintptr_t)w->delta;
        patch *p = find(patches, &j, w->offset);
        if (n && (p->holds == value || w->offset != *offset + n * sizeof *values))
            break;
        if (p->holds == value)
            continue;
        if (!n)
            *offset = w->offset;
        values[n++] = value;
        p->holds = value;
    }
    return n;
}

bool od_patches_include(const od_patches *patches, size_t offset)
{
    uint32_t first = 0, count = patches ? patches->count : 0;
    while (count) {
        uint32_t half = count / 2;
        bool before = patches->at[first + half].offset < offset;
        first += before ? half + 1 : 0;
        count = before ? count - half - 1 : half;
    }
    return patches && first < patches->count && patches->at[first].offset == offset;
}
