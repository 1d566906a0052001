/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * nodes: scheduling on two levels, across the nodes of a machine and among the devices of each.
 *
 * Across nodes the owner computes: a task goes to the node to which the datum that it writes is assigned (assign.h).
 * What is not assigned, or writes nothing, goes where it would begin first: after the work planned for the node, and
 * after what it reads has come from other nodes. Among the devices of a node it goes to the one that would complete it
 * first, as in dmda (thesis, Algorithm 6), where what another device of the node has, or will have, costs a copy inside
 * the node. Each device takes the most urgent of its tasks, and of these the one that needs the fewest bytes (Ready, as
 * in dmdas).
 *
 * A device without tasks takes one from another device of its node that would begin it later; with steal=2 else from
 * the node that has most to do for each of its devices; what the task writes is assigned to the thief's node then. That
 * is not the default: a node that has nothing ready most often waits for data from others, and has work soon.
 *
 * With one node this is dmdas with theft. Not published.
 */
#include "sched/policy/nodes/assign.h"
#include "sched/policy/ready.h"
#include "util/memory.h"

#include <math.h>
#include <stdlib.h>

enum option { PARTITION, STEAL };

static const od_policy_option options[] = {
    [PARTITION] = {"partition", "0: data stay on the node that they have got first", true, 1, 1},
    [STEAL] = {"steal", "devices take tasks from others, 1: of their node, 2: of all; 0: from none", true, 1, 1},
    {0},
};

struct node {
    unsigned first, count; /* of its devices, in nodes.member */
    double within;         /* bytes/s between two of them */
    uint64_t planned_ns;   /* of tasks planned for them */
    od_placeset members;
};

struct device {
    od_ready *ready;
    uint64_t planned_ns;
};

struct nodes {
    od_policy_env env;
    bool partitions; /* options */
    uint64_t steals;
    od_assign assign;
    unsigned count;
    od_placeset filled;               /* devices with planned tasks */
    od_placeset worked;               /* devices of nodes with planned time */
    od_placeset thieves;              /* devices that have not tried in vain to steal since the last task arrived */
    double card;                      /* bytes/s between two nodes */
    unsigned node_of[OD_MAX_DEVICES]; /* by device */
    unsigned member[OD_MAX_DEVICES];  /* devices, node by node */
    struct node node[OD_MAX_DEVICES];
    struct device device[];
};

/* --- life cycle ---------------------------------------------------------- */

static void nodes_destroy(void *state)
{
    struct nodes *s = state;
    for (unsigned k = 0; k < s->env.ndevices && s->device[k].ready; k++)
        od_ready_destroy(s->device[k].ready);
    od_assign_free(&s->assign);
    free(s);
}

/* Nodes that have devices, numbered through. */
static void find_members(struct nodes *s)
{
    const od_topology *topology = s->env.topology;
    unsigned members = 0, nnodes = topology ? topology->nnodes : 1;
    for (unsigned i = 0; i < nnodes; i++) {
        struct node *node = &s->node[s->count];
        node->first = members;
        for (unsigned k = 0; k < s->env.ndevices; k++) {
            if (topology && topology->node[k] != i)
                continue;
            s->node_of[k] = s->count;
            od_placeset_add(&node->members, k);
            s->member[members++] = k;
        }
        node->count = members - node->first;
        s->count += node->count > 0;
    }
}

/* All cards are taken for equal. */
static void find_links(struct nodes *s)
{
    const od_topology *t = s->env.topology;
    for (unsigned i = 0; i < s->count; i++) {
        const unsigned *member = &s->member[s->node[i].first];
        s->node[i].within = t && s->node[i].count > 1 ? od_topology_alone(t, (int)member[0], (int)member[1]) : 0;
    }
    s->card = s->count > 1 ? od_topology_alone(t, (int)s->member[0], (int)s->member[s->node[1].first]) : 0;
    if (s->card <= 0 || isinf(s->card)) /* by way of the host */
        s->card = s->env.inbound;
}

static od_status nodes_create(const od_policy_env *env, void **state)
{
    struct nodes *s = od_calloc(1, sizeof *s + env->ndevices * sizeof s->device[0]);
    if (!s)
        return OD_ENOMEM;
    s->env = *env;
    s->partitions = env->values[PARTITION];
    s->steals = env->values[STEAL];
    find_members(s);
    find_links(s);
    od_assign_init(&s->assign, &s->env, s->count, s->node_of, s->card);
    for (unsigned k = 0; k < env->ndevices; k++) {
        s->device[k].ready = od_ready_create(env, k, (od_ready_rules){.by_priority = true, .by_data = true});
        if (!s->device[k].ready) {
            nodes_destroy(s);
            return OD_ENOMEM;
        }
    }
    *state = s;
    return OD_OK;
}

/* --- what tasks cost ------------------------------------------------------ */

/* There, or asked for by a task that was planned there. */
static bool is_in_memory(const od_datum *datum, unsigned k)
{
    return od_datum_is_expected(datum, k) || datum->replica[k].planned_uses > 0;
}

static bool is_on_node(const struct nodes *s, const od_datum *datum, unsigned node)
{
    for (unsigned i = s->node[node].first; i < s->node[node].first + s->node[node].count; i++)
        if (is_in_memory(datum, s->member[i]))
            return true;
    return false;
}

/* Seconds to bring what the task reads to the node. */
static double loads_of_node(const struct nodes *s, const od_task *task, unsigned node)
{
    double bytes = 0;
    for (uint32_t i = 0; i < task->naccess; i++)
        if ((task->access[i].mode & OD_READ) && !is_on_node(s, task->access[i].datum, node))
            bytes += (double)task->access[i].datum->size;
    return bytes / s->card;
}

/* Likewise to device k of the node, from others of the node where one has it. */
static double loads_of_device(const struct nodes *s, const od_task *task, unsigned k)
{
    const struct node *node = &s->node[s->node_of[k]];
    double seconds = 0;
    for (uint32_t i = 0; i < task->naccess; i++) {
        const od_datum *datum = task->access[i].datum;
        if (!(task->access[i].mode & OD_READ) || is_in_memory(datum, k))
            continue;
        bool near = node->within > 0 && is_on_node(s, datum, s->node_of[k]);
        seconds += near ? (double)datum->size / node->within : s->env.transfer_time(s->env.engine, datum, k);
    }
    return seconds;
}

/* Of work that k has been given, or will be. */
static double given(const struct nodes *s, unsigned k)
{
    return s->env.load(s->env.engine, k).seconds + 1e-9 * (double)s->device[k].planned_ns;
}

static double completion(const struct nodes *s, const od_task *task, unsigned k)
{
    return given(s, k) + loads_of_device(s, task, k) + od_policy_seconds(&s->env, task, k);
}

/* --- which node, which device ---------------------------------------------- */

static bool works(const struct nodes *s, unsigned node)
{
    for (unsigned i = 0; i < s->node[node].count; i++)
        if (!od_policy_is_idle(&s->env, s->member[s->node[node].first + i]))
            return true;
    return false;
}

static double backlog(const struct nodes *s, unsigned node)
{
    return 1e-9 * (double)s->node[node].planned_ns / s->node[node].count;
}

/* Where the task would begin first. */
static unsigned earliest_node(const struct nodes *s, const od_task *task)
{
    unsigned best = 0;
    double earliest = (double)INFINITY;
    for (unsigned node = 0; node < s->count; node++) {
        double begin = works(s, node) ? backlog(s, node) + loads_of_node(s, task, node) : (double)INFINITY;
        if (begin < earliest) {
            earliest = begin;
            best = node;
        }
    }
    return best;
}

static unsigned choose_node(struct nodes *s, const od_task *task)
{
    const od_datum *datum = od_assign_main(task);
    if (s->partitions)
        od_assign_plan(&s->assign);
    uint32_t node = datum ? od_assign_node(&s->assign, datum) : OD_NO_NODE;
    return node != OD_NO_NODE && works(s, node) ? node : earliest_node(s, task);
}

static unsigned choose_device(const struct nodes *s, const od_task *task, unsigned node)
{
    const unsigned *member = &s->member[s->node[node].first];
    unsigned best = member[0];
    double earliest = (double)INFINITY;
    for (unsigned i = 0; i < s->node[node].count; i++) {
        double end = od_policy_is_idle(&s->env, member[i]) ? (double)INFINITY : completion(s, task, member[i]);
        if (end < earliest) {
            earliest = end;
            best = member[i];
        }
    }
    return best;
}

/* --- plans ------------------------------------------------------------------ */

/* What is planned for the device has changed by so much. */
static void note_planned(struct nodes *s, unsigned k, uint64_t more_ns, uint64_t less_ns)
{
    struct node *node = &s->node[s->node_of[k]];
    s->device[k].planned_ns += more_ns - less_ns;
    node->planned_ns += more_ns - less_ns;
    s->worked =
        node->planned_ns ? od_placeset_union(s->worked, node->members) : od_placeset_minus(s->worked, node->members);
    if (od_ready_plan(s->device[k].ready)->tasks.count)
        od_placeset_add(&s->filled, k);
    else
        od_placeset_remove(&s->filled, k);
}

static od_status plan(struct nodes *s, od_task *task, unsigned k)
{
    const od_datum *datum = od_assign_main(task);
    unsigned node = s->node_of[k];
    uint64_t ns = (uint64_t)(fmax(od_policy_seconds(&s->env, task, k), 0) * 1e9);
    if (datum && od_assign_set(&s->assign, datum, node))
        return OD_ENOMEM;
    od_status status = od_ready_push(s->device[k].ready, task, ns);
    if (status)
        return status;
    note_planned(s, k, ns, 0);
    return OD_OK;
}

static void emit_place(const struct nodes *s, od_task *task, unsigned k, bool assigned)
{
    if (!s->env.decided)
        return;
    const od_score scores[] = {{"node", s->node_of[k]},
                               {"assigned", assigned},
                               {"completion_s", completion(s, task, k)},
                               {"given_s", given(s, k)},
                               {"load_s", loads_of_device(s, task, k)}};
    s->env.decided(s->env.engine, &(od_decision){OD_DECISION_PLACE, k, .task = task, OD_SCORES(scores)});
}

static od_status nodes_ready(void *state, od_task *task)
{
    struct nodes *s = state;
    unsigned node = choose_node(s, task), k = choose_device(s, task, node);
    const od_datum *datum = od_assign_main(task);
    s->thieves = od_placeset_below(s->env.ndevices);
    emit_place(s, task, k, datum && od_assign_node(&s->assign, datum) == node);
    return plan(s, task, k);
}

/* --- theft -------------------------------------------------------------------- */

/* Of the last tasks planned for the victim the one that lacks least on the thief. */
static od_task *cheapest_task(const struct nodes *s, unsigned victim, unsigned thief)
{
    enum { LOOK_AT = 16 };
    const od_node *root = &od_ready_plan(s->device[victim].ready)->tasks.root;
    od_task *best = NULL;
    double least = 0;
    unsigned left = LOOK_AT;
    for (od_node *node = root->prev; node != root && left > 0; node = node->prev, left--) {
        od_task *task = od_container_of(node, od_task, link);
        double seconds = loads_of_device(s, task, thief);
        if (!best || seconds < least) {
            best = task;
            least = seconds;
        }
    }
    return best;
}

/* The device of the node that has most planned; the thief itself: none has anything. */
static unsigned most_loaded(const struct nodes *s, unsigned node, unsigned thief)
{
    unsigned victim = thief;
    for (unsigned i = s->node[node].first; i < s->node[node].first + s->node[node].count; i++)
        if (s->device[s->member[i]].planned_ns > s->device[victim].planned_ns)
            victim = s->member[i];
    return victim;
}

static unsigned busiest_node(const struct nodes *s)
{
    unsigned busiest = 0;
    for (unsigned node = 1; node < s->count; node++)
        if (backlog(s, node) > backlog(s, busiest))
            busiest = node;
    return busiest;
}

static void emit_theft(const struct nodes *s, od_task *task, unsigned victim, unsigned thief)
{
    if (!s->env.decided)
        return;
    const od_score scores[] = {
        {"from", victim}, {"backlog_s", given(s, victim)}, {"load_s", loads_of_device(s, task, thief)}};
    s->env.decided(s->env.engine, &(od_decision){OD_DECISION_STEAL, thief, .task = task, OD_SCORES(scores)});
}

/* Only what would begin clearly later on the victim than it can on the thief; where it comes from another node, much
 * later, for what waits for it may be there. */
static bool steal_from(struct nodes *s, unsigned victim, unsigned thief)
{
    double times = s->node_of[victim] == s->node_of[thief] ? 2 : 8;
    od_task *task = victim == thief ? NULL : cheapest_task(s, victim, thief);
    if (!task || given(s, victim) < times * (given(s, thief) + loads_of_device(s, task, thief)))
        return false;
    emit_theft(s, task, victim, thief);
    note_planned(s, victim, 0, od_ready_remove(s->device[victim].ready, task));
    od_status status = plan(s, task, thief);
    if (status) /* out of memory: here it had room */
        plan(s, task, victim);
    return !status;
}

static bool steal(struct nodes *s, unsigned thief)
{
    if (!s->steals || !od_placeset_has(s->thieves, thief))
        return false;
    unsigned own = s->node_of[thief];
    if (steal_from(s, most_loaded(s, own, thief), thief))
        return true;
    if (s->steals > 1 && s->node[own].planned_ns == 0 && steal_from(s, most_loaded(s, busiest_node(s), thief), thief))
        return true;
    od_placeset_remove(&s->thieves, thief);
    return false;
}

/* --- request ------------------------------------------------------------- */

static od_task *nodes_pop(void *state, unsigned k)
{
    struct nodes *s = state;
    uint64_t ns;
    od_task *task = od_ready_pop(s->device[k].ready, &ns);
    if (!task && !od_policy_is_idle(&s->env, k) && steal(s, k))
        task = od_ready_pop(s->device[k].ready, &ns);
    if (task)
        note_planned(s, k, 0, ns);
    return task;
}

static od_placeset nodes_offers(void *state)
{
    const struct nodes *s = state;
    if (!s->steals || od_placeset_is_empty(s->filled))
        return s->filled;
    od_placeset thieves = s->steals > 1 ? s->thieves : od_placeset_intersection(s->thieves, s->worked);
    return od_placeset_union(s->filled, thieves);
}

/* --- what happens to data ------------------------------------------------ */

/* What tasks that the engine has placed write is there then. */
static void nodes_started(void *state, od_task *task, unsigned k)
{
    struct nodes *s = state;
    const od_datum *datum = od_assign_main(task);
    if (datum && od_assign_node(&s->assign, datum) == OD_NO_NODE)
        od_assign_set(&s->assign, datum, s->node_of[k]);
}

static void nodes_incoming(void *state, od_datum *datum, unsigned k)
{
    struct nodes *s = state;
    od_ready_incoming(s->device[k].ready, datum);
}

static void nodes_evicted(void *state, od_datum *datum, unsigned k)
{
    struct nodes *s = state;
    od_ready_evicted(s->device[k].ready, datum);
}

static void nodes_forget(void *state, od_datum *datum)
{
    struct nodes *s = state;
    od_assign_forget(&s->assign, datum);
    for (unsigned k = 0; k < s->env.ndevices; k++)
        od_ready_forget(s->device[k].ready, datum);
}

static bool nodes_is_valid(void *state)
{
    const struct nodes *s = state;
    uint64_t devices = 0, nodes = 0;
    for (unsigned k = 0; k < s->env.ndevices; k++) {
        if (!od_ready_is_valid(s->device[k].ready) ||
            (s->device[k].planned_ns && !od_ready_plan(s->device[k].ready)->tasks.count) ||
            od_placeset_has(s->filled, k) != (od_ready_plan(s->device[k].ready)->tasks.count > 0) ||
            od_placeset_has(s->worked, k) != (s->node[s->node_of[k]].planned_ns > 0))
            return false;
        devices += s->device[k].planned_ns;
    }
    for (unsigned node = 0; node < s->count; node++)
        nodes += s->node[node].planned_ns;
    return devices == nodes;
}

static const od_policy_ops nodes_ops = {
    .interface_version = OD_POLICY_INTERFACE,
    .name = "nodes",
    .description = "data are assigned to nodes, which run the tasks that write them; earliest completion inside",
    .default_evict = "lru",
    .places_at_arrival = true,
    .wants_known = true,
    .options = options,
    .create = nodes_create,
    .destroy = nodes_destroy,
    .ready = nodes_ready,
    .pop = nodes_pop,
    .offers = nodes_offers,
    .incoming = nodes_incoming,
    .evicted = nodes_evicted,
    .started = nodes_started,
    .forget = nodes_forget,
    .is_valid = nodes_is_valid,
};

OD_REGISTER_POLICY(nodes_ops)
