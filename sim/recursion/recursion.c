/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "sim/recursion/recursion.h"

#include "sim/recursion/tables.h"
#include "util/container/heap.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* An access to a block, in the block's list. */
typedef struct entry {
    struct entry *next, *previous;
    uint32_t task, block;
    bool writes, granted;
    bool first; /* of the task's first child, too */
} entry;

typedef enum state {
    UNDECIDED, /* its first child could not begin yet */
    OPEN,      /* the rule is asked */
    RUNS,      /* as it is, when all of its blocks are granted */
    READY,     /* they are */
    SPLIT,
    DONE,
} state;

typedef struct corner {
    uint16_t row, column; /* blocks */
    uint8_t matrix;
} corner;

enum { NONE = UINT32_MAX };

typedef struct node {
    uint32_t parent, children;                 /* of a split task: those that have not ended */
    entry *entries;                            /* by operand, row and column; NULL: split or done */
    uint16_t nentries, waiting, first_waiting; /* those that are not granted */
    uint8_t op, level, state;
    bool on_host; /* to run there */
    od_split_plan plan;
    corner corner[SIM_OPERANDS];
    uint32_t next; /* in the queue of those that are ready */
    double bottom_s;
} node;

typedef struct block {
    entry *first, *last;
} block;

struct sim_recursion {
    sim_recursion_config config;
    const od_split_ops *ops;
    void *rule;
    sim_tables tables;
    node *nodes;
    uint32_t nnodes, capacity;
    block *blocks;
    od_heap open[SIM_OPS][OD_SPLIT_LEVELS];  /* the most urgent one first */
    od_heap spare[SIM_OPS][OD_SPLIT_LEVELS]; /* the same, the least urgent one first */
    uint32_t first_ready, last_ready;
    uint32_t roots, splits; /* not done; so far */
};

/* --- blocks of a task ------------------------------------------------------------------- */

static bool is_in_part(sim_part part, unsigned row, unsigned column)
{
    return part == SIM_WHOLE || (part == SIM_LOWER ? row >= column : row <= column);
}

static uint32_t blocks_in_part(sim_part part, unsigned span)
{
    return part == SIM_WHOLE ? span * span : span * (span + 1) / 2;
}

/* The place of a block among those of the operand, row by row. */
static uint32_t index_in_part(sim_part part, unsigned span, unsigned row, unsigned column)
{
    switch (part) {
    case SIM_LOWER:
        return row * (row + 1) / 2 + column;
    case SIM_UPPER:
        return row * span - row * (row + 1) / 2 + column;
    default:
        return row * span + column;
    }
}

static uint32_t first_of_operand(const sim_recursion *r, const node *n, unsigned operand)
{
    uint32_t first = 0;
    for (unsigned i = 0; i < operand; i++)
        first += blocks_in_part(sim_ops[n->op].operand[i].part, r->tables.span[n->level]);
    return first;
}

/* A block of a child's operand is the operand's of the parent. */
static bool is_of_first_child(const sim_recursion *r, const node *n, unsigned operand, unsigned row, unsigned column)
{
    const sim_child *child = &r->tables.children[n->op][n->level].items[0];
    unsigned span = r->tables.span[n->level + 1];
    for (unsigned i = 0; i < sim_ops[child->op].noperands; i++) {
        const sim_place *p = &child->place[i];
        if (p->operand == operand && row / span == p->row && column / span == p->column &&
            is_in_part(sim_ops[child->op].operand[i].part, row % span, column % span))
            return true;
    }
    return false;
}

static bool may_split(const sim_recursion *r, const node *n)
{
    return n->level + 1U < r->config.workload->nlevels;
}

static void make_entries(sim_recursion *r, uint32_t task)
{
    node *n = &r->nodes[task];
    unsigned span = r->tables.span[n->level];
    n->nentries = (uint16_t)first_of_operand(r, n, sim_ops[n->op].noperands);
    n->entries = sim_checked(calloc(n->nentries, sizeof *n->entries));
    entry *e = n->entries;
    for (unsigned o = 0; o < sim_ops[n->op].noperands; o++) {
        sim_operand operand = sim_ops[n->op].operand[o];
        corner c = n->corner[o];
        for (unsigned i = 0; i < span; i++)
            for (unsigned j = 0; j < span; j++) {
                if (!is_in_part(operand.part, i, j))
                    continue;
                *e = (entry){.task = task,
                             .block = sim_tables_block(&r->tables, c.matrix, c.row + i, c.column + j),
                             .writes = operand.mode & OD_WRITE,
                             .first = may_split(r, n) && is_of_first_child(r, n, o, i, j)};
                n->first_waiting += e->first;
                e++;
            }
    }
    n->waiting = n->nentries;
}

/* --- lists of blocks ------------------------------------------------------------------------ */

static void put_before(block *b, entry *e, entry *next)
{
    e->next = next;
    e->previous = next ? next->previous : b->last;
    *(e->previous ? &e->previous->next : &b->first) = e;
    *(next ? &next->previous : &b->last) = e;
}

static void take_out(block *b, entry *e)
{
    *(e->previous ? &e->previous->next : &b->first) = e->next;
    *(e->next ? &e->next->previous : &b->last) = e->previous;
}

/* Of the group, how many are more urgent: as if they were evenly distributed between the first and the last. */
static double more_urgent(const sim_recursion *r, const sim_group *g, double bottom_s)
{
    const od_heap *heap = &r->open[g->op][g->level];
    if (!heap->count)
        return 0;
    double most = r->nodes[od_heap_first(heap)].bottom_s;
    double least = r->nodes[od_heap_first(&r->spare[g->op][g->level])].bottom_s;
    if (most <= bottom_s)
        return 0;
    return least >= bottom_s ? heap->count : heap->count * (most - bottom_s) / (most - least);
}

static double ahead_of(const sim_recursion *r, double bottom_s)
{
    double seconds = r->tables.view.queued_s;
    for (unsigned i = 0; i < r->tables.ngroups; i++) {
        const sim_group *g = &r->tables.group[i];
        seconds += more_urgent(r, g, bottom_s) * r->tables.view.kind[g->op].device_s[g->level];
    }
    return seconds;
}

static bool runs_on_host(const sim_recursion *r, const node *n)
{
    od_split_task task = {
        .kind = n->op, .level = n->level, .bottom_s = n->bottom_s, .ahead_s = ahead_of(r, n->bottom_s)};
    if (!r->tables.view.cpus || r->tables.view.kind[n->op].host_s[n->level] <= 0)
        return false;
    if (n->plan.to)
        return n->plan.on_host >> n->op & 1;
    return r->ops->on_host && r->ops->on_host(r->rule, &task);
}

static void push_ready(sim_recursion *r, uint32_t task)
{
    node *n = &r->nodes[task];
    n->state = READY;
    n->next = NONE;
    n->on_host = runs_on_host(r, n);
    *(r->last_ready == NONE ? &r->first_ready : &r->nodes[r->last_ready].next) = task;
    r->last_ready = task;
    if (!n->on_host)
        r->tables.view.queued_s += r->tables.view.kind[n->op].device_s[n->level];
}

static void push_open(sim_recursion *r, uint32_t task)
{
    node *n = &r->nodes[task];
    od_heap *heap = &r->open[n->op][n->level], *spare = &r->spare[n->op][n->level];
    n->state = OPEN;
    if (heap->capacity < r->capacity && (od_heap_reserve(heap, r->capacity) || od_heap_reserve(spare, r->capacity)))
        sim_checked(NULL);
    od_heap_push(heap, task);
    od_heap_push(spare, task);
}

static void grant(sim_recursion *r, entry *e)
{
    node *n = &r->nodes[e->task];
    e->granted = true;
    n->waiting--;
    n->first_waiting -= e->first;
    if (n->state == RUNS && n->waiting == 0)
        push_ready(r, e->task);
    else if (n->state == UNDECIDED && n->first_waiting == 0)
        push_open(r, e->task);
}

/* Those that nothing before them conflicts with. */
static void grant_first(sim_recursion *r, block *b)
{
    for (entry *e = b->first; e && (!e->writes || e == b->first); e = e->next) {
        if (!e->granted)
            grant(r, e);
        if (e->writes)
            return;
    }
}

/* --- tasks ------------------------------------------------------------------------------------ */

static bool is_more_urgent(const void *owner, uint32_t a, uint32_t b)
{
    const node *nodes = ((const sim_recursion *)owner)->nodes;
    return nodes[a].bottom_s > nodes[b].bottom_s || (nodes[a].bottom_s >= nodes[b].bottom_s && a < b);
}

static bool is_less_urgent(const void *owner, uint32_t a, uint32_t b)
{
    return is_more_urgent(owner, b, a);
}

static void count(sim_recursion *r, const node *n, int number)
{
    od_split_kind *kind = &r->tables.view.kind[n->op];
    kind->waiting[n->level] += (uint32_t)number;
    r->tables.view.work_s += number * kind->device_s[n->level];
}

static uint32_t add_node(sim_recursion *r, node added)
{
    r->nodes = sim_grown(r->nodes, r->nnodes, &r->capacity, sizeof *r->nodes);
    uint32_t task = r->nnodes++;
    added.state = may_split(r, &added) ? UNDECIDED : RUNS;
    r->nodes[task] = added;
    make_entries(r, task);
    count(r, &added, 1);
    return task;
}

static node node_of_child(const sim_recursion *r, const sim_child *child, const node *parent, unsigned level)
{
    node n = {.op = (uint8_t)child->op, .level = (uint8_t)level, .parent = NONE};
    for (unsigned i = 0; i < sim_ops[child->op].noperands; i++) {
        const sim_place *p = &child->place[i];
        n.corner[i] = parent ? parent->corner[p->operand] : (corner){.matrix = p->operand};
        n.corner[i].row = (uint16_t)(n.corner[i].row + p->row * r->tables.span[level]);
        n.corner[i].column = (uint16_t)(n.corner[i].column + p->column * r->tables.span[level]);
    }
    n.bottom_s = child->level_s;
    return n;
}

static void add_roots(sim_recursion *r)
{
    const sim_workload *w = r->config.workload;
    sim_children program;
    double seconds[SIM_OPS];
    sim_children_make(sim_tables_root(w), w->n, &program);
    for (int op = 0; op < SIM_OPS; op++)
        seconds[op] = r->tables.view.kind[op].device_s[0];
    sim_children_levels(&program, seconds);
    for (uint32_t t = 0; t < program.count; t++) {
        uint32_t task = add_node(r, node_of_child(r, &program.items[t], NULL, 0));
        node *n = &r->nodes[task];
        for (uint32_t i = 0; i < n->nentries; i++)
            put_before(&r->blocks[n->entries[i].block], &n->entries[i], NULL);
    }
    r->roots = program.count;
    for (uint32_t b = 0; b < r->tables.nblocks; b++)
        grant_first(r, &r->blocks[b]);
    sim_children_free(&program);
}

/* The parent's entry of a block that a child's operand has at (row, column). */
static entry *entry_of_parent(const sim_recursion *r, const node *parent, const sim_place *p, unsigned row,
                              unsigned column)
{
    unsigned span = r->tables.span[parent->level], part = r->tables.span[parent->level + 1];
    sim_operand operand = sim_ops[parent->op].operand[p->operand];
    return &parent->entries[first_of_operand(r, parent, p->operand) +
                            index_in_part(operand.part, span, p->row * part + row, p->column * part + column)];
}

/* In the lists of its blocks a child comes before its parent, and behind the children before it. */
static void insert_child(sim_recursion *r, uint32_t parent, const sim_child *child, uint32_t task)
{
    const node *n = &r->nodes[task], *p = &r->nodes[parent];
    unsigned span = r->tables.span[n->level];
    entry *e = n->entries;
    for (unsigned o = 0; o < sim_ops[n->op].noperands; o++)
        for (unsigned i = 0; i < span; i++)
            for (unsigned j = 0; j < span; j++)
                if (is_in_part(sim_ops[n->op].operand[o].part, i, j)) {
                    put_before(&r->blocks[e->block], e, entry_of_parent(r, p, &child->place[o], i, j));
                    e++;
                }
}

static void split(sim_recursion *r, uint32_t task)
{
    const sim_children *children = &r->tables.children[r->nodes[task].op][r->nodes[task].level];
    node parent = r->nodes[task]; /* nodes may move */
    double after = parent.bottom_s - r->tables.view.kind[parent.op].device_s[parent.level];
    count(r, &parent, -1);
    for (uint32_t c = 0; c < children->count; c++) {
        node child = node_of_child(r, &children->items[c], &parent, parent.level + 1U);
        child.parent = task;
        child.bottom_s += after;
        child.plan = parent.plan;
        insert_child(r, task, &children->items[c], add_node(r, child));
    }
    for (uint32_t i = 0; i < parent.nentries; i++)
        take_out(&r->blocks[parent.entries[i].block], &parent.entries[i]);
    r->nodes[task].state = SPLIT;
    r->nodes[task].children = children->count;
    r->nodes[task].entries = NULL;
    r->splits++;
    for (uint32_t i = 0; i < parent.nentries; i++)
        grant_first(r, &r->blocks[parent.entries[i].block]);
    free(parent.entries);
}

static void end(sim_recursion *r, uint32_t task)
{
    r->nodes[task].state = DONE;
    uint32_t parent = r->nodes[task].parent;
    if (parent == NONE)
        r->roots--;
    else if (--r->nodes[parent].children == 0)
        end(r, parent);
}

void sim_recursion_done(sim_recursion *r, uint32_t task)
{
    node *n = &r->nodes[task];
    entry *entries = n->entries;
    count(r, n, -1);
    if (!n->on_host)
        r->tables.view.queued_s -= r->tables.view.kind[n->op].device_s[n->level];
    n->entries = NULL;
    for (uint32_t i = 0; i < n->nentries; i++) {
        block *b = &r->blocks[entries[i].block];
        take_out(b, &entries[i]);
        if (b->first && (entries[i].writes || !b->first->granted))
            grant_first(r, b);
    }
    free(entries);
    end(r, task);
}

/* --- decisions ---------------------------------------------------------------------------------- */

static od_split_task task_of_node(const sim_recursion *r, uint32_t task)
{
    const node *n = &r->nodes[task];
    od_split_task t = {.kind = n->op, .level = n->level, .bottom_s = n->bottom_s, .ahead_s = ahead_of(r, n->bottom_s)};
    if (r->config.transfer_seconds) {
        sim_access uses[SIM_MOST_BLOCKS];
        uint32_t nuses = sim_recursion_uses(r, task, uses);
        t.transfer_s = r->config.transfer_seconds(r->config.arg, uses, nuses);
    }
    return t;
}

/* False: later. */
static bool decide(sim_recursion *r, uint32_t task)
{
    node *n = &r->nodes[task];
    od_split_task about = task_of_node(r, task);
    od_split_answer answer =
        n->plan.to ? (n->plan.to > n->level ? OD_SPLIT_SPLIT : OD_SPLIT_RUN) : r->ops->decide(r->rule, &about);
    if (answer == OD_SPLIT_LATER && !r->tables.view.wants_work)
        return false;
    od_heap_remove(&r->open[n->op][n->level], task);
    od_heap_remove(&r->spare[n->op][n->level], task);
    if (answer == OD_SPLIT_SPLIT) {
        if (!n->plan.to)
            n->plan = about.plan;
        split(r, task);
        return true;
    }
    n->state = RUNS;
    if (n->waiting == 0)
        push_ready(r, task);
    return true;
}

/* One group of tasks, all of which are alike but for their urgency. */
static bool decide_group(sim_recursion *r, const sim_group *group)
{
    bool holds = r->ops->holds && r->ops->holds(r->rule);
    od_heap *heap = holds ? &r->spare[group->op][group->level] : &r->open[group->op][group->level];
    bool any = false;
    while (heap->count && decide(r, od_heap_first(heap)))
        any = true;
    return any;
}

/* The most accelerated ones, as long as devices will soon have nothing to do. */
static bool feed(sim_recursion *r)
{
    od_split_view *v = &r->tables.view;
    bool any = false;
    for (unsigned i = r->tables.ngroups; i-- > 0 && !any;) {
        const sim_group *g = &r->tables.group[i];
        od_heap *heap = &r->open[g->op][g->level];
        double enough = v->ndevices * (r->config.buffer + 1.) * v->kind[g->op].device_s[g->level];
        v->wants_work = v->queued_s < enough || v->ndevices == 0;
        any = heap->count && v->wants_work && decide(r, od_heap_first(heap));
        v->wants_work = false;
    }
    return any;
}

static void decide_all(sim_recursion *r)
{
    bool any;
    do {
        any = false;
        for (unsigned i = 0; i < r->tables.ngroups; i++)
            any |= decide_group(r, &r->tables.group[i]);
    } while (any || feed(r));
}

bool sim_recursion_next(sim_recursion *r, uint32_t *task)
{
    if (r->first_ready == NONE)
        decide_all(r);
    *task = r->first_ready;
    if (*task == NONE)
        return false;
    r->first_ready = r->nodes[*task].next;
    if (r->first_ready == NONE)
        r->last_ready = NONE;
    return true;
}

/* --- all of it ------------------------------------------------------------------------------------- */

sim_recursion *sim_recursion_create(const sim_recursion_config *config, char *error, size_t size)
{
    sim_recursion *r = sim_checked(calloc(1, sizeof *r));
    r->config = *config;
    r->ops = config->rule.ops;
    r->first_ready = r->last_ready = NONE;
    sim_tables_make(&r->config, &r->tables);
    for (int op = 0; op < SIM_OPS; op++)
        for (int l = 0; l < OD_SPLIT_LEVELS; l++) {
            od_heap_init(&r->open[op][l], is_more_urgent, r);
            od_heap_init(&r->spare[op][l], is_less_urgent, r);
        }
    if (r->ops->create(&r->tables.view, config->rule.level, &r->rule, error, size)) {
        r->ops = NULL;
        sim_recursion_destroy(r);
        return NULL;
    }
    r->blocks = sim_checked(calloc(r->tables.nblocks, sizeof *r->blocks));
    add_roots(r);
    return r;
}

void sim_recursion_destroy(sim_recursion *r)
{
    if (!r)
        return;
    if (r->ops)
        r->ops->destroy(r->rule);
    for (uint32_t t = 0; t < r->nnodes; t++)
        free(r->nodes[t].entries);
    for (int op = 0; op < SIM_OPS; op++)
        for (int l = 0; l < OD_SPLIT_LEVELS; l++) {
            od_heap_free(&r->open[op][l]);
            od_heap_free(&r->spare[op][l]);
        }
    sim_tables_free(&r->tables);
    free(r->nodes);
    free(r->blocks);
    free(r);
}

od_split_view *sim_recursion_view(sim_recursion *r)
{
    return &r->tables.view;
}

sim_recursive_task sim_recursion_task(const sim_recursion *r, uint32_t task)
{
    const node *n = &r->nodes[task];
    const od_split_kind *kind = &r->tables.view.kind[n->op];
    corner written = n->corner[sim_ops[n->op].noperands - 1];
    return (sim_recursive_task){.op = (sim_op)n->op,
                                .level = n->level,
                                .kernel = sim_tables_kernel(r->config.workload, (sim_op)n->op, n->level),
                                .row = written.row / r->tables.span[n->level],
                                .column = written.column / r->tables.span[n->level],
                                .seconds = kind->device_s[n->level],
                                .host_seconds = kind->host_s[n->level],
                                .bottom_s = n->bottom_s,
                                .on_host = n->on_host};
}

uint32_t sim_recursion_uses(const sim_recursion *r, uint32_t task, sim_access *uses)
{
    const node *n = &r->nodes[task];
    uint32_t used = 0;
    for (unsigned o = 0; o < sim_ops[n->op].noperands; o++) {
        sim_operand operand = sim_ops[n->op].operand[o];
        uint32_t last = used + blocks_in_part(operand.part, r->tables.span[n->level]);
        for (; used < last; used++)
            uses[used] = (sim_access){n->entries[used].block, operand.mode};
    }
    return used;
}

bool sim_recursion_is_done(const sim_recursion *r)
{
    return r->roots == 0;
}

uint32_t sim_recursion_splits(const sim_recursion *r)
{
    return r->splits;
}

bool sim_recursion_is_valid(const sim_recursion *r)
{
    for (uint32_t b = 0; b < r->tables.nblocks; b++) {
        bool before = false, written = false; /* of this block */
        for (const entry *e = r->blocks[b].first; e; e = e->next) {
            bool free_now = !written && (!e->writes || !before);
            if (e->granted != free_now || (e->next && e->next->previous != e))
                return false;
            before = true;
            written |= e->writes;
        }
    }
    return true;
}
