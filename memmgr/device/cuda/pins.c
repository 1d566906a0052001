/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Pinned ranges, a sorted array: programs have as many as they have large tiles. While the driver works on one,
 * its entry stays in the array, in use and not ready, so that nobody else touches its pages.
 */
#include "memmgr/device/cuda/pins.h"

#include "util/container/array.h"
#include "util/log.h"
#include "util/memory.h"

#include <stdlib.h>
#include <string.h>

od_status od_pins_init(od_pins *pins, const od_cu_driver *cu, size_t budget)
{
    *pins = (od_pins){.cu = cu, .budget = budget};
    return pthread_mutex_init(&pins->lock, NULL) ? OD_ENOMEM : OD_OK;
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

static od_pin *put_in(od_pins *pins, uintptr_t begin, uintptr_t end)
{
    od_pin *pin = reserve(pins) ? od_malloc(sizeof *pin) : NULL;
    if (!pin)
        return NULL;
    *pin = (od_pin){.begin = begin, .end = end, .users = 1, .registered = true};
    size_t i = first_after(pins, begin);
    memmove(pins->pin + i + 1, pins->pin + i, (pins->count - i) * sizeof(od_pin *));
    pins->pin[i] = pin;
    pins->count++;
    pins->bytes += end - begin;
    return pin;
}

/* --- the driver; called with the lock held, which is let go meanwhile ------- */

/* False: the driver would not. The pages are as they were, so the entry stays, stale, and keeps others off them. */
static bool undo(od_pins *pins, od_pin *pin)
{
    od_cu_result result = OD_CU_SUCCESS;
    pin->users++;
    pin->ready = false;
    pthread_mutex_unlock(&pins->lock);
    if (pin->registered)
        result = pins->cu->host_unregister((void *)pin->begin);
    pthread_mutex_lock(&pins->lock);
    pin->users--;
    if (result && result != OD_CU_HOST_MEMORY_NOT_REGISTERED) {
        pins->any_stale = pin->stale = true;
        return false;
    }
    take_out(pins, pin);
    free(pin);
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

static od_pin *make(od_pins *pins, uintptr_t begin, uintptr_t end)
{
    od_pin *pin = put_in(pins, begin, end);
    if (!pin)
        return NULL;
    pthread_mutex_unlock(&pins->lock);
    od_cu_result result = pins->cu->host_register((void *)begin, end - begin, OD_CU_MEMHOST_PORTABLE);
    bool already = result && is_pinned_already(pins, begin) && is_pinned_already(pins, end - 1);
    pthread_mutex_lock(&pins->lock);
    pin->ready = true;
    if (already) {
        pins->bytes -= end - begin;
        pin->registered = false;
    } else if (result) {
        if (pins->refused++ == 0)
            od_log(OD_LOG_INFO, "cuda", "%zu bytes of host memory could not be pinned (error %d)", end - begin, result);
        take_out(pins, pin);
        free(pin);
        return NULL;
    }
    return pin;
}

/* Makes the pages free of other pins. False: some are in use, or could not be undone. */
static bool clear(od_pins *pins, uintptr_t begin, uintptr_t end)
{
    for (;;) {
        size_t i = first_after(pins, begin);
        if (i == pins->count || pins->pin[i]->begin >= end)
            return true;
        if (pins->pin[i]->users || !undo(pins, pins->pin[i]))
            return false;
    }
}

od_pin *od_pins_acquire(od_pins *pins, uintptr_t begin, uintptr_t end)
{
    od_pin *pin = NULL;
    if (begin >= end || !pins->budget)
        return NULL;
    pthread_mutex_lock(&pins->lock);
    size_t i = first_after(pins, begin);
    od_pin *known = i < pins->count ? pins->pin[i] : NULL;
    if (known && !known->stale && known->begin <= begin && known->end >= end) {
        if (known->ready) {
            known->users++;
            pin = known;
        }
    } else if (clear(pins, begin, end) && pins->bytes + (end - begin) <= pins->budget) {
        pin = make(pins, begin, end);
    }
    pthread_mutex_unlock(&pins->lock);
    return pin;
}

void od_pins_release(od_pins *pins, od_pin *pin)
{
    pthread_mutex_lock(&pins->lock);
    if (--pin->users == 0 && pin->stale)
        undo(pins, pin);
    pthread_mutex_unlock(&pins->lock);
}

void od_pins_release_range(od_pins *pins, uintptr_t base, size_t size)
{
    pthread_mutex_lock(&pins->lock);
    for (size_t i = first_after(pins, base); i < pins->count && pins->pin[i]->begin <= base + (size - 1); i++)
        pins->any_stale = pins->pin[i]->stale = true;
    pthread_mutex_unlock(&pins->lock);
}

bool od_pins_none_to_reclaim(od_pins *pins)
{
    pthread_mutex_lock(&pins->lock);
    bool any_stale = pins->any_stale;
    pthread_mutex_unlock(&pins->lock);
    return !any_stale;
}

void od_pins_reclaim(od_pins *pins)
{
    pthread_mutex_lock(&pins->lock);
    for (size_t i = pins->any_stale ? 0 : pins->count; i < pins->count;) {
        od_pin *pin = pins->pin[i];
        if (!pin->stale || pin->users) {
            i++;
            continue;
        }
        uintptr_t after = pin->end;
        undo(pins, pin);
        i = first_after(pins, after); /* others may have changed the array meanwhile */
    }
    bool any = false;
    for (size_t i = 0; i < pins->count && !any; i++)
        any = pins->pin[i]->stale;
    pins->any_stale = any;
    pthread_mutex_unlock(&pins->lock);
}

void od_pins_destroy(od_pins *pins)
{
    for (size_t i = 0; i < pins->count; i++) {
        if (pins->pin[i]->registered)
            pins->cu->host_unregister((void *)pins->pin[i]->begin);
        free(pins->pin[i]);
    }
    pthread_mutex_destroy(&pins->lock);
    free(pins->pin);
}
