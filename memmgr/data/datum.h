/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Nouns of the memory manager.
 *
 *   place     where bytes can be: the host, or one of K devices (0 .. K-1)
 *   datum     a host address range that tasks name in map clauses (OpenMP: a
 *             list item; in the papers: a data, a tile)
 *   replica   the copy of a datum on one device, in that device's pool
 *   part      a datum of an array that kernels get whole: its replicas lie in
 *             windows (memmgr/window/window.h); it may be many pieces (shape.h)
 *   region    an address range that the program entered (OpenMP: target data,
 *             enter/exit data); inside it the host copy may be stale
 *   transfer  one copy of a datum, or of a part of it, between two places
 *
 * Places are the devices, the program's own memory (the host), and, inside a region, the region's spill area
 * (memmgr/data/spill.h). Coherence is one set of places per datum (placeset.h): `valid` says which hold the
 * current contents. "Dirty on k" is `valid` == {k}. An empty set means that the
 * contents are undefined (a region opened with `alloc` or `from`): any
 * place may serve a reader without a load. With OD_RECIPE alone they have been dropped, and are made again when
 * somebody needs them.
 */
#ifndef OD_MEMMGR_DATA_DATUM_H
#define OD_MEMMGR_DATA_DATUM_H

#include "memmgr/data/placeset.h"
#include "memmgr/data/presence.h"
#include "memmgr/extent/shape.h"
#include "memmgr/window/window.h"
#include "util/container/list.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct od_datum od_datum;
typedef struct od_spill od_spill;               /* memmgr/data/spill.h */
typedef struct od_attachments od_attachments;   /* memmgr/data/attach.h */
typedef struct od_recipe od_recipe;             /* sched/engine/data/recompute.h */
typedef struct od_patches od_patches;           /* memmgr/data/relocation.h */
typedef struct od_request_item od_request_item; /* sched/engine/engine.h */

typedef enum od_replica_state {
    OD_ABSENT,  /* no memory on this device */
    OD_PRESENT, /* memory held; od_datum.valid says whether the contents count */
    OD_LOADING, /* memory held, a load is under way */
    OD_LEAVING, /* memory held, contents being written back so that it can be evicted */
} od_replica_state;

/* Policies and eviction rules look at the first members, which are side by side. */
typedef struct od_replica {
    od_datum *datum;        /* whose copy this is */
    od_node lru;            /* in the device's list of resident replicas, least recently used first */
    uint32_t buffered_uses; /* tasks in this device's task buffer that use it: n_b of Algorithm 10 */
    uint32_t planned_uses;  /* tasks planned for this device that use it: n_p of Algorithm 10 (sched/policy/plan.h) */
    od_replica_state state;
    uint32_t pins;          /* committed or running tasks here, and transfers that read it */
    size_t offset;          /* in the device's pool, bytes; meaningless when absent, and an account for a part */
    uint32_t users;         /* committed or running tasks here that use it */
    uint32_t kept;          /* constructs that let the program read it by its address: it stays until they end */
    bool awaits_source;     /* loading, but no place can send it yet */
    uint8_t sends;          /* loads of other devices of this node under way from here */
    uint8_t far_sends;      /* likewise of devices of other nodes */
    uint32_t loads;         /* how often it was loaded here, so that reloads can be counted */
    od_patches *patches;    /* what tasks have had written to its words (memmgr/data/relocation.h), or NULL; owned */
    od_window_access shown; /* the driver's, of a part: what kernels can do with it (omp_ext/runtime/parts/shown.c) */
} od_replica;

typedef struct od_region {
    uintptr_t base;   /* host address */
    size_t size;      /* bytes */
    uintptr_t origin; /* the pointer through which it was mapped (memmgr/data/presence.h) */
    uint32_t references;
    uint32_t holds;  /* by ompx_hold: counted apart, `delete` leaves them */
    uint32_t shown;  /* how often the program asked for its device address, to which it is bound until it closes */
    bool undefined;  /* opened without `to`: contents are undefined until written */
    od_spill *spill; /* made when it is needed first; one use is the region's */
    od_attachments *attachments; /* pointers inside it that lead elsewhere, or NULL; one use is the region's */
    od_window *window; /* where parts of it are, or NULL: it is in none; one use is the region's */
    bool returned;     /* data in shared memory may count in the program's as well (sched/engine/data/shared.c) */
    bool gathered;     /* its contents are to be in its spill area, if they are in one place */
    bool wanted;       /* several tasks have wanted it at once that might as well only read it */
    uintptr_t named;   /* the place in it that a task has named last; 0: none has */
    bool named_inside; /* a task has named another place than its first byte */
    bool crowded;      /* such places are too close to each other for parts */
    uint32_t joins;    /* how often its parts have been joined again, since a construct needed all of it in one piece */
    uint32_t unsliced; /* kernels that have used all of it since the last one in slices */
    uint32_t rejoined; /* how often it has been in one piece again after slices */
    const void *user;  /* the one thread whose constructs use sections of it (omp_ext/maps/parts); NULL: none has yet */
    bool divided;      /* several threads, or tasks, use sections of it */
    uint32_t uses;     /* how often constructs have been given data in it */
    uint32_t launches; /* of references and holds, those of kernels for their time; the others are the program's */
    uint64_t seen;     /* whoever walks from region to region: its number of the walk */
    od_node unsealed; /* in the engine's list of regions that the host could still change (sched/engine/data/seal.c) */
    uint64_t seal;    /* the last request that seals it, or 0 */
} od_region;

static inline od_mapping od_region_mapping(const od_region *region)
{
    return (od_mapping){region->base, region->size, region->origin};
}

/* It is there for the time of kernels, and of no data construct. */
static inline bool od_region_is_of_kernels(const od_region *region)
{
    return region->references + region->holds == region->launches;
}

/* Likewise, in as much as a cache line. */
struct od_datum {
    uint32_t id;       /* dense and reused after od_directory_remove(): policies index arrays with it */
    uint32_t tie;      /* what random choices tell it by: its id, or that of the datum which it stands for in a play */
    size_t size;       /* bytes, of all its pieces */
    od_placeset valid; /* hold the current contents */
    od_region *region; /* the open region that it lies in, or NULL */
    od_window *window; /* its replicas are in it, or NULL: in the pools; one use is the datum's */
    uint32_t forecast; /* submitted tasks, not ready, whose depend list names its first byte */
    uint32_t lent;     /* pages that running kernels touch without having named it (sched/engine/data/pages.c) */
    uint32_t bound;    /* device addresses of it that the program holds */
    int home;          /* the one device that may use it while writers or bound is not 0, else OD_NOWHERE */
    bool written_through; /* one of these: kernels may write to it at any moment, of which nobody tells */
    bool updating;        /* part of it goes from the program's memory into its copies: nobody begins to use it */
    bool discarding;      /* its region has closed without `from`: the host's contents count, nothing is written back */
    bool is_aligned;      /* on devices as on the host (od_datum_phase) */
    uintptr_t base;       /* host address of its first byte */
    od_pieces *pieces;    /* NULL: it is one; only parts have several, in one region; owned */
    od_spill *spill;   /* of the region that has closed, while contents are still there; one use is the datum's */
    od_attachments *attachments; /* likewise, until its contents are the program's */

    uint32_t tasks;      /* tasks that are ready or further and use it */
    uint32_t pending;    /* tasks that are ready or further and use it, and host requests that wait for it */
    uint32_t requested;  /* of pending, host requests that wait for it */
    uint32_t users;      /* committed or running tasks that use it */
    uint32_t writers;    /* committed or running tasks that write it */
    uint32_t commits;    /* of tasks that use it, ever */
    uint64_t written;    /* tasks that have been committed to that on a device */
    uint32_t host_users; /* of users, those that run on the host */
    bool exclusive;      /* in a region, and one of these writes it in the program's memory: it is the only user */
    uint32_t transfers;  /* under way, to or from any place */
    uint32_t stores;     /* of transfers, those that bring all of it to the host or to the spill area */
    uint32_t nreplicas;  /* not absent */
    od_placeset holding; /* the engine's: where these are */
    uint32_t nawaiting;  /* replicas with awaits_source */
    od_placeset visible; /* the driver's: devices on which it is not closed in its window */
    od_node shown;       /* in the driver's list of such parts */
    bool untrusted;      /* OMPDARTS_COHERENCE=auto: its depend clauses are incomplete: copy in and out */
    bool used;           /* again, since it was made or looked at in the list of idle ones */
    bool touched;        /* the driver may keep something about its host memory (od_driver_ops.release_host) */
    bool keep;           /* copies may outlive the task that made them (region, or trusted depend clauses) */
    const void *user;    /* the driver's: what used it last on a device (OMPDARTS_DEBUG=check) */

    od_recipe *recipe;      /* how to make its contents again, or NULL */
    od_list recipes;        /* od_recipe_use.link: of what has been made from it */
    uint32_t needed;        /* of these, those whose contents have been dropped: it must stay as it is */

    od_node outside;        /* in the engine's list of data with replicas and no region */
    od_node idle;           /* in the engine's list of unused data (sched/engine/data/idle.c) */
    od_node result;         /* in a device's list of results (sched/engine/data/home.c) */
    unsigned result_on;     /* which device's */
    od_request_item *items; /* host requests that wait for it, first come first served */
    od_request_item *last_item; /* of them, if there are any */
    od_replica replica[];   /* one per device */
};

/* True where device k holds memory for it that is not being given up. */
static inline bool od_datum_is_resident(const od_datum *datum, unsigned k)
{
    return datum->replica[k].state == OD_PRESENT || datum->replica[k].state == OD_LOADING;
}

/* True where device k has it or a task in the device's buffer will bring it: one more task there causes no load. */
static inline bool od_datum_is_expected(const od_datum *datum, unsigned k)
{
    return od_datum_is_resident(datum, k) || datum->replica[k].buffered_uses > 0;
}

/* True where device k holds the only current copy. */
static inline bool od_datum_is_dirty(const od_datum *datum, unsigned k)
{
    return od_placeset_is_only(datum->valid, k);
}

/* True while none may begin to use it, and its replicas stay. */
static inline bool od_datum_is_held(const od_datum *datum)
{
    return datum->lent || datum->updating;
}

/* True where nothing of its contents on devices is wanted any more: what is to be copied out of them has been. */
static inline bool od_datum_is_discarded(const od_datum *datum)
{
    return datum->discarding && datum->pending <= 1;
}

/* True where its contents are nowhere, and are made again when somebody needs them. */
static inline bool od_datum_is_dropped(const od_datum *datum)
{
    return od_placeset_is_only(datum->valid, OD_RECIPE);
}

/* True where its region's spill area has the contents. */
static inline bool od_datum_is_spilled(const od_datum *datum)
{
    return datum->region && od_placeset_has(datum->valid, OD_SPILL);
}

/* True where no device is needed for contents that these places hold, or nobody does yet. */
static inline bool od_places_are_home(od_placeset places)
{
    return od_placeset_is_empty(places) || od_placeset_has(places, OD_HOST) || od_placeset_has(places, OD_SPILL);
}

static inline bool od_datum_is_home(const od_datum *datum)
{
    return od_places_are_home(datum->valid);
}

/* Bytes that a replica begins behind where its memory does. Part of a struct may begin at any member: those behind it
 * are aligned on devices as they are on the host, up to what vectors need, as libomptarget has it. */
static inline size_t od_datum_phase(const od_datum *datum)
{
    enum { MOST = 16 }; /* alignment, bytes */
    return datum->is_aligned && !datum->window ? datum->base % MOST : 0;
}

/* Bytes that a replica takes of a device's memory, before the pool rounds them. */
static inline size_t od_datum_occupies(const od_datum *datum)
{
    if (datum->pieces)
        return od_datum_phase(datum) + datum->pieces->span;
    return datum->window ? od_window_occupies(datum->window, datum->base, datum->size)
                         : od_datum_phase(datum) + datum->size;
}

static inline od_shape od_datum_shape(const od_datum *datum)
{
    return (od_shape){datum->base, datum->size, datum->pieces};
}

static inline bool od_datum_covers(const od_datum *datum, uintptr_t base, size_t size)
{
    return od_shape_overlap(od_datum_shape(datum), base, base + size).bytes == size;
}

static inline bool od_datum_contains(const od_datum *datum, uintptr_t address)
{
    return od_shape_contains(od_datum_shape(datum), address);
}

/* The attached pointers around it, or NULL. */
static inline const od_attachments *od_datum_attachments(const od_datum *datum)
{
    return datum->region ? datum->region->attachments : datum->attachments;
}

/* True where a reader on device k needs no load: valid there, or undefined anywhere. */
static inline bool od_datum_is_readable(const od_datum *datum, unsigned k)
{
    return od_placeset_is_empty(datum->valid) || od_placeset_has(datum->valid, k);
}

#endif
