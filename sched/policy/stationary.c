/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * stationary: some data stay on a device, the others stream past them.
 *
 * A device that has nothing planned gets a phase: of all known tasks, ready or only submitted, those that hold and stream
 * (sched/order/hold.h) finds to bring the most task time for each second of transfers, at most its share of the work. They are its own from then
 * on. A request takes the one of its ready tasks that lacks the fewest bytes, among equals by the planned order (with several devices by priority,
 * because others wait). Evicted is what the planned order uses last (rule belady): so what was chosen to stay stays. Where tasks of
 * other devices will wait for those of a long phase, half a share is planned: the others begin sooner.
 *
 * Where several devices have nothing yet and tasks wait for each other, all of them may be planned jointly instead (sched/order/list.h), if that is
 * expected to end sooner: then each device follows its part of that plan.
 *
 * The work is divided among the devices that work; the others rest (sched/working.h).
 *
 * A device that has no ready task takes over what another one was going to do with one item, if no loads are under way (then they cost nobody
 * anything) and the other has more to do than they take. Not published.
 */
#include "sched/known.h"
#include "sched/order/list.h"
#include "sched/plan.h"
#include "sched/working.h"

#include <stdlib.h>

enum option { STEAL };

static const od_policy_option options[] = {
    [STEAL] = {"steal", "0: devices take nothing over from others", true, 1, 1},
    {0},
};

struct stationary {
    od_policy_env env;
    bool steals;             /* option */
    bool plans;              /* something is being planned; one at a time, for tasks are planned once */
    bool in_order;           /* the last plan was a joint one: each device follows its order, and takes nothing over */
    double planning_seconds; /* what the last one took */
    od_plan ready[];         /* by device: its tasks that are ready, in the order in which they became so */
};

/* --- life cycle ------------------------------------------------------------------ */

static od_status stationary_create(const od_policy_env *env, void **state)
{
    struct stationary *s = calloc(1, sizeof *s + env->ndevices * sizeof s->ready[0]);
    if (!s)
        return OD_ENOMEM;
    s->env = *env;
    s->steals = env->values[STEAL];
    for (unsigned k = 0; k < env->ndevices; k++)
        od_plan_init(&s->ready[k], env, k);
    *state = s;
    return OD_OK;
}

/* --- arrival ------------------------------------------------------------------------ */

static od_status stationary_ready(void *state, od_task *task)
{
    struct stationary *s = state;
    if (task->known->place != OD_NOWHERE)
        od_plan_append(&s->ready[task->known->place], task);
    return OD_OK;
}

static void claim(struct stationary *s, od_known_task *known, unsigned k)
{
    od_known_claim(s->env.known, known, k);
    if (known->task)
        od_plan_append(&s->ready[k], known->task);
}

/* --- phases ---------------------------------------------------------------------------------- */

/* Seconds of tasks for one device that has none yet, so that all are busy equally long. */
static double share_of(const struct stationary *s)
{
    const od_known *known = s->env.known;
    double total = known->open_seconds + known->taken_seconds;
    for (unsigned k = 0; k < s->env.ndevices; k++)
        total += known->claimed_seconds[k];
    return total / od_policy_working(&s->env);
}

/* True where tasks outside the phase wait for tasks in it. */
static bool is_awaited(const od_hold_problem *p, const od_hold_result *phase)
{
    bool *inside = calloc(p->ntasks + 1, 1), awaited = false;
    for (uint32_t i = 0; inside && i < phase->ntasks; i++)
        inside[phase->order[i]] = true;
    for (uint32_t i = 0; inside && !awaited && i < phase->ntasks; i++) {
        uint32_t t = phase->order[i];
        for (uint32_t e = p->first_successor[t]; e < p->first_successor[t + 1]; e++)
            awaited |= !inside[p->successor[e]];
    }
    free(inside);
    return awaited;
}

struct planning {
    od_aside aside;
    struct stationary *s;
    unsigned k;
    unsigned ndevices, working;
    bool jointly; /* what all devices do may be planned together; then: it has been */
    double work;  /* seconds of all tasks */
    od_scene scene;
    od_hold_result phase;
    od_list_plan list;
    od_status status;
};

/* Half a share where others will wait for what they need, unless memory has made the phase as short as that. */
static od_status find_phase(struct planning *planning)
{
    od_hold_problem *p = &planning->scene.problem;
    od_hold_result *phase = &planning->phase;
    od_status status = od_hold_plan(p, phase);
    if (status || planning->working == 1 || phase->seconds <= p->share / 2 || !is_awaited(p, phase))
        return status;
    p->share /= 2;
    return od_hold_plan(p, phase);
}

/* Long chains of tasks that need each other's results: all devices would wait for those of one phase. */
static bool find_joint_plan(struct planning *planning)
{
    /* Over the factorisations of docs/performance.md a few devices are done sooner than is estimated for phases, more devices later. */
    enum { FEW = 3 };
    double times = planning->working <= FEW ? 1.15 : 0.92;
    const od_list_problem problem = {&planning->scene.problem, planning->scene.copies, planning->ndevices};
    if (od_list_plan_best(&problem, planning->working, &planning->list))
        return false;
    double phases = od_working_finish_seconds(&planning->scene, planning->work, planning->ndevices, planning->working);
    return times * planning->list.seconds < phases;
}

static void find_plan(od_aside *aside)
{
    struct planning *planning = od_container_of(aside, struct planning, aside);
    planning->jointly = planning->jointly && find_joint_plan(planning);
    planning->status = planning->jointly ? OD_OK : find_phase(planning);
}

static void tell_plan(const struct planning *planning, od_task *first, unsigned k)
{
    const od_hold_result *phase = &planning->phase;
    const od_policy_env *env = &planning->s->env;
    const od_score joint[] = {{"tasks", planning->scene.problem.ntasks}, {"finish_s", planning->list.seconds}};
    const od_score own[] = {{"tasks", phase->ntasks},
                            {"work_s", phase->seconds},
                            {"load_s", phase->loads},
                            {"store_s", phase->stores},
                            {"held_bytes", phase->held}};
    if (!env->decided || !first)
        return;
    if (planning->jointly)
        env->decided(env->engine, &(od_decision){OD_DECISION_PLAN, k, .task = first, OD_SCORES(joint)});
    else
        env->decided(env->engine, &(od_decision){OD_DECISION_PLAN, k, .task = first, OD_SCORES(own)});
}

/* The tasks that are still open; those that are not have been placed by the engine meanwhile, or are gone. False: none is. */
static bool claim_plan(struct planning *planning)
{
    struct stationary *s = planning->s;
    uint32_t count = planning->jointly ? planning->scene.problem.ntasks : planning->phase.ntasks;
    od_task *first[OD_MAX_DEVICES] = {NULL};
    bool any = false;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t t = planning->jointly ? planning->list.order[i] : planning->phase.order[i];
        unsigned k = planning->jointly ? planning->list.place[t] : planning->k;
        od_known_task *known = planning->scene.task[t];
        if (!od_known_is_open(known))
            continue;
        first[k] = first[k] ? first[k] : known->task;
        claim(s, known, k);
        any = true;
    }
    s->in_order = planning->jointly;
    for (unsigned k = 0; k < planning->ndevices; k++)
        tell_plan(planning, first[k], k);
    return any;
}

static void claim_first(struct stationary *s, unsigned k)
{
    const od_list *open = &s->env.known->open;
    if (open->count)
        claim(s, od_container_of(od_list_first(open), od_known_task, link), k);
}

static void free_planning(struct planning *planning)
{
    od_scene_free(&planning->scene);
    free(planning->phase.order);
    free(planning->list.order);
    free(planning->list.place);
    free(planning);
}

static void end_planning(od_aside *aside, bool carried_out)
{
    struct planning *planning = od_container_of(aside, struct planning, aside);
    struct stationary *s = planning->s;
    s->plans = false;
    s->planning_seconds = aside->seconds;
    if (carried_out && (planning->status || !claim_plan(planning)))
        claim_first(s, planning->k);
    free_planning(planning);
}

/* Several devices that have nothing yet, tasks that wait for each other, and not more than can be simulated some dozen times. */
static bool may_plan_jointly(const struct stationary *s, const od_hold_problem *p)
{
    enum { MOST_TASKS = 32768 };
    size_t claimed = 0;
    for (unsigned k = 0; k < s->env.ndevices; k++)
        claimed += s->env.known->claimed[k].count;
    return od_policy_working(&s->env) > 1 && !claimed && p->first_successor[p->ntasks] && p->ntasks <= MOST_TASKS;
}

static struct planning *make_planning(struct stationary *s, unsigned k)
{
    struct planning *planning = calloc(1, sizeof *planning);
    od_known_predict(s->env.known);
    if (!planning || od_scene_create(&planning->scene, s->env.known, &s->env, k)) {
        free(planning);
        return NULL;
    }
    od_hold_problem *p = &planning->scene.problem;
    planning->aside = (od_aside){.run = find_plan, .done = end_planning};
    planning->s = s;
    planning->k = k;
    planning->ndevices = s->env.ndevices;
    planning->working = od_policy_working(&s->env);
    planning->jointly = may_plan_jointly(s, p);
    planning->work = s->env.known->open_seconds;
    planning->phase.order = malloc((p->ntasks + 1) * sizeof *planning->phase.order);
    p->share = share_of(s);
    size_t listed = planning->jointly ? p->ntasks + 1 : 1;
    planning->list.order = malloc(listed * sizeof *planning->list.order);
    planning->list.place = malloc(listed * sizeof *planning->list.place);
    if (planning->phase.order && planning->list.order && planning->list.place)
        return planning;
    free_planning(planning);
    return NULL;
}

static void plan(struct stationary *s, unsigned k)
{
    struct planning *planning = make_planning(s, k);
    s->plans = planning != NULL;
    if (planning)
        od_policy_aside(&s->env, &planning->aside, s->env.known->open.count);
    else
        claim_first(s, k);
}

/* --- taking over ------------------------------------------------------------------------------- */

/* What the task writes, else its last item; NULL: it uses nothing. */
static const od_known_item *main_item(const od_known_task *task)
{
    for (uint32_t i = task->nuses; i-- > 0;)
        if (task->uses[i].mode & OD_WRITE)
            return task->uses[i].item;
    return task->nuses ? task->uses[task->nuses - 1].item : NULL;
}

static double lacking_seconds(const struct stationary *s, const od_task *task, unsigned k)
{
    double seconds = 0;
    for (uint32_t i = 0; i < task->naccess; i++)
        if ((task->access[i].mode & OD_READ) && !od_datum_is_expected(task->access[i].datum, k))
            seconds += s->env.transfer_time(s->env.engine, task->access[i].datum, k);
    return seconds * od_policy_working(&s->env) / s->env.ndevices; /* the others do not load */
}

static bool is_loading(const struct stationary *s)
{
    for (unsigned k = 0; k < s->env.ndevices; k++)
        if (s->env.load(s->env.engine, k).loads)
            return true;
    return false;
}

/* Seconds of what the device has been given and of its ready tasks. */
static double backlog(const struct stationary *s, unsigned k)
{
    double seconds = s->env.load(s->env.engine, k).seconds;
    od_list_each(it, &s->ready[k].tasks)
        seconds += od_container_of(it, od_task, link)->duration;
    return seconds;
}

/* The device with the largest backlog, or the thief itself: none has two ready tasks. */
static unsigned most_loaded(const struct stationary *s, unsigned thief, double *seconds)
{
    unsigned victim = thief;
    *seconds = 0;
    for (unsigned k = 0; k < s->env.ndevices; k++) {
        double here = k == thief || s->ready[k].tasks.count < 2 ? 0 : backlog(s, k);
        if (here > *seconds) {
            *seconds = here;
            victim = k;
        }
    }
    return victim;
}

/* Of the last ready tasks of the victim the one that lacks least on the thief. */
static od_task *cheapest_task(const struct stationary *s, unsigned victim, unsigned thief, double *least)
{
    enum { LOOK_AT = 64 };
    const od_node *root = &s->ready[victim].tasks.root;
    od_task *best = NULL;
    unsigned left = LOOK_AT;
    for (od_node *node = root->prev; node != root && left > 0; node = node->prev, left--) {
        od_task *task = od_container_of(node, od_task, link);
        double seconds = lacking_seconds(s, task, thief);
        if (!best || seconds < *least) {
            best = task;
            *least = seconds;
        }
    }
    return best;
}

/* The task and all that comes after it on the victim with the same main item. */
static void take_over(struct stationary *s, od_known_task *first, unsigned thief)
{
    const od_known_item *item = main_item(first);
    unsigned victim = (unsigned)first->place;
    uint64_t number = first->number;
    if (!item) {
        od_plan_remove(&s->ready[victim], first->task);
        claim(s, first, thief);
        return;
    }
    od_list_each(it, &item->claimed[victim]) {
        od_known_task *known = od_container_of(it, od_known_use, link)->user;
        if (main_item(known) != item || known->number < number)
            continue;
        if (known->task)
            od_plan_remove(&s->ready[victim], known->task);
        claim(s, known, thief);
    }
}

static void steal(struct stationary *s, unsigned thief)
{
    static const double times = 2; /* what the victim has to do must take so much longer than the loads */
    double seconds, loads = 0;
    unsigned victim = most_loaded(s, thief, &seconds);
    if (victim == thief || is_loading(s))
        return;
    od_task *task = cheapest_task(s, victim, thief, &loads);
    if (seconds < times * loads)
        return;
    if (s->env.decided) {
        const od_score scores[] = {{"from", victim}, {"backlog_s", seconds}, {"load_s", loads}};
        s->env.decided(s->env.engine, &(od_decision){OD_DECISION_STEAL, thief, .task = task, OD_SCORES(scores)});
    }
    take_over(s, task->known, thief);
}

/* --- request -------------------------------------------------------------------------------------- */

static bool is_idle(const struct stationary *s, unsigned k)
{
    od_device_load load = s->env.load(s->env.engine, k);
    return load.queued + load.running == 0;
}

/* Of two tasks that lack equally much. */
static bool comes_before(const struct stationary *s, const od_task *a, const od_task *b)
{
    if (!s->in_order && od_policy_working(&s->env) > 1 && a->priority != b->priority)
        return a->priority > b->priority;
    return a->known->number < b->known->number;
}

/* The task that is next in the planned order, if it is ready and lacks nothing: none is better then. */
static od_task *next_in_order(const struct stationary *s, unsigned k)
{
    const od_node *first = od_policy_working(&s->env) == 1 ? od_list_first(&s->env.known->claimed[k]) : NULL;
    od_task *task = first ? od_container_of(first, od_known_task, link)->task : NULL;
    return task && od_plan_lacking(task, k) == 0 ? task : NULL;
}

/* The ready task that lacks the fewest bytes, of those that became ready first; NULL: there is none. */
static od_task *choose(const struct stationary *s, unsigned k)
{
    enum { LOOK_AT = 256 };
    od_task *best = next_in_order(s, k);
    size_t fewest = 0;
    unsigned left = LOOK_AT;
    if (best)
        return best;
    od_list_each(it, &s->ready[k].tasks) {
        od_task *task = od_container_of(it, od_task, link);
        size_t bytes = s->in_order ? 0 : od_plan_lacking(task, k);
        if (!best || bytes < fewest || (bytes == fewest && comes_before(s, task, best))) {
            best = task;
            fewest = bytes;
        }
        if (--left == 0)
            break;
    }
    return best;
}

/* Ready tasks are never left to nobody: a device that has nothing to do plans until it has one. */
static bool needs_phase(const struct stationary *s, unsigned k)
{
    if (s->ready[k].tasks.count || !s->env.known->open.count)
        return false;
    return !s->env.known->claimed[k].count || (s->env.known->open_ready && is_idle(s, k));
}

/* What the device has left to do takes little longer than planning: the next phase is planned meanwhile. */
static bool runs_out(const struct stationary *s, unsigned k)
{
    static const double times = 2;
    double left = s->env.known->claimed_seconds[k] + s->env.load(s->env.engine, k).seconds;
    return s->env.known->open.count && left < times * s->planning_seconds;
}

static od_task *stationary_pop(void *state, unsigned k)
{
    struct stationary *s = state;
    bool works = !od_policy_rests(&s->env, k);
    while (works && !s->plans && needs_phase(s, k))
        plan(s, k);
    if (works && !s->plans && runs_out(s, k))
        plan(s, k);
    if (works && !s->plans && !s->in_order && !s->ready[k].tasks.count && s->steals)
        steal(s, k);
    od_task *task = choose(s, k);
    if (!task)
        return NULL;
    od_plan_remove(&s->ready[k], task);
    return task;
}

/* --- what happens to tasks and data ------------------------------------------------------------------ */

/* Where data are is asked for when it matters. */
static void stationary_moved(void *state, od_datum *datum, unsigned k)
{
    (void)state;
    (void)datum;
    (void)k;
}

static uint32_t stationary_future_uses(void *state, const od_datum *datum)
{
    const struct stationary *s = state;
    const od_known_item *item = od_known_find(s->env.known, datum->base);
    size_t uses = item ? item->open.count : 0;
    for (unsigned k = 0; item && k < s->env.ndevices; k++)
        uses += item->claimed[k].count;
    return (uint32_t)uses;
}

static uint64_t stationary_next_use(void *state, const od_datum *datum, unsigned k)
{
    const struct stationary *s = state;
    const od_known_item *item = od_known_find(s->env.known, datum->base);
    const od_node *first = item ? od_list_first(&item->claimed[k]) : NULL;
    return first ? od_container_of(first, od_known_use, link)->user->number : OD_NEVER;
}

static bool stationary_is_valid(void *state)
{
    enum { LONG = 64 }; /* the check of a plan takes the square of its length */
    const struct stationary *s = state;
    for (unsigned k = 0; k < s->env.ndevices; k++)
        if (s->ready[k].tasks.count < LONG && !od_plan_is_valid(&s->ready[k]))
            return false;
    return true;
}

static const od_policy_ops stationary_ops = {
    .interface_version = OD_POLICY_INTERFACE,
    .name = "stationary",
    .description = "some data stay, the others stream past them: phases planned over all known tasks",
    .default_evict = "belady",
    .wants_known = true,
    .chooses_working = true,
    .options = options,
    .create = stationary_create,
    .destroy = free,
    .ready = stationary_ready,
    .pop = stationary_pop,
    .incoming = stationary_moved,
    .evicted = stationary_moved,
    .future_uses = stationary_future_uses,
    .next_use = stationary_next_use,
    .is_valid = stationary_is_valid,
};

OD_REGISTER_POLICY(stationary_ops)
