/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* See parts.h. */
#include "omp_ext/maps/parts/parts.h"

#include "omp_ext/maps/parts/by_name.h"
#include "omp_ext/maps/parts/by_share.h"
#include "omp_ext/runtime/runtime.h"
#include "util/log.h"

/* --- what a task names ------------------------------------------------------ */

static bool names_sections(const od_region *region, const od_depend *depends, int32_t ndepends)
{
    bool any = false;
    for (int32_t i = 0; i < ndepends; i++) {
        if (depends[i].flags & OD_DEPEND_ALL_MEMORY)
            return false;
        if (!od_parts_lie_in(region, &depends[i]))
            continue;
        if (depends[i].base == region->base && depends[i].length >= region->size)
            return false;
        any |= depends[i].length >= od_window_page();
    }
    return any;
}

/* Where kernels are watched parts end where pages do: a page that a section shares with its neighbour is a part. */
static od_status add_section(od_parts *parts, const od_region *region, uintptr_t base, size_t size, od_mode mode)
{
    uintptr_t last = region->base + region->size, end = size < last - base ? base + size : last;
    uintptr_t cuts[] = {od_window_page_begin(base), od_window_page_end(base), od_window_page_begin(end),
                        od_window_page_end(end)};
    od_status status = OD_OK;
    if (!od_runtime_guards_parts())
        return od_parts_add(parts, base, end - base, mode);
    if (end == last)
        cuts[2] = cuts[3] = end;
    cuts[0] = cuts[0] < region->base ? region->base : cuts[0];
    cuts[1] = base == region->base ? base : cuts[1];
    cuts[2] = cuts[2] < cuts[1] ? cuts[1] : cuts[2]; /* all in one page, which may begin before the region */
    for (int i = 0; i < 3 && !status; i++)
        if (cuts[i + 1] > cuts[i])
            status = od_parts_add(parts, cuts[i], (cuts[i + 1] < last ? cuts[i + 1] : last) - cuts[i], mode);
    return status;
}

static od_status add_items(od_parts *parts, const od_region *region, const od_depend *depends, int32_t ndepends)
{
    od_status status = OD_OK;
    for (int32_t i = 0; i < ndepends && !status; i++) {
        od_mode mode = depends[i].flags == OD_DEPEND_IN ? OD_READ : OD_READ_WRITE;
        if (od_parts_lie_in(region, &depends[i]))
            status = add_section(parts, region, depends[i].base, depends[i].length ? depends[i].length : 1, mode);
    }
    return status;
}

/* --- all of a region in parts ------------------------------------------------- */

typedef struct collection {
    od_parts *parts;
    od_mode mode;
    od_status status;
} collection;

static bool collect(od_datum *d, void *arg)
{
    collection *c = arg;
    c->status = od_parts_add_known(c->parts, d, c->mode);
    return !c->status;
}

/* All that is known of it, and the gaps in between. */
static od_status add_all(od_engine *engine, od_parts *parts, const od_region *region, od_mode mode)
{
    const od_directory *directory = od_engine_directory(engine);
    collection c = {parts, mode, OD_OK};
    uintptr_t end = region->base + region->size;
    od_directory_visit(directory, region->base, region->size, collect, &c);
    for (uintptr_t at = region->base; at < end && !c.status;) {
        od_span known = {end, end};
        od_directory_first(directory, at, end - at, &known);
        if (known.begin > at)
            c.status = od_parts_add(parts, at, known.begin - at, mode);
        at = known.end;
    }
    return c.status;
}

static bool fits_a_device(const od_parts *parts, const od_window *window)
{
    size_t bytes = 0;
    for (uint32_t i = 0; i < parts->count; i++)
        bytes += od_part_occupies(&parts->at[i], window);
    return bytes <= od_runtime_backend()->pool_bytes[0];
}

/* --- sections of kernels that may use more ---------------------------------------- */

bool od_parts_region_fits(od_engine *engine, const od_map_args *args, const od_region *region)
{
    enum { MOST_ENTRIES = 64 };
    size_t bytes = region->size, room = od_runtime_backend()->pool_bytes[0];
    if (args->count > MOST_ENTRIES)
        return false;
    for (int32_t i = 0; i < args->count; i++) {
        od_reference other = od_refer_to_regions(engine, args, i);
        if (other.region != region)
            bytes += other.region ? other.region->size : other.size;
    }
    return bytes + (size_t)args->count * od_window_page() < room; /* the pool rounds */
}

/* No two constructs on sections of it run side by side: nothing is lost if each uses all of it. Not while the program
 * is shown the address of one. */
static bool is_for_one(od_engine *engine, od_region *region, const void *user)
{
    region->divided |= !user || (region->user && region->user != user);
    region->user = user;
    return !region->divided && !od_engine_range_is_bound(engine, region->base, region->size);
}

static bool is_mapped(const od_map_args *args, uintptr_t address)
{
    for (int32_t i = 0; i < args->count; i++)
        if (address - od_entry_begin(args, i) < (uintptr_t)args->sizes[i])
            return true;
    return false;
}

static bool names_more(const od_map_args *args, const od_region *region, const od_parts_named *named)
{
    for (int32_t i = 0; i < named->count; i++)
        if (od_parts_lie_in(region, &named->depends[i]) && !is_mapped(args, named->depends[i].base))
            return true;
    return false;
}

/* Those of its items that tell how much. */
static od_status add_more(od_parts *parts, const od_map_args *args, const od_region *region,
                          const od_parts_named *named)
{
    od_status status = OD_OK;
    for (int32_t i = 0; i < named->count && !status; i++) {
        const od_depend *item = &named->depends[i];
        if (od_parts_lie_in(region, item) && !is_mapped(args, item->base) && item->length >= od_window_page())
            status = add_section(parts, region, item->base, item->length,
                                 item->flags == OD_DEPEND_IN ? OD_READ : OD_READ_WRITE);
    }
    return status;
}

static od_status find_in_window(od_engine *engine, const od_map_args *args, const od_reference *reference,
                                const od_parts_named *named, od_parts *parts)
{
    const od_region *region = reference->region;
    bool names = od_runtime_names_its_parts(named->launch->call.kernel, named->argument);
    if (!names && od_parts_region_fits(engine, args, region))
        return add_all(engine, parts, region, OD_READ_WRITE);
    od_status status = add_section(parts, region, reference->base, reference->size, OD_READ_WRITE);
    return status || !named->all ? status : add_more(parts, args, region, named);
}

static od_status find_around(od_engine *engine, const od_map_args *args, const od_reference *reference,
                             const od_parts_named *named, od_parts *parts)
{
    od_region *region = reference->region;
    bool more = names_more(args, region, named), one = is_for_one(engine, region, named->user);
    bool all = (more || one) && od_parts_region_fits(engine, args, region), small = region->size <= od_window_page();
    if ((more || one) && !small && !(one && all) && od_runtime_forgives_parts()) {
        od_status status = od_runtime_divide(engine, region);
        if (status && status != OD_EDEVICE)
            return status;
    }
    if (region->window)
        return find_in_window(engine, args, reference, named, parts);
    return all ? od_parts_add(parts, region->base, region->size, OD_READ_WRITE) : OD_OK;
}

/* --- inputs ----------------------------------------------------------------------- */

static bool is_named_as_written(const od_region *region, const od_parts_named *named)
{
    for (int32_t j = 0; j < named->count; j++) {
        unsigned flags = named->depends[j].flags;
        if (flags != OD_DEPEND_IN && ((flags & OD_DEPEND_ALL_MEMORY) || od_parts_lie_in(region, &named->depends[j])))
            return true;
    }
    return false;
}

/* Nothing says that the kernel writes to it, neither a clause nor what it did before. */
static bool may_be_input(const od_map_args *args, const od_reference *reference, const od_parts_named *named)
{
    int64_t type = args->types[reference->entry];
    bool says_written = (type & OD_MAP_FROM) && !(type & OD_MAP_IMPLICIT);
    return !says_written && !(type & OD_MAP_WHOLE) && !reference->region->undefined && od_runtime_forgives_parts() &&
           !is_named_as_written(reference->region, named) &&
           od_runtime_may_only_read(named->launch->call.kernel, named->argument);
}

static bool has_tasks(od_datum *d, void *arg)
{
    bool *any = arg;
    *any |= d->tasks > 0;
    return !*any;
}

static bool is_wanted(od_engine *engine, od_region *region)
{
    if (!region->wanted)
        od_directory_visit(od_engine_directory(engine), region->base, region->size, has_tasks, &region->wanted);
    return region->wanted;
}

/* Others want it, too, and would have to wait for each other: replicas in windows show whether they need to. */
static od_status watch_input(od_engine *engine, const od_map_args *args, const od_reference *reference,
                             const od_parts_named *named)
{
    od_region *region = reference->region;
    if (region->window || !is_wanted(engine, region) ||
        od_reference_mode(engine, args, reference, named->depends, named->count) == OD_READ)
        return OD_OK;
    od_status status = od_runtime_divide(engine, region);
    return status == OD_EDEVICE ? OD_OK : status;
}

/* --- names ------------------------------------------------------------------------ */

/* All tasks so far have named its first byte: it is a tile itself, on a device or on another one. */
static bool is_one_tile(const od_region *region)
{
    return !region->named_inside && region->size + od_window_page() <= od_runtime_backend()->pool_bytes[0];
}

/* Nothing is lost where one device has all of it, and nobody else wants it. */
static bool is_worth_dividing(od_engine *engine, const od_map_args *args, od_region *region, bool input)
{
    if (is_one_tile(region))
        return false;
    return !od_parts_region_fits(engine, args, region) || (!input && is_wanted(engine, region));
}

/* OD_EDEVICE: it does not say what it uses in this way, or there is no need to know. */
static od_status find_named(od_engine *engine, const od_map_args *args, const od_reference *reference,
                            const od_parts_named *named, od_parts *parts)
{
    od_region *region = reference->region;
    if (!od_parts_are_named(region, named) || !od_runtime_guards_parts() ||
        !od_runtime_names_its_parts(named->launch->call.kernel, named->argument) ||
        !is_worth_dividing(engine, args, region, may_be_input(args, reference, named)))
        return OD_EDEVICE;
    od_status status = od_runtime_divide(engine, region);
    return status ? status : od_parts_by_name(engine, parts, reference, named);
}

/* --- all ----------------------------------------------------------------------- */

/* Not those that the program is shown: it may be the calling thread that would let go of them. */
static bool is_awaited(od_datum *d, void *arg)
{
    bool *any = arg;
    *any |= d->window && d->pending && !d->bound;
    return !*any;
}

static bool may_touch_more(od_engine *engine, const od_region *region, bool at_once)
{
    bool any = od_runtime_runs_in(region->window);
    if (!any && !at_once)
        od_directory_visit(od_engine_directory(engine), region->base, region->size, is_awaited, &any);
    return any;
}

static bool must_stay(od_engine *engine, const od_region *region, bool at_once)
{
    return od_runtime_forgives_parts() && may_touch_more(engine, region, at_once && od_runtime_guards_parts());
}

od_status od_parts_join(od_engine *engine, od_region *region, bool at_once)
{
    if (!region || !region->window)
        return OD_OK;
    if (must_stay(engine, region, at_once))
        return OD_EFULL;
    region->joins++;
    return od_engine_divide(engine, region, NULL, false);
}

/* As od_parts_join(), but slices may take turns with what is whole for ever, as they do so seldom. */
static od_status join_slices(od_engine *engine, od_region *region, bool at_once)
{
    od_status status = must_stay(engine, region, at_once) ? OD_EFULL : od_engine_divide(engine, region, NULL, false);
    if (status)
        return status;
    region->rejoined++;
    od_log(OD_LOG_INFO, "runtime", "the %zu bytes at %#lx are in one piece again: kernels in slices come no more",
           region->size, (unsigned long)region->base);
    return OD_OK;
}

static od_status find_all(od_engine *engine, const od_map_args *args, const od_reference *reference,
                          const od_parts_named *named, od_parts *parts)
{
    od_mode mode = may_be_input(args, reference, named)
                       ? OD_READ
                       : od_reference_mode(engine, args, reference, named->depends, named->count);
    if (od_parts_are_past_slices(reference->region))
        return join_slices(engine, reference->region, named->at_once);
    od_status status = add_all(engine, parts, reference->region, mode);
    if (status || fits_a_device(parts, reference->region->window) || od_parts_go_by_pages())
        return status;
    od_parts_free(parts);
    return od_parts_join(engine, reference->region, named->at_once);
}

bool od_parts_go_by_pages(void)
{
    return od_runtime_options()->oversize == OD_OVERSIZE_PAGE && od_runtime_forgives_parts();
}

/* Of what no device has memory for, so that it can go there page by page. */
static od_status divide_oversize(od_engine *engine, const od_map_args *args, od_region *region)
{
    if (region->window || !od_parts_go_by_pages() || od_parts_region_fits(engine, args, region))
        return OD_OK;
    od_status status = od_runtime_divide(engine, region);
    return status == OD_EDEVICE ? OD_OK : status;
}

od_status od_parts_find(od_engine *engine, const od_map_args *args, const od_reference *reference,
                        const od_parts_named *named, od_parts *parts)
{
    od_region *region = reference->region;
    if (!od_parts_are_possible(args, region))
        return od_parts_join(engine, region, named->at_once);
    if (named->slice && od_parts_are_of_all(reference))
        return od_parts_by_share(engine, region, named, parts);
    if (!od_parts_are_of_all(reference))
        return find_around(engine, args, reference, named, parts);
    bool sections = names_sections(region, named->depends, named->count) &&
                    od_runtime_names_its_parts(named->launch->call.kernel, named->argument);
    od_status status = sections ? od_runtime_divide(engine, region) : OD_EDEVICE;
    if (status == OD_OK)
        return add_items(parts, region, named->depends, named->count);
    if (status == OD_EDEVICE)
        status = find_named(engine, args, reference, named, parts);
    if (status == OD_OK)
        return OD_OK;
    if (status == OD_EDEVICE)
        status = may_be_input(args, reference, named) ? watch_input(engine, args, reference, named) : OD_OK;
    if (status == OD_OK)
        status = divide_oversize(engine, args, region);
    return status || !region->window ? status : find_all(engine, args, reference, named, parts);
}
