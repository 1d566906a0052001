/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * `omp interop` where a device is current for the program's own code (queue.h): its object is ours, and its queue is
 * that of ompdarts_stream(), so that a program may use either. Everywhere else libomptarget answers.
 *
 * Properties are numbered as in omp.h. What an object of ours holds is valid until it is destroyed, or the code's
 * device is not current any more.
 */
#include "omp_ext/hooks/ompdarts.h"
#include "omp_ext/libomp/real.h"
#include "omp_ext/libomp/thread.h"
#include "omp_ext/slices/early.h"
#include "omp_ext/tasks/launch/queue.h"
#include "util/lock.h"
#include "util/memory.h"

#include <stdlib.h>

enum { TARGETSYNC = 2 }; /* kmp_interop_type_t */

enum { /* omp_interop_property_t */
       FOREIGN_RUNTIME = -1,
       FOREIGN_RUNTIME_NAME = -2,
       VENDOR = -3,
       VENDOR_NAME = -4,
       DEVICE_NUMBER = -5,
       DEVICE = -7,
       DEVICE_CONTEXT = -8,
       QUEUE = -9,
};

enum { /* omp_interop_rc_t */
       NO_VALUE = 1,
       SUCCESS = 0,
       OUT_OF_RANGE = -2,
       IS_INT = -3,
       IS_POINTER = -4,
       IS_STRING = -5,
};

enum { CUDA = 1 /* omp_ifr_cuda */, NVIDIA = 11 /* of the OpenMP additional definitions */ };

typedef struct interop {
    struct interop *next; /* in `known` */
    unsigned place;
    bool synchronises; /* made with `targetsync` */
    void *queue;
} interop;

static od_lock lock = OD_LOCK_OF(OD_LOCK_INTEROP);
static interop *known;  /* protected by the lock */
static atomic_bool any; /* there has been one: without, questions go through at once */

static interop *find(const void *object)
{
    if (!atomic_load_explicit(&any, memory_order_acquire))
        return NULL;
    od_lock_take(&lock);
    interop *at = known;
    while (at && at != object)
        at = at->next;
    od_lock_give(&lock);
    return at;
}

static interop *make(bool synchronises)
{
    interop *made = od_calloc(1, sizeof *made);
    if (!made)
        return NULL;
    made->place = od_self.entered_place;
    made->synchronises = synchronises;
    made->queue = synchronises ? ompdarts_v1_stream() : NULL;
    od_lock_take(&lock);
    made->next = known;
    known = made;
    od_lock_give(&lock);
    atomic_store_explicit(&any, true, memory_order_release);
    return made;
}

static void forget(interop *object)
{
    od_lock_take(&lock);
    interop **at = &known;
    while (*at && *at != object)
        at = &(*at)->next;
    if (*at)
        *at = object->next;
    od_lock_give(&lock);
    free(object);
}

void od_interop_locks(void (*visit)(od_lock *lock))
{
    visit(&lock);
}

/* --- the construct ------------------------------------------------------------- */

void __kmpc_omp_wait_deps(od_ident *, int32_t, int32_t, od_depend *, int32_t, od_depend *); /* ours */

static void await(od_ident *ident, int32_t gtid, int32_t ndepends, od_depend *depends)
{
    if (ndepends > 0)
        __kmpc_omp_wait_deps(ident, gtid, ndepends, depends, 0, NULL);
}

void __tgt_interop_init(od_ident *ident, int32_t gtid, void **object, int32_t type, int32_t device, int32_t ndepends,
                        od_depend *depends, int32_t nowait)
{
    od_early_settle();
    bool ours = od_self.entered && (device < 0 || od_runtime_device_index(device) == (int)od_self.entered_place);
    if (!ours) {
        REAL(__tgt_interop_init)(ident, gtid, object, type, device, ndepends, depends, nowait);
        return;
    }
    await(ident, gtid, ndepends, depends);
    *object = make(type == TARGETSYNC);
}

void __tgt_interop_use(od_ident *ident, int32_t gtid, void **object, int32_t device, int32_t ndepends,
                       od_depend *depends, int32_t nowait)
{
    od_early_settle();
    if (!find(*object)) {
        REAL(__tgt_interop_use)(ident, gtid, object, device, ndepends, depends, nowait);
        return;
    }
    await(ident, gtid, ndepends, depends);
    if (!nowait)
        od_queue_drain();
}

void __tgt_interop_destroy(od_ident *ident, int32_t gtid, void **object, int32_t device, int32_t ndepends,
                           od_depend *depends, int32_t nowait)
{
    interop *own = find(*object);
    if (!own) {
        REAL(__tgt_interop_destroy)(ident, gtid, object, device, ndepends, depends, nowait);
        return;
    }
    await(ident, gtid, ndepends, depends);
    if (!nowait)
        od_queue_drain();
    forget(own);
    *object = NULL;
}

/* --- its properties --------------------------------------------------------------- */

static void set(int *code, int value)
{
    if (code)
        *code = value;
}

/* What a property is, where it is asked for as something else. */
static int kind(int property)
{
    switch (property) {
    case FOREIGN_RUNTIME:
    case VENDOR:
    case DEVICE_NUMBER:
    case DEVICE: /* CUdevice is a number */
        return IS_INT;
    case FOREIGN_RUNTIME_NAME:
    case VENDOR_NAME:
        return IS_STRING;
    case DEVICE_CONTEXT:
    case QUEUE:
        return IS_POINTER;
    default:
        return property < 0 && property > QUEUE ? NO_VALUE : OUT_OF_RANGE;
    }
}

intptr_t omp_get_interop_int(const void *object, int property, int *code)
{
    const interop *own = find(object);
    const od_backend *backend = od_runtime_backend();
    if (!own)
        return REAL(omp_get_interop_int)(object, property, code);
    set(code, SUCCESS);
    switch (property) {
    case FOREIGN_RUNTIME:
        return CUDA;
    case VENDOR:
        return NVIDIA;
    case DEVICE_NUMBER:
        return od_runtime_device_number(own->place);
    case DEVICE:
        return backend->ops->queues->ordinal(backend->state, own->place);
    default:
        set(code, kind(property));
        return 0;
    }
}

void *omp_get_interop_ptr(const void *object, int property, int *code)
{
    const interop *own = find(object);
    const od_backend *backend = od_runtime_backend();
    if (!own)
        return REAL(omp_get_interop_ptr)(object, property, code);
    set(code, SUCCESS);
    if (property == DEVICE_CONTEXT)
        return backend->ops->queues->context(backend->state, own->place);
    if (property == QUEUE && own->synchronises)
        return own->queue;
    set(code, property == QUEUE ? NO_VALUE : kind(property));
    return NULL;
}

const char *omp_get_interop_str(const void *object, int property, int *code)
{
    if (!find(object))
        return REAL(omp_get_interop_str)(object, property, code);
    set(code, SUCCESS);
    if (property == FOREIGN_RUNTIME_NAME)
        return "cuda";
    if (property == VENDOR_NAME)
        return "nvidia";
    set(code, kind(property));
    return NULL;
}

const char *omp_get_interop_type_desc(const void *object, int property)
{
    if (!find(object))
        return REAL(omp_get_interop_type_desc)(object, property);
    switch (kind(property)) {
    case IS_INT:
        return "intptr_t";
    case IS_POINTER:
        return "void *";
    case IS_STRING:
        return "const char *";
    default:
        return NULL;
    }
}
