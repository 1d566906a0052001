/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Directory of data and regions. Both are sets of ranges that do not overlap: a tree
 * by base address answers "which range is at or before this address", a list in
 * the same order walks on from there. Since ranges are disjoint, the range at or
 * before an address is the only one that can contain it.
 *
 * All arithmetic is on differences of addresses, so that ranges may reach the very end
 * of the address space.
 */
#include "memmgr/data/directory.h"

#include "memmgr/data/attach.h"
#include "memmgr/data/relocation.h"
#include "memmgr/data/spill.h"
#include "util/container/array.h"
#include "util/container/tree.h"
#include "util/memory.h"

#include <assert.h>
#include <stdlib.h>

typedef struct range {
    od_tree_node node; /* in range_set.tree, by base */
    od_node order;     /* in range_set.list, by base */
    uintptr_t base;
    size_t size;
    void *owner; /* the od_datum or od_region at this range; owned */
} range;

typedef struct range_set {
    od_tree tree;
    od_list list;
} range_set;

/* What an id stands for: a datum, or (NULL) a link in the chain of ids to be reused. */
typedef struct id_slot {
    od_datum *datum;
    uint32_t next_free;
} id_slot;

enum { NO_ID = UINT32_MAX };

struct od_directory {
    unsigned ndevices;
    range_set data, regions;
    id_slot *ids; /* id_limit in use, ids_capacity allocated */
    uint32_t id_limit, ids_capacity;
    uint32_t first_free; /* head of the chain of free ids, or NO_ID */
    size_t count;        /* of data */
    bool keeps_alignment;
};

/* --- sets of disjoint ranges ---------------------------------------------- */

static od_tree_key base_key(uintptr_t base)
{
    return (od_tree_key){base, 0};
}

static range *range_of_link(const range_set *set, od_node *link)
{
    return link != &set->list.root ? od_container_of(link, range, order) : NULL;
}

static bool range_is_sane(uintptr_t base, size_t size)
{
    return size > 0 && size - 1 <= UINTPTR_MAX - base;
}

static bool range_contains(const range *r, uintptr_t base, size_t size)
{
    return base >= r->base && base - r->base < r->size && size <= r->size - (base - r->base);
}

static bool range_overlaps(const range *r, uintptr_t base, size_t size)
{
    return base >= r->base ? base - r->base < r->size : r->base - base < size;
}

/* The range at or before an address, or NULL. */
static range *set_floor(const range_set *set, uintptr_t base)
{
    od_tree_node *node = od_tree_floor(&set->tree, base_key(base));
    return node ? od_container_of(node, range, node) : NULL;
}

static range *set_find(const range_set *set, uintptr_t base, size_t size)
{
    range *r = set_floor(set, base);
    return r && range_contains(r, base, size) ? r : NULL;
}

/* The first range after an address. */
static range *set_after(const range_set *set, uintptr_t base)
{
    range *before = set_floor(set, base);
    return range_of_link(set, before ? before->order.next : set->list.root.next);
}

static range *set_first_overlap(const range_set *set, uintptr_t base, size_t size)
{
    range *r = set_floor(set, base);
    if (!r || !range_overlaps(r, base, size))
        r = set_after(set, base);
    return r && range_overlaps(r, base, size) ? r : NULL;
}

static range *set_next_overlap(const range_set *set, const range *r, uintptr_t base, size_t size)
{
    range *next = range_of_link(set, r->order.next);
    return next && range_overlaps(next, base, size) ? next : NULL;
}

static od_status set_insert(range_set *set, uintptr_t base, size_t size, void *owner)
{
    range *r = od_calloc(1, sizeof *r);
    if (!r)
        return OD_ENOMEM;
    r->base = base;
    r->size = size;
    r->owner = owner;
    range *after = set_after(set, base);
    od_list_insert_before(&set->list, after ? &after->order : &set->list.root, &r->order);
    od_tree_insert(&set->tree, &r->node, base_key(base));
    return OD_OK;
}

/* Removes the range at `base`; its owner stays. */
static void set_remove(range_set *set, uintptr_t base)
{
    range *r = set_find(set, base, 0);
    assert(r && r->base == base);
    od_tree_remove(&set->tree, &r->node);
    od_list_remove(&set->list, &r->order);
    free(r);
}

/* What a datum shares with its region's other data, and what its replicas own. */
static void let_go(const od_datum *datum, unsigned ndevices)
{
    od_spill_release(datum->spill);
    od_window_release(datum->window);
    od_attachments_release(datum->attachments);
    for (unsigned k = 0; k < ndevices; k++)
        od_patches_free(datum->replica[k].patches);
}

static void free_datum(od_datum *datum)
{
    free(datum->pieces);
    free(datum);
}

/* The range is where its datum begins. */
static bool begins_datum(const range *r)
{
    const od_datum *datum = r->owner;
    return r->base == datum->base;
}

static void set_clear(range_set *set)
{
    od_list_each(it, &set->list)
        free(od_container_of(it, range, order));
}

static void release_data(range_set *data, unsigned ndevices)
{
    od_list_each(it, &data->list) {
        range *r = od_container_of(it, range, order);
        if (begins_datum(r))
            let_go(r->owner, ndevices);
        else
            r->owner = NULL; /* its datum will be freed before it is looked at again */
    }
    od_list_each(it, &data->list) {
        const range *r = od_container_of(it, range, order);
        if (r->owner)
            free_datum(r->owner);
    }
    set_clear(data);
}

static void release_regions(range_set *regions)
{
    od_list_each(it, &regions->list) {
        od_region *region = od_container_of(it, range, order)->owner;
        od_spill_release(region->spill);
        od_window_release(region->window);
        od_attachments_release(region->attachments);
        free(region);
    }
    set_clear(regions);
}

static bool set_is_valid(const range_set *set)
{
    const range *before = NULL;
    od_list_each(it, &set->list) {
        const range *r = od_container_of(it, range, order);
        if (!range_is_sane(r->base, r->size) || od_tree_find(&set->tree, base_key(r->base)) != &r->node)
            return false;
        if (before && (r->base <= before->base || range_overlaps(before, r->base, r->size)))
            return false;
        before = r;
    }
    return set->list.count == set->tree.count && od_tree_is_valid(&set->tree);
}

/* --- ids ------------------------------------------------------------------- */

/* Makes room for one more id than was ever given out, so that taking one cannot fail. */
static od_status ids_reserve(od_directory *dir)
{
    if (dir->first_free != NO_ID || dir->id_limit < dir->ids_capacity)
        return OD_OK;
    if (dir->ids_capacity >= NO_ID / 2)
        return OD_ENOMEM;
    bool has_room = od_array_reserve(&dir->ids, &dir->ids_capacity, (uint64_t)dir->id_limit + 1, sizeof *dir->ids);
    return has_room ? OD_OK : OD_ENOMEM;
}

static void id_take(od_directory *dir, od_datum *datum)
{
    if (dir->first_free != NO_ID) {
        datum->id = dir->first_free;
        dir->first_free = dir->ids[datum->id].next_free;
    } else {
        datum->id = dir->id_limit++;
    }
    datum->tie = datum->id;
    dir->ids[datum->id] = (id_slot){.datum = datum, .next_free = NO_ID};
    dir->count++;
}

static void id_give_back(od_directory *dir, uint32_t id)
{
    dir->ids[id] = (id_slot){.datum = NULL, .next_free = dir->first_free};
    dir->first_free = id;
}

/* --- data ------------------------------------------------------------------ */

void od_directory_keep_alignment(od_directory *dir)
{
    dir->keeps_alignment = true;
}

od_directory *od_directory_create(unsigned ndevices)
{
    assert(ndevices <= OD_MAX_DEVICES);
    od_directory *dir = od_calloc(1, sizeof *dir);
    if (!dir)
        return NULL;
    dir->ndevices = ndevices;
    dir->first_free = NO_ID;
    od_list_init(&dir->data.list);
    od_list_init(&dir->regions.list);
    return dir;
}

void od_directory_destroy(od_directory *dir)
{
    if (!dir)
        return;
    release_data(&dir->data, dir->ndevices);
    release_regions(&dir->regions);
    free(dir->ids);
    free(dir);
}

od_datum *od_directory_find(const od_directory *dir, uintptr_t base, size_t size)
{
    range *r = set_find(&dir->data, base, size);
    return r ? r->owner : NULL;
}

/* Another piece of its datum, before it, overlaps what begins at the base, too. */
static bool was_visited(const range *r, uintptr_t base)
{
    const od_datum *datum = r->owner;
    return r->base != datum->base && od_shape_overlap(od_datum_shape(datum), base, r->base).bytes;
}

static size_t first_size(const od_datum *datum)
{
    return od_shape_piece(od_datum_shape(datum), 0).size;
}

void od_directory_visit(const od_directory *dir, uintptr_t base, size_t size, bool (*visit)(od_datum *, void *),
                        void *arg)
{
    if (size == 0)
        return;
    range *r = set_first_overlap(&dir->data, base, size);
    while (r && (was_visited(r, base) || visit(r->owner, arg)))
        r = set_next_overlap(&dir->data, r, base, size);
}

bool od_directory_first(const od_directory *dir, uintptr_t base, size_t size, od_span *span)
{
    const range *r = size ? set_first_overlap(&dir->data, base, size) : NULL;
    if (r)
        *span = (od_span){r->base, r->base + r->size};
    return r;
}

/* Where the contents of a shape are of which there is no datum. */
static od_placeset initial_places(const od_region *region, od_shape shape)
{
    bool spilled = region && region->spill;
    for (uint32_t i = 0, n = od_shape_count(shape); i < n && spilled; i++) {
        od_piece piece = od_shape_piece(shape, i);
        spilled = od_spill_cover(region->spill, piece.begin, piece.size) == OD_COVER_WHOLE;
    }
    if (spilled)
        return od_placeset_of(OD_SPILL);
    return region && region->undefined ? OD_NO_PLACES : od_placeset_of(OD_HOST);
}

static od_datum *new_datum(const od_directory *dir, od_shape shape)
{
    od_datum *datum = od_calloc(1, sizeof *datum + dir->ndevices * sizeof datum->replica[0]);
    if (!datum)
        return NULL;
    datum->base = shape.base;
    datum->size = shape.size;
    datum->home = OD_NOWHERE;
    od_list_init(&datum->recipes);
    datum->region = od_directory_find_region(dir, shape.base, od_shape_piece(shape, 0).size);
    datum->window = datum->region ? od_window_hold(datum->region->window) : NULL;
    datum->valid = initial_places(datum->region, shape);
    for (unsigned k = 0; k < dir->ndevices; k++) {
        datum->replica[k].datum = datum;
        datum->replica[k].state = OD_ABSENT;
    }
    return datum;
}

/* The first n pieces go from the set again; those that the spill area has lost stay with the region's contents. */
static void take_back(od_directory *dir, od_datum *datum, od_shape shape, uint32_t n)
{
    while (n)
        set_remove(&dir->data, od_shape_piece(shape, --n).begin);
    od_window_release(datum->window);
    free(datum);
}

static od_status insert_pieces(od_directory *dir, od_datum *datum, od_shape shape)
{
    for (uint32_t i = 0, n = od_shape_count(shape); i < n; i++) {
        od_piece piece = od_shape_piece(shape, i);
        if (set_insert(&dir->data, piece.begin, piece.size, datum)) {
            take_back(dir, datum, shape, i);
            return OD_ENOMEM;
        }
    }
    return OD_OK;
}

/* The datum has what the spill area remembers. */
static od_status take_spilled(od_directory *dir, od_datum *datum, od_shape shape)
{
    od_spill *spill = od_placeset_is_only(datum->valid, OD_SPILL) ? datum->region->spill : NULL;
    for (uint32_t i = 0, n = od_shape_count(shape); spill && i < n; i++) {
        od_piece piece = od_shape_piece(shape, i);
        if (!od_spill_take(spill, piece.begin, piece.size))
            continue;
        while (i-- > 0) /* room for what has been taken is there */
            od_spill_keep(spill, od_shape_piece(shape, i).begin, od_shape_piece(shape, i).size);
        take_back(dir, datum, shape, n);
        return OD_ENOMEM;
    }
    return OD_OK;
}

static bool is_free(const od_directory *dir, od_shape shape)
{
    for (uint32_t i = 0, n = od_shape_count(shape); i < n; i++) {
        od_piece piece = od_shape_piece(shape, i);
        if (!range_is_sane(piece.begin, piece.size) || set_first_overlap(&dir->data, piece.begin, piece.size))
            return false;
    }
    return true;
}

static od_status add(od_directory *dir, od_shape shape, od_datum **datum)
{
    od_status status = is_free(dir, shape) ? ids_reserve(dir) : OD_EINVAL;
    if (status)
        return status;
    od_datum *added = new_datum(dir, shape);
    if (added)
        added->is_aligned = dir->keeps_alignment;
    status = added ? insert_pieces(dir, added, shape) : OD_ENOMEM;
    if (!status)
        status = take_spilled(dir, added, shape);
    if (status)
        return status;
    id_take(dir, added);
    *datum = added;
    return OD_OK;
}

od_status od_directory_add(od_directory *dir, uintptr_t base, size_t size, od_datum **datum)
{
    return add(dir, (od_shape){base, size, NULL}, datum);
}

od_status od_directory_add_pieces(od_directory *dir, od_pieces *pieces, od_datum **datum)
{
    od_status status = add(dir, (od_shape){pieces->at[0].begin, pieces->size, pieces}, datum);
    if (!status)
        (*datum)->pieces = pieces;
    return status;
}

void od_directory_remove(od_directory *dir, od_datum *datum)
{
    for (unsigned k = 0; k < dir->ndevices; k++)
        assert(datum->replica[k].state == OD_ABSENT);
    id_give_back(dir, datum->id);
    let_go(datum, dir->ndevices);
    od_shape shape = od_datum_shape(datum);
    for (uint32_t i = 0, n = od_shape_count(shape); i < n; i++)
        set_remove(&dir->data, od_shape_piece(shape, i).begin);
    dir->count--;
    free_datum(datum);
}

size_t od_directory_count(const od_directory *dir)
{
    return dir->count;
}

uint32_t od_directory_id_limit(const od_directory *dir)
{
    return dir->id_limit;
}

/* --- regions --------------------------------------------------------------- */

bool od_directory_has_regions(const od_directory *dir)
{
    return dir->regions.list.count > 0;
}

od_region *od_directory_find_region(const od_directory *dir, uintptr_t base, size_t size)
{
    range *r = set_find(&dir->regions, base, size);
    return r ? r->owner : NULL;
}

/* Points the data that lie wholly inside a region to `to`; a datum that only sticks out of it has no region. Those that
 * lose their region keep its spill area while their contents may be there. */
static void point_data(const od_directory *dir, const od_region *region, od_region *to)
{
    range *r = set_first_overlap(&dir->data, region->base, region->size);
    for (; r; r = set_next_overlap(&dir->data, r, region->base, region->size)) {
        od_datum *datum = r->owner;
        if (od_directory_find_region(dir, datum->base, first_size(datum)) != region)
            continue;
        datum->region = to;
        od_attachments_release(datum->attachments);
        datum->attachments = to ? NULL : od_attachments_hold(region->attachments);
        if (!to && region->spill && !datum->spill) {
            od_spill_hold(region->spill);
            datum->spill = region->spill;
        }
    }
}

void od_directory_near_regions(const od_directory *dir, uintptr_t address, od_region **before, od_region **after)
{
    range *floor = set_floor(&dir->regions, address);
    range *next = range_of_link(&dir->regions, floor ? floor->order.next : dir->regions.list.root.next);
    *before = floor ? floor->owner : NULL;
    *after = next ? next->owner : NULL;
}

od_relation od_directory_refer(const od_directory *dir, uintptr_t begin, size_t size, od_region **region)
{
    od_region *before, *after;
    *region = NULL;
    if (!od_directory_has_regions(dir))
        return OD_APART;
    od_directory_near_regions(dir, begin, &before, &after);
    od_mapping left = before ? od_region_mapping(before) : (od_mapping){0};
    od_mapping right = after ? od_region_mapping(after) : (od_mapping){0};
    const od_mapping *found;
    od_relation relation =
        od_presence_find((od_neighbours){before ? &left : NULL, after ? &right : NULL}, begin, size, &found);
    if (found)
        *region = found == &left ? before : after;
    return relation;
}

od_verdict od_directory_judge(const od_directory *dir, od_naming naming, const od_section *section, od_region **region)
{
    od_relation relation = od_directory_refer(dir, section->begin, section->size, region);
    od_verdict verdict = od_presence_judge(naming, relation, section);
    if (verdict != OD_VERDICT_USE)
        *region = NULL;
    return verdict;
}

od_status od_directory_open(od_directory *dir, const od_mapping *mapping, bool undefined, od_region **region)
{
    uintptr_t base = mapping->begin;
    size_t size = mapping->size;
    if (!range_is_sane(base, size) || set_first_overlap(&dir->regions, base, size))
        return OD_EINVAL;
    od_region *added = od_malloc(sizeof *added);
    if (!added)
        return OD_ENOMEM;
    *added = (od_region){.base = base, .size = size, .origin = mapping->origin, .undefined = undefined};
    od_status status = set_insert(&dir->regions, base, size, added);
    if (status) {
        free(added);
        return status;
    }
    point_data(dir, added, added);
    *region = added;
    return OD_OK;
}

void od_directory_close(od_directory *dir, od_region *region)
{
    assert(region->references == 0 && region->holds == 0);
    point_data(dir, region, NULL);
    od_spill_release(region->spill);
    od_window_release(region->window);
    od_attachments_release(region->attachments);
    set_remove(&dir->regions, region->base);
    free(region);
}

/* --- checks ---------------------------------------------------------------- */

static bool is_piece_of(const od_datum *datum, const range *r)
{
    if (!datum->pieces)
        return datum->base == r->base && datum->size == r->size;
    return od_shape_overlap(od_datum_shape(datum), r->base, r->base + r->size).bytes == r->size;
}

static bool datum_is_valid(const od_directory *dir, const range *r)
{
    const od_datum *datum = r->owner;
    if (!is_piece_of(datum, r))
        return false;
    if (datum->id >= dir->id_limit || dir->ids[datum->id].datum != datum)
        return false;
    for (unsigned k = 0; k < dir->ndevices; k++)
        if (datum->replica[k].datum != datum)
            return false;
    return datum->region == od_directory_find_region(dir, r->base, r->size);
}

/* Every id is either a datum's or in the chain of free ones, once. */
static bool ids_are_valid(const od_directory *dir)
{
    size_t nfree = 0;
    for (uint32_t id = dir->first_free; id != NO_ID && nfree <= dir->id_limit; id = dir->ids[id].next_free) {
        if (id >= dir->id_limit || dir->ids[id].datum)
            return false;
        nfree++;
    }
    return nfree + od_directory_count(dir) == dir->id_limit;
}

bool od_directory_is_valid(const od_directory *dir)
{
    if (!set_is_valid(&dir->data) || !set_is_valid(&dir->regions) || !ids_are_valid(dir))
        return false;
    od_list_each(it, &dir->data.list)
        if (!datum_is_valid(dir, od_container_of(it, range, order)))
            return false;
    od_list_each(it, &dir->regions.list) {
        const range *r = od_container_of(it, range, order);
        const od_region *region = r->owner;
        if (region->base != r->base || region->size != r->size)
            return false;
    }
    return true;
}
