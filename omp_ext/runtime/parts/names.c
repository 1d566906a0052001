/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Tasks that name what they use of arrays by addresses: the addresses, and the pages that kernels have touched around
 * them, from which strides are learnt (memmgr/extent/strides.h). Under the lock.
 */
#include "omp_ext/runtime/internal.h"

#include "util/container/array.h"
#include "util/log.h"
#include "util/memory.h"

#include <stdlib.h>

enum {
    MOST_TOUCHED = 1 << 16, /* pages that are looked at to learn strides */
    MOST_MIXED = 4,         /* kernels that were not alone, and show enough together */
    MOST_GUESSES = 4,       /* kernels of which more than one stride says as much */
};

/* --- how a task names what it uses ------------------------------------------------- */

typedef struct name {
    uintptr_t address;
    int32_t argument;
    uint32_t number; /* of the argument's names */
    od_strides given; /* what it was taken to be */
} name;

struct od_names {
    const void *kernel;
    name *at; /* malloc'ed */
    uint32_t count, room;
    uintptr_t *pages; /* malloc'ed: an address in each that has been touched, the first one */
    uint32_t npages, pages_room;
    bool watched; /* all that its kernel touches is among them */
    bool mixed;   /* and so may be what others do */
};

void od_runtime_free_names(od_names *names)
{
    if (!names)
        return;
    free(names->at);
    free(names->pages);
    free(names);
}

static uint32_t count_names(const od_names *names, int32_t argument)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < names->count; i++)
        n += names->at[i].argument == argument;
    return n;
}

bool od_runtime_is_named(const od_names *names, int32_t argument)
{
    return names && count_names(names, argument);
}

static void add_name(od_names *names, const name *added)
{
    if (od_array_reserve(&names->at, &names->room, (uint64_t)names->count + 1, sizeof *names->at))
        names->at[names->count++] = *added;
}

/* Kernels that use almost all of a tile (LU's solve with unit triangles leaves the last column) get all of it, as
 * others do: data that overlap in other ways would have to make way for each other. */
static bool is_own_shape(const od_strides *own, const od_strides *of_all)
{
    bool is_alike = own->stride == of_all->stride && own->count <= of_all->count && own->length <= of_all->length &&
                    own->before == of_all->before && own->length + od_window_page() > of_all->length;
    return own->count && !(is_alike && own->count >= of_all->count - of_all->count / 4);
}

static od_strides known_of(const void *kernel, const name *n, const od_window *window)
{
    const od_strides *all = &window->tiling.strides;
    const od_learnt_strides *own = od_runtime_known_strides(kernel, n->argument, n->number, false);
    bool has_own = own && (own->seen || !all->count);
    return has_own && is_own_shape(&own->strides, all) ? own->strides : *all;
}

od_strides od_runtime_strides(od_launch *launch, od_window *window, int32_t argument, uintptr_t address)
{
    if (!launch->names)
        launch->names = od_calloc(1, sizeof *launch->names);
    if (!launch->names)
        return (od_strides){0};
    launch->names->kernel = launch->call.kernel;
    name n = {.address = address,
              .argument = argument,
              .number = count_names(launch->names, argument)};
    n.given = known_of(launch->call.kernel, &n, window);
    add_name(launch->names, &n);
    od_places_add(&window->tiling.places, address);
    return n.given;
}

/* --- its kernel runs --------------------------------------------------------------- */

static od_learnt_strides *known(const od_names *names, uint32_t i, bool add)
{
    return od_runtime_known_strides(names->kernel, names->at[i].argument, names->at[i].number, add);
}

static od_names *names_of(const od_task *task)
{
    const od_job *job = task->user;
    return job->launch.names;
}

void od_runtime_begin_to_learn(const od_task *task)
{
    od_names *names = names_of(task);
    for (uint32_t i = 0; names && i < names->count; i++) {
        const od_learnt_strides *learnt = known(names, i, true);
        names->watched |= learnt && !learnt->seen;
    }
}

void od_runtime_disturb_learning(const od_task *task)
{
    od_names *names = names_of(task);
    if (names)
        names->mixed = true;
}

bool od_runtime_learns(const od_task *task)
{
    const od_names *names = names_of(task);
    return names && names->watched;
}

void od_runtime_note_touched(od_names *names, const od_touch *touch)
{
    names->watched &= touch->size <= od_window_page();
    if (names->npages < MOST_TOUCHED &&
        od_array_reserve(&names->pages, &names->pages_room, (uint64_t)names->npages + 1, sizeof *names->pages))
        names->pages[names->npages++] = touch->host;
}

/* --- arrays whose tiles are known --------------------------------------------------- */

typedef struct tiled_array {
    uintptr_t base;
    size_t size; /* 0: none */
    od_strides strides;
    bool is_sure;
} tiled_array;

enum { ARRAYS = 64 };

static tiled_array arrays[ARRAYS];
static unsigned next_array; /* that makes way */

static tiled_array *find_array(const od_window *window)
{
    for (unsigned i = 0; i < ARRAYS; i++)
        if (arrays[i].size && arrays[i].base == window->base && arrays[i].size == window->size)
            return &arrays[i];
    return NULL;
}

void od_runtime_recall_tiling(od_window *window)
{
    const tiled_array *array = find_array(window);
    if (!array)
        return;
    window->tiling.strides = array->strides;
    window->tiling.is_sure = array->is_sure;
}

static void remember_tiling(const od_window *window)
{
    tiled_array *array = find_array(window);
    if (!array)
        array = &arrays[next_array++ % ARRAYS];
    *array = (tiled_array){window->base, window->size, window->tiling.strides, window->tiling.is_sure};
}

/* --- it has ended ------------------------------------------------------------------ */

typedef struct lesson {
    const od_names *names;
    od_window *window;
    uintptr_t *touched;   /* of its window; malloc'ed */
    uintptr_t *addresses; /* of the names in it; malloc'ed */
    od_page_run *runs;    /* malloc'ed */
    od_strides *found;    /* of these; malloc'ed */
    bool is_sure;         /* no other strides say as much */
} lesson;

static void log_learnt(const void *kernel, const name *n, const od_strides *s)
{
    od_log(OD_LOG_INFO, "runtime",
           "region %p touches, of what item %u in its argument %d names, %u ranges of %zu bytes, %zu bytes apart",
           kernel, n->number + 1, n->argument + 1, s->count, s->before + s->length, s->stride);
}

/* What several kernels that were not alone have in common is theirs; one that was alone has shown all. */
static od_strides combine(od_learnt_strides *learnt, bool mixed, bool is_sure, const od_strides *found)
{
    bool any = learnt->strides.count, is_guess = !learnt->seen && (learnt->mixed || learnt->guesses);
    if (!is_sure && !learnt->seen && learnt->guesses < MOST_GUESSES) {
        learnt->seen = ++learnt->guesses == MOST_GUESSES;
        return *found;
    }
    if (mixed && learnt->mixed < MOST_MIXED) {
        learnt->seen = ++learnt->mixed == MOST_MIXED;
        return any ? od_strides_intersect(&learnt->strides, found) : *found;
    }
    learnt->seen = true;
    return is_guess && !mixed ? *found : od_strides_unite(&learnt->strides, found);
}

/* Pages that another kernel had opened are missing, and what is left may lie in any way: another stride than an array's
 * has to be found twice, of kernels that were alone. */
static bool is_doubtful(const lesson *l, od_learnt_strides *learnt, const od_strides *found)
{
    const od_tiling *tiling = &l->window->tiling;
    bool contradicts = tiling->is_sure && found->stride != tiling->strides.stride;
    return contradicts && (l->names->mixed || !learnt->contradicted++);
}

static void keep(const lesson *l, uint32_t i, const od_strides *found)
{
    od_learnt_strides *learnt = known(l->names, i, true);
    if (!found->count || !learnt || is_doubtful(l, learnt, found))
        return;
    od_tiling *tiling = &l->window->tiling;
    od_strides all = combine(learnt, l->names->mixed, l->is_sure, found);
    if (learnt->seen || !tiling->is_sure)
        tiling->strides = tiling->is_sure ? od_strides_unite(&tiling->strides, &all) : all;
    if (od_strides_are_equal(&learnt->strides, &all))
        return;
    learnt->strides = all;
    log_learnt(l->names->kernel, &l->names->at[i], &all);
}

static uint32_t collect_touched(const lesson *l)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < l->names->npages; i++)
        if (od_window_contains(l->window, l->names->pages[i], 1))
            l->touched[n++] = l->names->pages[i];
    return n;
}

static bool is_inside(const lesson *l, uint32_t i)
{
    return od_window_contains(l->window, l->names->at[i].address, 1);
}

static void infer(lesson *l)
{
    uint32_t count = 0, nruns = od_page_runs_make(l->touched, collect_touched(l), l->runs);
    od_tiling *tiling = &l->window->tiling;
    for (uint32_t i = 0; i < l->names->count; i++)
        if (is_inside(l, i))
            od_places_add(&tiling->places, l->addresses[count++] = l->names->at[i].address);
    const od_named_runs all = {l->runs, nruns, l->addresses, count, tiling->places.at, tiling->places.count};
    l->is_sure = od_strides_infer(&all, tiling->is_sure ? tiling->strides.stride : 0, l->found);
    for (uint32_t i = 0, n = 0; i < l->names->count; i++)
        if (is_inside(l, i))
            keep(l, i, &l->found[n++]);
    tiling->is_sure |= l->is_sure && tiling->strides.stride;
    remember_tiling(l->window);
}

static void learn_of(od_window *window, const od_names *names)
{
    lesson l = {.names = names, .window = window};
    l.touched = od_malloc((size_t)names->npages * sizeof *l.touched);
    l.runs = od_malloc((size_t)names->npages * sizeof *l.runs);
    l.addresses = od_malloc((size_t)names->count * sizeof *l.addresses);
    l.found = od_malloc((size_t)names->count * sizeof *l.found);
    if (l.touched && l.runs && l.addresses && l.found)
        infer(&l);
    free(l.touched);
    free(l.runs);
    free(l.addresses);
    free(l.found);
}

static bool is_first_in(const od_task *task, uint32_t i)
{
    for (uint32_t j = 0; j < i; j++)
        if (task->access[j].datum->window == task->access[i].datum->window)
            return false;
    return true;
}

static void learn(const od_task *task, const od_names *names)
{
    for (uint32_t i = 0; i < task->naccess; i++)
        if (task->access[i].datum->window && is_first_in(task, i))
            learn_of(task->access[i].datum->window, names);
}

/* Of the task's windows the one in which the address lies; NULL: its array is in one piece by now. */
static const od_window *window_of(const od_task *task, uintptr_t address)
{
    for (uint32_t i = 0; i < task->naccess; i++) {
        const od_window *window = task->access[i].datum->window;
        if (window && od_window_contains(window, address, 1))
            return window;
    }
    return NULL;
}

static bool has_changed(const od_names *names, uint32_t i, const od_window *window)
{
    const od_strides now = known_of(names->kernel, &names->at[i], window);
    return !od_strides_are_equal(&names->at[i].given, &now);
}

/* What is known is too little: the next one shows all. */
static void doubt(const od_task *task, const od_names *names)
{
    for (uint32_t i = 0; i < names->count; i++) {
        od_learnt_strides *learnt = known(names, i, false);
        const od_window *window = window_of(task, names->at[i].address);
        if (learnt && window && !has_changed(names, i, window))
            od_runtime_note_failure(names->kernel, names->at[i].argument, learnt);
    }
}

void od_runtime_end_to_learn(const od_task *task)
{
    enum { FEW = 4 }; /* faults that are not worth the trouble: a page at an edge */
    od_names *names = names_of(task);
    if (!names)
        return;
    if (names->watched && names->npages)
        learn(task, names);
    else if (names->npages > FEW)
        doubt(task, names);
    names->npages = 0;
    names->watched = names->mixed = false;
}
