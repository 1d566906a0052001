/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* See options.h. */
#include "sched/options.h"

#include "sched/engine/engine.h"
#include "sched/evict.h"
#include "sched/phase/active.h"
#include "util/nearest.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

static od_status copy_text(char *to, size_t size, const char *text)
{
    size_t length = strlen(text);

    if (length >= size)
        return OD_EINVAL;
    memcpy(to, text, length + 1);
    return OD_OK;
}

od_status od_sched_choose(const char *text, od_policy_choice *choice, char *cause, size_t size)
{
    od_status status = od_policy_choose(text, choice, cause, size);
    const char *rule = strpbrk(text, "+, "); /* "darts+luf", as tables of results have it */
    if (status && rule && od_evict_find(++rule))
        snprintf(cause, size, "'%s' is an eviction rule, which has an option of its own: --evict=%s, or %s=%s", rule,
                 rule, OD_OPTION_PREFIX "EVICT", rule);
    return status;
}

static od_status parse_sched(const od_option_spec *spec, const char *text, void *value, char *cause, size_t size)
{
    od_sched_choice *choice = value;

    (void)spec;
    od_status status = od_sched_choose(text, &choice->policy, cause, size);
    return status ? status : copy_text(choice->text, sizeof choice->text, text);
}

od_status od_evict_check(const char *text, char *cause, size_t size)
{
    if (strcmp(text, "auto") == 0 || od_evict_find(text))
        return OD_OK;
    od_nearest_explain(text, "auto", od_evict_names(), cause, size);
    return OD_EINVAL;
}

static od_status parse_evict(const od_option_spec *spec, const char *text, void *value, char *cause, size_t size)
{
    (void)spec;
    od_status status = od_evict_check(text, cause, size);
    return status ? status : copy_text(value, sizeof((od_sched_options *)0)->evict, text);
}

static od_status parse_split(const od_option_spec *spec, const char *text, void *value, char *cause, size_t size)
{
    od_split_option *option = value;

    (void)spec;
    od_status status = od_split_choose(text, &option->choice, cause, size);
    return status ? status : copy_text(option->text, sizeof option->text, text);
}

static od_status parse_buffer(const od_option_spec *spec, const char *text, void *value, char *cause, size_t size)
{
    (void)spec, (void)cause, (void)size;
    return od_parse_count(text, OD_MOST_BUFFER, value);
}

od_status od_parse_guard(const char *text, int64_t *guard)
{
    size_t bytes = 0;
    if (strcmp(text, "off") == 0 || strcmp(text, "0") == 0)
        *guard = 0;
    else if (strcmp(text, "auto") == 0)
        *guard = OD_GUARD_AUTO;
    else if (od_parse_size(text, &bytes) || bytes == 0 || bytes > INT64_MAX / 2)
        return OD_EINVAL;
    else
        *guard = (int64_t)bytes;
    return OD_OK;
}

static od_status parse_guard(const od_option_spec *spec, const char *text, void *value, char *cause, size_t size)
{
    (void)spec, (void)cause, (void)size;
    return od_parse_guard(text, value);
}

static od_status parse_seed(const od_option_spec *spec, const char *text, void *value, char *cause, size_t size)
{
    (void)spec, (void)cause, (void)size;
    return od_parse_integer(text, 0, UINT64_MAX, value);
}

static od_status parse_count(const char *text, int *active)
{
    uint64_t number;
    if (strcmp(text, "policy") == 0)
        *active = OD_ACTIVE_AS_POLICY;
    else if (strcmp(text, "auto") == 0)
        *active = OD_ACTIVE_CHOSEN;
    else if (strcmp(text, "all") == 0)
        *active = INT_MAX;
    else if (od_parse_integer(text, 1, OD_MAX_DEVICES, &number) == OD_OK)
        *active = (int)number;
    else
        return OD_EINVAL;
    return OD_OK;
}

od_status od_parse_active(const char *text, char *which, size_t size, int *active)
{
    if (strcmp(text, "auto") == 0)
        text = "all:auto";
    size_t length = strcspn(text, ":");
    if (length >= size)
        return OD_EINVAL;
    memcpy(which, text, length);
    which[length] = '\0';
    return text[length] ? parse_count(text + length + 1, active) : OD_OK;
}

od_status od_parse_workers(const char *text, unsigned *workers, unsigned *cores)
{
    char number[16];
    uint64_t n, w = 1;
    const char *colon = strchr(text, ':');
    snprintf(number, sizeof number, "%.*s", (int)(colon ? colon - text : 15), text);
    if (od_parse_integer(number, colon ? 1 : 0, 1000000, &n) || (colon && od_parse_integer(colon + 1, 1, 1000000, &w)))
        return OD_EINVAL;
    *workers = (unsigned)n;
    *cores = (unsigned)w;
    return OD_OK;
}

_Static_assert(sizeof(od_write_back) == sizeof(unsigned) && sizeof(od_recompute) == sizeof(unsigned),
               "od_option_choice() stores unsigned");

#define MEMBER(name) offsetof(od_sched_options, name)

static const od_option_hint sched_hints[] = {
    {"POLICY", "POLICY"}, {"SCHEDULER", "POLICY"}, {"LOOKAHEAD", "POLICY:ahead=N"}, {0}};
static const od_option_hint evict_hints[] = {{"RULE", "RULE"}, {0}};
static const od_option_hint buffer_hints[] = {{"TASK_BUFFER", "N"}, {0}};

const od_option_spec od_sched_option_rows[] = {
    {OD_OPTION_PREFIX "SCHED", "sched", "name", "auto", "",
     "a policy that `ompdarts info` lists, optionally with options: NAME:OPTION,OPTION=NUMBER; or plugin:FILE",
     "Scheduling policy: which ready task goes to which device next (docs/policies.md).", sched_hints, parse_sched,
     MEMBER(sched)},
    {OD_OPTION_PREFIX "EVICT", "evict", "name", "auto", "", "auto, or an eviction rule that `ompdarts info` lists",
     "Eviction rule: which tile a full device evicts; auto selects the rule that suits the policy.", evict_hints,
     parse_evict, MEMBER(evict)},
    {OD_OPTION_PREFIX "BUFFER", "buffer", "integer", "3", "tasks", "a whole number from 1 to 1000000",
     "Tasks per device whose placement is fixed and whose data are prefetched.", buffer_hints, parse_buffer,
     MEMBER(buffer)},
    {OD_OPTION_PREFIX "SPLIT", "split", "name", "never", "", "never, level=L, lp, gaspp, starve, or auto",
     "Recursive programs (ompdarts_split() in ompdarts.h): which tasks become tasks over blocks of their tiles "
     "(docs/policies.md).",
     NULL, parse_split, MEMBER(split)},
    {OD_OPTION_PREFIX "GUARD", "guard", "size", "off", "bytes", OD_GUARD_ALLOWED,
     "Bound for data that live on devices only: tasks that would make more of them wait; auto: for the memory of all "
     "devices, where waiting costs less than spilling (docs/memory.md).",
     NULL, parse_guard, MEMBER(guard)},
    {OD_OPTION_PREFIX "WRITE_BACK", "write-back", "choice", "early", "", "early|late",
     "When results outside data regions go to the host: early as soon as the program waits and no known task will use "
     "them again, late at the synchronisation point.",
     NULL, od_option_choice, MEMBER(write_back)},
    {OD_OPTION_PREFIX "RECOMPUTE", "recompute", "choice", "off", "", "off|auto|always",
     "Data inside regions that a kernel has made from data still there: auto drops them where running the kernel again "
     "is estimated to be faster than to spill them, always wherever it is possible; for programs whose kernels do "
     "nothing but write their data, the same each time (docs/memory.md).",
     NULL, od_option_choice, MEMBER(recompute)},
    {OD_OPTION_PREFIX "SEED", "seed", "integer", "1", "", "a whole number from 0 to 18446744073709551615",
     "Seed of all random choices.", NULL, parse_seed, MEMBER(seed)},
    {0}};
