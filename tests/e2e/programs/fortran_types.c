/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Fortran derived types with allocatable and pointer components, as flang 22 maps them (flang.h): one component,
 * several, the whole with flang's default mapper, types in types, arrays of such types, an element of such an array;
 * alone and in regions. What a device makes of them is what the host makes of a twin.
 *
 * memory: 40Ki
 * stats: stats.tasks in (4 * 6, 4 * 10)
 * stats: stats.host_tasks == 0
 * stats: totals.h2d_bytes >= 4 * 10 * 8192
 */
#include "flang.h"

enum { BOXES = 3 };

typedef struct box {
    int32_t n;
    descriptor v;
    double fixed[4];
    descriptor p;
} box;

_Static_assert(sizeof(box) == 136, "as flang lays it out");

typedef struct outer {
    int32_t k;
    box inner;
} outer;

/* --- the regions ----------------------------------------------------------- */

#pragma omp begin declare target

static void component_on_host(box *s, double *sum, int n)
{
    for (int64_t i = 0; i < s->v.first.extent; i++)
        s->v.base[i] += (double)i + n;
    sum[0] += s->v.base[0];
}

static void whole_on_host(box *s, double *sum, int n)
{
    component_on_host(s, sum, n);
    s->fixed[0] += s->v.base[1];
    s->n += n;
    if (!s->p.base)
        return;
    s->v.base[2] += s->p.base[3];
    s->p.base[4] = s->v.base[4] + s->n;
}

static void inner_on_host(outer *o, double *sum, int n)
{
    for (int64_t i = 0; i < o->inner.v.first.extent; i++)
        o->inner.v.base[i] += o->k;
    o->k += n;
    sum[0] += o->inner.v.base[0];
}

/* A descriptor of an array of boxes. */
static box *element(const descriptor *boxes, int64_t i)
{
    return (box *)(void *)boxes->base + i;
}

static void boxes_on_host(descriptor *boxes, double *sum, int n)
{
    for (int64_t i = 0; i < boxes->first.extent; i++)
        whole_on_host(element(boxes, i), sum, n);
}

static void element_on_host(descriptor *boxes, double *sum, int n)
{
    component_on_host(element(boxes, n), sum, n);
}

#pragma omp end declare target

FLANG_REGION(component, box, double)
FLANG_REGION(whole, box, double)
FLANG_REGION(inner, outer, double)
FLANG_REGION(boxes, descriptor, double)
FLANG_REGION(element, descriptor, double)

static void *component, *whole, *inner, *all_boxes, *one_box;

/* --- map lists ------------------------------------------------------------- */

void __tgt_push_mapper_component(void *handle, void *base, void *begin, int64_t size, int64_t type, void *name);
int64_t __tgt_mapper_num_components(void *handle);

/* A component that is an array: its descriptor, and what it leads to. */
static void map_component(map_list *list, construct what, void *base, descriptor *d, int parent, int64_t flags)
{
    map_parts(list, what, base, d, true, parent, flags);
    map_entry(list, d, d->base, array_bytes(d), MEMBER_OF(parent) | POINTEE | flags);
}

static void push_list(void *handle, const map_list *list, int64_t before)
{
    for (int32_t i = 0; i < list->count; i++)
        __tgt_push_mapper_component(handle, list->bases[i], list->begins[i], list->sizes[i],
                                    list->types[i] + MEMBER_OF(before), NULL);
}

/* flang's default mapper of one box; `before` entries come first. */
static void push_box(void *handle, box *s, int64_t flags, int64_t before)
{
    map_list list = {0};
    map_entry(&list, s, s, sizeof *s, PARAMETER);
    map_entry(&list, s, &s->n, sizeof s->n, MEMBER_OF(1) | flags);
    map_component(&list, KERNEL, s, &s->v, 1, flags);
    map_entry(&list, s, s->fixed, sizeof s->fixed, MEMBER_OF(1) | flags);
    map_component(&list, KERNEL, s, &s->p, 1, flags);
    push_list(handle, &list, before);
}

static void box_mapper(void *handle, void *base, void *begin, int64_t size, int64_t type, void *name)
{
    int64_t flags = (type & (TO | FROM)) | IMPLICIT, count = size / (int64_t)sizeof(box);
    box *first = begin;
    if (type & POINTEE)
        __tgt_push_mapper_component(handle, base, begin, size, (type & ~(TO | FROM)) | IMPLICIT, name);
    for (int64_t i = 0; i < count; i++)
        push_box(handle, first + i, flags, __tgt_mapper_num_components(handle));
}

static void *address_of_mapper(void)
{
    void (*mapper)(void *, void *, void *, int64_t, int64_t, void *) = box_mapper;
    void *address;
    memcpy(&address, &mapper, sizeof address);
    return address;
}

static void map_with_mapper(map_list *list, void *base, void *begin, size_t size, int64_t type)
{
    map_entry(list, base, begin, size, type);
    list->mappers[list->count - 1] = address_of_mapper();
}

/* map(flags: boxes) */
static void map_boxes(map_list *list, construct what, descriptor *d, int64_t flags)
{
    int parent = list->count + 1;
    map_entry(list, d, d, sizeof *d, what == KERNEL ? PARAMETER : 0);
    map_parts(list, what, d, d, false, parent, flags);
    map_with_mapper(list, d, d->base, (size_t)d->first.extent * sizeof(box), MEMBER_OF(parent) | POINTEE | flags);
}

/* --- boxes ----------------------------------------------------------------- */

static box make_box(double value, bool with_pointer)
{
    double *p = with_pointer ? make_tiles(1, value + 1) : NULL;
    return (box){.n = 2,
                 .v = describe(make_tiles(1, value), TILE),
                 .fixed = {1, 2, 3, 4},
                 .p = describe(p, with_pointer ? TILE : 0)};
}

static bool same(const box *s, const box *twin)
{
    return s->n == twin->n && memcmp(s->fixed, twin->fixed, sizeof s->fixed) == 0 && s->v.first.extent == TILE &&
           memcmp(s->v.base, twin->v.base, TILE * sizeof(double)) == 0 && !s->p.base == !twin->p.base &&
           (!s->p.base || memcmp(s->p.base, twin->p.base, TILE * sizeof(double)) == 0);
}

static void run(void *region, map_list *list, double *sum, int n)
{
    map_entry(list, sum, sum, sizeof *sum, PARAMETER | TO | FROM);
    map_literal(list, n);
    CHECK(launch(region, list, false) == 0);
}

/* --- one box --------------------------------------------------------------- */

/* map(tofrom: s%v) */
static void map_one(map_list *list, construct what, box *s, int64_t flags)
{
    map_entry(list, s, &s->v, sizeof s->v, what == KERNEL ? PARAMETER : 0);
    map_component(list, what, s, &s->v, 1, flags);
}

/* map(flags: s, s%v) */
static void map_whole(map_list *list, construct what, box *s, int64_t flags)
{
    map_entry(list, s, s, sizeof *s, what == KERNEL ? PARAMETER : 0);
    map_entry(list, s, s, offsetof(box, v), MEMBER_OF(1) | flags);
    map_entry(list, s, s->fixed, sizeof *s - offsetof(box, fixed), MEMBER_OF(1) | flags);
    map_component(list, what, s, &s->v, 1, flags);
}

/* map(tofrom: s%n, s%v, s%fixed, s%p) */
static void map_members(map_list *list, box *s)
{
    map_entry(list, s, s, sizeof *s, PARAMETER);
    map_entry(list, s, &s->n, sizeof s->n, MEMBER_OF(1) | TO | FROM);
    map_component(list, KERNEL, s, &s->v, 1, TO | FROM);
    map_entry(list, s, s->fixed, sizeof s->fixed, MEMBER_OF(1) | TO | FROM);
    map_component(list, KERNEL, s, &s->p, 1, TO | FROM);
}

static void one_box_alone(box *s, box *twin, double *sum, double *twin_sum)
{
    map_list list = {0};
    map_one(&list, KERNEL, s, TO | FROM);
    run(component, &list, sum, 1);
    component_on_host(twin, twin_sum, 1);
    list = (map_list){0};
    map_members(&list, s);
    run(whole, &list, sum, 3);
    whole_on_host(twin, twin_sum, 3);
    CHECK(same(s, twin) && *sum == *twin_sum);
}

/* enter data map(to: s, s%v); kernels on s%v; exit data map(from: s, s%v). */
static void one_box_in_a_region(box *s, box *twin, double *sum, double *twin_sum)
{
    map_list list = {0};
    map_whole(&list, BEGIN, s, TO);
    data_construct(BEGIN, &list);
    list = (map_list){0};
    map_one(&list, KERNEL, s, TO | FROM);
    run(component, &list, sum, 5);
    component_on_host(twin, twin_sum, 5);
    list = (map_list){0};
    map_whole(&list, KERNEL, s, TO | FROM);
    run(component, &list, sum, 6);
    component_on_host(twin, twin_sum, 6);
    list = (map_list){0};
    map_one(&list, UPDATE, s, FROM);
    data_construct(UPDATE, &list);
    CHECK(memcmp(s->v.base, twin->v.base, TILE * sizeof(double)) == 0);
    list = (map_list){0};
    map_whole(&list, END, s, FROM);
    data_construct(END, &list);
    CHECK(same(s, twin) && *sum == *twin_sum);
}

/* map(tofrom: o%inner%v, o%k) */
static void type_in_type(box *s, box *twin, double *sum, double *twin_sum)
{
    outer o = {7, *s}, o_twin = {7, *twin};
    map_list list = {0};
    map_entry(&list, &o, &o, sizeof o - sizeof o.inner.p - sizeof o.inner.fixed, PARAMETER);
    map_component(&list, KERNEL, &o, &o.inner.v, 1, TO | FROM);
    map_entry(&list, &o, &o.k, sizeof o.k, MEMBER_OF(1) | TO | FROM);
    run(inner, &list, sum, 1);
    inner_on_host(&o_twin, twin_sum, 1);
    CHECK(same(&o.inner, &o_twin.inner) && o.k == o_twin.k && *sum == *twin_sum);
}

/* map(tofrom: s) */
static void one_box_with_mapper(box *s, box *twin, double *sum, double *twin_sum)
{
    map_list list = {0};
    map_with_mapper(&list, s, s, sizeof *s, PARAMETER | TO | FROM);
    run(whole, &list, sum, 4);
    whole_on_host(twin, twin_sum, 4);
    CHECK(same(s, twin) && *sum == *twin_sum);
}

/* --- arrays of boxes ------------------------------------------------------- */

static descriptor describe_boxes(box *s)
{
    descriptor d = describe(NULL, BOXES);
    d.base = (void *)s;
    d.element = sizeof(box);
    d.first.stride = sizeof(box);
    return d;
}

/* map(tofrom: boxes(i)%v), i from 0 */
static void map_element(map_list *list, construct what, descriptor *d, int i, int64_t flags)
{
    box *s = element(d, i);
    map_entry(list, d, d, sizeof *d, what == KERNEL ? PARAMETER : 0);
    map_parts(list, what, d, d, false, 1, flags);
    map_entry(list, d, s, sizeof *s, MEMBER_OF(1) | POINTEE | flags);
    map_component(list, what, d, &s->v, 1, flags);
}

static void array_with_mapper(box *s, box *twin, double *sum, double *twin_sum)
{
    descriptor d = describe_boxes(s), d_twin = describe_boxes(twin);
    map_list list = {0};
    map_boxes(&list, KERNEL, &d, TO | FROM);
    run(all_boxes, &list, sum, 1);
    boxes_on_host(&d_twin, twin_sum, 1);
    for (int i = 0; i < BOXES; i++)
        CHECK(same(&s[i], &twin[i]) && *sum == *twin_sum);
    CHECK(d.base == (void *)s);
}

static void array_element(box *s, box *twin, double *sum, double *twin_sum)
{
    descriptor d = describe_boxes(s), d_twin = describe_boxes(twin);
    map_list list = {0};
    map_element(&list, KERNEL, &d, 1, TO | FROM);
    run(one_box, &list, sum, 1);
    element_on_host(&d_twin, twin_sum, 1);
    for (int i = 0; i < BOXES; i++)
        CHECK(same(&s[i], &twin[i]) && *sum == *twin_sum);
}

static void array_in_a_region(box *s, box *twin, double *sum, double *twin_sum)
{
    descriptor d = describe_boxes(s), d_twin = describe_boxes(twin);
    map_list list = {0};
    map_boxes(&list, BEGIN, &d, TO);
    data_construct(BEGIN, &list);
    list = (map_list){0};
    map_boxes(&list, KERNEL, &d, TO | FROM);
    run(all_boxes, &list, sum, 2);
    boxes_on_host(&d_twin, twin_sum, 2);
    list = (map_list){0};
    map_element(&list, KERNEL, &d, 1, TO | FROM);
    run(one_box, &list, sum, 1);
    element_on_host(&d_twin, twin_sum, 1);
    list = (map_list){0};
    map_element(&list, UPDATE, &d, 1, FROM);
    data_construct(UPDATE, &list);
    CHECK(memcmp(s[1].v.base, twin[1].v.base, TILE * sizeof(double)) == 0);
    list = (map_list){0};
    map_boxes(&list, END, &d, FROM);
    data_construct(END, &list);
    for (int i = 0; i < BOXES; i++)
        CHECK(same(&s[i], &twin[i]) && *sum == *twin_sum);
}

enum { MAX_TESTS = 64 };

typedef void test_function(box *s, box *twin, double *sum, double *twin_sum);

/* Each on boxes of its own, which are never freed: libomptarget keeps for ever what flang's mappers map. */
static void test(test_function *function, double *sum, double *twin_sum)
{
    static box *kept[MAX_TESTS];
    static int count;
    box *s = malloc(2 * BOXES * sizeof *s), *twin = s + BOXES;
    if (!s || count == MAX_TESTS)
        abort();
    kept[count++] = s;
    for (int i = 0; i < BOXES; i++) {
        s[i] = make_box(i + 1, i == 0);
        twin[i] = make_box(i + 1, i == 0);
    }
    function(s, twin, sum, twin_sum);
}

int main(int argc, char **argv)
{
    choose_flang(argc, argv);
    component = find_region(component_region);
    whole = find_region(whole_region);
    inner = find_region(inner_region);
    all_boxes = find_region(boxes_region);
    one_box = find_region(element_region);
    double sum = 0, twin_sum = 0;
    for (int round = 0; round < 4; round++) {
        test(one_box_alone, &sum, &twin_sum);
        test(type_in_type, &sum, &twin_sum);
        test(one_box_with_mapper, &sum, &twin_sum);
        test(array_with_mapper, &sum, &twin_sum);
        test(array_element, &sum, &twin_sum);
        if (__clang_major__ < 20) /* libomptarget 19 loses pointers that are present and mapped `always` */
            continue;
        test(one_box_in_a_region, &sum, &twin_sum);
        test(array_in_a_region, &sum, &twin_sum);
    }
    return check_result();
}
