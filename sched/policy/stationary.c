/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * stationary: some data stay on a device, the others stream past them.
 *
 * A device that has no planned task left gets a phase: of all known tasks, ready or only submitted, those that hold and stream
 * (sched/order/hold.h) finds to bring the most task time for each second of loads, at most its share of the work. The phase's tasks are its own, in the order
 * that was planned; it takes the first of them that is ready. Evicted is what that order uses last (rule belady), so what was chosen to
 * stay stays. Not published.
 *
 * A device for which nothing is left to plan takes the later half of what another one has planned.
 */
#include "sched/known.h"
#include "sched/order/hold.h"
#include "sched/plan.h"

#include <stdio.h>
#include <stdlib.h>

struct stationary {
    od_policy_env env;
    od_known *known;
    od_plan plan[];         /* of each device: its ready tasks */
};

/* --- life cycle ---------------------------------------------------------------- */

static od_status stationary_create(const od_policy_env *env, void **state)
{
    struct stationary *s = calloc(1, sizeof *s + env->ndevices * sizeof s->plan[0]);
    if (!s)
        return OD_ENOMEM;
    s->env = *env;
    s->known = od_known_create(env);
    if (!s->known) {
        free(s);
        return OD_ENOMEM;
    }
    for (unsigned k = 0; k < env->ndevices; k++)
        od_plan_init(&s->plan[k], env, k);
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
        od_plan_append(&s->plan[known->place], task);
    return OD_OK;
}

/* --- phases ---------------------------------------------------------------------------- */

/* Of the devices the one whose data are looked at. */
static bool will_be_there(const od_known_item *item, unsigned k)
{
    return item->claimed[k].count || (item->datum && od_datum_is_expected(item->datum, k));
}

/* Bytes; what has not been seen yet is like the others. */
static double size_of(const struct stationary *s, const od_known_item *item)
{
    return item->size ? (double)item->size : s->known->mean_size;
}

static double load_seconds(const struct stationary *s, const od_known_item *item, unsigned k)
{
    if (item->datum)
        return s->env.transfer_time(s->env.engine, item->datum, k);
    return 1e-9 + size_of(s, item) * s->env.ndevices / s->env.inbound;
}

struct scene {
    od_hold_problem problem;
    od_known_task **task; /* by number */
    uint32_t nuses;
};

/* Numbers of known things as those of the problem, plus one. */
struct numbers {
    uint32_t *task, *item;
};

static void *array(size_t count, size_t size, bool *ok)
{
    void *memory = calloc(count + 1, size);
    *ok &= memory != NULL;
    return memory;
}

static void free_scene(struct scene *scene)
{
    od_hold_problem *p = &scene->problem;
    free((void *)p->seconds);
    free((void *)p->kind);
    free((void *)p->first_use);
    free((void *)p->use);
    free((void *)p->writes);
    free((void *)p->first_successor);
    free((void *)p->successor);
    free((void *)p->size);
    free((void *)p->load);
    free((void *)p->resident);
    free(scene->task);
}

enum { MOST_KINDS = 64 };

struct kind {
    const void *kind;
    uint32_t nuses;
};

/* Kinds beyond the first are one. */
static uint32_t kind_of(struct kind *kinds, uint32_t *count, const od_known_task *task)
{
    for (uint32_t i = 0; i < *count; i++)
        if (kinds[i].kind == task->kind && kinds[i].nuses == task->nuses)
            return i;
    if (*count == MOST_KINDS)
        return MOST_KINDS - 1;
    kinds[*count] = (struct kind){task->kind, task->nuses};
    return (*count)++;
}

static uint32_t item_number(struct stationary *s, struct scene *scene, struct numbers *n, const od_known_item *item,
                            unsigned k)
{
    od_hold_problem *p = &scene->problem;
    if (!n->item[item->id]) {
        n->item[item->id] = ++p->nitems;
        ((double *)p->size)[p->nitems - 1] = size_of(s, item);
        ((double *)p->load)[p->nitems - 1] = load_seconds(s, item, k);
        ((bool *)p->resident)[p->nitems - 1] = will_be_there(item, k);
    }
    return n->item[item->id] - 1;
}

static void add_task(struct stationary *s, struct scene *scene, struct numbers *n, struct kind *kinds,
                     od_known_task *task, unsigned k)
{
    od_hold_problem *p = &scene->problem;
    uint32_t t = p->ntasks++;
    scene->task[t] = task;
    n->task[task->id] = t + 1;
    ((double *)p->seconds)[t] = task->seconds > 0 ? task->seconds : 1e-9;
    ((uint32_t *)p->kind)[t] = kind_of(kinds, &p->nkinds, task);
    for (uint32_t i = 0; i < task->nuses; i++) {
        uint32_t u = scene->nuses++;
        ((uint32_t *)p->use)[u] = item_number(s, scene, n, task->uses[i].item, k);
        ((bool *)p->writes)[u] = task->uses[i].mode & OD_WRITE;
    }
    ((uint32_t *)p->first_use)[t + 1] = scene->nuses;
}

static bool make_scene(struct stationary *s, struct scene *scene, unsigned k)
{
    const od_known *known = s->known;
    uint32_t nt = (uint32_t)known->open.count;
    size_t nuses = 0, nedges = 0;
    bool ok = true;
    od_hold_problem *p = &scene->problem;
    *scene = (struct scene){0};
    od_list_each(it, &known->open) {
        const od_known_task *task = od_container_of(it, od_known_task, link);
        nuses += task->nuses;
        nedges += task->nsuccessors;
    }
    struct kind kinds[MOST_KINDS];
    struct numbers n = {array(known->task_ids.bound, sizeof *n.task, &ok),
                        array(known->item_ids.bound, sizeof *n.item, &ok)};
    scene->task = array(nt, sizeof *scene->task, &ok);
    p->seconds = array(nt, sizeof *p->seconds, &ok);
    p->kind = array(nt, sizeof *p->kind, &ok);
    p->first_use = array(nt + 1, sizeof *p->first_use, &ok);
    p->use = array(nuses, sizeof *p->use, &ok);
    p->writes = array(nuses, sizeof *p->writes, &ok);
    p->first_successor = array(nt + 1, sizeof *p->first_successor, &ok);
    p->successor = array(nedges, sizeof *p->successor, &ok);
    p->size = array(known->nitems, sizeof *p->size, &ok);
    p->load = array(known->nitems, sizeof *p->load, &ok);
    p->resident = array(known->nitems, sizeof *p->resident, &ok);
    if (ok) {
        uint32_t edges = 0;
        od_list_each(it, &known->open)
            add_task(s, scene, &n, kinds, od_container_of(it, od_known_task, link), k);
        for (uint32_t t = 0; t < p->ntasks; t++) {
            const od_known_task *task = scene->task[t];
            for (uint32_t i = 0; i < task->nsuccessors; i++)
                if (n.task[task->successors[i]->id] > t + 1 && !task->successors[i]->gone)
                    ((uint32_t *)p->successor)[edges++] = n.task[task->successors[i]->id] - 1;
            ((uint32_t *)p->first_successor)[t + 1] = edges;
        }
    }
    free(n.task);
    free(n.item);
    return ok;
}

static void claim(struct stationary *s, od_known_task *known, unsigned k)
{
    od_known_claim(s->known, known, k);
    if (known->task)
        od_plan_append(&s->plan[k], known->task);
}

static double share_of(const struct stationary *s)
{
    double total = s->known->open_seconds;
    for (unsigned k = 0; k < s->env.ndevices; k++)
        total += s->known->claimed_seconds[k];
    return total / s->env.ndevices / (getenv("ST_CHUNK") ? atof(getenv("ST_CHUNK")) : 1);
}

/* Without memory for planning the first open task is taken. */
static void plan_phase(struct stationary *s, unsigned k)
{
    struct scene scene;
    od_hold_result result = {0};
    bool ok = make_scene(s, &scene, k);
    result.order = malloc((s->known->open.count + 1) * sizeof *result.order);
    if (ok && result.order) {
        scene.problem.memory = (double)s->env.memory;
        scene.problem.window = s->env.buffer + 2;
        scene.problem.share = share_of(s);
        ok = od_hold_plan(&scene.problem, &result) == OD_OK;
    }
    if (getenv("STATIONARY_DEBUG"))
        fprintf(stderr, "k %u open %u role %d tasks %u seconds %g loads %g held %g share %g\n", k, scene.problem.ntasks, result.role, result.ntasks, result.seconds, result.loads, result.held, scene.problem.share);
    for (uint32_t i = 0; ok && i < result.ntasks; i++)
        claim(s, scene.task[result.order[i]], k);
    if (!ok || !result.ntasks)
        claim(s, od_container_of(od_list_first(&s->known->open), od_known_task, link), k);
    free(result.order);
    free_scene(&scene);
}

/* --- stealing ----------------------------------------------------------------------------- */

static void steal(struct stationary *s, unsigned thief)
{
    od_plan *victim = &s->plan[0];
    for (unsigned k = 1; k < s->env.ndevices; k++)
        if (s->plan[k].tasks.count > victim->tasks.count)
            victim = &s->plan[k];
    for (size_t left = (victim->tasks.count + 1) / 2; left > 0; left--) {
        od_task *task = od_container_of(victim->tasks.root.prev, od_task, link);
        od_plan_remove(victim, task);
        claim(s, task->policy_data, thief);
    }
}

/* --- request -------------------------------------------------------------------------------- */

static bool is_idle(const struct stationary *s, unsigned k)
{
    od_device_load load = s->env.load(s->env.engine, k);
    return load.queued + load.running == 0;
}

static size_t lacking_bytes(const od_task *task, unsigned k)
{
    size_t bytes = 0;
    for (uint32_t i = 0; i < task->naccess; i++)
        if ((task->access[i].mode & OD_READ) && !od_datum_is_expected(task->access[i].datum, k))
            bytes += task->access[i].datum->size;
    return bytes;
}

/* Of the first ready tasks in the planned order the one that lacks the fewest bytes. */
static od_task *first_ready(const struct stationary *s, unsigned k)
{
    static unsigned look_at;
    if (!look_at) look_at = getenv("ST_WIN") ? (unsigned)atoi(getenv("ST_WIN")) : 16;
    od_task *best = NULL;
    size_t least = 0;
    unsigned left = look_at;
    od_list_each(it, &s->known->claimed[k]) {
        const od_known_task *known = od_container_of(it, od_known_task, link);
        if (!known->task)
            continue;
        size_t bytes = lacking_bytes(known->task, k);
        if (!best || bytes < least) {
            best = known->task;
            least = bytes;
        }
        if (!least || --left == 0)
            break;
    }
    return best;
}

static od_task *stationary_pop(void *state, unsigned k)
{
    struct stationary *s = state;
    od_task *task;
    while (!(task = s->plan[k].tasks.count ? first_ready(s, k) : NULL) && s->known->open.count &&
           (!s->known->claimed[k].count || (s->known->open_ready && is_idle(s, k))))
        plan_phase(s, k);
    if (!task && !s->known->claimed[k].count && is_idle(s, k)) {
        steal(s, k);
        task = first_ready(s, k);
    }
    if (!task)
        return NULL;
    od_plan_remove(&s->plan[k], task);
    od_known_take(s->known, task->policy_data);
    return task;
}

/* --- what happens to tasks and data ------------------------------------------------------------ */

static void stationary_moved(void *state, od_datum *datum, unsigned k)
{
    (void)state;
    (void)datum;
    (void)k;
}

/* Where the engine has placed the task itself the policy meets it here. */
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
    const struct stationary *s = state;
    for (unsigned k = 0; k < s->env.ndevices; k++)
        if (!od_plan_is_valid(&s->plan[k]))
            return false;
    return od_known_is_valid(s->known);
}

static const od_policy_ops stationary_ops = {
    .interface_version = OD_POLICY_INTERFACE,
    .name = "stationary",
    .description = "some data stay, the others stream past them: plans phases over all known tasks",
    .default_evict = "belady",
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
