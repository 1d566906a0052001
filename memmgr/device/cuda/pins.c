/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Pinned ranges, a sorted array: programs have as many as they have large tiles. While the driver works on one,
 * its entry stays in the array, in use and `asked`, so that nobody else touches its pages.
 */
#include "memmgr/device/cuda/pins.h"

#include "util/container/array.h"
#include "util/log.h"
#include "util/memory.h"

#include <stdlib.h>
#include <string.h>

od_status od_pins_init(od_pins *pins, const od_cu_driver *cu, size_t budget, unsigned first)
{
    *pins = (od_pins){.cu = cu, .budget = budget, .first = first};
    if (pthread_mutex_init(&pins->lock, NULL))
        return OD_ENOMEM;
    bool work = !pthread_cond_init(&pins->work, NULL);
    if (work && !pthread_cond_init(&pins->undone, NULL))
        return OD_OK;
    if (work)
        pthread_cond_destroy(&pins->work);
    pthread_mutex_destroy(&pins->lock);
    return OD_ENOMEM;
}

/* Index of the first pin that ends after the address. */
static size_t first_after(const od_pins *pins, uintptr_t address)
{
    size_t low = 0, high = pins->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (pins->pin[middle]->end <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* --- the array; the caller holds the lock --------------------------------- */

static bool reserve(od_pins *pins)
{
    return od_array_reserve(&pins->pin, &pins->capacity, pins->count + 1, sizeof(od_pin *));
}

static void take_out(od_pins *pins, const od_pin *pin)
{
    size_t i = first_after(pins, pin->begin);
    pins->bytes -= pin->registered ? pin->end - pin->begin : 0;
    memmove(pins->pin + i, pins->pin + i + 1, (pins->count - i - 1) * sizeof(od_pin *));
    pins->count--;
}

static void drop(od_pins *pins, od_pin *pin)
{
    take_out(pins, pin);
    free(pin);
}

static od_pin *put_in(od_pins *pins, uintptr_t begin, uintptr_t end, bool registers)
{
    od_pin *pin = reserve(pins) ? od_malloc(sizeof *pin) : NULL;
    if (!pin)
        return NULL;
    *pin = (od_pin){.begin = begin, .end = end, .registered = registers};
    size_t i = first_after(pins, begin);
    memmove(pins->pin + i + 1, pins->pin + i, (pins->count - i) * sizeof(od_pin *));
    pins->pin[i] = pin;
    pins->count++;
    pins->bytes += registers ? end - begin : 0;
    return pin;
}

/* --- what has crossed, by the beginning of its range; the caller holds the lock ------ */

enum { FIRST_BITS = 8, LAST_BITS = 16, WORTHWHILE = 8 /* copies of a pin */, MOST_CROSSINGS = 64 };

struct od_pin_history {
    uintptr_t begin; /* 0: none */
    unsigned crossings, due;
    bool refused; /* by the driver: it is not asked again */
};

static struct od_pin_history *locate(const od_pins *pins, uintptr_t begin)
{
    size_t mask = ((size_t)1 << pins->bits) - 1;
    size_t i = (size_t)(begin / OD_PAGE * UINT64_C(0x9e3779b97f4a7c15) >> (64 - pins->bits));
    while (pins->history[i].begin && pins->history[i].begin != begin)
        i = (i + 1) & mask;
    return &pins->history[i];
}

/* Twice as large; at its largest it begins anew. */
static void make_larger(od_pins *pins)
{
    struct od_pin_history *old = pins->history;
    size_t count = old ? (size_t)1 << pins->bits : 0;
    bool forgets = pins->bits == LAST_BITS;
    unsigned bits = !old ? FIRST_BITS : forgets ? LAST_BITS : pins->bits + 1;
    struct od_pin_history *history = od_calloc((size_t)1 << bits, sizeof *history);
    if (!history)
        return;
    pins->history = history;
    pins->bits = bits;
    for (size_t i = 0; i < count && !forgets; i++)
        if (old[i].begin)
            *locate(pins, old[i].begin) = old[i];
    pins->remembered = forgets ? 0 : pins->remembered;
    free(old);
}

/* NULL: there is no memory. */
static struct od_pin_history *history_of(od_pins *pins, uintptr_t begin)
{
    if (!pins->history || pins->remembered >= (size_t)1 << pins->bits >> 1)
        make_larger(pins);
    if (!pins->history || pins->remembered + 1 >= (size_t)1 << pins->bits)
        return NULL;
    struct od_pin_history *h = locate(pins, begin);
    if (!h->begin) {
        *h = (struct od_pin_history){.begin = begin, .due = pins->first};
        pins->remembered++;
    }
    return h;
}

static void learn(od_pins *pins, const od_pin *pin)
{
    struct od_pin_history *h = history_of(pins, pin->begin);
    if (!h)
        return;
    unsigned more = h->due < WORTHWHILE ? WORTHWHILE : 2 * h->due;
    h->due = pin->copies >= WORTHWHILE ? pins->first : more < MOST_CROSSINGS ? more : MOST_CROSSINGS;
    h->crossings = 0;
}

bool od_pins_is_due(od_pins *pins, uintptr_t begin, bool loads)
{
    if (!pins->budget)
        return true;
    pthread_mutex_lock(&pins->lock);
    struct od_pin_history *h = history_of(pins, begin);
    if (h)
        h->crossings += loads;
    bool due = !h || h->crossings >= h->due;
    pthread_mutex_unlock(&pins->lock);
    return due;
}

/* --- the driver; called with the lock held, which is let go meanwhile ------- */

/* False: the driver would not. The pages are as they were, so the entry stays, stale, and keeps others off them. */
static bool undo(od_pins *pins, od_pin *pin)
{
    od_cu_result result = OD_CU_SUCCESS;
    pin->users++;
    pin->asked = true;
    pthread_mutex_unlock(&pins->lock);
    if (pin->watched && !pin->gone)
        od_watch_end(pins->watch, pin->begin, pin->end);
    if (pin->registered)
        result = pins->cu->host_unregister((void *)pin->begin);
    pthread_mutex_lock(&pins->lock);
    pin->asked = false;
    pin->users--;
    if (result && result != OD_CU_HOST_MEMORY_NOT_REGISTERED) {
        pin->stale = pin->stays = true;
        return false;
    }
    if (pin->registered && pins->first > 1)
        learn(pins, pin);
    drop(pins, pin);
    return true;
}

/* The driver knows the address as host memory: the program has pinned it itself. Whether it is one piece shows when
 * it is copied. */
static bool is_pinned_already(const od_pins *pins, uintptr_t address)
{
    unsigned type = 0;
    return !pins->cu->pointer_attribute(&type, OD_CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address) &&
           type == OD_CU_MEMORYTYPE_HOST;
}

static void note_refusal(od_pins *pins, const od_pin *pin, od_cu_result result)
{
    struct od_pin_history *h = history_of(pins, pin->begin);
    if (h)
        h->refused = true;
    if (pins->refused++ == 0)
        od_log(OD_LOG_INFO, "cuda", "%zu bytes of host memory could not be pinned (error %d)", pin->end - pin->begin,
               result);
}

/* Makes it one, in use. NULL: the driver would not, or, where it is not registered, the program has not pinned it. */
static od_pin *make(od_pins *pins, od_pin *pin)
{
    size_t bytes = pin->end - pin->begin;
    bool registers = pin->registered;
    pin->users++;
    pin->asked = true;
    pthread_mutex_unlock(&pins->lock);
    od_cu_result result = registers ? pins->cu->host_register((void *)pin->begin, bytes, OD_CU_MEMHOST_PORTABLE)
                                    : OD_CU_HOST_MEMORY_NOT_REGISTERED;
    bool already = result && is_pinned_already(pins, pin->begin) && is_pinned_already(pins, pin->end - 1);
    pthread_mutex_lock(&pins->lock);
    pin->asked = false;
    if (already) {
        pins->bytes -= registers ? bytes : 0;
        pin->registered = false;
    } else if (result) {
        if (registers)
            note_refusal(pins, pin, result);
        drop(pins, pin);
        return NULL;
    }
    return pin;
}

static od_pin *first_overlapping(const od_pins *pins, uintptr_t begin, uintptr_t end)
{
    size_t i = first_after(pins, begin);
    return i < pins->count && pins->pin[i]->begin < end ? pins->pin[i] : NULL;
}

/* Under the lock. */
static void undo_soon(od_pins *pins)
{
    pins->undoes = true;
    pthread_cond_signal(&pins->work);
}

/* --- memory that the program may have given back; under the lock ------------------ */

static void lose(void *arg, uintptr_t begin, uintptr_t end)
{
    od_pins *pins = arg;
    for (size_t i = first_after(pins, begin); i < pins->count && pins->pin[i]->begin < end; i++)
        if (pins->pin[i]->watched) {
            pins->pin[i]->stale = pins->pin[i]->gone = true;
            undo_soon(pins);
        }
}

static void give_up_doubtful(od_pins *pins)
{
    for (size_t i = 0; i < pins->count; i++)
        if (pins->pin[i]->doubtful) {
            pins->pin[i]->stale = true;
            undo_soon(pins);
        }
}

static void look(od_pins *pins)
{
    if (od_watch_ask(pins->watch, lose, pins))
        return;
    give_up_doubtful(pins);
    for (size_t i = 0; i < pins->count; i++)
        pins->pin[i]->once = true;
}

static bool heard(void *arg)
{
    od_pins *pins = arg;
    if (pthread_mutex_trylock(&pins->lock))
        return false;
    look(pins);
    pthread_mutex_unlock(&pins->lock);
    return true;
}

bool od_pins_keep(od_pins *pins)
{
    pins->watch = od_watch_create(heard, pins);
    return pins->watch;
}

static bool serves(const od_pin *pin, uintptr_t begin, uintptr_t end)
{
    return !pin->wanted && !pin->asked && !pin->stale && pin->begin <= begin && pin->end >= end;
}

/* One more copy uses it. NULL: it does not serve. */
static od_pin *take(od_pins *pins, od_pin *pin, uintptr_t begin, uintptr_t end)
{
    if (pin->doubtful && !pin->stale)
        look(pins);
    if (!serves(pin, begin, end))
        return NULL;
    pin->doubtful = false;
    pin->users++;
    return pin;
}

/* What the program has pinned itself. */
static od_pin *adopt(od_pins *pins, uintptr_t begin, uintptr_t end)
{
    od_pin *pin = put_in(pins, begin, end, false);
    return pin ? make(pins, pin) : NULL;
}

od_pin *od_pins_find(od_pins *pins, uintptr_t begin, uintptr_t end)
{
    if (begin >= end || !pins->budget)
        return NULL;
    pthread_mutex_lock(&pins->lock);
    od_pin *pin = first_overlapping(pins, begin, end);
    pin = pin ? take(pins, pin, begin, end) : adopt(pins, begin, end);
    if (pin)
        pin->copies++;
    pthread_mutex_unlock(&pins->lock);
    return pin;
}

/* Under the lock, like the next two. */
static void want(od_pins *pins, uintptr_t begin, uintptr_t end)
{
    od_pin *pin = put_in(pins, begin, end, true);
    if (!pin)
        return;
    pin->wanted = true;
    *(pins->wanted ? &pins->last_wanted->next : &pins->wanted) = pin;
    pins->last_wanted = pin;
    pthread_cond_signal(&pins->work);
}

/* Unless it serves the range, or will, it makes way for another. False: it does not. */
static bool make_way(od_pins *pins, od_pin *pin, uintptr_t begin, uintptr_t end)
{
    if (!pin->registered)
        return false;
    if (pin->begin > begin || pin->end < end)
        pin->stale = true;
    if (pin->stale)
        undo_soon(pins);
    return !pin->stays;
}

static bool has_room(od_pins *pins, uintptr_t begin, uintptr_t end)
{
    const struct od_pin_history *h = history_of(pins, begin);
    if (h && h->refused)
        return false;
    size_t bytes = pins->bytes + (end - begin);
    size_t now = bytes > pins->budget && pins->budget_now ? pins->budget_now() : 0;
    if (now > pins->budget)
        pins->budget = now;
    if (bytes > pins->budget)
        give_up_doubtful(pins);
    return bytes <= pins->budget;
}

bool od_pins_want(od_pins *pins, uintptr_t begin, uintptr_t end, bool now)
{
    if (begin >= end || !pins->budget)
        return false;
    pthread_mutex_lock(&pins->lock);
    od_pin *pin = first_overlapping(pins, begin, end);
    bool can = pin ? make_way(pins, pin, begin, end) : has_room(pins, begin, end);
    if (can && !pin && now)
        want(pins, begin, end);
    pthread_mutex_unlock(&pins->lock);
    return can;
}

void od_pins_release(od_pins *pins, od_pin *pin)
{
    pthread_mutex_lock(&pins->lock);
    if (--pin->users == 0 && pin->stale)
        undo_soon(pins);
    pthread_mutex_unlock(&pins->lock);
}

void od_pins_release_range(od_pins *pins, uintptr_t base, size_t size)
{
    bool any = false;
    pthread_mutex_lock(&pins->lock);
    for (size_t i = first_after(pins, base); i < pins->count && pins->pin[i]->begin <= base + (size - 1); i++)
        if (pins->pin[i]->watched && !pins->pin[i]->once)
            pins->pin[i]->doubtful = true;
        else
            pins->pin[i]->stale = any = true;
    if (any)
        undo_soon(pins);
    pthread_mutex_unlock(&pins->lock);
}

void od_pins_reclaim(od_pins *pins)
{
    pthread_mutex_lock(&pins->lock);
    while (pins->undoes || pins->undoing)
        pthread_cond_wait(&pins->undone, &pins->lock);
    pthread_mutex_unlock(&pins->lock);
}

/* --- the thread ----------------------------------------------------------------- */

bool od_pins_await_work(od_pins *pins)
{
    pthread_mutex_lock(&pins->lock);
    while (!pins->undoes && !pins->wanted && !pins->closing)
        pthread_cond_wait(&pins->work, &pins->lock);
    bool closing = pins->closing;
    pthread_mutex_unlock(&pins->lock);
    return !closing;
}

/* Under the lock: all that no copy uses. */
static void undo_stale(od_pins *pins)
{
    for (size_t i = 0; i < pins->count;) {
        od_pin *pin = pins->pin[i];
        if (!pin->stale || pin->users || pin->wanted) {
            i++;
            continue;
        }
        uintptr_t after = pin->end;
        undo(pins, pin);
        i = first_after(pins, after); /* others may have changed the array meanwhile */
    }
}

/* Under the lock. */
static void pin_first(od_pins *pins)
{
    od_pin *pin = pins->wanted;
    pins->wanted = pin->next;
    pin->wanted = false;
    if (pin->stale) {
        drop(pins, pin);
    } else if (make(pins, pin)) {
        pin->watched = pin->registered && pins->watch && od_watch_begin(pins->watch, pin->begin, pin->end);
        if (--pin->users == 0 && pin->stale)
            undo(pins, pin);
    }
}

void od_pins_work(od_pins *pins)
{
    pthread_mutex_lock(&pins->lock);
    if (pins->undoes) {
        pins->undoes = false;
        pins->undoing = true;
        undo_stale(pins);
        pins->undoing = false;
        pthread_cond_broadcast(&pins->undone);
    } else if (pins->wanted) {
        pin_first(pins);
    }
    pthread_mutex_unlock(&pins->lock);
}

void od_pins_close(od_pins *pins)
{
    pthread_mutex_lock(&pins->lock);
    pins->closing = true;
    pthread_cond_signal(&pins->work);
    pthread_mutex_unlock(&pins->lock);
}

void od_pins_destroy(od_pins *pins)
{
    od_watch_destroy(pins->watch);
    for (size_t i = 0; i < pins->count; i++) {
        if (pins->pin[i]->registered && !pins->pin[i]->wanted)
            pins->cu->host_unregister((void *)pins->pin[i]->begin);
        free(pins->pin[i]);
    }
    pthread_cond_destroy(&pins->work);
    pthread_cond_destroy(&pins->undone);
    pthread_mutex_destroy(&pins->lock);
    free(pins->pin);
    free(pins->history);
}
