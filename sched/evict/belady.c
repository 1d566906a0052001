/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * belady: the replica whose next use is furthest (Gonthier's thesis, 2.2.3 and 3.3.6).
 *
 * The order of uses is the task buffer, then the policy's planned order as it is now (od_policy_ops.next_use): where
 * Ready takes tasks out of turn, or stealing moves them, the rule follows. Among data without a planned
 * use, those that the fewest other known tasks will use, then the least recently used. With a policy
 * that plans no order that is all there is. Sizes do not count: where one victim is not enough the engine
 * asks again (the thesis, 2.4, shows why no such rule is optimal then). Optimal for unit sizes and the
 * planned order. Time: linear in the number of replicas on the device unless one has no future at all.
 */
#include "sched/evict.h"

struct future {
    uint64_t next; /* place of the next use on the device */
    uint32_t uses; /* where that is OD_NEVER: known uses elsewhere or later */
};

/* Tasks that the policy has, planned for whatever device, and those submitted that are not ready yet. */
static uint32_t known_uses(const od_evict_query *query, const od_datum *datum)
{
    uint32_t uses = datum->forecast;
    if (query->policy && query->policy->future_uses)
        uses += query->policy->future_uses(query->policy_state, datum);
    return uses;
}

static struct future future_of(const od_evict_query *query, const od_replica *replica)
{
    const od_datum *datum = replica->datum;
    uint64_t next = OD_NEVER;
    if (replica->buffered_uses > 0)
        return (struct future){od_evict_place_in_buffer(query, datum), 0};
    if (query->policy && query->policy->next_use)
        next = query->policy->next_use(query->policy_state, datum, query->k);
    if (next == OD_NEVER)
        return (struct future){OD_NEVER, known_uses(query, datum)};
    return (struct future){query->buffer->count + next, 0};
}

static bool is_further(struct future a, struct future b)
{
    return a.next != b.next ? a.next > b.next : a.uses < b.uses;
}

static od_replica *belady_victim(const od_evict_query *query)
{
    od_replica *best = NULL;
    struct future furthest = {0, 0};
    od_list_each(it, query->resident) {
        od_replica *replica = od_container_of(it, od_replica, lru);
        if (!od_victim_allowed(query, replica))
            continue;
        struct future future = future_of(query, replica);
        if (!best || is_further(future, furthest)) {
            best = replica;
            furthest = future;
        }
        if (furthest.next == OD_NEVER && furthest.uses == 0)
            break;
    }
    return best;
}

static unsigned belady_explain(const od_evict_query *query, const od_replica *victim, od_score *scores)
{
    struct future future = future_of(query, victim);
    scores[0] = (od_score){"next_use", future.next == OD_NEVER ? -1 : (double)future.next};
    scores[1] = (od_score){"known_uses", future.uses};
    return 2;
}

static const od_evict_ops belady_ops = {
    .interface_version = OD_EVICT_INTERFACE,
    .name = "belady",
    .description = "next use furthest in the planned order (thesis, 3.3.6)",
    .victim = belady_victim,
    .explain = belady_explain,
};

OD_REGISTER_EVICT(belady_ops)
