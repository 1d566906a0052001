/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* See presence.h. All arithmetic is on differences, so that sections may reach the end of the address space. */
#include "memmgr/data/presence.h"

/* `address` lies in the mapping, which begins at or before it, or between it and its origin. */
static bool reaches_up_to(const od_mapping *m, uintptr_t address)
{
    return address - m->begin < m->size || address < m->origin;
}

static od_relation find_empty(od_neighbours near, uintptr_t address, const od_mapping **found)
{
    if (near.before && reaches_up_to(near.before, address))
        *found = near.before;
    else if (near.after && address >= near.after->origin)
        *found = near.after;
    return *found ? OD_INSIDE : OD_APART;
}

od_relation od_presence_find(od_neighbours near, uintptr_t begin, size_t size, const od_mapping **found)
{
    const od_mapping *before = near.before, *after = near.after;
    *found = NULL;
    if (size == 0)
        return find_empty(near, begin, found);
    if (before && begin - before->begin < before->size) {
        *found = before;
        return size <= before->size - (begin - before->begin) ? OD_INSIDE : OD_ACROSS;
    }
    if (after && size > after->begin - begin)
        *found = after;
    return *found ? OD_ACROSS : OD_APART;
}

od_verdict od_presence_judge(od_naming naming, od_relation relation, const od_section *section)
{
    /* Across the edge of a mapping: written by the program, or implicit. Not to use it is as if it were apart. */
    static const bool uses_across[OD_NAMINGS][2] = {
        [OD_NAMING_ENTER] = {false, true},
        [OD_NAMING_LEAVE] = {false, true},
        [OD_NAMING_MOVE] = {false, false},
        [OD_NAMING_SHOW] = {true, true},
    };
    if (relation == OD_INSIDE || (relation == OD_ACROSS && uses_across[naming][section->implicit]))
        return OD_VERDICT_USE;
    if (naming == OD_NAMING_SHOW)
        return OD_VERDICT_NOTHING;
    if (section->present || (naming == OD_NAMING_ENTER && relation == OD_ACROSS))
        return OD_VERDICT_REFUSE;
    return naming == OD_NAMING_ENTER && section->size ? OD_VERDICT_MAKE : OD_VERDICT_NOTHING;
}

bool od_presence_give_back(uint32_t *count, uint32_t other, bool all)
{
    if (all)
        *count = 1;
    bool last = *count == 1 && other == 0;
    *count -= *count > 0;
    return last;
}
