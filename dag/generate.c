/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "dag/generate.h"

#include "util/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MB = 1000000 };

typedef struct generator {
    od_dag *dag;
    uint64_t state; /* of the random numbers */
    uint32_t tasks; /* wanted */
    bool failed;    /* out of memory */
} generator;

/* --- numbers, tasks, edges ------------------------------------------------------------------ */

/* xorshift64*, Vigna 2014. */
static uint64_t draw(generator *g)
{
    g->state ^= g->state >> 12;
    g->state ^= g->state << 25;
    g->state ^= g->state >> 27;
    return g->state * UINT64_C(2685821657736338717) >> 11; /* 53 bits */
}

static uint32_t below(generator *g, uint32_t n)
{
    return (uint32_t)(draw(g) % n);
}

/* Between half of it and one and a half. */
static double about(generator *g, double mean)
{
    return mean * (0.5 + (double)draw(g) / 9007199254740992.0);
}

static uint32_t task(generator *g, const char *kind, double seconds)
{
    char name[64];
    snprintf(name, sizeof name, "%s%u", kind, g->dag->ntasks + 1);
    uint32_t t = od_dag_add_task(g->dag, name, about(g, seconds), 0);
    g->failed |= t == OD_DAG_NONE;
    return t;
}

/* A datum with one reader. */
static void edge(generator *g, uint32_t from, uint32_t to, double bytes)
{
    g->failed |= od_dag_add_datum(g->dag, (int64_t)about(g, bytes), from, false) == OD_DAG_NONE ||
                 od_dag_add_reader(g->dag, to) == OD_DAG_NONE;
}

static bool more(const generator *g)
{
    return !g->failed && g->dag->ntasks < g->tasks;
}

/* --- kinds ------------------------------------------------------------------------------------ */

/* Task 0 is the root. */
static void make_tree(generator *g)
{
    task(g, "t", 1);
    while (more(g)) {
        uint32_t t = task(g, "t", 1);
        edge(g, t, below(g, t), MB);
    }
}

static void make_out_tree(generator *g)
{
    task(g, "t", 1);
    while (more(g)) {
        uint32_t t = task(g, "t", 1);
        edge(g, below(g, t), t, MB);
    }
}

/* Edges of a two-terminal graph, each of which becomes two in series or in parallel. */
typedef struct pair {
    uint32_t from, to;
} pair;

static void grow_series_parallel(generator *g, pair *edges, uint32_t most)
{
    uint32_t count = 1;
    edges[0] = (pair){task(g, "t", 1), task(g, "t", 1)};
    while (more(g) && count + 1 < most) {
        pair *e = &edges[below(g, count)];
        if (below(g, 5) < 2 && g->dag->ntasks > 3) {
            edges[count++] = *e;
        } else {
            uint32_t t = task(g, "t", 1);
            edges[count++] = (pair){t, e->to};
            e->to = t;
        }
    }
    for (uint32_t i = 0; i < count && !g->failed; i++)
        edge(g, edges[i].from, edges[i].to, MB);
}

static void make_series_parallel(generator *g)
{
    uint32_t most = 3 * g->tasks + 4;
    pair *edges = malloc(most * sizeof *edges);
    g->failed |= !edges;
    if (edges)
        grow_series_parallel(g, edges, most);
    free(edges);
}

static void make_layers(generator *g)
{
    uint32_t before = 0, here = 0, end = 1, width = 1;
    while (width * width < g->tasks)
        width++;
    while (more(g)) {
        uint32_t t = task(g, "t", 1);
        if (t == end) {
            before = here;
            here = t;
            end = t + 1 + below(g, 2 * width);
        }
        for (uint32_t n = here ? 1 + below(g, 4) : 0; n > 0; n--)
            edge(g, before + below(g, here - before), t, MB);
    }
}

/* Fronts halve in size as the tree goes down, as separators of a plane do every second time. */
static void make_multifrontal(generator *g)
{
    double side = 4096;
    task(g, "front", 1);
    for (uint32_t parent = 0; more(g); parent++) {
        uint32_t depth = 0;
        for (uint32_t i = parent + 2; i > 1; i /= 2)
            depth++;
        double scale = 1;
        for (uint32_t i = 0; i < depth; i++)
            scale *= 0.7071;
        for (uint32_t i = 0; i < 2 && more(g); i++) {
            uint32_t t = task(g, "front", scale * scale * scale + 1e-3);
            edge(g, t, parent, 8 * side * side * scale * scale + 64);
        }
    }
}

/* Each step: blocks that read two blocks of the step before. */
static void make_contraction(generator *g)
{
    enum { BLOCKS = 16 };
    uint32_t before = 0;
    for (uint32_t step = 0; more(g); step++) {
        uint32_t here = g->dag->ntasks;
        for (uint32_t b = 0; b < BLOCKS; b++)
            task(g, "block", 1);
        for (uint32_t b = 0; b < BLOCKS && step; b++) {
            edge(g, before + b, here + b, 64.0 * MB);
            edge(g, before + b, here + (b + 1 + step) % BLOCKS, 64.0 * MB);
        }
        before = here;
    }
}

/* From each of `count` tasks beginning with `from` to a new one. */
static uint32_t one_by_one(generator *g, const char *kind, double seconds, uint32_t from, uint32_t count, double bytes)
{
    uint32_t first = g->dag->ntasks;
    for (uint32_t i = 0; i < count; i++)
        edge(g, from + i, task(g, kind, seconds), bytes);
    return first;
}

static uint32_t all_to_one(generator *g, const char *kind, double seconds, uint32_t from, uint32_t count, double bytes)
{
    uint32_t t = task(g, kind, seconds);
    for (uint32_t i = 0; i < count; i++)
        edge(g, from + i, t, bytes);
    return t;
}

/* Groups of templates, each filtered twice. */
static void make_ligo(generator *g)
{
    while (more(g)) {
        uint32_t width = 3 + below(g, 5), first = g->dag->ntasks, thinca, trig;
        for (uint32_t i = 0; i < width; i++)
            task(g, "tmpltbank", 18);
        first = one_by_one(g, "inspiral", 460, first, width, 0.95 * MB);
        thinca = all_to_one(g, "thinca", 5.4, first, width, 0.3 * MB);
        trig = g->dag->ntasks;
        for (uint32_t i = 0; i < width; i++)
            edge(g, thinca, task(g, "trigbank", 5.1), 0.03 * MB);
        first = one_by_one(g, "inspiral", 460, trig, width, 0.02 * MB);
        all_to_one(g, "thinca", 5.4, first, width, 0.3 * MB);
    }
}

/* A row of images of which each overlaps the next two. */
static void make_montage(generator *g)
{
    uint32_t images = g->tasks > 12 ? (g->tasks - 6) / 4 + 1 : 2, concat, model, first, table;
    for (uint32_t i = 0; i < images; i++)
        task(g, "mProject", 1.7);
    first = g->dag->ntasks;
    for (uint32_t i = 0; i < images; i++)
        for (uint32_t k = i + 1; k < images && k <= i + 2; k++) {
            uint32_t t = task(g, "mDiffFit", 0.66);
            edge(g, i, t, 4.2 * MB);
            edge(g, k, t, 4.2 * MB);
        }
    concat = all_to_one(g, "mConcatFit", 143, first, g->dag->ntasks - first, 0.0003 * MB);
    model = all_to_one(g, "mBgModel", 384, concat, 1, 0.02 * MB);
    first = g->dag->ntasks;
    for (uint32_t i = 0; i < images; i++) {
        uint32_t t = task(g, "mBackground", 1.7);
        edge(g, i, t, 4.2 * MB);
        edge(g, model, t, 0.001 * MB);
    }
    table = all_to_one(g, "mImgtbl", 2.8, first, images, 4.2 * MB);
    table = all_to_one(g, "mAdd", 283, table, 1, 4.2 * MB * images);
    table = all_to_one(g, "mShrink", 66, table, 1, 20 * MB);
    all_to_one(g, "mJPEG", 0.6, table, 1, 1.0 * MB);
}

/* --- choice --------------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    void (*make)(generator *g);
    uint32_t least; /* tasks */
} kinds[] = {{"tree", make_tree, 1},
             {"out-tree", make_out_tree, 1},
             {"series-parallel", make_series_parallel, 2},
             {"layers", make_layers, 1},
             {"multifrontal", make_multifrontal, 1},
             {"contraction", make_contraction, 1},
             {"ligo", make_ligo, 1},
             {"montage", make_montage, 1}};

const char *const *od_dag_generate_help(void)
{
    static const char *const help[] = {"tree",
                                       "random, edges towards the root",
                                       "out-tree",
                                       "random, edges away from the root",
                                       "series-parallel",
                                       "random compositions",
                                       "layers",
                                       "random edges from one layer to the next",
                                       "multifrontal",
                                       "the assembly tree of a nested dissection",
                                       "contraction",
                                       "tensor contractions in blocks, one after the other",
                                       "ligo",
                                       "the shape of a LIGO inspiral analysis",
                                       "montage",
                                       "the shape of a Montage mosaic",
                                       NULL};
    return help;
}

static bool take_numbers(char *text, uint32_t least, uint32_t *tasks, uint64_t *seed)
{
    char *colon = strchr(text, ':');
    uint64_t wide;
    *seed = 1;
    if (colon) {
        *colon = '\0';
        if (od_parse_integer(colon + 1, 0, UINT32_MAX, seed))
            return false;
    }
    if (od_parse_integer(text, least, OD_DAG_MOST_TASKS / 10, &wide))
        return false;
    *tasks = (uint32_t)wide;
    return true;
}

od_status od_dag_generate(const char *what, od_dag *dag, char *error, size_t size)
{
    char text[128], *colon;
    snprintf(text, sizeof text, "%s", what);
    colon = strchr(text, ':');
    if (colon)
        *colon = '\0';
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds && colon; i++) {
        generator g = {.dag = dag};
        uint64_t seed;
        if (strcmp(kinds[i].name, text) != 0)
            continue;
        if (!take_numbers(colon + 1, kinds[i].least, &g.tasks, &seed))
            break;
        g.state = (seed + 1) * UINT64_C(0x9e3779b97f4a7c15);
        kinds[i].make(&g);
        return g.failed ? OD_ENOMEM : od_dag_finish(dag, error, size);
    }
    snprintf(error, size, "not KIND:TASKS[:SEED] with one of the kinds that --help lists, such as tree:1000");
    return OD_EINVAL;
}
