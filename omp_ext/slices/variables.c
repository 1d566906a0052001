/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* See variables.h. */
#include "omp_ext/slices/variables.h"

#include "omp_ext/process/memory.h"
#include "omp_ext/process/signals/faults.h"
#include "omp_ext/runtime/runtime.h"
#include "omp_ext/slices/slice.h"
#include "util/memory.h"
#include "util/thread.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unwind.h>

enum { MOST_ALIGNED = 4096 }; /* bytes; a variable with more gets less in the copy */

/* --- the frame ------------------------------------------------------------------ */

typedef struct search {
    const void *from; /* where the function goes on */
    bool found;
    uintptr_t end; /* of its frame; 0: not found yet */
} search;

/* The frame that is found ends where that of its caller begins. */
static _Unwind_Reason_Code look(struct _Unwind_Context *context, void *arg)
{
    search *s = arg;
    if (s->found) {
        s->end = (uintptr_t)_Unwind_GetCFA(context);
        return _URC_END_OF_STACK;
    }
    s->found = (const void *)_Unwind_GetIP(context) == s->from; // NOLINT(performance-no-int-to-ptr)
    return _URC_NO_REASON;
}

static uintptr_t frame_end(const void *from)
{
    search s = {.from = from};
    _Unwind_Backtrace(look, &s);
    return s.end;
}

/* Words that are addresses of what is copied: of an object that points to itself, or left over from an earlier call. */
static bool points_to_itself(const unsigned char *frame, size_t bytes)
{
    uintptr_t begin = (uintptr_t)frame, word;
    for (size_t at = -begin % sizeof word; at + sizeof word <= bytes; at += sizeof word) {
        memcpy(&word, frame + at, sizeof word);
        if (word - begin < bytes)
            return true;
    }
    return false;
}

/* --- copies --------------------------------------------------------------------- */

/* A pointer to the launch's data, of which each device has its own: its variable is no other slice's. */
static bool holds_data(const unsigned char *variable, const unsigned char *end)
{
    uintptr_t word = 0;
    if ((size_t)(end - variable) >= sizeof word)
        memcpy(&word, variable, sizeof word);
    return od_runtime_pool_of(word) != OD_NOWHERE || od_faults_may_be_at(word);
}

static void copy_frame(od_variables *v)
{
    v->memory = od_malloc(v->bytes + MOST_ALIGNED);
    od_expect_memory(v->memory);
    uintptr_t memory = (uintptr_t)v->memory;
    v->copy = (unsigned char *)v->memory + ((uintptr_t)v->frame - memory) % MOST_ALIGNED;
    memcpy(v->copy, v->frame, v->bytes);
}

static bool is_on_stack(const void *argument)
{
    return (uintptr_t)argument > (uintptr_t)__builtin_frame_address(0) && (uintptr_t)argument < od_thread_stack_end();
}

/* False: there are variables that cannot be copied. */
static bool copy(od_variables *v, void *const *args, size_t count, const void *from)
{
    unsigned char *lowest = NULL, *highest = NULL;
    v->known = true;
    for (size_t i = 0; i < count; i++) {
        if (!is_on_stack(args[i]))
            continue;
        unsigned char *variable = args[i];
        lowest = !lowest || variable < lowest ? variable : lowest;
        highest = variable > highest ? variable : highest;
    }
    if (!lowest)
        return true;
    uintptr_t end = frame_end(from);
    if ((uintptr_t)highest >= end || points_to_itself(lowest, end - (uintptr_t)lowest))
        return false;
    v->arguments = count;
    v->frame = lowest;
    v->bytes = end - (uintptr_t)lowest;
    copy_frame(v);
    v->offset = od_calloc(count, sizeof *v->offset);
    od_expect_memory(v->offset);
    for (size_t i = 0; i < count; i++) {
        uintptr_t offset = (uintptr_t)args[i] - (uintptr_t)lowest;
        bool is_shared = offset < v->bytes && !holds_data(v->copy + offset, v->copy + v->bytes);
        v->offset[i] = is_shared ? offset : OD_NO_VARIABLE;
    }
    return true;
}

static void use(const od_variables *v, void **args, size_t count)
{
    for (size_t i = 0; v->memory && i < count && i < v->arguments; i++)
        if (v->offset[i] != OD_NO_VARIABLE && is_on_stack(args[i]) &&
            !holds_data(args[i], (unsigned char *)args[i] + sizeof(uintptr_t)))
            args[i] = v->copy + v->offset[i];
}

/* Nothing more is to be found out about the kernel. */
static bool is_known(const od_slice *slice)
{
    return !slice->variables && atomic_load_explicit(slice->seen, memory_order_relaxed) & OD_SEEN_PRIVATE;
}

void od_variables_share(od_variables *own, void **args, size_t count, const void *from)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    const od_slice *slice = od_self.slice;
    od_variables *v = slice && slice->variables ? slice->variables : own;
    if (!slice || is_known(slice))
        return;
    pthread_mutex_lock(&lock);
    if (!v->known && !copy(v, args, count, from))
        od_slice_see(OD_SEEN_PRIVATE);
    pthread_mutex_unlock(&lock);
    use(v, args, count);
}

void od_variables_give_back(od_variables *own)
{
    if (own->memory && memcmp(own->frame, own->copy, own->bytes) != 0) {
        od_slice_see(OD_SEEN_PRIVATE);
        memcpy(own->frame, own->copy, own->bytes);
    }
    od_variables_free(own);
}

void od_variables_free(od_variables *v)
{
    free(v->memory);
    free(v->offset);
    *v = (od_variables){0};
}
