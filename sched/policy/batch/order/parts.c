/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What is done to an order once it is there: cutting, balancing, interlacing, packing its parts anew; see order.h. */
#include "sched/policy/batch/order/order.h"
#include "util/memory.h"

#include <stdlib.h>
#include <string.h>

void od_order_split(const od_batch *batch, uint32_t parts, const uint32_t *order, uint32_t *begin)
{
    double total = 0, before = 0;
    uint32_t part = 0;
    for (uint32_t t = 0; t < batch->ntasks; t++)
        total += batch->duration[t];
    begin[0] = 0;
    for (uint32_t i = 0; i < batch->ntasks; i++) {
        double middle = before + batch->duration[order[i]] / 2;
        while (part + 1 < parts && middle * parts >= total * (part + 1))
            begin[++part] = i;
        before += batch->duration[order[i]];
    }
    while (part < parts)
        begin[++part] = batch->ntasks;
}

/* --- balancing --------------------------------------------------------------- */

struct balance {
    const od_batch *batch;
    uint32_t parts;
    uint32_t *order, *begin;
    double mean; /* seconds per part */
};

static double part_load(const struct balance *b, uint32_t part)
{
    double seconds = 0;
    for (uint32_t i = b->begin[part]; i < b->begin[part + 1]; i++)
        seconds += b->batch->duration[b->order[i]];
    return seconds;
}

/* How many tasks at the tail of the part take no more than `seconds` together, but for rounding. */
static uint32_t tail_within(const struct balance *b, uint32_t part, double seconds)
{
    double sum = 0;
    uint32_t count = 0;
    for (uint32_t i = b->begin[part + 1]; i-- > b->begin[part]; count++) {
        sum += b->batch->duration[b->order[i]];
        if (sum > seconds + 1e-9 * b->mean)
            break;
    }
    return count;
}

static void reverse(uint32_t *order, uint32_t count)
{
    for (uint32_t i = 0; i < count / 2; i++) {
        uint32_t task = order[i];
        order[i] = order[count - 1 - i];
        order[count - 1 - i] = task;
    }
}

/* Exchanges the first `left` elements with the other ones. */
static void rotate(uint32_t *order, uint32_t count, uint32_t left)
{
    reverse(order, left);
    reverse(order + left, count - left);
    reverse(order, count);
}

/* The last `count` tasks of one part become the last ones of another. */
static void move_tail(const struct balance *b, uint32_t from, uint32_t to, uint32_t count)
{
    uint32_t end_from = b->begin[from + 1], end_to = b->begin[to + 1];
    if (from < to) {
        rotate(b->order + end_from - count, end_to - end_from + count, count);
        for (uint32_t part = from + 1; part <= to; part++)
            b->begin[part] -= count;
    } else {
        rotate(b->order + end_to, end_from - end_to, end_from - end_to - count);
        for (uint32_t part = to + 1; part <= from; part++)
            b->begin[part] += count;
    }
}

/* One turn of the loop of Algorithm 8; false: no task can move without passing the mean. */
static bool move_towards_mean(const struct balance *b)
{
    uint32_t longest = 0, shortest = 0;
    double most = part_load(b, 0), least = most;
    for (uint32_t part = 1; part < b->parts; part++) {
        double seconds = part_load(b, part);
        if (seconds > most) {
            most = seconds;
            longest = part;
        }
        if (seconds < least) {
            least = seconds;
            shortest = part;
        }
    }
    double amount = most - b->mean < b->mean - least ? most - b->mean : b->mean - least;
    uint32_t count = tail_within(b, longest, amount);
    if (longest == shortest || count == 0)
        return false;
    move_tail(b, longest, shortest, count);
    return true;
}

void od_order_balance(const od_batch *batch, uint32_t parts, uint32_t *order, uint32_t *begin)
{
    double total = 0;
    for (uint32_t t = 0; t < batch->ntasks; t++)
        total += batch->duration[t];
    struct balance balance = {batch, parts, order, begin, total / parts};
    uint32_t moves = batch->ntasks; /* a task that has moved stays, but for rounding */
    while (moves && move_towards_mean(&balance))
        moves--;
}

/* --- interlacing ---------------------------------------------------------------- */

od_status od_order_interlace(uint32_t parts, uint32_t *order, const uint32_t *begin)
{
    uint32_t *copy = od_malloc(((size_t)begin[parts] + 1) * sizeof *copy);
    if (!copy)
        return OD_ENOMEM;
    memcpy(copy, order, begin[parts] * sizeof *copy);
    for (uint32_t part = 0; part < parts; part++) {
        uint32_t at = begin[part], up = begin[part] + (begin[part + 1] - begin[part] + 1) / 2, down = up;
        while (at < begin[part + 1]) {
            if (down > begin[part])
                order[at++] = copy[--down];
            if (up < begin[part + 1])
                order[at++] = copy[up++];
        }
    }
    free(copy);
    return OD_OK;
}

/* --- packing anew ------------------------------------------------------------------ */

/* The tasks of one part as a batch of their own, in the order given. */
struct excerpt {
    od_batch batch;
    uint32_t *first, *datum;
    double *duration;
};

static void excerpt_fill(struct excerpt *excerpt, const od_batch *whole, const uint32_t *tasks, uint32_t count)
{
    uint32_t nuses = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t t = tasks[i];
        excerpt->first[i] = nuses;
        excerpt->duration[i] = whole->duration[t];
        for (uint32_t u = whole->first[t]; u < whole->first[t + 1]; u++)
            excerpt->datum[nuses++] = whole->datum[u];
    }
    excerpt->first[count] = nuses;
    excerpt->batch = (od_batch){count, whole->ndata, excerpt->first, excerpt->datum, whole->size, excerpt->duration};
}

static od_status pack_part(struct excerpt *excerpt, const od_batch *whole, const od_hfp_options *options,
                           uint32_t *tasks, uint32_t count)
{
    uint32_t begin[2];
    uint32_t *order = od_malloc(((size_t)count + 1) * sizeof *order);
    if (!order)
        return OD_ENOMEM;
    excerpt_fill(excerpt, whole, tasks, count);
    od_status status = od_order_hfp(&excerpt->batch, options, order, begin);
    for (uint32_t i = 0; !status && i < count; i++)
        order[i] = tasks[order[i]];
    if (!status)
        memcpy(tasks, order, count * sizeof *order);
    free(order);
    return status;
}

od_status od_order_hfp_again(const od_batch *batch, const od_hfp_options *options, uint32_t *order,
                             const uint32_t *begin)
{
    od_hfp_options whole = *options;
    whole.parts = 1;
    struct excerpt excerpt = {.first = od_malloc(((size_t)batch->ntasks + 1) * sizeof *excerpt.first),
                              .datum = od_malloc(((size_t)batch->first[batch->ntasks] + 1) * sizeof *excerpt.datum),
                              .duration = od_malloc(((size_t)batch->ntasks + 1) * sizeof *excerpt.duration)};
    od_status status = excerpt.first && excerpt.datum && excerpt.duration ? OD_OK : OD_ENOMEM;
    for (uint32_t part = 0; !status && part < options->parts; part++)
        status = pack_part(&excerpt, batch, &whole, order + begin[part], begin[part + 1] - begin[part]);
    free(excerpt.first);
    free(excerpt.datum);
    free(excerpt.duration);
    return status;
}
