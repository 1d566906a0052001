/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* See trace_store.h. */
#include "tools/report/trace/trace_store.h"

#include <stdlib.h>
#include <string.h>

void *trace_grow(void *array, size_t count, size_t element)
{
    if (count & (count - 1)) /* sizes are powers of two */
        return array;
    return realloc(array, (count ? 2 * count : 1) * element);
}

/* Room for one more than `count`. */
static bool rehash(trace_table *t, size_t count, uint64_t (*hash)(const trace_file *file, size_t i),
                   const trace_file *file)
{
    if (2 * (count + 1) < t->size)
        return true;
    size_t size = t->size ? 2 * t->size : 256;
    uint32_t *slot = calloc(size, sizeof *slot);
    if (!slot)
        return false;
    free(t->slot);
    *t = (trace_table){slot, size};
    for (size_t i = 0; i < count; i++) {
        size_t at = hash(file, i) & (size - 1);
        while (slot[at])
            at = (at + 1) & (size - 1);
        slot[at] = (uint32_t)i + 1;
    }
    return true;
}

static uint64_t hash_text(const char *text)
{
    uint64_t h = UINT64_C(1469598103934665603);
    for (; *text; text++)
        h = (h ^ (unsigned char)*text) * UINT64_C(1099511628211);
    return h ^ h >> 29;
}

static uint64_t hash_address(uint64_t address)
{
    address *= UINT64_C(0x9e3779b97f4a7c15);
    return address ^ address >> 32;
}

static uint64_t hash_name(const trace_file *file, size_t i)
{
    return hash_text(file->names[i]);
}

static uint64_t hash_datum(const trace_file *file, size_t i)
{
    return hash_address(file->data[i].address + file->data[i].size);
}

bool trace_find_name(trace_store *s, const char *name, uint32_t *found)
{
    trace_file *f = s->file;
    if (!rehash(&s->names, f->nnames, hash_name, f))
        return false;
    size_t at = hash_text(name) & (s->names.size - 1);
    for (; s->names.slot[at]; at = (at + 1) & (s->names.size - 1))
        if (strcmp(f->names[s->names.slot[at] - 1], name) == 0) {
            *found = s->names.slot[at] - 1;
            return true;
        }
    char *copy = strdup(name);
    if (!copy || !TRACE_APPEND(f, names, nnames, copy))
        return false;
    s->names.slot[at] = (uint32_t)f->nnames;
    *found = (uint32_t)f->nnames - 1;
    return true;
}

bool trace_find_datum(trace_store *s, uintptr_t address, uint64_t bytes, uint32_t *found)
{
    trace_file *f = s->file;
    trace_datum d = {address, bytes};
    if (!rehash(&s->data, f->ndata, hash_datum, f))
        return false;
    size_t at = hash_address(address + bytes) & (s->data.size - 1);
    for (; s->data.slot[at]; at = (at + 1) & (s->data.size - 1)) {
        const trace_datum *known = &f->data[s->data.slot[at] - 1];
        if (known->address == address && known->size == bytes) {
            *found = s->data.slot[at] - 1;
            return true;
        }
    }
    if (!TRACE_APPEND(f, data, ndata, d))
        return false;
    s->data.slot[at] = (uint32_t)f->ndata;
    *found = (uint32_t)f->ndata - 1;
    return true;
}

bool trace_find_variable(trace_file *f, const char *name, uint32_t *found)
{
    *found = TRACE_NO_NAME;
    if (!name || !*name)
        return true;
    for (*found = 0; *found < f->nvariables; ++*found)
        if (strcmp(f->variables[*found], name) == 0)
            return true;
    char *copy = strdup(name);
    return copy && TRACE_APPEND(f, variables, nvariables, copy);
}

void trace_store_free(trace_store *s)
{
    free(s->names.slot);
    free(s->data.slot);
}
