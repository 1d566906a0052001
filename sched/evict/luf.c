/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * luf: Least Used in the Future (Gonthier's thesis, Algorithm 10).
 *
 * A replica that no task in the task buffer uses and that the fewest planned tasks use. The thesis leaves ties open;
 * here those go first whose datum no other known task will use, then those that only tasks which are not ready yet will
 * use, the fewest such tasks first. Among data that ready tasks use, the one with the most of them goes: what few tasks
 * still need is soon done with and never loaded again. At last, the least recently used. Once a replica that no
 * planned task uses is found, only the next few are looked at for a better one, because a device may hold many
 * thousands. Where every replica is used by the buffer: Belady's rule on the buffer, the one whose next use is
 * furthest.
 */
#include "sched/evict.h"

/* How many replicas to look at after one that satisfies Algorithm 10. */
enum { LOOK_AHEAD = 64 };

struct worth {
    uint32_t planned;  /* n_p of Algorithm 10 */
    uint32_t ready;    /* tasks that the policy still has for it, on any device */
    uint32_t forecast; /* tasks that are not ready yet */
};

static struct worth worth_of(const od_evict_query *query, const od_replica *replica)
{
    struct worth worth = {.planned = replica->planned_uses, .forecast = replica->datum->forecast};
    if (query->policy && query->policy->future_uses)
        worth.ready = query->policy->future_uses(query->policy_state, replica->datum);
    return worth;
}

static bool is_useless(struct worth worth)
{
    return worth.ready == 0 && worth.forecast == 0;
}

static bool is_less(struct worth a, struct worth b)
{
    if (a.planned != b.planned)
        return a.planned < b.planned;
    if ((a.ready == 0) != (b.ready == 0))
        return a.ready == 0;
    return a.ready == 0 ? a.forecast < b.forecast : a.ready > b.ready;
}

/* By what is side by side in memory: most of those that are not less are none by this already. */
static bool may_be_less(const od_replica *replica, struct worth least)
{
    if (replica->buffered_uses > 0 || replica->planned_uses > least.planned)
        return false;
    return replica->planned_uses < least.planned || least.ready > 0 || replica->datum->forecast < least.forecast;
}

static od_replica *least_planned(const od_evict_query *query)
{
    od_replica *best = NULL;
    struct worth least = {.planned = UINT32_MAX};
    unsigned left = LOOK_AHEAD;
    od_list_each(it, query->resident) {
        od_replica *replica = od_container_of(it, od_replica, lru);
        if (least.planned == 0 && (is_useless(least) || left-- == 0))
            break;
        if (!may_be_less(replica, least))
            continue;
        struct worth worth = worth_of(query, replica);
        if ((!best || is_less(worth, least)) && od_victim_allowed(query, replica)) {
            best = replica;
            least = worth;
        }
    }
    return best;
}

static od_replica *furthest_in_buffer(const od_evict_query *query)
{
    od_replica *best = NULL;
    size_t furthest = 0;
    od_list_each(it, query->resident) {
        od_replica *replica = od_container_of(it, od_replica, lru);
        if (!od_victim_allowed(query, replica))
            continue;
        size_t place = od_evict_place_in_buffer(query, replica->datum);
        if (!best || place > furthest) {
            best = replica;
            furthest = place;
        }
    }
    return best;
}

static od_replica *luf_victim(const od_evict_query *query)
{
    od_replica *victim = least_planned(query);
    return victim ? victim : furthest_in_buffer(query);
}

static unsigned luf_explain(const od_evict_query *query, const od_replica *victim, od_score *scores)
{
    struct worth worth = worth_of(query, victim);
    scores[0] = (od_score){"buffered_uses", victim->buffered_uses};
    scores[1] = (od_score){"planned_uses", worth.planned};
    scores[2] = (od_score){"ready_uses", worth.ready};
    scores[3] = (od_score){"forecast_uses", worth.forecast};
    return 4;
}

static const od_evict_ops luf_ops = {
    .interface_version = OD_EVICT_INTERFACE,
    .name = "luf",
    .description = "least used in the future (thesis, Algorithm 10)",
    .victim = luf_victim,
    .explain = luf_explain,
};

OD_REGISTER_EVICT(luf_ops)
