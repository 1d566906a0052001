/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Directory: which datum, and which open region, an address range belongs to.
 *
 * Data never overlap each other; regions never overlap each other; a datum that
 * touches a region lies inside it. Both kinds are kept ordered by address, so that
 * lookups and range queries are O(log n + hits). Owns the od_datum and od_region
 * structures. No device is touched; the caller holds the engine's lock.
 */
#ifndef OD_MEMMGR_DATA_DIRECTORY_H
#define OD_MEMMGR_DATA_DIRECTORY_H

#include "memmgr/data/datum.h"
#include "memmgr/data/presence.h"
#include "util/status.h"

typedef struct od_directory od_directory;

/* `ndevices` replicas per datum. NULL: out of memory. */
od_directory *od_directory_create(unsigned ndevices);
void od_directory_destroy(od_directory *dir);
/* Data that are added from now on are aligned on devices as on the host: see od_datum_phase(). */
void od_directory_keep_alignment(od_directory *dir);

/* The datum that contains all of [base, base+size), or NULL. size 0 asks for the address alone. */
od_datum *od_directory_find(const od_directory *dir, uintptr_t base, size_t size);

/* Calls visit(datum, arg) for every datum that overlaps [base, base+size), in
 * address order, until it returns false; once, however many of its pieces do. The visitor must not change the
 * directory. */
void od_directory_visit(const od_directory *dir, uintptr_t base, size_t size, bool (*visit)(od_datum *, void *),
                        void *arg);

/* The first range of data, in address order, that overlaps [base, base+size). False: there is none. */
bool od_directory_first(const od_directory *dir, uintptr_t base, size_t size, od_span *range);

/* A new datum, all replicas absent, valid on the host (or where its region's spill area remembers all of it, or
 * nowhere, in an `undefined` region); its region is looked up. It must overlap no other datum (OD_EINVAL). */
od_status od_directory_add(od_directory *dir, uintptr_t base, size_t size, od_datum **datum);
/* Likewise in pieces, which it takes if it succeeds: all in one region. */
od_status od_directory_add_pieces(od_directory *dir, od_pieces *pieces, od_datum **datum);

/* Forgets a datum; all its replicas must be absent. Frees it. */
void od_directory_remove(od_directory *dir, od_datum *datum);

size_t od_directory_count(const od_directory *dir);
/* One more than the highest id ever given out. */
uint32_t od_directory_id_limit(const od_directory *dir);

/* The region that contains all of [base, base+size), or NULL. */
od_region *od_directory_find_region(const od_directory *dir, uintptr_t base, size_t size);

/* The last region that begins at or before the address, and the first one after it; NULL: none. */
void od_directory_near_regions(const od_directory *dir, uintptr_t address, od_region **before, od_region **after);
/* How a section lies to the region that it refers to by the rules of presence.h, which is *region, NULL if apart. */
od_relation od_directory_refer(const od_directory *dir, uintptr_t begin, size_t size, od_region **region);

/* What a construct that names the section does; *region is what it uses then, else NULL. */
od_verdict od_directory_judge(const od_directory *dir, od_naming naming, const od_section *section, od_region **region);

/* Opens a region, without references yet, and points the data inside it to it. OD_EINVAL: it overlaps an open
 * one. */
od_status od_directory_open(od_directory *dir, const od_mapping *mapping, bool undefined, od_region **region);

bool od_directory_has_regions(const od_directory *dir);

/* Removes a region whose last reference is gone; the data inside it no longer have one. */
void od_directory_close(od_directory *dir, od_region *region);

bool od_directory_is_valid(const od_directory *dir);

#endif
