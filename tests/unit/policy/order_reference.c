/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* See order_reference.h. */
#include "tests/unit/policy/order_reference.h"

#include <stdlib.h>
#include <string.h>

void ref_make(ref_batch *b, uint32_t ntasks, uint32_t ndata, const uint32_t *uses)
{
    uint32_t count = 0;
    b->batch = (od_batch){ntasks, ndata, b->first, b->datum, b->size, b->duration};
    for (uint32_t d = 0; d < ndata; d++)
        b->size[d] = 1;
    for (uint32_t t = 0; t < ntasks; t++) {
        b->first[t] = count;
        b->duration[t] = 1;
        for (uint32_t d = 0; d < ndata; d++)
            if (uses[t] & (1u << d))
                b->datum[count++] = d;
    }
    b->first[ntasks] = count;
}

uint32_t ref_uses(const od_batch *b, uint32_t task)
{
    uint32_t uses = 0;
    for (uint32_t u = b->first[task]; u < b->first[task + 1]; u++)
        uses |= 1u << b->datum[u];
    return uses;
}

static uint64_t weight(const od_batch *b, uint32_t data)
{
    uint64_t bytes = 0;
    for (uint32_t d = 0; d < b->ndata; d++)
        bytes += data & (1u << d) ? b->size[d] : 0;
    return bytes;
}

/* --- Algorithm 3 ------------------------------------------------------------- */

static uint64_t degree(const od_batch *b, uint32_t t)
{
    uint64_t sum = 0;
    for (uint32_t other = 0; other < b->ntasks; other++)
        if (other != t)
            sum += weight(b, ref_uses(b, t) & ref_uses(b, other));
    return sum;
}

static bool contains(const uint32_t *order, uint32_t count, uint32_t task)
{
    for (uint32_t i = 0; i < count; i++)
        if (order[i] == task)
            return true;
    return false;
}

/* The task of least degree that is not in the order and, unless `to` is OD_NO_TASK, adjacent to it. */
static uint32_t least_degree(const od_batch *b, const uint32_t *order, uint32_t count, uint32_t to)
{
    uint32_t best = OD_NO_TASK;
    for (uint32_t t = 0; t < b->ntasks; t++) {
        if (contains(order, count, t) || (to != OD_NO_TASK && !(ref_uses(b, t) & ref_uses(b, to))))
            continue;
        if (best == OD_NO_TASK || degree(b, t) < degree(b, best))
            best = t;
    }
    return best;
}

void ref_rcm(const od_batch *b, uint32_t *order)
{
    uint32_t count = 0, i = 0, next;
    while (count < b->ntasks) {
        if (i == count) {
            order[count] = least_degree(b, order, count, OD_NO_TASK);
            count++;
        }
        while ((next = least_degree(b, order, count, order[i])) != OD_NO_TASK)
            order[count++] = next;
        i++;
    }
    for (uint32_t a = 0; a < count / 2; a++) {
        uint32_t task = order[a];
        order[a] = order[count - 1 - a];
        order[count - 1 - a] = task;
    }
}

/* --- Algorithm 4 ------------------------------------------------------------- */

void ref_mst(const od_batch *b, uint32_t *order)
{
    uint64_t key[REF_TASKS] = {1};
    for (uint32_t count = 0; count < b->ntasks; count++) {
        uint32_t best = OD_NO_TASK;
        for (uint32_t t = 0; t < b->ntasks; t++)
            if (!contains(order, count, t) && (best == OD_NO_TASK || key[t] > key[best]))
                best = t;
        order[count] = best;
        for (uint32_t t = 0; t < b->ntasks; t++) {
            uint64_t length = weight(b, ref_uses(b, best) & ref_uses(b, t));
            if (key[t] < length)
                key[t] = length;
        }
    }
}

/* --- Algorithm 5 ------------------------------------------------------------- */

struct ref_package {
    uint32_t count, data;
    uint32_t task[REF_TASKS];
};

struct ref_packing {
    const od_batch *b;
    const od_hfp_options *options;
    struct ref_package package[REF_TASKS], scattered;
    uint32_t npackages;
    bool limited, first;
};

static struct ref_package reversed(const struct ref_package *p)
{
    struct ref_package r = *p;
    for (uint32_t i = 0; i < p->count; i++)
        r.task[i] = p->task[p->count - 1 - i];
    return r;
}

/* Data of the first tasks that fit in memory together. */
static uint32_t start_of(const struct ref_packing *s, const struct ref_package *p)
{
    uint32_t data = 0;
    for (uint32_t i = 0; i < p->count && weight(s->b, data | ref_uses(s->b, p->task[i])) <= s->options->memory; i++)
        data |= ref_uses(s->b, p->task[i]);
    return data;
}

static void append(struct ref_package *a, const struct ref_package *b)
{
    memcpy(a->task + a->count, b->task, b->count * sizeof b->task[0]);
    a->count += b->count;
    a->data |= b->data;
}

static void merge(const struct ref_packing *s, struct ref_package *a, const struct ref_package *b)
{
    struct ref_package a_turned = reversed(a), b_turned = reversed(b);
    uint32_t start_a = start_of(s, a), end_a = start_of(s, &a_turned);
    uint32_t start_b = start_of(s, b), end_b = start_of(s, &b_turned);
    uint64_t shared[4] = {weight(s->b, end_a & start_b), weight(s->b, end_a & end_b), weight(s->b, start_a & start_b),
                          weight(s->b, start_a & end_b)};
    uint32_t best = 0;
    for (uint32_t i = 1; i < 4; i++)
        if (shared[i] > shared[best])
            best = i;
    if (s->limited || !s->options->flip)
        best = 0;
    if (best >= 2)
        *a = a_turned;
    append(a, best % 2 ? &b_turned : b);
}

static bool fits(const struct ref_packing *s, uint32_t i, uint32_t j)
{
    return !s->limited || weight(s->b, s->package[i].data | s->package[j].data) <= s->options->memory;
}

static uint64_t shared_data(const struct ref_packing *s, uint32_t i, uint32_t j)
{
    return weight(s->b, s->package[i].data & s->package[j].data);
}

static uint64_t max_shared(const struct ref_packing *s, const bool *smallest)
{
    uint64_t most = 0;
    for (uint32_t i = 0; i < s->npackages; i++)
        for (uint32_t j = 0; j < s->npackages; j++)
            if (smallest[i] && i != j && fits(s, i, j) && shared_data(s, i, j) > most)
                most = shared_data(s, i, j);
    return most;
}

/* Line 21. */
static uint32_t partner(const struct ref_packing *s, uint32_t i, const bool *q)
{
    uint32_t best = OD_NO_TASK;
    for (uint32_t j = 0; j < s->npackages; j++)
        if (j != i && !q[j] && fits(s, i, j) && (best == OD_NO_TASK || shared_data(s, i, j) > shared_data(s, i, best)))
            best = j;
    return best;
}

/* Fast start: for each datum of the task the next free task that uses it; of these the first that fits. */
static uint32_t fast_partner(const struct ref_packing *s, uint32_t i, const bool *q)
{
    uint32_t best = OD_NO_TASK;
    for (uint32_t d = 0; d < s->b->ndata; d++) {
        uint32_t j = i + 1;
        if (!(s->package[i].data & (1u << d)))
            continue;
        while (j < s->npackages && (q[j] || !(s->package[j].data & (1u << d))))
            j++;
        if (j < s->npackages && fits(s, i, j) && j < best)
            best = j;
    }
    return best;
}

static void iterate(struct ref_packing *s)
{
    bool smallest[REF_TASKS] = {false}, q[REF_TASKS] = {false}, gone[REF_TASKS] = {false};
    bool fast = s->first && s->options->fast_start;
    uint32_t least = REF_TASKS, left = s->npackages;
    s->first = false;
    for (uint32_t i = 0; i < s->npackages; i++)
        least = s->package[i].count < least ? s->package[i].count : least;
    for (uint32_t i = 0; i < s->npackages; i++)
        smallest[i] = s->package[i].count == least;
    uint64_t most = max_shared(s, smallest);
    if (most == 0 && !fast && s->limited) {
        s->limited = false;
        most = max_shared(s, smallest);
    }
    for (uint32_t i = 0; i < s->npackages; i++) {
        if (!smallest[i] || q[i])
            continue;
        if (most == 0 && !fast) {
            append(&s->scattered, &s->package[i]);
            gone[i] = true;
            continue;
        }
        uint32_t j = fast ? fast_partner(s, i, q) : partner(s, i, q);
        if (left == s->options->parts || j == OD_NO_TASK || (!fast && shared_data(s, i, j) != most))
            continue;
        merge(s, &s->package[i], &s->package[j]);
        q[i] = q[j] = gone[j] = true;
        left--;
    }
    left = 0;
    for (uint32_t i = 0; i < s->npackages; i++)
        if (!gone[i])
            s->package[left++] = s->package[i];
    s->npackages = left;
}

static double load(const od_batch *b, const uint32_t *order, uint32_t count)
{
    double seconds = 0;
    for (uint32_t i = 0; i < count; i++)
        seconds += b->duration[order[i]];
    return seconds;
}

void ref_hfp(const od_batch *b, const od_hfp_options *options, uint32_t *order, uint32_t *begin)
{
    static struct ref_packing s;
    s = (struct ref_packing){.b = b, .options = options, .npackages = b->ntasks, .limited = true, .first = true};
    for (uint32_t t = 0; t < b->ntasks; t++)
        s.package[t] = (struct ref_package){.count = 1, .data = ref_uses(b, t), .task = {t}};
    while (s.npackages > options->parts)
        iterate(&s);
    if (s.scattered.count && s.npackages < options->parts) {
        s.package[s.npackages++] = s.scattered;
    } else if (s.scattered.count) {
        uint32_t shortest = 0;
        for (uint32_t i = 1; i < s.npackages; i++)
            if (load(b, s.package[i].task, s.package[i].count) <
                load(b, s.package[shortest].task, s.package[shortest].count))
                shortest = i;
        append(&s.package[shortest], &s.scattered);
    }
    begin[0] = 0;
    for (uint32_t part = 0; part < options->parts; part++) {
        uint32_t count = part < s.npackages ? s.package[part].count : 0;
        memcpy(order + begin[part], s.package[part].task, count * sizeof *order);
        begin[part + 1] = begin[part] + count;
    }
}

/* --- Algorithm 8, lines 2 to 7 -------------------------------------------------- */

void ref_balance(const od_batch *b, uint32_t parts, uint32_t *order, uint32_t *begin)
{
    uint32_t list[8][REF_TASKS], count[8], longest, shortest, moved;
    double mean = load(b, order, b->ntasks) / parts;
    for (uint32_t p = 0; p < parts; p++) {
        count[p] = begin[p + 1] - begin[p];
        memcpy(list[p], order + begin[p], count[p] * sizeof *order);
    }
    do {
        longest = shortest = 0;
        for (uint32_t p = 1; p < parts; p++) {
            if (load(b, list[p], count[p]) > load(b, list[longest], count[longest]))
                longest = p;
            if (load(b, list[p], count[p]) < load(b, list[shortest], count[shortest]))
                shortest = p;
        }
        double excess = load(b, list[longest], count[longest]) - mean;
        double lack = mean - load(b, list[shortest], count[shortest]);
        double amount = (excess < lack ? excess : lack) + 1e-9 * mean;
        uint32_t *tail = list[longest] + count[longest];
        for (moved = 0;
             longest != shortest && moved < count[longest] && load(b, tail - moved - 1, moved + 1) <= amount;)
            moved++;
        memcpy(list[shortest] + count[shortest], tail - moved, moved * sizeof *order);
        count[longest] -= moved;
        count[shortest] += moved;
    } while (moved);
    for (uint32_t p = 0; p < parts; p++) {
        memcpy(order + begin[p], list[p], count[p] * sizeof *order);
        begin[p + 1] = begin[p] + count[p];
    }
}

/* --- loads ------------------------------------------------------------------------- */

struct cache {
    const od_batch *b;
    const uint32_t *order;
    uint32_t count;
    uint32_t *last; /* by datum: 1 + the step of its last use, 0: not in memory */
    uint64_t used;
};

static bool task_uses(const od_batch *b, uint32_t task, uint32_t d)
{
    for (uint32_t u = b->first[task]; u < b->first[task + 1]; u++)
        if (b->datum[u] == d)
            return true;
    return false;
}

static uint32_t next_use(const struct cache *c, uint32_t d, uint32_t step)
{
    while (step < c->count && !task_uses(c->b, c->order[step], d))
        step++;
    return step;
}

/* The datum that leaves before step `step`: that used next latest, or that used last earliest. */
static uint32_t victim(const struct cache *c, uint32_t step, ref_rule rule)
{
    uint32_t best = UINT32_MAX, latest = 0;
    for (uint32_t d = 0; d < c->b->ndata; d++) {
        if (!c->last[d] || task_uses(c->b, c->order[step], d))
            continue;
        uint32_t age = rule == REF_BELADY ? next_use(c, d, step) : UINT32_MAX - c->last[d];
        if (best == UINT32_MAX || age > latest) {
            best = d;
            latest = age;
        }
    }
    return best;
}

uint64_t ref_loads(const od_batch *b, const uint32_t *order, uint32_t count, uint64_t memory, ref_rule rule)
{
    struct cache c = {b, order, count, calloc(b->ndata + 1, sizeof *c.last), 0};
    uint64_t loads = 0;
    for (uint32_t step = 0; step < count; step++) {
        for (uint32_t u = b->first[order[step]]; u < b->first[order[step] + 1]; u++) {
            uint32_t d = b->datum[u], leaving;
            while (!c.last[d] && c.used + b->size[d] > memory && (leaving = victim(&c, step, rule)) != UINT32_MAX) {
                c.last[leaving] = 0;
                c.used -= b->size[leaving];
            }
            loads += c.last[d] ? 0 : b->size[d];
            c.used += c.last[d] ? 0 : b->size[d];
            c.last[d] = step + 1;
        }
    }
    free(c.last);
    return loads;
}

static uint32_t bits(uint32_t set)
{
    return (uint32_t)__builtin_popcount(set);
}

/* `best` by set of data in memory after a step: the fewest loads so far, UINT32_MAX: cannot be. */
uint64_t ref_fewest_loads(const od_batch *b, const uint32_t *order, uint32_t count, uint32_t memory)
{
    uint32_t nsets = 1u << b->ndata, result = UINT32_MAX;
    uint32_t *best = malloc(nsets * sizeof *best), *next = malloc(nsets * sizeof *next);
    memset(best, 0xff, nsets * sizeof *best);
    best[0] = 0;
    for (uint32_t step = 0; step < count; step++) {
        uint32_t needed = ref_uses(b, order[step]);
        memset(next, 0xff, nsets * sizeof *next);
        for (uint32_t before = 0; before < nsets; before++) {
            if (best[before] == UINT32_MAX)
                continue;
            for (uint32_t kept = before;; kept = (kept - 1) & before) {
                uint32_t after = kept | needed, loads = best[before] + bits(needed & ~kept);
                if (bits(after) <= memory && loads < next[after])
                    next[after] = loads;
                if (kept == 0)
                    break;
            }
        }
        uint32_t *swap = best;
        best = next;
        next = swap;
    }
    for (uint32_t set = 0; set < nsets; set++)
        result = best[set] < result ? best[set] : result;
    free(best);
    free(next);
    return result;
}
