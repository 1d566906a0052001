/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Plays that share their findings (sched/phase/findings.h) end as each does alone. And what a play says of lookaheads
 * other than its own is true. */
#include "sched/oracle/play.h"

#include "memmgr/device/measured.h"
#include "sched/phase/active.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { N = 8, STEPS = 6, DEVICES = 4, BYTES = 10, NTASKS = N * N * STEPS, MOST = 6 };

/* A stencil on N x N blocks: each step reads five blocks of the step before and writes one. */
struct graph {
    od_play_task tasks[NTASKS];
    od_play_access accesses[NTASKS * MOST];
    uint32_t after[NTASKS * MOST];
    od_play_datum data[2 * N * N];
    od_play_problem problem;
};

static const int offsets[][2] = {{0, 0}, {-1, 0}, {1, 0}, {0, -1}, {0, 1}};

static bool is_inside(int row, int column)
{
    return row >= 0 && row < N && column >= 0 && column < N;
}

static void add_task(struct graph *g, int step, int row, int column)
{
    od_play_problem *p = &g->problem;
    od_play_task *task = &g->tasks[p->ntasks];
    uint32_t number = p->ntasks++;
    *task = (od_play_task){.seconds = 1 + 0.01 * ((7 * row + 3 * column + step) % 5),
                           .kind = offsets,
                           .bound = OD_NOWHERE,
                           .first_access = p->naccesses,
                           .first_after = p->nafter,
                           .number = number};
    for (unsigned i = 0; i < sizeof offsets / sizeof *offsets; i++) {
        int r = row + offsets[i][0], c = column + offsets[i][1];
        if (!is_inside(r, c))
            continue;
        uint32_t block = (uint32_t)(r * N + c);
        g->accesses[p->naccesses++] = (od_play_access){(uint32_t)(step % 2 * N * N) + block, OD_READ};
        task->before += step > 0;
        if (step + 1 < STEPS)
            g->after[p->nafter++] = (uint32_t)((step + 1) * N * N) + block;
    }
    g->accesses[p->naccesses++] = (od_play_access){(uint32_t)((step + 1) % 2 * N * N + row * N + column), OD_WRITE};
    task->naccess = p->naccesses - task->first_access;
    task->nafter = p->nafter - task->first_after;
}

static void make(struct graph *g, const od_topology *topology)
{
    memset(g, 0, sizeof *g);
    g->problem = (od_play_problem){.tasks = g->tasks,
                                   .accesses = g->accesses,
                                   .after = g->after,
                                   .data = g->data,
                                   .ndata = 2 * N * N,
                                   .topology = topology,
                                   .ndevices = DEVICES,
                                   .slots = 1,
                                   .peer = true,
                                   .memory = 24 * BYTES,
                                   .alignment = 1};
    for (uint32_t d = 0; d < 2 * N * N; d++)
        g->data[d] = (od_play_datum){.bytes = BYTES, .valid = od_placeset_of(OD_HOST), .tie = d};
    for (int step = 0; step < STEPS; step++)
        for (int row = 0; row < N; row++)
            for (int column = 0; column < N; column++)
                add_task(g, step, row, column);
}

static const struct setting {
    const char *policy, *rule;
    int active;
    unsigned buffer;      /* 0: 3 */
    unsigned first, last; /* devices; 0 and 0: as `active` says */
} settings[] = {{.policy = "stationary", .rule = "belady", .active = OD_ACTIVE_AS_POLICY},
                {.policy = "stationary:ahead=12", .rule = "belady", .active = OD_ACTIVE_AS_POLICY},
                {.policy = "stationary", .rule = "belady", .active = DEVICES},
                {.policy = "stationary:ahead=3", .rule = "belady", .active = DEVICES},
                {.policy = "stationary", .rule = "belady", .active = 3},
                {.policy = "stationary:owners", .rule = "belady", .active = DEVICES},
                {.policy = "stationary:owners,ahead=3", .rule = "belady", .active = DEVICES},
                {.policy = "stationary:owners", .rule = "belady", .active = DEVICES, .buffer = 1},
                {.policy = "stationary:owners", .rule = "belady", .active = 2},
                {.policy = "stationary:owners", .rule = "belady", .active = 2, .first = 1, .last = 2},
                {.policy = "stationary:owners", .rule = "belady", .active = 2, .first = 2, .last = 3},
                {.policy = "darts", .rule = "luf", .active = OD_ACTIVE_CHOSEN},
                {.policy = "dmdas", .rule = "luf", .active = OD_ACTIVE_CHOSEN}};

static double play(struct graph *g, const struct setting *s, od_findings *findings, od_play_began *began)
{
    char error[256];
    od_settings played = {.evict = od_evict_find(s->rule), .buffer = s->buffer ? s->buffer : 3, .active = s->active};
    od_play_result result = {.began = began};
    for (unsigned k = s->first; s->last && k <= s->last; k++)
        od_placeset_add(&played.devices, k);
    g->problem.findings = findings;
    assert_int_equal(od_policy_choose(s->policy, &played.policy, error, sizeof error), OD_OK);
    assert_int_equal(od_play(&g->problem, &played, (double)INFINITY, &result), OD_OK);
    assert_true(isfinite(result.seconds));
    return result.seconds;
}

static void shared_findings_change_nothing(void **state)
{
    static struct graph g;
    static od_play_began alone[NTASKS], shared[NTASKS];
    static od_findings findings;
    (void)state;
    for (double bandwidth = 2 * BYTES; bandwidth <= 50 * BYTES; bandwidth *= 5) {
        od_topology *topology = od_topology_bus(DEVICES, bandwidth);
        assert_non_null(topology);
        make(&g, topology);
        for (unsigned round = 0; round < 3; round++) {
            if (round == 2) { /* at last not all devices are alike; of one problem they stay as they are */
                od_findings_free(&findings);
                topology->slowness.times[OD_SPEED_GENERAL][2] = 1.5;
            }
            for (unsigned i = 0; i < sizeof settings / sizeof *settings; i++) {
                double expected = play(&g, &settings[i], NULL, alone);
                double seconds = play(&g, &settings[i], &findings, shared);
                assert_true(fabs(seconds - expected) < 1e-12);
                for (uint32_t t = 0; t < NTASKS; t++)
                    assert_true(alone[t].task == shared[t].task && alone[t].device == shared[t].device &&
                                alone[t].ns == shared[t].ns);
            }
        }
        od_topology_destroy(topology); /* the findings of the next one have other keys */
    }
    od_findings_free(&findings);
}

/* When tasks have begun where, under a policy and a lookahead; returns which others would have been the same. */
static od_ahead_range look_ahead(struct graph *g, const char *policy, uint64_t ahead, unsigned buffer,
                                 od_play_began *began)
{
    char error[256];
    od_settings s = {.evict = od_evict_find("luf"), .buffer = buffer, .active = DEVICES};
    od_play_result result = {.began = began};
    assert_int_equal(od_policy_choose(policy, &s.policy, error, sizeof error), OD_OK);
    s.policy.ahead = ahead;
    assert_int_equal(od_play(&g->problem, &s, (double)INFINITY, &result), OD_OK);
    return result.same_ahead;
}

static bool is_same(const od_play_began *a, const od_play_began *b)
{
    uint32_t t = 0;
    while (t < NTASKS && a[t].task == b[t].task && a[t].device == b[t].device && a[t].ns == b[t].ns)
        t++;
    return t == NTASKS;
}

/* Each lookahead against all others: some make a difference, and what is said to make none does not. */
static void what_lookaheads_do_is_known(void **state)
{
    enum { LOOKAHEADS = 7 };
    static const uint64_t ahead[LOOKAHEADS] = {0, 1, 2, 3, 6, 12, 48};
    static const char *const policies[] = {"eager", "darts", "dmdas", "lws", "ap"};
    static struct graph g;
    static od_play_began began[LOOKAHEADS][NTASKS];
    unsigned same = 0, other = 0;
    (void)state;
    od_topology *topology = od_topology_bus(DEVICES, 5 * BYTES);
    assert_non_null(topology);
    make(&g, topology);
    for (unsigned i = 0; i < 2 * sizeof policies / sizeof *policies; i++) {
        od_ahead_range range[LOOKAHEADS];
        for (unsigned a = 0; a < LOOKAHEADS; a++)
            range[a] = look_ahead(&g, policies[i / 2], ahead[a], i % 2 ? 5 : 1, began[a]);
        for (unsigned a = 0; a < LOOKAHEADS; a++)
            for (unsigned b = 0; b < LOOKAHEADS; b++) {
                bool is = is_same(began[a], began[b]), said = range[a].least <= ahead[b] && ahead[b] < range[a].end;
                assert_true(is || !said);
                same += said && a != b && ahead[a] > 0;
                other += !is;
            }
    }
    od_topology_destroy(topology);
    assert_true(same > 0 && other > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(shared_findings_change_nothing),
                                       cmocka_unit_test(what_lookaheads_do_is_known)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
