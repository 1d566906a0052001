/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Lifetimes: when data that live on devices only are made and freed, by the address of their region, for the banker.
 *
 * Of interest is what is opened with undefined contents (`map(alloc:)`, `map(from:)`) and used as a whole. A lifetime
 * begins at the first submitted task that writes the region's base address, and ends at the construct that closes the
 * region; both become known as tasks and constructs are submitted, or otherwise when they come. The same address may
 * have several lifetimes, one after the other. A region that is divided is left out: its parts live as long as it
 * does, whatever the order.
 */
#ifndef OD_SCHED_GUARD_LIFETIMES_H
#define OD_SCHED_GUARD_LIFETIMES_H

#include "sched/graph/levels.h"
#include "sched/guard/banker.h"
#include "util/container/list.h"

typedef struct od_lifetimes od_lifetimes;

/* `bound` in bytes. NULL: out of memory. */
od_lifetimes *od_lifetimes_create(int64_t bound);
void od_lifetimes_destroy(od_lifetimes *lifetimes);
od_banker *od_lifetimes_banker(const od_lifetimes *lifetimes);
/* Bytes that what is submitted and has not ended needs at least in the order of submission, whatever will be known
 * later: of data of which it is known when they die. */
int64_t od_lifetimes_need(const od_lifetimes *lifetimes);

/* A construct is submitted; then it has ended, or will never be. OD_BANKER_NO_STEP: out of memory. */
od_banker_step od_lifetimes_construct(od_lifetimes *lifetimes);
void od_lifetimes_construct_end(od_lifetimes *lifetimes, od_banker_step step);
/* Likewise a task. */
od_banker_step od_lifetimes_submit(od_lifetimes *lifetimes, double seconds, const od_level_use *uses, uint32_t nuses);
void od_lifetimes_end(od_lifetimes *lifetimes, od_banker_step step, const od_level_use *uses, uint32_t nuses);

/* A region of undefined contents will be opened there, or has been: what is announced and then done is to be said
 * twice. Out of memory: it is left out. */
void od_lifetimes_opens(od_lifetimes *lifetimes, uintptr_t base, size_t size);
/* A construct, which has a step, will close it. */
void od_lifetimes_closes(od_lifetimes *lifetimes, uintptr_t base, od_banker_step step);
/* It is closed, or used in parts. */
void od_lifetimes_closed(od_lifetimes *lifetimes, uintptr_t base);
void od_lifetimes_divided(od_lifetimes *lifetimes, uintptr_t base);

/* Bytes of the region that is open there, or that is known to be opened; 0: none is known. */
size_t od_lifetimes_size(const od_lifetimes *lifetimes, uintptr_t base);

/* The open region's datum, which a task of this step uses: NULL: it is left out. */
od_banker_datum *od_lifetimes_use(od_lifetimes *lifetimes, uintptr_t base, size_t size, od_banker_step step);

#endif
