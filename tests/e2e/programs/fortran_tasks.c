/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Fortran arrays in tasks, as flang makes them (flang.h): `target nowait depend` with tiles that have a descriptor
 * each, and with sections of one array; whole arrays entered and left by tasks; from a team and from the initial thread
 * alone. The task's data are a pointer to each descriptor, the depend item is the first element, of 8 bytes. (Flang 19
 * has no nowait: its map list in such a task stands for other versions.)
 *
 * memory: 32Ki
 * variants: flang19 flang22
 * stats: stats.tasks == 2 * 12 * 4 + 2 * 12 * 4 + 12 * 3
 * stats: stats.host_tasks == 0
 * stats: totals.h2d_bytes >= 4 * 12 * 8192
 */
#include "flang.h"

#include <omp.h>

enum { TILES = 12, ROUNDS = 4 };

/* --- the calls of a task --------------------------------------------------- */

typedef struct depend_item {
    uintptr_t base;
    size_t length;
    uint8_t flags;
} depend_item;

typedef struct task_head { /* kmp_task_t */
    void *shareds;
    int32_t (*entry)(int32_t gtid, void *task);
    int32_t part;
    void *unions[2];
} task_head;

typedef int32_t (*task_entry)(int32_t gtid, void *task);

int32_t __kmpc_global_thread_num(location *);
void *__kmpc_omp_target_task_alloc(location *, int32_t gtid, int32_t flags, size_t size, size_t shareds, task_entry,
                                   int64_t device);
int32_t __kmpc_omp_task_with_deps(location *, int32_t gtid, void *task, int32_t count, depend_item *, int32_t,
                                  depend_item *);
int32_t __kmpc_omp_task(location *, int32_t gtid, void *task);

enum { IN = 1, INOUT = 3 };

typedef struct work {
    task_head head;
    descriptor *a, *b;
    double *begin; /* of the section of a */
    size_t bytes;
    int n;
    construct what;
    int64_t flags;
} work;

static work *new_task(task_entry entry)
{
    int32_t gtid = __kmpc_global_thread_num(&place);
    return __kmpc_omp_target_task_alloc(&place, gtid, 0, sizeof(work), 0, entry, DEFAULT_DEVICE);
}

/* --- the region ------------------------------------------------------------ */

#pragma omp begin declare target

/* The first n elements: a(i) = a(i) + b(i), through the device's own descriptors. */
static void add_on_host(descriptor *a, descriptor *b, int n)
{
    for (int i = 0; i < n; i++)
        a->base[i] += b->base[i];
}

/* a(n + 1 : n + TILE) = 2 a(…) + b's extent */
static void double_on_host(descriptor *a, descriptor *b, int n)
{
    for (int i = n; i < n + TILE; i++)
        a->base[i] = 2 * a->base[i] + (double)b->first.extent;
}

#pragma omp end declare target

FLANG_REGION(add, descriptor, descriptor)
FLANG_REGION(double, descriptor, descriptor)

static void *add, *double_section;

static void map_work(map_list *list, work *w)
{
    map_section(list, KERNEL, w->a, w->begin, w->bytes, TO | FROM);
    map_array(list, KERNEL, w->b, TO);
    map_literal(list, w->n);
}

static int32_t run_add(int32_t gtid, void *task)
{
    (void)gtid;
    work *w = task;
    map_list list = {0};
    map_work(&list, w);
    if (launch(add, &list, true))
        add_on_host(w->a, w->b, w->n);
    return 0;
}

static int32_t run_double(int32_t gtid, void *task)
{
    (void)gtid;
    work *w = task;
    map_list list = {0};
    map_work(&list, w);
    if (launch(double_section, &list, true))
        double_on_host(w->a, w->b, w->n);
    return 0;
}

static void submit(task_entry entry, work given, double *in)
{
    int32_t gtid = __kmpc_global_thread_num(&place);
    work *w = new_task(entry);
    given.head = w->head;
    *w = given;
    depend_item items[2] = {{(uintptr_t)given.begin, sizeof(double), INOUT}, {(uintptr_t)in, sizeof(double), IN}};
    __kmpc_omp_task_with_deps(&place, gtid, w, in ? 2 : 1, items, 0, NULL);
}

/* --- what the tasks do ----------------------------------------------------- */

/* x(i) = x(i) + x(i + 1), tile by tile, in dependent tasks. */
static void sweep(descriptor *tile)
{
    for (int round = 0; round < ROUNDS; round++)
        for (int i = 0; i < TILES; i++) {
            descriptor *a = &tile[i], *b = &tile[(i + 1) % TILES];
            submit(run_add, (work){.a = a, .b = b, .begin = a->base, .bytes = TILE * sizeof(double), .n = TILE},
                   b->base);
        }
#pragma omp taskwait
}

static void check_sweep(double *x, const descriptor *tile, int times)
{
    double expected[TILES];
    for (int i = 0; i < TILES; i++)
        expected[i] = i;
    for (int round = 0; round < times * ROUNDS; round++)
        for (int i = 0; i < TILES; i++)
            expected[i] += expected[(i + 1) % TILES];
    for (int i = 0; i < TILES; i++) {
        CHECK(all_are(x + (size_t)i * TILE, TILE, expected[i]));
        CHECK(tile[i].base == x + (size_t)i * TILE && tile[i].first.extent == TILE);
    }
}

static void number(double *x)
{
    for (int i = 0; i < TILES * TILE; i++)
        x[i] = i / TILE;
}

static void tiles(double *x)
{
    descriptor tile[TILES];
    number(x);
    for (int i = 0; i < TILES; i++)
        tile[i] = describe(x + (size_t)i * TILE, TILE);
#pragma omp parallel
#pragma omp single
    sweep(tile);
    sweep(tile); /* by the initial thread alone */
    check_sweep(x, tile, 2);
}

/* --- enter and exit data in tasks ------------------------------------------ */

static int32_t run_data(int32_t gtid, void *task)
{
    (void)gtid;
    work *w = task;
    map_list list = {0};
    map_array(&list, w->what, w->a, w->flags);
    if (w->what == BEGIN)
        __tgt_target_data_begin_nowait_mapper(&place, DEFAULT_DEVICE, list.count, list.bases, list.begins, list.sizes,
                                              list.types, NULL, list.mappers, 0, NULL, 0, NULL);
    else if (w->what == END)
        __tgt_target_data_end_nowait_mapper(&place, DEFAULT_DEVICE, list.count, list.bases, list.begins, list.sizes,
                                            list.types, NULL, list.mappers, 0, NULL, 0, NULL);
    else
        __tgt_target_data_update_nowait_mapper(&place, DEFAULT_DEVICE, list.count, list.bases, list.begins, list.sizes,
                                               list.types, NULL, list.mappers, 0, NULL, 0, NULL);
    return 0;
}

/* Without depend clause: flang has no data constructs with one. */
static void data_task(construct what, descriptor *a, int64_t flags)
{
    work *w = new_task(run_data);
    *w = (work){.head = w->head, .a = a, .what = what, .flags = flags};
    __kmpc_omp_task(&place, __kmpc_global_thread_num(&place), w);
}

/* The same sweeps inside a region, which tasks open and close. */
static void entered(double *x)
{
    descriptor tile[TILES];
    number(x);
#pragma omp parallel
#pragma omp single
    {
        for (int i = 0; i < TILES; i++) {
            tile[i] = describe(x + (size_t)i * TILE, TILE);
            data_task(BEGIN, &tile[i], TO);
        }
#pragma omp taskwait
        sweep(tile);
        sweep(tile);
        data_task(UPDATE, &tile[3], FROM);
#pragma omp taskwait
        CHECK(x[3 * TILE] > 3);
        for (int i = 0; i < TILES; i++)
            data_task(END, &tile[i], FROM);
#pragma omp taskwait
    }
    check_sweep(x, tile, 2);
}

/* --- sections of one array ------------------------------------------------- */

/* All tasks name one descriptor, and read another: with libomptarget, which has one copy of each for all tasks, both
 * arrays must be present. (With flang 19's entries it fills a new copy only after it has shown it to the other
 * threads.) */
static void sections(double *x)
{
    number(x);
    double three[3] = {0};
    descriptor whole = describe(x, TILES * TILE), little = describe(three, 3);
    map_list list = {0};
    map_array(&list, BEGIN, &whole, TO | FROM);
    map_array(&list, BEGIN, &little, TO);
    data_construct(BEGIN, &list);
#pragma omp parallel
#pragma omp single
    for (int round = 0; round < 3; round++)
        for (int i = 0; i < TILES; i++)
            submit(run_double,
                   (work){.a = &whole,
                          .b = &little,
                          .begin = x + (size_t)i * TILE,
                          .bytes = TILE * sizeof(double),
                          .n = i * TILE},
                   NULL);
    data_construct(END, &list);
    for (int i = 0; i < TILES; i++)
        CHECK(all_are(x + (size_t)i * TILE, TILE, i * 8 + 3 * 7));
    CHECK(whole.base == x);
}

int main(int argc, char **argv)
{
    choose_flang(argc, argv);
    add = find_region(add_region);
    double_section = find_region(double_region);
    double *x = make_tiles(TILES, 0);
    tiles(x);
    entered(x);
    sections(x);
    free(x);
    return check_result();
}
