/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Copies between host and device that the driver carries out by itself: small ones through the ticket's bounce buffer,
 * large ones in place where their whole pages are pinned, with their two ends through the buffer.
 */
#include "memmgr/device/cuda/cuda.h"

#include <string.h>

static od_cu_address device_address(const void *address)
{
    return (od_cu_address)(uintptr_t)address;
}

static uintptr_t page_up(uintptr_t address)
{
    return (address + OD_PAGE - 1) & ~(uintptr_t)(OD_PAGE - 1);
}

static uintptr_t page_down(uintptr_t address)
{
    return address & ~(uintptr_t)(OD_PAGE - 1);
}

uintptr_t od_cuda_first_page(const od_copy *c)
{
    return page_up(c->host_base);
}

uintptr_t od_cuda_last_page(const od_copy *c)
{
    return page_down(c->host_base + c->host_bytes);
}

/* A part of a copy: `at` bytes from its beginning; `bounce`: where in the bounce buffer. */
typedef struct piece {
    size_t at, bytes, bounce;
} piece;

static od_cu_result copy_direct(od_cuda_device *d, const od_copy *c, size_t at, size_t bytes)
{
    const od_cu_driver *cu = &d->cuda->cu;
    if (!bytes)
        return OD_CU_SUCCESS;
    if (c->from == OD_HOST)
        return cu->copy_h2d(device_address(c->to_address) + at, (const char *)c->from_address + at, bytes,
                            d->stream[OD_H2D]);
    return cu->copy_d2h((char *)c->to_address + at, device_address(c->from_address) + at, bytes, d->stream[OD_D2H]);
}

static od_cu_result copy_bounced(od_cuda_device *d, od_ticket *ticket, const od_copy *c, piece p)
{
    const od_cu_driver *cu = &d->cuda->cu;
    char *bounce = ticket->bounce + p.bounce;
    if (!p.bytes)
        return OD_CU_SUCCESS;
    if (c->from == OD_HOST) {
        memcpy(bounce, (const char *)c->from_address + p.at, p.bytes);
        return cu->copy_h2d(device_address(c->to_address) + p.at, bounce, p.bytes, d->stream[OD_H2D]);
    }
    ticket->landing[ticket->landings++] = (od_landing){(char *)c->to_address + p.at, bounce, p.bytes};
    return cu->copy_d2h(bounce, device_address(c->from_address) + p.at, p.bytes, d->stream[OD_D2H]);
}

/* The pinned part of the copy's host range [*begin, *end), or NULL. */
static od_pin *pin_inside(od_cuda_device *d, const od_copy *c, uintptr_t *begin, uintptr_t *end)
{
    uintptr_t host = (uintptr_t)(c->from == OD_HOST ? c->from_address : c->to_address);
    od_pin *pin = od_pins_find(&d->cuda->pins, od_cuda_first_page(c), od_cuda_last_page(c));
    if (!pin)
        return NULL;
    *begin = host > pin->begin ? host : pin->begin;
    *end = host + c->bytes < pin->end ? host + c->bytes : pin->end;
    if (*begin < *end && *begin - host <= OD_BOUNCE / 2 && host + c->bytes - *end <= OD_BOUNCE / 2)
        return pin;
    od_pins_release(&d->cuda->pins, pin);
    return NULL;
}

/* In place, with its ends through the bounce buffer. INVALID_VALUE: the range was pinned by the program, in pieces. */
static od_cu_result copy_pinned(od_cuda_device *d, od_ticket *ticket, const od_copy *c, uintptr_t begin, uintptr_t end)
{
    uintptr_t host = (uintptr_t)(c->from == OD_HOST ? c->from_address : c->to_address);
    piece head = {.bytes = begin - host},
          tail = {.at = end - host, .bytes = host + c->bytes - end, .bounce = OD_BOUNCE / 2};
    od_cu_result result = copy_direct(d, c, head.bytes, end - begin);
    if (!result)
        result = copy_bounced(d, ticket, c, head);
    if (!result)
        result = copy_bounced(d, ticket, c, tail);
    return result;
}

static od_status check(od_cuda_device *d, const od_copy *c, od_cu_result result)
{
    return od_cuda_check(d, result, c->from == OD_HOST ? "copying to the device" : "copying to the host");
}

od_status od_cuda_start_bounced(od_cuda_device *d, od_ticket *ticket, const od_copy *c)
{
    return check(d, c, copy_bounced(d, ticket, c, (piece){.bytes = c->bytes}));
}

bool od_cuda_start_in_place(od_cuda_device *d, od_ticket *ticket, const od_copy *c, od_status *status)
{
    uintptr_t begin, end;
    od_pin *pin = ticket->pin ? NULL : pin_inside(d, c, &begin, &end);
    if (!pin)
        return false;
    ticket->pin = pin;
    od_cu_result result = copy_pinned(d, ticket, c, begin, end);
    if (result != OD_CU_INVALID_VALUE || pin->registered) {
        *status = check(d, c, result);
        return true;
    }
    ticket->landings = 0;
    return false;
}
