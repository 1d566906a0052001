/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Processor time for choices; see budget.h. */
#include "sched/auto/budget.h"

#include <math.h>

void od_budget_init(od_budget *budget, od_engine *engine)
{
    static const double copy_ns = 500, play_ns = 2000; /* to begin with */
    *budget = (od_budget){.engine = engine,
                          .created_ns = od_engine_clock(engine),
                          .created_processor_ns = od_engine_processor_ns(engine, false),
                          .copy_ns = copy_ns,
                          .play_ns = play_ns};
}

double od_budget_left(const od_budget *budget, uint64_t now_ns, uint64_t spent_ns)
{
    static const double part = 0.01, trust = 0.5; /* in what is predicted */
    uint64_t used = od_engine_processor_ns(budget->engine, false);
    if (!used)
        return (double)INFINITY;
    double ran = (double)(used - budget->created_processor_ns), passed = (double)(now_ns - budget->created_ns) + 1;
    unsigned processors = od_engine_processors(budget->engine);
    double busy = processors ? processors : ran / passed; /* those that the run leaves idle may work for it */
    double ahead = trust * od_engine_known_seconds(budget->engine) * 1e9;
    return part * busy * (passed + ahead) - (double)spent_ns;
}

double od_budget_soon(const od_budget *budget, uint64_t tasks, double left, unsigned longer)
{
    static const double soon = 1.0 / 24; /* of the time that is left at least */
    double most = ldexp(soon * od_engine_known_seconds(budget->engine) * 1e9, (int)longer);
    return fmin(left, fmax(most, od_budget_cost(budget, tasks, OD_BUDGET_SOME)));
}

double od_budget_cost(const od_budget *budget, uint64_t tasks, unsigned plays)
{
    return (double)tasks * (budget->copy_ns + plays * budget->play_ns);
}

uint64_t od_budget_window(const od_budget *budget, uint64_t tasks, double left)
{
    enum { LEAST = 512 }; /* tasks that may stand for all */
    if (od_budget_cost(budget, tasks, OD_BUDGET_SOME) <= left || tasks <= LEAST)
        return tasks;
    return (uint64_t)fmax(left / od_budget_cost(budget, 1, OD_BUDGET_SOME), LEAST);
}

/* Of less, most is not what grows with the tasks. */
static bool shows_costs(uint64_t tasks)
{
    return tasks >= 500;
}

void od_budget_note_copy(od_budget *budget, uint64_t tasks, uint64_t cost_ns)
{
    if (shows_costs(tasks))
        budget->copy_ns = (double)cost_ns / (double)tasks;
}

void od_budget_note_plays(od_budget *budget, const od_trial *trial)
{
    double played = (double)trial->nplays * trial->work.ntasks;
    if (played > 0 && trial->cost_ns && shows_costs(trial->work.ntasks))
        budget->play_ns = (double)trial->cost_ns / played;
}
