/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* See staging.h. */
#include "memmgr/device/mpi/staging.h"

#include "util/memory.h"

#include <stdlib.h>

enum {
    LEAST_CLASS = 16, /* buffers have powers of two of bytes, from so many bits on, */
    CLASSES = 48,     /* below so many */
};

struct od_staging {
    const od_backend *local;
    od_list running;       /* od_stage.node */
    od_list free[CLASSES]; /* likewise, by size_class. Buffers are kept: pinning takes longer than a copy */
};

od_staging *od_staging_create(const od_backend *local)
{
    od_staging *s = od_calloc(1, sizeof *s);
    if (!s)
        return NULL;
    s->local = local;
    od_list_init(&s->running);
    for (unsigned i = 0; i < CLASSES; i++)
        od_list_init(&s->free[i]);
    return s;
}

/* --- buffers ----------------------------------------------------------------------- */

static unsigned class_of(size_t bytes)
{
    unsigned class = LEAST_CLASS;
    while (class < CLASSES && bytes > (size_t)1 << class)
        class ++;
    return class;
}

/* Not pinned where the back-end has no more of that, which is slower. */
static char *take_buffer(const od_backend *local, size_t bytes)
{
    char *buffer = local->ops->host_alloc ? local->ops->host_alloc(local->state, bytes) : NULL;
    return buffer ? buffer : od_malloc(bytes);
}

od_stage *od_stage_take(od_staging *s, size_t bytes)
{
    unsigned class = class_of(bytes);
    od_node *node = class < CLASSES ? od_list_pop_front(&s->free[class]) : NULL;
    od_stage *stage = node ? od_container_of(node, od_stage, node) : NULL;
    if (!stage && class < CLASSES && (stage = od_calloc(1, sizeof *stage))) {
        stage->buffer = take_buffer(s->local, (size_t)1 << class);
        stage->size_class = class;
    }
    if (stage && !stage->buffer) {
        free(stage);
        stage = NULL;
    }
    if (stage)
        stage->bytes = bytes;
    return stage;
}

void od_stage_give(od_staging *s, od_stage *stage)
{
    od_list_push_back(&s->free[stage->size_class], &stage->node);
}

/* --- copies ------------------------------------------------------------------------- */

static void start(od_staging *s, od_stage *stage, const od_copy *copy)
{
    const od_backend *local = s->local;
    stage->ticket = NULL;
    od_status status = local->ops->start(local->state, copy, &stage->ticket);
    if (status || !stage->ticket)
        stage->done(stage, status != OD_OK);
    else
        od_list_push_back(&s->running, &stage->node);
}

void od_stage_load(od_staging *s, od_stage *stage, unsigned to, void *to_address)
{
    const od_copy copy = {.to = (int)to,
                          .from = OD_HOST,
                          .to_address = to_address,
                          .from_address = stage->buffer,
                          .bytes = stage->bytes,
                          .host_base = (uintptr_t)stage->buffer,
                          .host_bytes = (size_t)1 << stage->size_class};
    start(s, stage, &copy);
}

void od_stage_save(od_staging *s, od_stage *stage, unsigned from, const void *from_address)
{
    const od_copy copy = {.to = OD_HOST,
                          .from = (int)from,
                          .to_address = stage->buffer,
                          .from_address = from_address,
                          .bytes = stage->bytes,
                          .host_base = (uintptr_t)stage->buffer,
                          .host_bytes = (size_t)1 << stage->size_class};
    start(s, stage, &copy);
}

void od_stage_pass(od_staging *s, od_stage *stage, unsigned to, void *to_address, unsigned from,
                   const void *from_address)
{
    const od_copy copy = {.to = (int)to,
                          .from = (int)from,
                          .to_address = to_address,
                          .from_address = from_address,
                          .bytes = stage->bytes};
    start(s, stage, &copy);
}

bool od_staging_poll(od_staging *s)
{
    const od_backend *local = s->local;
    bool any = false;
    od_list_each(node, &s->running) {
        od_stage *stage = od_container_of(node, od_stage, node);
        od_status status = local->ops->poll(local->state, stage->ticket);
        if (status == OD_EBUSY)
            continue;
        od_list_remove(&s->running, node);
        stage->done(stage, status != OD_OK);
        any = true;
    }
    return any;
}
