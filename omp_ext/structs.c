/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Structs with mapped pointer members. See structs.h. */
#include "omp_ext/structs.h"

#include "memmgr/tree.h"
#include "omp_ext/device_memory.h"
#include "omp_ext/expand.h"
#include "omp_ext/launch.h"
#include "omp_ext/record.h"
#include "util/log.h"
#include "util/memcheck.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_PARENT = 1 << 20 }; /* bytes: larger ones are no descriptors, to copy them at each launch would be slow */

typedef struct attachment {
    uintptr_t slot;    /* host address of the pointer */
    uintptr_t pointer; /* what the host has there */
    uintptr_t begin;   /* the pointee */
    size_t size;
} attachment;

/* A parent in a region. */
typedef struct parent {
    od_tree_node node; /* in `open`, by base */
    uintptr_t base;
    size_t size;
    uint32_t references;
    bool fresh;   /* opened by the construct that is being carried out */
    bool stale;   /* the program's memory counts: it was given to the host */
    char *shadow; /* what devices see, with host addresses in the slots */
    attachment *attached;
    uint32_t nattached, capacity;
} parent;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* protects the open parents */
static od_tree open_parents;
static atomic_size_t nopen;
static uint32_t total_attached; /* in all of them */

enum { NO_ARG = UINT32_MAX };

typedef struct image {
    uint32_t arg; /* of the flat list; NO_ARG: only other images lead to it */
    uintptr_t base;
    size_t size;
    char *bytes, *before; /* what the kernel gets, and got; made for each launch */
} image;

typedef struct member {
    uint32_t image;
    uintptr_t begin;
    size_t size;
    int64_t type;
} member;

typedef struct patch {
    uint32_t image;
    uint32_t arg; /* of the flat list: whose replica's address goes into the slot */
    uintptr_t slot;
    uintptr_t pointer;
} patch;

/* A slot that leads into an image: libomptarget, which maps both, attaches it. */
typedef struct image_link {
    uint32_t from, target; /* images */
    uint32_t arg;          /* of the flat list: no parameter of the kernel's */
    uintptr_t slot;
    uintptr_t pointer;
} image_link;

struct od_structs {
    od_map_args flat;
    uint32_t nhidden;
    image *images;
    member *members;
    patch *patches;
    image_link *links;
    uint32_t nimages, nmembers, npatches, nlinks;
};

/* --- entries of a map list ------------------------------------------------ */

static uintptr_t begin_of(const od_map_args *args, int32_t i)
{
    return (uintptr_t)args->begins[i];
}

static size_t size_of(const od_map_args *args, int32_t i)
{
    return (size_t)args->sizes[i];
}

static bool is_pointee(const od_map_args *args, int32_t i)
{
    return args->types[i] & OD_MAP_PTR_AND_OBJ;
}

static bool is_member(const od_map_args *args, int32_t i)
{
    return (args->types[i] & OD_MAP_MEMBER_OF) && !is_pointee(args, i);
}

/* Stands on its own and maps host memory. */
static bool is_range(const od_map_args *args, int32_t i)
{
    return !(args->types[i] & (OD_MAP_NO_RANGE | OD_MAP_PTR_AND_OBJ | OD_MAP_MEMBER_OF));
}

static bool contains(uintptr_t base, size_t size, uintptr_t begin, size_t n)
{
    return begin >= base && begin + n <= base + size;
}

static uintptr_t load_pointer(uintptr_t slot)
{
    uintptr_t pointer;
    memcpy(&pointer, (const void *)slot, sizeof pointer);
    return pointer;
}

/* The open parent around the range. Table locked. */
static parent *find_open(uintptr_t begin, size_t size)
{
    if (!atomic_load_explicit(&nopen, memory_order_relaxed))
        return NULL;
    od_tree_node *node = od_tree_floor(&open_parents, (od_tree_key){begin, 0});
    parent *p = node ? (parent *)(void *)node : NULL; /* the node comes first */
    return p && contains(p->base, p->size, begin, size ? size : 1) ? p : NULL;
}

bool od_structs_is_open(uintptr_t address, size_t size)
{
    if (!atomic_load_explicit(&nopen, memory_order_relaxed))
        return false;
    pthread_mutex_lock(&lock);
    bool is_open = find_open(address, size);
    pthread_mutex_unlock(&lock);
    return is_open;
}

/* The slot or member at [begin, begin+size) lies in entry j. */
static bool is_around(const od_map_args *args, int32_t j, uintptr_t begin, size_t size)
{
    return args->sizes[j] > 0 && contains(begin_of(args, j), size_of(args, j), begin, size);
}

static bool has_children(const od_map_args *args, int32_t j)
{
    for (int32_t i = j + 1; i < args->count; i++)
        if ((is_pointee(args, i) && is_around(args, j, (uintptr_t)args->bases[i], sizeof(void *))) ||
            (is_member(args, i) && is_around(args, j, begin_of(args, i), size_of(args, i))))
            return true;
    return false;
}

/* Entry i belongs to a parent: it is one (a private one is a lambda), or a part of one that is open. */
static bool is_parent(const od_map_args *args, int32_t i)
{
    if (args->types[i] & OD_MAP_PRIVATE)
        return has_children(args, i);
    return is_range(args, i) && (has_children(args, i) || od_structs_is_open(begin_of(args, i), size_of(args, i)));
}

/* Entry i is a pointee and a parent: an array of structs that a pointer in another struct leads to. */
static bool is_inner(const od_map_args *args, int32_t i)
{
    return is_pointee(args, i) && !(args->types[i] & (OD_MAP_LITERAL | OD_MAP_PARAM)) && args->sizes[i] > 0 &&
           (has_children(args, i) || od_structs_is_open(begin_of(args, i), size_of(args, i)));
}

static bool concerns(const od_map_args *args)
{
    for (int32_t i = 0; i < args->count; i++)
        if ((args->types[i] & (OD_MAP_PTR_AND_OBJ | OD_MAP_MEMBER_OF)) ||
            (is_range(args, i) && od_structs_is_open(begin_of(args, i), size_of(args, i))))
            return true;
    return false;
}

/* --- contents -------------------------------------------------------------- */

/* Copies a part of a parent between the shadow and the program's memory. Slots have host addresses in both. */
static void copy_part(const parent *p, uintptr_t begin, size_t size, bool to_host)
{
    char *device = p->shadow + (begin - p->base), *host = (char *)begin;
    memcpy(to_host ? host : device, to_host ? device : host, size);
}

static void refresh(parent *p)
{
    if (p->stale)
        copy_part(p, p->base, p->size, false);
    p->stale = false;
}

static void give_to_host(parent *p)
{
    if (!p->stale)
        copy_part(p, p->base, p->size, true);
    p->stale = true;
}

/* --- opening --------------------------------------------------------------- */

/* The struct was entered before without its pointees, as a datum: from now on it is a parent. Returns its references. */
static uint32_t take_region(uintptr_t begin, size_t size, uintptr_t *base, size_t *bytes)
{
    od_engine *engine = od_runtime_lock();
    const od_region *region = od_directory_find_region(od_engine_directory(engine), begin, size);
    uint32_t references = region ? region->references : 0;
    if (region) {
        *base = region->base;
        *bytes = region->size;
    }
    od_runtime_unlock();
    if (!references)
        return 0;
    od_runtime_host_range(*base, *bytes, OD_REQUEST_WRITE);
    od_request *request = NULL;
    od_runtime_lock();
    od_record_close(*base, *bytes, false, true, false);
    if (od_engine_region_close(engine, *base, *bytes, false, true, &request))
        od_runtime_fatal("out of host memory for a struct");
    od_runtime_unlock();
    od_runtime_request(request);
    return references;
}

/* A parent, of the region around the range if there is one, with so many references more. Nothing where it has none. */
static void make_parent(uintptr_t begin, size_t size, uint32_t references)
{
    uintptr_t base = begin;
    size_t bytes = size;
    uint32_t taken = take_region(begin, size, &base, &bytes);
    if (!taken && !references)
        return;
    parent *p = calloc(1, sizeof *p);
    if (!p || !(p->shadow = calloc(1, bytes)))
        od_runtime_fatal("out of host memory for a struct");
    p->base = base;
    p->size = bytes;
    p->references = taken + references;
    p->fresh = !taken;
    p->stale = taken > 0;
    pthread_mutex_lock(&lock);
    od_tree_insert(&open_parents, &p->node, (od_tree_key){base, 0});
    atomic_fetch_add(&nopen, 1);
    pthread_mutex_unlock(&lock);
}

static void open_parent(uintptr_t begin, size_t size)
{
    pthread_mutex_lock(&lock);
    parent *p = find_open(begin, size);
    if (p)
        p->references++;
    pthread_mutex_unlock(&lock);
    if (!p)
        make_parent(begin, size, 1);
}

/* Makes parents of the regions that hold the list's slots. */
static void adopt_regions(const od_map_args *args)
{
    for (int32_t i = 0; i < args->count; i++) {
        uintptr_t slot = (uintptr_t)args->bases[i];
        bool has_slot = is_pointee(args, i) && !(args->types[i] & (OD_MAP_PARAM | OD_MAP_LITERAL));
        if (has_slot && !od_structs_is_open(slot, sizeof(void *)))
            make_parent(slot, sizeof(void *), 0);
    }
}

/* --- flattening ------------------------------------------------------------ */

static od_structs *create(int32_t count, uint32_t nattached)
{
    size_t n = (size_t)count + nattached + 1;
    size_t each = 6 * sizeof(void *) + sizeof(image) + 2 * sizeof(member) + sizeof(patch) + sizeof(image_link);
    size_t bytes = sizeof(od_structs) + n * each;
    od_structs *s = calloc(1, bytes);
    if (!s)
        od_runtime_fatal("out of host memory for a map list");
    s->images = (image *)(void *)(s + 1);
    s->members = (member *)(void *)(s->images + n);
    s->patches = (patch *)(void *)(s->members + 2 * n);
    s->links = (image_link *)(void *)(s->patches + n);
    void **array = (void **)(void *)(s->links + n);
    s->flat = (od_map_args){.bases = array,
                            .begins = array + n,
                            .sizes = (int64_t *)(void *)(array + 2 * n),
                            .types = (int64_t *)(void *)(array + 3 * n),
                            .names = array + 4 * n,
                            .mappers = array + 5 * n};
    return s;
}

void od_structs_free(od_structs *structs)
{
    for (uint32_t i = 0; structs && i < structs->nimages; i++)
        free(structs->images[i].bytes);
    free(structs);
}

uint32_t od_structs_hidden(const od_structs *structs)
{
    return structs ? structs->nhidden : 0;
}

static uint32_t append(od_structs *s, uintptr_t base, uintptr_t begin, size_t size, int64_t type)
{
    int32_t i = s->flat.count++;
    s->flat.bases[i] = (void *)base;
    s->flat.begins[i] = (void *)begin;
    s->flat.sizes[i] = (int64_t)size;
    s->flat.types[i] = type;
    return (uint32_t)i;
}

static void add_member(od_structs *s, uint32_t i, uintptr_t begin, size_t size, int64_t type)
{
    if (size && (type & (OD_MAP_TO | OD_MAP_FROM)))
        s->members[s->nmembers++] = (member){i, begin, size, type};
}

/* An image of the parent, or of the open parent around it. */
static bool add_image(od_structs *s, const od_map_args *args, int32_t i, uint32_t arg)
{
    uintptr_t begin = begin_of(args, i);
    size_t size = size_of(args, i);
    pthread_mutex_lock(&lock);
    const parent *p = find_open(begin, size);
    image made = {.arg = arg, .base = p ? p->base : begin, .size = p ? p->size : size};
    pthread_mutex_unlock(&lock);
    if (made.size > MAX_PARENT)
        return false;
    add_member(s, s->nimages, begin, size, args->types[i]);
    s->images[s->nimages++] = made;
    return true;
}

/* An argument that od_structs_build() fills in. */
static uint32_t append_later(od_structs *s, uintptr_t base, uintptr_t begin)
{
    return append(s, base, begin, 0, OD_MAP_PARAM | OD_MAP_PRIVATE);
}

/* The image around [begin, begin+size), or nimages. */
static uint32_t find_image(const od_structs *s, uintptr_t begin, size_t size)
{
    uint32_t i = 0;
    while (i < s->nimages && !contains(s->images[i].base, s->images[i].size, begin, size))
        i++;
    return i;
}

static bool lies_in_image(const od_structs *s, uintptr_t address)
{
    return find_image(s, address, 1) < s->nimages;
}

static void add_patch(od_structs *s, uintptr_t slot, uintptr_t pointer, uint32_t arg)
{
    s->patches[s->npatches++] = (patch){find_image(s, slot, sizeof(void *)), arg, slot, pointer};
}

static uint32_t hide(od_structs *s, uintptr_t pointer, uintptr_t begin, size_t size, int64_t type)
{
    s->nhidden++;
    return append(s, pointer, begin, size, OD_MAP_PARAM | (type & (OD_MAP_TO | OD_MAP_FROM | OD_MAP_ALWAYS)));
}

/* The argument that is the datum at this address, or the count. */
static uint32_t find_arg(const od_structs *s, uintptr_t address)
{
    uint32_t i = 0, n = (uint32_t)s->flat.count;
    while (i < n && (od_arg_classify(&s->flat, (int32_t)i) != OD_ARG_DATUM ||
                     !contains((uintptr_t)s->flat.begins[i], (size_t)s->flat.sizes[i], address, 1)))
        i++;
    return i;
}

/* A lambda's capture: the slot gets the address of what is at `begin`, if a device has that. */
static bool add_capture(od_structs *s, const od_map_args *args, int32_t i)
{
    uintptr_t slot = (uintptr_t)args->bases[i], begin = begin_of(args, i);
    if (find_image(s, slot, sizeof(void *)) == s->nimages || lies_in_image(s, begin))
        return false;
    uint32_t arg = find_arg(s, begin);
    add_patch(s, slot, begin, arg < (uint32_t)s->flat.count ? arg : hide(s, begin, begin, 0, OD_MAP_TO | OD_MAP_FROM));
    return true;
}

/* Outside a region, map(alloc: s.p[0:n]) is scratch memory, which libomptarget makes. */
static bool is_scratch(const od_map_args *args, int32_t i)
{
    if ((args->types[i] & (OD_MAP_TO | OD_MAP_FROM)) || !args->sizes[i])
        return false;
    od_engine *engine = od_runtime_lock();
    bool in_region = od_directory_find_region(od_engine_directory(engine), begin_of(args, i), size_of(args, i));
    od_runtime_unlock();
    return !in_region;
}

static bool has_slot(const od_structs *s, uintptr_t slot)
{
    for (uint32_t i = 0; i < s->npatches; i++)
        if (s->patches[i].slot == slot)
            return true;
    for (uint32_t i = 0; i < s->nlinks; i++)
        if (s->links[i].slot == slot)
            return true;
    return false;
}

static bool add_pointee(od_structs *s, const od_map_args *args, int32_t i)
{
    uintptr_t slot = (uintptr_t)args->bases[i];
    if (args->types[i] & OD_MAP_LITERAL)
        return add_capture(s, args, i);
    if (lies_in_image(s, begin_of(args, i)) && (has_slot(s, slot) || !(args->types[i] & OD_MAP_ATTACH)))
        return has_slot(s, slot); /* a link */
    bool has_image = find_image(s, slot, sizeof(void *)) < s->nimages;
    if (!has_image && (args->types[i] & OD_MAP_ATTACH)) /* of a pointer that the kernel does not see */
        return true;
    if (!has_image || is_scratch(args, i) || (args->types[i] & OD_MAP_RETURN))
        return false;
    uintptr_t pointer = load_pointer(slot);
    add_patch(s, slot, pointer, hide(s, pointer, begin_of(args, i), size_of(args, i), args->types[i]));
    return true;
}

/* Pointees that the region has attached and that the list does not name. */
static void add_attached(od_structs *s, uint32_t i)
{
    od_engine *engine = od_runtime_lock();
    pthread_mutex_lock(&lock);
    const parent *p = find_open(s->images[i].base, s->images[i].size);
    for (uint32_t j = 0; p && j < p->nattached; j++) {
        const attachment *a = &p->attached[j];
        if (!has_slot(s, a->slot) && od_directory_find_region(od_engine_directory(engine), a->begin, a->size))
            add_patch(s, a->slot, a->pointer, hide(s, a->pointer, a->begin, a->size, OD_MAP_TO | OD_MAP_FROM));
    }
    pthread_mutex_unlock(&lock);
    od_runtime_unlock();
}

/* Not less than what add_attached_images(), add_links() and add_attached() may find. */
static uint32_t count_attached(const od_map_args *args)
{
    uint32_t n = 0;
    bool nested = false;
    pthread_mutex_lock(&lock);
    for (int32_t i = 0; i < args->count; i++) {
        bool maps = is_range(args, i) || is_pointee(args, i);
        const parent *p = maps ? find_open(begin_of(args, i), size_of(args, i)) : NULL;
        n += p ? p->nattached : 0;
        for (uint32_t j = 0; p && j < p->nattached && !nested; j++)
            nested = find_open(p->attached[j].begin, p->attached[j].size);
    }
    n += nested ? total_attached : 0;
    pthread_mutex_unlock(&lock);
    return n;
}

/* --- structs that pointers in structs lead to ------------------------------ */

static bool names_slot(const od_map_args *args, uintptr_t slot)
{
    for (int32_t i = 0; i < args->count; i++)
        if (is_pointee(args, i) && (uintptr_t)args->bases[i] == slot)
            return true;
    return false;
}

/* Entry i is of a parent that the kernel does not get, or of a part of one: without `always` that means nothing. */
static bool is_unused(const od_structs *s, const od_map_args *args, int32_t i)
{
    uintptr_t begin = is_pointee(args, i) ? (uintptr_t)args->bases[i] : begin_of(args, i);
    size_t size = is_pointee(args, i) ? sizeof(void *) : size_of(args, i);
    if ((args->types[i] & (OD_MAP_PARAM | OD_MAP_ALWAYS)) || find_image(s, begin, size) < s->nimages)
        return false;
    for (int32_t j = 0; j < args->count; j++)
        if ((args->types[j] & OD_MAP_PARAM) && is_around(args, j, begin, size))
            return false;
    for (int32_t j = 0; j <= i; j++)
        if (is_around(args, j, begin, size) && has_children(args, j))
            return true;
    return false;
}

/* Images of what the list names. */
static bool add_inner_images(od_structs *s, const od_map_args *args)
{
    for (int32_t i = 0; i < args->count; i++) {
        uint32_t j = find_image(s, begin_of(args, i), size_of(args, i));
        if (!is_inner(args, i) || is_unused(s, args, i))
            continue;
        if (j < s->nimages)
            add_member(s, j, begin_of(args, i), size_of(args, i), args->types[i]);
        else if (!add_image(s, args, i, NO_ARG))
            return false;
    }
    return true;
}

/* Images of what the region has attached and the list does not name, directly or through others. */
static void add_attached_images(od_structs *s, const od_map_args *args)
{
    pthread_mutex_lock(&lock);
    for (uint32_t i = 0; i < s->nimages; i++) {
        const parent *p = find_open(s->images[i].base, s->images[i].size);
        for (uint32_t j = 0; p && j < p->nattached; j++) {
            const attachment *a = &p->attached[j];
            const parent *target = names_slot(args, a->slot) ? NULL : find_open(a->begin, a->size);
            if (target && !lies_in_image(s, a->begin))
                s->images[s->nimages++] = (image){.arg = NO_ARG, .base = target->base, .size = target->size};
        }
    }
    pthread_mutex_unlock(&lock);
}

static void add_link(od_structs *s, uint32_t from, uintptr_t slot, uintptr_t pointer, uintptr_t begin)
{
    uint32_t arg = append_later(s, slot, begin);
    s->links[s->nlinks++] = (image_link){from, find_image(s, begin, 1), arg, slot, pointer};
}

/* Those from image i. */
static void add_links_from(od_structs *s, const od_map_args *args, uint32_t i)
{
    const image *im = &s->images[i];
    for (int32_t j = 0; j < args->count; j++) {
        uintptr_t slot = (uintptr_t)args->bases[j];
        bool ours = is_pointee(args, j) && !(args->types[j] & (OD_MAP_LITERAL | OD_MAP_PARAM | OD_MAP_RETURN)) &&
                    contains(im->base, im->size, slot, sizeof(void *));
        if (ours && !has_slot(s, slot) && lies_in_image(s, begin_of(args, j)))
            add_link(s, i, slot, load_pointer(slot), begin_of(args, j));
    }
    pthread_mutex_lock(&lock);
    const parent *p = find_open(im->base, im->size);
    for (uint32_t j = 0; p && j < p->nattached; j++) {
        const attachment *a = &p->attached[j];
        if (!names_slot(args, a->slot) && lies_in_image(s, a->begin))
            add_link(s, i, a->slot, a->pointer, a->begin);
    }
    pthread_mutex_unlock(&lock);
}

/* Links from images to images. An image that is no argument must be led to from an earlier one, as libomptarget maps them in this
 * order. */
static bool add_links(od_structs *s, const od_map_args *args)
{
    for (uint32_t i = 0; i < s->nimages; i++) {
        bool reached = s->images[i].arg != NO_ARG;
        for (uint32_t j = 0; j < s->nlinks && !reached; j++)
            reached = s->links[j].target == i;
        if (!reached)
            return false;
        add_links_from(s, args, i);
    }
    return true;
}

/* What the kernel gets, in its order. */
static bool add_arguments(od_structs *s, const od_map_args *args)
{
    for (int32_t i = 0; i < args->count; i++) {
        if (!(args->types[i] & OD_MAP_PARAM))
            continue;
        if (is_member(args, i))
            return false;
        if (is_pointee(args, i)) /* of a pointer outside of all structs: the kernel gets its value */
            append(s, load_pointer((uintptr_t)args->bases[i]), begin_of(args, i), size_of(args, i),
                   args->types[i] & ~OD_MAP_PTR_AND_OBJ);
        else if (!is_parent(args, i))
            append(s, (uintptr_t)args->bases[i], begin_of(args, i), size_of(args, i), args->types[i]);
        else if (!add_image(s, args, i, append_later(s, (uintptr_t)args->bases[i], begin_of(args, i))))
            return false;
    }
    return true;
}

/* Members, and what is mapped for a pointer in an image to lead to. */
static bool add_parts(od_structs *s, const od_map_args *args)
{
    for (int32_t i = 0; i < args->count; i++) {
        if ((args->types[i] & (OD_MAP_PARAM | OD_MAP_NO_RANGE)) || is_pointee(args, i) || is_unused(s, args, i))
            continue;
        uint32_t j = find_image(s, begin_of(args, i), size_of(args, i));
        if (j < s->nimages)
            add_member(s, j, begin_of(args, i), size_of(args, i), args->types[i]);
        else if (is_member(args, i))
            return false;
        else if (args->types[i] & (OD_MAP_TO | OD_MAP_FROM))
            hide(s, begin_of(args, i), begin_of(args, i), size_of(args, i), args->types[i]);
    }
    return true;
}

static bool add_pointees(od_structs *s, const od_map_args *args)
{
    for (int32_t i = 0; i < args->count; i++)
        if (is_pointee(args, i) && !(args->types[i] & OD_MAP_PARAM) && !is_unused(s, args, i) &&
            !add_pointee(s, args, i))
            return false;
    return true;
}

/* NULL: impossible. */
static od_structs *flatten(const od_map_args *args)
{
    adopt_regions(args);
    od_structs *s = create(args->count, count_attached(args));
    bool possible = add_arguments(s, args) && add_inner_images(s, args);
    if (possible)
        add_attached_images(s, args);
    if (!possible || !add_links(s, args) || !add_parts(s, args) || !add_pointees(s, args)) {
        od_structs_free(s);
        return NULL;
    }
    for (uint32_t i = 0; i < s->nimages; i++)
        add_attached(s, i);
    return s;
}

od_flattened od_structs_flatten(const od_kernel_args *args, od_kernel_args *flat, od_structs **structs)
{
    od_map_args given = od_kernel_map_args(args), room = {0};
    const od_map_args *list = od_expanded(&given, &room);
    bool as_it_is = !concerns(list) && list == &given;
    od_structs *s = as_it_is ? NULL : flatten(list);
    od_expand_free(&room);
    if (!s)
        return as_it_is ? OD_FLAT_AS_IT_IS : OD_FLAT_IMPOSSIBLE;
    *flat = *args;
    flat->count = (uint32_t)s->flat.count;
    flat->bases = s->flat.bases;
    flat->begins = s->flat.begins;
    flat->sizes = s->flat.sizes;
    flat->types = s->flat.types;
    flat->names = NULL;
    flat->mappers = NULL;
    *structs = s;
    return OD_FLAT_DONE;
}

/* --- images ---------------------------------------------------------------- */

/* The members of image i that have all of `flags`, between the shadow and the program's memory. */
static void copy_always(const od_structs *s, uint32_t i, const parent *p, int64_t direction)
{
    int64_t flags = OD_MAP_ALWAYS | direction;
    for (uint32_t j = 0; j < s->nmembers; j++)
        if (s->members[j].image == i && (s->members[j].type & flags) == flags)
            copy_part(p, s->members[j].begin, s->members[j].size, direction == OD_MAP_FROM);
}

static void fill(const od_structs *s, uint32_t i)
{
    image *im = &s->images[i];
    pthread_mutex_lock(&lock);
    parent *p = find_open(im->base, im->size);
    if (p) {
        refresh(p);
        copy_always(s, i, p, OD_MAP_TO);
        memcpy(im->bytes, p->shadow, im->size);
    }
    for (uint32_t j = 0; !p && j < s->nmembers; j++) {
        const member *m = &s->members[j];
        if (m->image == i && (m->type & OD_MAP_TO))
            memcpy(im->bytes + (m->begin - im->base), (const void *)m->begin, m->size);
    }
    pthread_mutex_unlock(&lock);
}

static void apply(const od_structs *s, const patch *made, const int32_t *access_of, const od_access *access, unsigned k)
{
    const image *im = &s->images[made->image];
    if (access_of[made->arg] < 0) /* on no device: the host's address stays */
        return;
    const od_datum *d = access[access_of[made->arg]].datum;
    uintptr_t address = (uintptr_t)od_runtime_address(d, k) + (made->pointer - d->base);
    memcpy(im->bytes + (made->slot - im->base), &address, sizeof address);
}

static void set_arg(od_kernel_args *args, uint32_t i, void *base, const image *im, int64_t type)
{
    args->bases[i] = base;
    args->begins[i] = im->bytes;
    args->sizes[i] = (int64_t)im->size;
    args->types[i] = type | OD_MAP_TO | OD_MAP_FROM;
}

/* The argument that maps the image for the launch. */
static uint32_t arg_of(const od_structs *s, uint32_t i)
{
    uint32_t j = 0;
    if (s->images[i].arg != NO_ARG)
        return s->images[i].arg;
    while (s->links[j].target != i)
        j++;
    return s->links[j].arg;
}

/* The slot gets the address of the other image's bytes here, in whose place libomptarget puts that on the device. (Without
 * member-of it would count a use of the slot that it never ends.) */
static void apply_link(const od_structs *s, const image_link *made, od_kernel_args *args)
{
    const image *im = &s->images[made->from], *target = &s->images[made->target];
    char *slot = im->bytes + (made->slot - im->base);
    uintptr_t address = (uintptr_t)target->bytes + (made->pointer - target->base);
    memcpy(slot, &address, sizeof address);
    set_arg(args, made->arg, slot, target, OD_MAP_PTR_AND_OBJ | OD_MAP_MEMBER_OF_ENTRY(arg_of(s, made->from)));
}

void od_structs_build(od_structs *structs, od_kernel_args *args, const int32_t *access_of, const od_access *access,
                      unsigned k)
{
    for (uint32_t i = 0; i < structs->nimages; i++) {
        image *im = &structs->images[i];
        free(im->bytes);
        im->bytes = calloc(2, im->size);
        if (!im->bytes)
            od_runtime_fatal("out of host memory for a struct");
        im->before = im->bytes + im->size;
        fill(structs, i);
        if (im->arg == NO_ARG)
            continue;
        uintptr_t shift = (uintptr_t)args->bases[im->arg] - im->base;
        set_arg(args, im->arg, (void *)((uintptr_t)im->bytes + shift), im, OD_MAP_PARAM);
    }
    for (uint32_t j = 0; j < structs->nlinks; j++)
        apply_link(structs, &structs->links[j], args);
    for (uint32_t j = 0; j < structs->npatches; j++)
        apply(structs, &structs->patches[j], access_of, access, k);
    for (uint32_t i = 0; i < structs->nimages; i++) {
        OD_MEMCHECK_DEFINED(structs->images[i].bytes, structs->images[i].size);
        memcpy(structs->images[i].before, structs->images[i].bytes, structs->images[i].size);
    }
}

/* Gives [begin, begin+size) of the image to `to`, which stands for its base: the bytes that the kernel has changed. */
static void merge_changes(const image *im, char *to, uintptr_t begin, size_t size)
{
    for (size_t i = begin - im->base; i < begin - im->base + size; i++)
        if (im->bytes[i] != im->before[i])
            to[i] = im->bytes[i];
}

static bool lies_in_slot(const od_structs *s, uintptr_t address)
{
    bool slot = false;
    for (uint32_t j = 0; j < s->npatches && !slot; j++)
        slot = contains(s->patches[j].slot, sizeof(void *), address, 1);
    for (uint32_t j = 0; j < s->nlinks && !slot; j++)
        slot = contains(s->links[j].slot, sizeof(void *), address, 1);
    return slot;
}

/* map(from:) without `to`: all bytes count, but for the slots. */
static void merge_all(const od_structs *s, const image *im, const member *m)
{
    for (uintptr_t address = m->begin; address < m->begin + m->size; address++) {
        if (!lies_in_slot(s, address))
            *(char *)address = im->bytes[address - im->base];
    }
}

static void merge_members(const od_structs *s, uint32_t i)
{
    const image *im = &s->images[i];
    for (uint32_t j = 0; j < s->nmembers; j++) {
        const member *m = &s->members[j];
        if (m->image != i || !(m->type & OD_MAP_FROM))
            continue;
        if (m->type & OD_MAP_TO)
            merge_changes(im, (char *)im->base, m->begin, m->size);
        else
            merge_all(s, im, m);
    }
}

/* A slot that the kernel has changed leads nowhere on the host. */
static void restore_slot(const image *im, uintptr_t slot)
{
    memcpy(im->bytes + (slot - im->base), im->before + (slot - im->base), sizeof(void *));
}

void od_structs_merge(od_structs *structs)
{
    for (uint32_t j = 0; j < structs->npatches; j++)
        restore_slot(&structs->images[structs->patches[j].image], structs->patches[j].slot);
    for (uint32_t j = 0; j < structs->nlinks; j++)
        restore_slot(&structs->images[structs->links[j].from], structs->links[j].slot);
    pthread_mutex_lock(&lock);
    for (uint32_t i = 0; i < structs->nimages; i++) {
        const image *im = &structs->images[i];
        const parent *p = find_open(im->base, im->size);
        if (p) {
            merge_changes(im, p->shadow, im->base, im->size);
            copy_always(structs, i, p, OD_MAP_FROM);
        } else {
            merge_members(structs, i);
        }
    }
    pthread_mutex_unlock(&lock);
}

void od_structs_to_host(const od_structs *structs)
{
    pthread_mutex_lock(&lock);
    for (uint32_t i = 0; structs && i < structs->nimages; i++) {
        parent *p = find_open(structs->images[i].base, structs->images[i].size);
        if (p)
            give_to_host(p);
    }
    pthread_mutex_unlock(&lock);
}

/* --- data constructs -------------------------------------------------------- */

static bool is_convertible(const od_map_args *args, int32_t i)
{
    if (is_pointee(args, i)) {
        uintptr_t slot = (uintptr_t)args->bases[i]; /* without a parent it has no copy on a device: nothing to attach */
        return od_foreign_device(slot, sizeof(void *)) < 0 && !(args->types[i] & (OD_MAP_RETURN | OD_MAP_LITERAL)) &&
               (is_inner(args, i) ? size_of(args, i) <= MAX_PARENT : !od_structs_is_open(begin_of(args, i), 1));
    }
    return !(args->types[i] & OD_MAP_NON_CONTIG) &&
           !(is_parent(args, i) && (size_of(args, i) > MAX_PARENT || (args->types[i] & OD_MAP_RETURN)));
}

od_flattened od_structs_flatten_data(const od_map_args *args, od_map_args *flat, od_structs **structs)
{
    if (!concerns(args))
        return OD_FLAT_AS_IT_IS;
    for (int32_t i = 0; i < args->count; i++)
        if (!is_convertible(args, i))
            return OD_FLAT_IMPOSSIBLE;
    od_structs *s = create(args->count, 0);
    for (int32_t i = 0; i < args->count; i++)
        if (!is_member(args, i) && !is_parent(args, i) && !is_inner(args, i) &&
            (is_pointee(args, i) || !(args->types[i] & OD_MAP_ATTACH)))
            append(s, is_pointee(args, i) ? load_pointer((uintptr_t)args->bases[i]) : (uintptr_t)args->bases[i],
                   begin_of(args, i), size_of(args, i),
                   args->types[i] & ~(OD_MAP_PTR_AND_OBJ | OD_MAP_MEMBER_OF | OD_MAP_ATTACH));
    *flat = s->flat;
    *structs = s;
    return OD_FLAT_DONE;
}

static void attach(parent *p, attachment made)
{
    memcpy(p->shadow + (made.slot - p->base), &made.pointer, sizeof made.pointer);
    for (uint32_t i = 0; i < p->nattached; i++)
        if (p->attached[i].slot == made.slot) {
            p->attached[i] = made;
            return;
        }
    if (p->nattached == p->capacity) {
        uint32_t capacity = p->capacity ? 2 * p->capacity : 4;
        attachment *more = realloc(p->attached, capacity * sizeof *more);
        if (!more)
            od_runtime_fatal("out of host memory for a struct");
        p->attached = more;
        p->capacity = capacity;
    }
    p->attached[p->nattached++] = made;
    total_attached++;
}

/* Copies the entry's part where its flags say so and the construct is the first or last, or `always`. */
static void move(parent *p, const od_map_args *args, int32_t i, int64_t direction, bool now)
{
    if ((args->types[i] & direction) && (now || (args->types[i] & OD_MAP_ALWAYS))) {
        refresh(p);
        copy_part(p, begin_of(args, i), size_of(args, i), direction == OD_MAP_FROM);
    }
}

/* The open parent that entry i is, or is a part of. Table locked. */
static parent *find_named(const od_map_args *args, int32_t i)
{
    return is_pointee(args, i) && !args->sizes[i] ? NULL : find_open(begin_of(args, i), size_of(args, i));
}

void od_structs_begin(const od_map_args *args)
{
    for (int32_t i = 0; i < args->count; i++)
        if ((is_parent(args, i) || is_inner(args, i)) && args->sizes[i] > 0)
            open_parent(begin_of(args, i), size_of(args, i));
    adopt_regions(args);
    pthread_mutex_lock(&lock);
    for (int32_t i = 0; i < args->count; i++) {
        uintptr_t slot = (uintptr_t)args->bases[i];
        parent *holder = is_pointee(args, i) ? find_open(slot, sizeof(void *)) : NULL, *p = find_named(args, i);
        if (holder)
            attach(holder, (attachment){slot, load_pointer(slot), begin_of(args, i), size_of(args, i)});
        if (p)
            move(p, args, i, OD_MAP_TO, p->fresh);
    }
    for (int32_t i = 0; i < args->count; i++) {
        parent *p = find_named(args, i);
        if (p)
            p->fresh = false;
    }
    pthread_mutex_unlock(&lock);
}

static void close_parent(parent *p)
{
    od_tree_remove(&open_parents, &p->node);
    atomic_fetch_sub(&nopen, 1);
    total_attached -= p->nattached;
    free(p->shadow);
    free(p->attached);
    free(p);
}

void od_structs_end(const od_map_args *args)
{
    pthread_mutex_lock(&lock);
    for (int32_t i = args->count - 1; i >= 0; i--) {
        parent *p = find_named(args, i);
        if (!p || (args->types[i] & OD_MAP_NO_RANGE))
            continue;
        bool last = p->references == 1 || (args->types[i] & OD_MAP_DELETE);
        move(p, args, i, OD_MAP_FROM, last);
        if (is_member(args, i))
            continue;
        p->references = last ? 0 : p->references - 1;
        if (last)
            close_parent(p);
    }
    pthread_mutex_unlock(&lock);
}

void od_structs_update(const od_map_args *args)
{
    pthread_mutex_lock(&lock);
    for (int32_t i = 0; i < args->count; i++) {
        parent *p = find_named(args, i);
        if (!p)
            continue;
        move(p, args, i, OD_MAP_TO, true);
        move(p, args, i, OD_MAP_FROM, true);
    }
    pthread_mutex_unlock(&lock);
}

void od_structs_bring_home(const od_map_args *args)
{
    pthread_mutex_lock(&lock);
    for (int32_t i = 0; i < args->count; i++) {
        if (args->types[i] & OD_MAP_NO_RANGE)
            continue;
        parent *holder = is_pointee(args, i) ? find_open((uintptr_t)args->bases[i], 1) : NULL;
        parent *p = find_open(begin_of(args, i), 1);
        if (holder)
            give_to_host(holder);
        if (p)
            give_to_host(p);
    }
    pthread_mutex_unlock(&lock);
}

void od_structs_locks(int (*visit)(pthread_mutex_t *lock))
{
    visit(&lock);
}
