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
 * Devices rest where that is faster: the work is divided among as many as finish it soonest, by an estimate of their loads over what they
 * share, and of the time to compute.
 *
 * A device that has no ready task takes over what another one was going to do with one item, if no loads are under way (then they cost nobody
 * anything) and the other has more to do than they take. Not published.
 */
#include "sched/known.h"
#include "sched/plan.h"
#include "sched/scene.h"

#include <math.h>
#include <stdlib.h>

enum option { ACTIVE, STEAL };

static const od_policy_option options[] = {
    [ACTIVE] = {"active", "so many devices work, the others rest; 0: as many as finish soonest", true, 0, 0},
    [STEAL] = {"steal", "0: devices take nothing over from others", true, 1, 1},
    {0},
};

struct stationary {
    od_policy_env env;
    od_known *known;
    bool steals;      /* option */
    bool chooses;     /* how many devices work */
    unsigned active;  /* that many, the first ones */
    size_t estimated; /* open tasks when that was chosen */
    od_plan ready[];  /* by device: its tasks that are ready, in the order in which they became so */
};

/* --- life cycle ------------------------------------------------------------------ */

static od_status stationary_create(const od_policy_env *env, void **state)
{
    struct stationary *s = calloc(1, sizeof *s + env->ndevices * sizeof s->ready[0]);
    od_known *known = od_known_create(env);
    if (!s || !known) {
        od_known_destroy(known);
        free(s);
        return OD_ENOMEM;
    }
    uint64_t active = env->values[ACTIVE];
    s->env = *env;
    s->known = known;
    s->steals = env->values[STEAL];
    s->chooses = !active && env->ndevices > 1;
    s->active = active && active < env->ndevices ? (unsigned)active : env->ndevices;
    for (unsigned k = 0; k < env->ndevices; k++)
        od_plan_init(&s->ready[k], env, k);
    *state = s;
    return OD_OK;
}

static void stationary_destroy(void *state)
{
    struct stationary *s = state;
    od_known_destroy(s->known);
    free(s);
}

/* What is known of a task, or NULL. */
static od_known_task *known_as(const od_task *task)
{
    return task->submission ? task->submission->policy_data : task->policy_data;
}

/* --- arrival ------------------------------------------------------------------------ */

static void stationary_submitted(void *state, od_submission *submission)
{
    struct stationary *s = state;
    submission->policy_data =
        od_known_submit(s->known, submission->kind, submission->seconds, submission->uses, submission->nuses);
}

static void stationary_withdrawn(void *state, od_submission *submission)
{
    struct stationary *s = state;
    if (submission->policy_data)
        od_known_done(s->known, submission->policy_data);
}

static od_status stationary_ready(void *state, od_task *task)
{
    struct stationary *s = state;
    od_known_task *known = od_known_ready(s->known, known_as(task), task);
    if (!known)
        return OD_ENOMEM;
    task->policy_data = known;
    if (task->submission)
        task->submission->policy_data = known;
    if (known->place != OD_NOWHERE)
        od_plan_append(&s->ready[known->place], task);
    return OD_OK;
}

static void claim(struct stationary *s, od_known_task *known, unsigned k)
{
    od_known_claim(s->known, known, k);
    if (known->task)
        od_plan_append(&s->ready[k], known->task);
}

/* --- how many devices work --------------------------------------------------------------- */

/* Seconds until so many devices have done all: what is shorter, loads or work, is not quite hidden behind the other. */
static double finish_seconds(const struct stationary *s, const od_scene *scene, unsigned devices)
{
    static const double not_hidden = 0.6; /* over the factorisations and products of docs/performance.md */
    double loads, work = s->known->open_seconds / devices;
    if (od_hold_estimate(&scene->problem, devices, &loads))
        return (double)INFINITY;
    loads /= s->env.ndevices; /* links are as fast as when all devices load; so many share what there is */
    return fmax(work, loads) + not_hidden * fmin(work, loads);
}

/* When clearly more work is known than the last time. */
static void choose_active(struct stationary *s)
{
    static const double clearly = 0.97; /* one device more must bring that */
    od_scene scene;
    size_t open = s->known->open.count;
    double least = (double)INFINITY;
    if (!s->chooses || open < s->estimated + s->estimated / 4 + 8 || od_scene_create(&scene, s->known, &s->env, 0))
        return;
    s->estimated = open;
    for (unsigned n = 1; n <= s->env.ndevices; n += 1 + n / 4) {
        double seconds = finish_seconds(s, &scene, n);
        if (seconds < clearly * least) {
            least = seconds;
            s->active = n;
        }
    }
    od_scene_free(&scene);
}

/* --- phases ---------------------------------------------------------------------------------- */

/* Seconds of tasks for one device that has none yet, so that all are busy equally long. */
static double share_of(const struct stationary *s)
{
    double total = s->known->open_seconds + s->known->taken_seconds;
    for (unsigned k = 0; k < s->env.ndevices; k++)
        total += s->known->claimed_seconds[k];
    return total / s->active;
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

/* Half a share where others will wait for what they need, unless memory has made the phase as short as that. */
static od_status find_phase(const struct stationary *s, od_scene *scene, od_hold_result *phase)
{
    od_hold_problem *p = &scene->problem;
    p->share = share_of(s);
    od_status status = od_hold_plan(p, phase);
    if (status || s->active == 1 || phase->seconds <= p->share / 2 || !is_awaited(p, phase))
        return status;
    p->share /= 2;
    return od_hold_plan(p, phase);
}

static void tell_phase(const struct stationary *s, const od_scene *scene, const od_hold_result *phase, unsigned k)
{
    od_task *first = NULL;
    for (uint32_t i = 0; s->env.decided && !first && i < phase->ntasks; i++)
        first = scene->task[phase->order[i]]->task;
    if (!first)
        return;
    const od_score scores[] = {{"tasks", phase->ntasks},   {"work_s", phase->seconds},  {"load_s", phase->loads},
                               {"store_s", phase->stores}, {"held_bytes", phase->held}, {"active_devices", s->active}};
    s->env.decided(s->env.engine, &(od_decision){OD_DECISION_PLAN, k, .task = first, OD_SCORES(scores)});
}

/* False: there was no memory for planning, or nothing came of it. */
static bool plan_best(struct stationary *s, unsigned k)
{
    od_scene scene;
    od_hold_result phase = {.order = malloc((s->known->open.count + 1) * sizeof *phase.order)};
    if (!phase.order || od_scene_create(&scene, s->known, &s->env, k)) {
        free(phase.order);
        return false;
    }
    bool found = find_phase(s, &scene, &phase) == OD_OK && phase.ntasks > 0;
    if (found)
        tell_phase(s, &scene, &phase, k);
    for (uint32_t i = 0; found && i < phase.ntasks; i++)
        claim(s, scene.task[phase.order[i]], k);
    od_scene_free(&scene);
    free(phase.order);
    return found;
}

static void plan_phase(struct stationary *s, unsigned k)
{
    if (!plan_best(s, k))
        claim(s, od_container_of(od_list_first(&s->known->open), od_known_task, link), k);
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
    return seconds * s->active / s->env.ndevices; /* the others do not load */
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
    take_over(s, known_as(task), thief);
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
    if (s->active > 1 && a->priority != b->priority)
        return a->priority > b->priority;
    return known_as(a)->number < known_as(b)->number;
}

/* The ready task that lacks the fewest bytes, of those that became ready first; NULL: there is none. */
static od_task *choose(const struct stationary *s, unsigned k)
{
    enum { LOOK_AT = 256 };
    od_task *best = NULL;
    size_t fewest = 0;
    unsigned left = LOOK_AT;
    od_list_each(it, &s->ready[k].tasks) {
        od_task *task = od_container_of(it, od_task, link);
        size_t bytes = od_plan_lacking(task, k);
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
    if (s->ready[k].tasks.count || !s->known->open.count)
        return false;
    return !s->known->claimed[k].count || (s->known->open_ready && is_idle(s, k));
}

static od_task *stationary_pop(void *state, unsigned k)
{
    struct stationary *s = state;
    if (needs_phase(s, k))
        choose_active(s);
    bool rests = k >= s->active;
    while (!rests && needs_phase(s, k))
        plan_phase(s, k);
    if (!rests && !s->ready[k].tasks.count && s->steals)
        steal(s, k);
    od_task *task = choose(s, k);
    if (!task)
        return NULL;
    od_plan_remove(&s->ready[k], task);
    od_known_take(s->known, known_as(task));
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

/* A task that the engine has placed itself is met here for the first time. */
static void stationary_started(void *state, od_task *task, unsigned k)
{
    struct stationary *s = state;
    od_known_task *known = known_as(task);
    (void)k;
    if (known && !known->taken)
        od_known_take(s->known, known);
}

static void stationary_completed(void *state, od_task *task)
{
    struct stationary *s = state;
    if (known_as(task))
        od_known_done(s->known, known_as(task));
}

static void stationary_forget(void *state, od_datum *datum)
{
    struct stationary *s = state;
    od_known_forget(s->known, datum);
}

static uint32_t stationary_future_uses(void *state, const od_datum *datum)
{
    const struct stationary *s = state;
    const od_known_item *item = od_known_find(s->known, datum->base);
    size_t uses = item ? item->open.count : 0;
    for (unsigned k = 0; item && k < s->env.ndevices; k++)
        uses += item->claimed[k].count;
    return (uint32_t)uses;
}

static uint64_t stationary_next_use(void *state, const od_datum *datum, unsigned k)
{
    const struct stationary *s = state;
    const od_known_item *item = od_known_find(s->known, datum->base);
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
    return od_known_is_valid(s->known);
}

static const od_policy_ops stationary_ops = {
    .interface_version = OD_POLICY_INTERFACE,
    .name = "stationary",
    .description = "some data stay, the others stream past them: phases planned over all known tasks",
    .default_evict = "belady",
    .options = options,
    .create = stationary_create,
    .destroy = stationary_destroy,
    .ready = stationary_ready,
    .pop = stationary_pop,
    .incoming = stationary_moved,
    .evicted = stationary_moved,
    .started = stationary_started,
    .submitted = stationary_submitted,
    .withdrawn = stationary_withdrawn,
    .completed = stationary_completed,
    .forget = stationary_forget,
    .future_uses = stationary_future_uses,
    .next_use = stationary_next_use,
    .is_valid = stationary_is_valid,
};

OD_REGISTER_POLICY(stationary_ops)
