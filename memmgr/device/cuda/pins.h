/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Pinned host memory: which ranges of whole pages the driver may copy to and from by itself.
 *
 * A range is to be pinned when it has been loaded often (od_pins_is_due, od_pins_want) and stays so over evictions and
 * reloads, until the program may change or give the memory back (od_pins_release_range): a pin would then go on showing
 * pages that are no longer the program's. Such a pin is stale, is not used any more, and is undone as soon as no copy
 * uses it. Where memory is watched (watch.h) its pin is not stale at once but doubtful: before the next copy uses it,
 * the watch is asked whether the pages are still the same. The driver takes as long to pin memory, and to undo that, as
 * for several copies: both are one thread's work (od_pins_work), and what is not pinned yet is copied through buffers
 * meanwhile. Data do not overlap, so pins do not. Addresses are multiples of OD_PAGE. Thread-safe; the driver is never
 * called with the lock held. Memory may be freed under it, which may unmap watched memory: whoever tells of that waits
 * for no holder of the lock.
 */
#ifndef OD_MEMMGR_DEVICE_CUDA_PINS_H
#define OD_MEMMGR_DEVICE_CUDA_PINS_H

#include "memmgr/device/cuda/driver.h"
#include "memmgr/device/cuda/watch.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

enum { OD_PAGE = 4096 };

typedef struct od_pin {
    uintptr_t begin, end;
    unsigned copies; /* that it has served */
    unsigned users;  /* copies under way, and whoever is pinning or unpinning it */
    bool registered; /* by us; else the program has pinned it itself */
    bool wanted;     /* it will be registered */
    bool asked;      /* the driver, which has not answered yet */
    bool stale;
    bool stays;          /* stale, and the driver would not undo it */
    bool watched;        /* whether the program gives the pages back */
    bool doubtful;       /* it may have */
    bool gone;           /* it has */
    bool once;           /* something may have been missed: it is not kept any more */
    struct od_pin *next; /* that is wanted */
} od_pin;

typedef struct od_pins {
    const od_cu_driver *cu;
    pthread_mutex_t lock;  /* protects the rest */
    pthread_cond_t work;   /* there is some, or no more */
    pthread_cond_t undone; /* all stale pins that no copy uses */
    od_pin *wanted, *last_wanted;
    bool undoes, undoing; /* stale pins are to be undone; are being undone */
    bool closing;         /* the thread is to end */
    od_watch *watch;      /* NULL: none */
    od_pin **pin;         /* sorted by address, disjoint */
    size_t count;
    uint32_t capacity;
    size_t bytes, budget;           /* pinned by us, at most; budget 0: nothing is pinned */
    size_t (*budget_now)(void);     /* it may have grown; NULL: it stays */
    uint64_t refused;               /* ranges that the driver would not pin */
    struct od_pin_history *history; /* 2^bits, by address */
    unsigned bits;
    size_t remembered;
    unsigned first; /* the transfer at which a new range is pinned */
} od_pins;

od_status od_pins_init(od_pins *pins, const od_cu_driver *cu, size_t budget, unsigned first);
/* From now on pins outlast od_pins_release_range() where their memory can be watched. False: the system does not allow
 * it, and they do not. Before anything is pinned. */
bool od_pins_keep(od_pins *pins);
/* Undoes all pins; none is in use, and a context is current. */
void od_pins_destroy(od_pins *pins);
/* A pin that contains [begin, end), to be released, if it is there already or the program has pinned the memory, or
 * NULL: copy through a buffer. Waits for nobody. A context is current. */
od_pin *od_pins_find(od_pins *pins, uintptr_t begin, uintptr_t end);
/* The range can be pinned; `now`: it will be. False: the budget is used up, or the driver has refused it. */
bool od_pins_want(od_pins *pins, uintptr_t begin, uintptr_t end, bool now);
/* A range that is not pinned is loaded, which counts, or comes back. True: pinning it is likely to pay. That, and
 * undoing it, takes as long as about eight copies through buffers: a range whose pins have served few copies must be
 * loaded more often before it gets the next, and what is loaded once and comes back as a result, often for good, gets
 * none. */
bool od_pins_is_due(od_pins *pins, uintptr_t begin, bool loads);
void od_pins_release(od_pins *pins, od_pin *pin);
void od_pins_release_range(od_pins *pins, uintptr_t base, size_t size);
/* The stale pins that no copy uses are to be undone; it is waited for that. */
void od_pins_reclaim(od_pins *pins);

/* For the thread: waits for work; false: there will be none. Then does a part of it, with a context current. */
bool od_pins_await_work(od_pins *pins);
void od_pins_work(od_pins *pins);
void od_pins_close(od_pins *pins);

#endif
