/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Attached pointers: a tree by slot. See attach.h. */
#include "memmgr/data/attach.h"

#include "util/container/tree.h"
#include "util/memory.h"

#include <stdlib.h>
#include <string.h>

typedef struct attached {
    od_tree_node node; /* in `slots`; comes first */
    od_attachment is;
} attached;

struct od_attachments {
    od_tree slots;
    unsigned users;
};

static od_tree_key key_of(uintptr_t slot)
{
    return (od_tree_key){slot, 0};
}

od_attachments *od_attachments_create(void)
{
    od_attachments *set = od_calloc(1, sizeof *set);
    if (set)
        set->users = 1;
    return set;
}

od_attachments *od_attachments_hold(od_attachments *set)
{
    if (set)
        set->users++;
    return set;
}

void od_attachments_release(od_attachments *set)
{
    if (!set || --set->users)
        return;
    for (od_tree_node *node; (node = od_tree_last(&set->slots));) {
        od_tree_remove(&set->slots, node);
        free(node);
    }
    free(set);
}

od_status od_attachments_set(od_attachments *set, const od_attachment *attachment)
{
    attached *a = (attached *)(void *)od_tree_find(&set->slots, key_of(attachment->slot));
    if (!a) {
        a = od_calloc(1, sizeof *a);
        if (!a)
            return OD_ENOMEM;
        od_tree_insert(&set->slots, &a->node, key_of(attachment->slot));
    }
    a->is = *attachment;
    return OD_OK;
}

size_t od_attachments_count(const od_attachments *set)
{
    return set ? set->slots.count : 0;
}

const od_attachment *od_attachments_next(const od_attachments *set, uintptr_t from, uintptr_t end)
{
    const attached *a = set ? (const attached *)(const void *)od_tree_ceiling(&set->slots, key_of(from)) : NULL;
    return a && a->is.slot < end ? &a->is : NULL;
}

/* The first slot of which a part lies in [base, base+size). */
static const od_attachment *first_at(const od_attachments *set, uintptr_t base, size_t size)
{
    uintptr_t before = sizeof(void *) - 1;
    return od_attachments_next(set, base < before ? 0 : base - before, base + size);
}

bool od_attachments_overlap(const od_attachments *set, uintptr_t base, size_t size)
{
    return first_at(set, base, size) != NULL;
}

/* The part of the slot that lies in [base, end). */
static void restore(const od_attachment *a, uintptr_t base, uintptr_t end)
{
    uintptr_t from = a->slot > base ? a->slot : base, to = a->slot + sizeof a->pointer;
    to = to < end ? to : end;
    const char *value = (const char *)&a->pointer + (from - a->slot);
    if (to > from && memcmp((const void *)from, value, to - from) != 0)
        memcpy((void *)from, value, to - from);
}

void od_attachments_deliver(const od_attachments *set, uintptr_t base, size_t size, const char *from)
{
    uintptr_t at = base, end = base + size;
    const od_attachment *a = first_at(set, base, size);
    for (; a; a = od_attachments_next(set, a->slot + 1, end)) {
        if (a->slot > at)
            memcpy((void *)at, from + (at - base), a->slot - at);
        restore(a, base, end);
        uintptr_t behind = a->slot + sizeof a->pointer;
        at = behind > at ? behind : at;
    }
    if (at < end)
        memcpy((void *)at, from + (at - base), end - at);
}
