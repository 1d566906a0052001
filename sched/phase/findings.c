/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* See findings.h. */
#include "sched/phase/findings.h"

#include "util/memory.h"

#include <stdlib.h>
#include <string.h>

enum { PLACES = sizeof((od_findings *)0)->place / sizeof(od_finding) };

static void empty(od_finding *finding)
{
    free(finding->order);
    free(finding->place);
    *finding = (od_finding){0};
}

void od_findings_free(od_findings *f)
{
    for (unsigned i = 0; i < PLACES; i++)
        empty(&f->place[i]);
}

/* --- keys ------------------------------------------------------------------------------ */

static uint64_t mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 32;
}

static uint64_t mix_bytes(uint64_t hash, const void *bytes, size_t size)
{
    const char *at = bytes;
    uint64_t word;
    hash = mix(hash, size);
    for (; size >= sizeof word; at += sizeof word, size -= sizeof word) {
        memcpy(&word, at, sizeof word);
        hash = mix(hash, word);
    }
    word = 0;
    memcpy(&word, at, size);
    return mix(hash, word);
}

uint64_t od_findings_tasks_key(const od_phase_problem *p)
{
    uint32_t nt = p->ntasks, nuses = p->first_use[nt], nedges = p->first_successor[nt];
    uint64_t hash = mix(nt, p->nitems);
    hash = mix_bytes(hash, p->seconds, nt * sizeof *p->seconds);
    hash = p->speed_class ? mix_bytes(hash, p->speed_class, nt) : hash;
    hash = mix_bytes(hash, p->first_use, nt * sizeof *p->first_use);
    hash = mix_bytes(hash, p->use, nuses * sizeof *p->use);
    hash = mix_bytes(hash, p->writes, nuses * sizeof *p->writes);
    hash = mix_bytes(hash, p->first_successor, nt * sizeof *p->first_successor);
    hash = mix_bytes(hash, p->successor, nedges * sizeof *p->successor);
    hash = mix_bytes(hash, p->load, p->nitems * sizeof *p->load);
    return mix_bytes(hash, p->fresh, p->nitems * sizeof *p->fresh);
}

uint64_t od_findings_key(const od_snapshot *snapshot)
{
    const od_phase_problem *p = &snapshot->problem;
    uint64_t hash = mix(od_findings_tasks_key(p), (uint64_t)p->nkinds << 32 | p->window);
    hash = mix_bytes(hash, p->kind, p->ntasks * sizeof *p->kind);
    hash = mix_bytes(hash, p->size, p->nitems * sizeof *p->size);
    hash = mix_bytes(hash, p->resident, p->nitems * sizeof *p->resident);
    hash = mix_bytes(hash, snapshot->copies, p->nitems * sizeof *snapshot->copies);
    return mix_bytes(hash, &p->memory, sizeof p->memory);
}

uint64_t od_findings_mix(uint64_t key, od_findings_kind kind, const void *bytes, size_t size)
{
    return mix_bytes(mix(key, kind), bytes, size);
}

/* --- findings ---------------------------------------------------------------------------- */

const od_finding *od_findings_look_up(const od_findings *f, uint64_t key)
{
    const od_finding *finding = f ? &f->place[key % PLACES] : NULL;
    return finding && finding->key == key ? finding : NULL;
}

static bool copy(uint32_t **array, uint32_t ntasks)
{
    const uint32_t *from = *array;
    *array = from ? od_malloc((ntasks + 1) * sizeof *from) : NULL;
    if (*array)
        memcpy(*array, from, ntasks * sizeof *from);
    return *array || !from;
}

void od_findings_add(od_findings *f, const od_finding *finding, uint32_t ntasks)
{
    if (!f)
        return;
    od_finding *kept = &f->place[finding->key % PLACES];
    empty(kept);
    *kept = *finding;
    bool ok = copy(&kept->order, ntasks);
    ok &= copy(&kept->place, ntasks);
    if (!ok)
        empty(kept);
}
