/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * darts with full scans: Algorithms 9, 11 and 12 of the thesis, opti, the threshold, and what
 * sched/policy/darts/darts.c adds.
 *
 * The random orders are those of the fast version. A datum's place in the order changes when it leaves a device, so
 * that this is the one thing to be remembered from event to event.
 */
#include "reference.h"

#include "sched/policy/darts/missing.h"

#include <math.h>
#include <stdlib.h>

enum option { ALG9, ALG11, ALG12, OPTI, THRESHOLD, AFFINITY, STEAL, RATIO };

enum { MOST_STOLEN = 1024 };

/* A datum that tasks have asked for. */
struct known {
    od_datum *datum;
    uint32_t *tie; /* by device */
    bool *present; /* by device, after the last event */
};

struct naive {
    od_policy_env env;
    uint64_t values[OD_POLICY_OPTIONS_MAX];
    reference_tasks owned; /* ready and planned */
    struct known *known;
    size_t nknown, capacity;
    od_plan *plan;       /* by device */
    uint32_t *evictions; /* by device */
    uint64_t *steal_at;  /* by device */
    uint64_t planned;
};

/* --- what is where -------------------------------------------------------- */

static bool reads(const od_task *task, const od_datum *datum)
{
    for (uint32_t i = 0; i < task->naccess; i++) {
        if (task->access[i].datum == datum)
            return task->access[i].mode & OD_READ;
    }
    return false;
}

static bool is_present(const struct naive *naive, const od_datum *datum, unsigned k)
{
    if (reference_is_resident(datum, k) || datum->replica[k].buffered_uses > 0)
        return true;
    for (size_t i = 0; i < naive->owned.count; i++) {
        if (reference_is_planned(naive->owned.task[i], k) && reads(naive->owned.task[i], datum))
            return true;
    }
    return false;
}

static uint32_t count_lacking(const struct naive *naive, const od_task *task, unsigned k)
{
    uint32_t lacking = 0;
    for (uint32_t i = 0; i < task->naccess; i++)
        lacking += (task->access[i].mode & OD_READ) && !is_present(naive, task->access[i].datum, k);
    return lacking;
}

static struct known *find_known(const struct naive *naive, const od_datum *datum)
{
    for (size_t i = 0; i < naive->nknown; i++) {
        if (naive->known[i].datum == datum)
            return &naive->known[i];
    }
    return NULL;
}

/* After each step: who left, goes to the end of the order where the rules want that. */
static void look_around(struct naive *naive)
{
    bool in_turn = naive->values[OPTI] || naive->values[THRESHOLD];
    for (size_t i = 0; i < naive->nknown; i++) {
        struct known *known = &naive->known[i];
        for (unsigned k = 0; k < naive->env.ndevices; k++) {
            bool present = is_present(naive, known->datum, k);
            if (in_turn && known->present[k] && !present)
                known->tie[k] = INT32_MAX - naive->evictions[k];
            known->present[k] = present;
        }
    }
}

/* --- life cycle ----------------------------------------------------------- */

static void naive_destroy(void *state)
{
    struct naive *naive = state;
    for (size_t i = 0; i < naive->nknown; i++) {
        free(naive->known[i].tie);
        free(naive->known[i].present);
    }
    free(naive->known);
    free(naive->owned.task);
    free(naive->plan);
    free(naive->evictions);
    free(naive->steal_at);
    free(naive);
}

static od_status naive_create(const od_policy_env *env, void **state)
{
    struct naive *naive = calloc(1, sizeof *naive);
    if (!naive)
        return OD_ENOMEM;
    naive->env = *env;
    for (int i = 0; i <= RATIO; i++)
        naive->values[i] = env->values[i];
    if (naive->values[ALG9] || naive->values[ALG11] || naive->values[ALG12]) {
        naive->values[AFFINITY] = naive->values[STEAL] = 0;
        naive->values[RATIO] = 1;
    }
    if (naive->values[ALG11])
        naive->values[ALG9] = 1;
    naive->plan = calloc(env->ndevices, sizeof *naive->plan);
    naive->evictions = calloc(env->ndevices, sizeof *naive->evictions);
    naive->steal_at = calloc(env->ndevices, sizeof *naive->steal_at);
    if (!naive->plan || !naive->evictions || !naive->steal_at) {
        naive_destroy(naive);
        return OD_ENOMEM;
    }
    for (unsigned k = 0; k < env->ndevices; k++)
        od_plan_init(&naive->plan[k], env, k);
    *state = naive;
    return OD_OK;
}

static od_status meet_datum(struct naive *naive, od_datum *datum)
{
    if (find_known(naive, datum))
        return OD_OK;
    if (naive->nknown == naive->capacity) {
        size_t wanted = naive->capacity ? 2 * naive->capacity : 64;
        struct known *grown = realloc(naive->known, wanted * sizeof *grown);
        if (!grown)
            return OD_ENOMEM;
        naive->known = grown;
        naive->capacity = wanted;
    }
    struct known known = {.datum = datum,
                          .tie = calloc(naive->env.ndevices, sizeof *known.tie),
                          .present = calloc(naive->env.ndevices, sizeof *known.present)};
    if (!known.tie || !known.present) {
        free(known.tie);
        free(known.present);
        return OD_ENOMEM;
    }
    for (unsigned k = 0; k < naive->env.ndevices; k++) {
        known.tie[k] = od_missing_tie(naive->env.seed, k, datum->tie) | UINT32_C(1) << 31;
        known.present[k] = is_present(naive, datum, k);
    }
    naive->known[naive->nknown++] = known;
    return OD_OK;
}

static void naive_forget(void *state, od_datum *datum)
{
    struct naive *naive = state;
    struct known *known = find_known(naive, datum);
    if (!known)
        return;
    free(known->tie);
    free(known->present);
    *known = naive->known[--naive->nknown];
}

/* --- plans ---------------------------------------------------------------- */

static void plan(struct naive *naive, od_task *task, unsigned k)
{
    od_plan_append(&naive->plan[k], task);
    look_around(naive);
}

static void unplan(struct naive *naive, od_task *task)
{
    od_plan_remove(&naive->plan[task->place], task);
    look_around(naive);
}

static int32_t priority_of(const struct naive *naive, const od_task *task)
{
    return naive->values[ALG9] ? 0 : task->priority;
}

static bool is_before(const struct naive *naive, const od_task *a, const od_task *b)
{
    int32_t priority_a = priority_of(naive, a), priority_b = priority_of(naive, b);
    return priority_a != priority_b ? priority_a > priority_b : a->id < b->id;
}

static bool comes_first(const struct naive *naive, const od_task *a, const od_task *b)
{
    if (!naive->values[ALG9])
        return is_before(naive, a, b);
    uint32_t tie_a = od_missing_tie(naive->env.seed, naive->env.ndevices, a->id);
    uint32_t tie_b = od_missing_tie(naive->env.seed, naive->env.ndevices, b->id);
    return tie_a != tie_b ? tie_a > tie_b : a->id < b->id;
}

/* The ready tasks that lack `lacking` data on k, among them `datum` if there is one; at most `room`. */
static size_t find_set(const struct naive *naive, const od_datum *datum, uint32_t lacking, unsigned k, od_task **set)
{
    size_t count = 0;
    for (size_t i = 0; i < naive->owned.count; i++) {
        od_task *task = naive->owned.task[i];
        if (task->state == OD_TASK_READY && (!datum || reads(task, datum)) && count_lacking(naive, task, k) == lacking)
            set[count++] = task;
    }
    return count;
}

/* Plans the set, by priority, then arrival. */
static size_t plan_set(struct naive *naive, const od_datum *datum, uint32_t lacking, unsigned k)
{
    od_task **set = calloc(naive->owned.count + 1, sizeof *set);
    size_t count = set ? find_set(naive, datum, lacking, k, set) : 0;
    for (size_t left = count; left > 0; left--) {
        size_t first = 0;
        for (size_t i = 1; i < left; i++) {
            if (is_before(naive, set[i], set[first]))
                first = i;
        }
        plan(naive, set[first], k);
        set[first] = set[left - 1];
    }
    free(set);
    return count;
}

/* --- arrival -------------------------------------------------------------- */

static bool suits(const struct naive *naive, const od_task *task, unsigned k)
{
    size_t held = 0, lacking = 0;
    for (uint32_t i = 0; i < task->naccess; i++) {
        const od_datum *datum = task->access[i].datum;
        if (task->access[i].mode & OD_READ)
            *(is_present(naive, datum, k) ? &held : &lacking) += datum->size;
    }
    uint64_t affinity = naive->values[AFFINITY];
    return lacking == 0 || (affinity > 0 && held / affinity >= lacking);
}

static od_status naive_ready(void *state, od_task *task)
{
    struct naive *naive = state;
    for (uint32_t i = 0; i < task->naccess; i++) {
        if ((task->access[i].mode & OD_READ) && meet_datum(naive, task->access[i].datum))
            return OD_ENOMEM;
    }
    if (reference_add(&naive->owned, task))
        return OD_ENOMEM;
    size_t fewest = SIZE_MAX;
    unsigned best = 0;
    for (unsigned k = 0; k < naive->env.ndevices; k++) {
        size_t queued = naive->plan[k].tasks.count + naive->env.load(naive->env.engine, k).queued;
        if (queued < fewest && suits(naive, task, k)) {
            best = k;
            fewest = queued;
        }
    }
    if (fewest < SIZE_MAX) {
        plan(naive, task, best);
        naive->planned++;
    }
    return OD_OK;
}

/* --- choice --------------------------------------------------------------- */

struct scan {
    const od_datum *datum;
    double load, ratio;
    uint64_t ns, left_ns;
    uint32_t n0, n1, tie;
    int32_t prio0, prio1;
};

static uint64_t duration_ns(const od_task *task)
{
    double ns = task->duration * 1e9;
    return ns > 1 ? (uint64_t)(ns + 0.5) : 1;
}

/* Lines 3 to 5. */
static struct scan scan_datum(const struct naive *naive, const struct known *known, unsigned k)
{
    struct scan scan = {.datum = known->datum, .tie = known->tie[k], .prio0 = INT32_MIN, .prio1 = INT32_MIN};
    for (size_t i = 0; i < naive->owned.count; i++) {
        const od_task *task = naive->owned.task[i];
        if (task->state != OD_TASK_READY || !reads(task, known->datum))
            continue;
        scan.left_ns += duration_ns(task);
        uint32_t lacking = count_lacking(naive, task, k);
        int32_t priority = priority_of(naive, task);
        if (lacking == 1) {
            scan.n0++;
            scan.ns += duration_ns(task);
            scan.prio0 = priority > scan.prio0 ? priority : scan.prio0;
        } else if (lacking == 2) {
            scan.n1++;
            scan.prio1 = priority > scan.prio1 ? priority : scan.prio1;
        }
    }
    scan.load = naive->env.transfer_time(naive->env.engine, known->datum, k);
    scan.ratio = scan.n0 ? scan.load / ((double)scan.ns * 1e-9) : (double)INFINITY;
    return scan;
}

static bool tie_is_first(const struct scan *a, const struct scan *b)
{
    return a->tie != b->tie ? a->tie > b->tie : a->datum->id < b->datum->id;
}

static bool better_11(const struct scan *a, const struct scan *b)
{
    if (a->n0 != b->n0)
        return a->n0 > b->n0;
    if (a->n0 > 0 && a->left_ns != b->left_ns)
        return a->left_ns > b->left_ns;
    if (a->n0 == 0 && a->n1 != b->n1)
        return a->n1 > b->n1;
    return tie_is_first(a, b);
}

static bool better_load_per_task(const struct scan *a, const struct scan *b)
{
    int32_t prio_a = a->n0 ? a->prio0 : a->prio1, prio_b = b->n0 ? b->prio0 : b->prio1;
    double load_a = a->n0 ? a->load / a->n0 : (double)INFINITY, load_b = b->n0 ? b->load / b->n0 : (double)INFINITY;
    float ratio_a = (float)a->ratio, ratio_b = (float)b->ratio;
    if (load_a < load_b || load_a > load_b)
        return load_a < load_b;
    if (prio_a != prio_b)
        return prio_a > prio_b;
    if (ratio_a < ratio_b || ratio_a > ratio_b)
        return ratio_a < ratio_b;
    if (a->n1 != b->n1)
        return a->n1 > b->n1;
    return a->left_ns != b->left_ns ? a->left_ns > b->left_ns : tie_is_first(a, b);
}

static bool better_12(const struct scan *a, const struct scan *b)
{
    int32_t prio_a = a->n0 ? a->prio0 : a->prio1, prio_b = b->n0 ? b->prio0 : b->prio1;
    if (a->ratio < b->ratio || a->ratio > b->ratio)
        return a->ratio < b->ratio;
    if (a->n0 != b->n0)
        return a->n0 > b->n0;
    if (prio_a != prio_b)
        return prio_a > prio_b;
    if (a->n1 != b->n1)
        return a->n1 > b->n1;
    return a->left_ns != b->left_ns ? a->left_ns > b->left_ns : tie_is_first(a, b);
}

static bool is_better(const struct naive *naive, const struct scan *a, const struct scan *b)
{
    if (!b->datum)
        return true;
    if (naive->values[OPTI] && (a->n0 > 0 || b->n0 > 0))
        return (a->n0 > 0) != (b->n0 > 0) ? a->n0 > 0 : tie_is_first(a, b);
    if (naive->values[ALG9])
        return better_11(a, b);
    return naive->values[RATIO] ? better_12(a, b) : better_load_per_task(a, b);
}

/* How many absent data with work left come before this one in the order of k. */
static uint64_t count_before(const struct naive *naive, const struct scan *scan, unsigned k)
{
    uint64_t count = 0;
    for (size_t i = 0; i < naive->nknown; i++) {
        struct scan other = scan_datum(naive, &naive->known[i], k);
        bool counts = other.left_ns > 0 && !is_present(naive, other.datum, k);
        count += counts && other.datum != scan->datum && tie_is_first(&other, scan);
    }
    return count;
}

/* Line 6. */
static struct scan choose_datum(const struct naive *naive, unsigned k)
{
    struct scan best = {0};
    uint64_t threshold = naive->values[THRESHOLD];
    for (size_t i = 0; i < naive->nknown; i++) {
        if (is_present(naive, naive->known[i].datum, k))
            continue;
        struct scan scan = scan_datum(naive, &naive->known[i], k);
        if (scan.n0 + scan.n1 == 0 || (threshold > 0 && count_before(naive, &scan, k) >= threshold))
            continue;
        if (is_better(naive, &scan, &best))
            best = scan;
    }
    return best;
}

static od_task *first_of_s1(const struct naive *naive, const od_datum *datum, unsigned k)
{
    od_task *first = NULL;
    for (size_t i = 0; i < naive->owned.count; i++) {
        od_task *task = naive->owned.task[i];
        if (task->state == OD_TASK_READY && reads(task, datum) && count_lacking(naive, task, k) == 2 &&
            (!first || is_before(naive, task, first)))
            first = task;
    }
    return first;
}

static od_task *last_resort(const struct naive *naive)
{
    od_task *first = NULL;
    for (size_t i = 0; i < naive->owned.count; i++) {
        od_task *task = naive->owned.task[i];
        if (task->state == OD_TASK_READY && (!first || comes_first(naive, task, first)))
            first = task;
    }
    return first;
}

static void refill(struct naive *naive, unsigned k)
{
    size_t before = naive->plan[k].tasks.count;
    if (plan_set(naive, NULL, 0, k) == 0) {
        struct scan best = choose_datum(naive, k);
        bool looks_at_s1 = !naive->values[ALG9] || naive->values[ALG11];
        od_task *task = NULL;
        if (best.n0 > 0)
            plan_set(naive, best.datum, 1, k);
        else
            task = best.datum && looks_at_s1 ? first_of_s1(naive, best.datum, k) : last_resort(naive);
        if (task)
            plan(naive, task, k);
    }
    naive->planned += naive->plan[k].tasks.count - before;
}

/* --- theft ---------------------------------------------------------------- */

static unsigned longest_plan(const struct naive *naive)
{
    unsigned longest = 0;
    for (unsigned k = 1; k < naive->env.ndevices; k++) {
        if (naive->plan[k].tasks.count > naive->plan[longest].tasks.count)
            longest = k;
    }
    return longest;
}

static double load_time(const struct naive *naive, const od_task *task, unsigned k)
{
    double seconds = 0;
    for (uint32_t i = 0; i < task->naccess; i++) {
        const od_datum *datum = task->access[i].datum;
        if ((task->access[i].mode & OD_READ) && !is_present(naive, datum, k))
            seconds += naive->env.transfer_time(naive->env.engine, datum, k);
    }
    return seconds;
}

static void take_all_if_worthwhile(struct naive *naive, unsigned k, od_task *const *tasks, size_t count)
{
    double work = 0, loads = 0;
    for (size_t i = count; i-- > 0;) {
        work += tasks[i]->duration;
        loads += load_time(naive, tasks[i], k);
        plan(naive, tasks[i], k);
    }
    for (size_t i = 0; loads >= work && i < count; i++)
        unplan(naive, tasks[i]);
}

static void steal(struct naive *naive, unsigned k)
{
    unsigned victim = longest_plan(naive);
    size_t half = (naive->plan[victim].tasks.count + 1) / 2, count = half < MOST_STOLEN ? half : MOST_STOLEN;
    od_task *tasks[MOST_STOLEN];
    for (size_t i = 0; i < count; i++) {
        tasks[i] = od_container_of(naive->plan[victim].tasks.root.prev, od_task, link);
        unplan(naive, tasks[i]);
    }
    plan_set(naive, NULL, 0, k);
    for (struct scan best = choose_datum(naive, k); best.n0 > 0 && best.ratio < 1; best = choose_datum(naive, k))
        plan_set(naive, best.datum, 1, k);
    if (naive->plan[k].tasks.count == 0)
        take_all_if_worthwhile(naive, k, tasks, count);
    for (size_t i = count; i-- > 0;) {
        if (tasks[i]->state == OD_TASK_READY)
            plan(naive, tasks[i], victim);
    }
    if (naive->plan[k].tasks.count == 0)
        naive->steal_at[k] = naive->planned + (count + 1) / 2;
}

static bool may_steal(const struct naive *naive, unsigned k)
{
    od_device_load load = naive->env.load(naive->env.engine, k);
    return naive->values[STEAL] && naive->planned >= naive->steal_at[k] && naive->owned.count > 0 &&
           load.queued + load.running == 0;
}

static od_task *naive_pop(void *state, unsigned k)
{
    struct naive *naive = state;
    if (naive->plan[k].tasks.count == 0)
        refill(naive, k);
    if (naive->plan[k].tasks.count == 0 && may_steal(naive, k))
        steal(naive, k);
    od_task *task = od_plan_pop(&naive->plan[k]);
    if (task)
        reference_remove(&naive->owned, task);
    return task;
}

/* --- what happens to data ------------------------------------------------- */

static void naive_incoming(void *state, od_datum *datum, unsigned k)
{
    (void)datum;
    (void)k;
    look_around(state);
}

/* Algorithm 10, line 8. */
static void naive_evicted(void *state, od_datum *datum, unsigned k)
{
    struct naive *naive = state;
    naive->evictions[k]++;
    look_around(naive);
    for (size_t i = 0; i < naive->owned.count; i++) {
        if (reference_is_planned(naive->owned.task[i], k) && reads(naive->owned.task[i], datum))
            unplan(naive, naive->owned.task[i]);
    }
}

static void naive_moved(void *state, od_task *task, unsigned k)
{
    (void)task;
    (void)k;
    look_around(state);
}

static uint32_t naive_future_uses(void *state, const od_datum *datum)
{
    const struct naive *naive = state;
    uint32_t uses = 0;
    for (size_t i = 0; i < naive->owned.count; i++)
        uses += reads(naive->owned.task[i], datum);
    return uses;
}

const od_policy_ops od_reference_darts = {
    .interface_version = OD_POLICY_INTERFACE,
    .name = "darts",
    .description = "data first, with full scans",
    .default_evict = "luf",
    .create = naive_create,
    .destroy = naive_destroy,
    .ready = naive_ready,
    .pop = naive_pop,
    .incoming = naive_incoming,
    .evicted = naive_evicted,
    .started = naive_moved,
    .done = naive_moved,
    .forget = naive_forget,
    .future_uses = naive_future_uses,
};
