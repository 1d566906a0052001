/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* See json_args.h. */
#include "trace/json_args.h"

#include "trace/json_text.h"

#include <stdio.h>

/* The seconds that were predicted are `predicted`, or at least `at_least`. */
static char *put_outlook(char *at, const char *role, const char *predicted, const char *at_least, const od_outlook *o)
{
    if (!o->name[0])
        return at;
    at = od_json_string(at, role, o->name);
    return od_put_number(od_json_member(at, o->at_least ? at_least : predicted), o->seconds);
}

char *od_json_uses(char *at, const od_trace_run *run, const od_task *task)
{
    static const char *const modes[] = {"", "r", "w", "rw"};
    at = od_put(od_json_member(at, "data"), "[");
    for (uint32_t i = 0; i < task->naccess && i < OD_JSON_MOST_RANGES; i++) {
        const od_access *access = &task->access[i];
        od_trace_map range = {.address = access->datum->base, .size = access->datum->size, .type = modes[access->mode]};
        if (run->variable)
            range.variable = run->variable(run->arg, task, i, &range.variable_length);
        at = od_json_range(at, i == 0, &range);
    }
    return od_put(at, "]");
}

char *od_json_depends(char *at, const od_trace_run *run, const od_task *task)
{
    od_trace_depend item;
    uint32_t n = 0;
    while (run->depend && n < OD_JSON_MOST_RANGES && run->depend(run->arg, task, n, &item)) {
        at = od_put(n ? at : od_json_member(at, "depends"), n ? ",[" : "[[");
        at = od_put(od_put_address(at, item.address), ",\"");
        at = od_put(od_put(at, item.type), "\"]");
        n++;
    }
    return n ? od_put(at, "]") : at;
}

char *od_json_rank(char *at, unsigned rank, const char *host)
{
    char label[OD_JSON_MOST_NAME];
    snprintf(label, sizeof label, "rank %u on %s", rank, host);
    at = od_put_string(od_json_args(at, "labels"), label, OD_JSON_MOST_NAME);
    return od_json_string(od_json_number(at, "rank", rank), "host", host);
}

char *od_json_choice(char *at, const od_choice *choice)
{
    at = od_put_u64(od_json_args(at, "tasks"), choice->tasks);
    at = od_json_number(at, "tried", choice->tried);
    at = od_json_number(at, "adopted", choice->adopted);
    at = put_outlook(at, "best", "best_s", "best_at_least_s", &choice->best);
    at = put_outlook(at, "present", "present_s", "present_at_least_s", &choice->present);
    at = put_outlook(at, "second", "second_s", "second_at_least_s", &choice->second);
    if (choice->half_taken <= 0)
        return at;
    at = od_put_number(od_json_member(at, "half_predicted_s"), choice->half_predicted);
    return od_put_number(od_json_member(at, "half_taken_s"), choice->half_taken);
}

char *od_json_construct(char *at, const od_trace_construct *construct)
{
    at = od_put(od_json_args(at, "data"), "[");
    for (unsigned i = 0; i < construct->nmaps && i < OD_JSON_MOST_RANGES; i++)
        at = od_json_range(at, i == 0, &construct->maps[i]);
    at = od_put(at, "]");
    return construct->source ? od_json_string(at, "source", construct->source) : at;
}

char *od_json_kernel(char *at, const od_report_slicing *kernel)
{
    at = od_put_string(od_json_args(at, "kernel"), kernel->name, OD_JSON_MOST_NAME);
    at = od_json_number(at, "sliced", kernel->sliced);
    at = od_json_number(at, "whole", kernel->whole);
    if (kernel->sliced)
        at = od_json_number(at, "slices", kernel->slices);
    if (kernel->early)
        at = od_json_number(at, "early", kernel->early);
    return kernel->reason ? od_json_string(at, "reason", kernel->reason) : at;
}

char *od_json_footprint(char *at, const od_report_footprint *footprint)
{
    at = od_put_string(od_json_args(at, "kernel"), footprint->name, OD_JSON_MOST_NAME);
    at = od_json_number(at, "argument", footprint->argument);
    return od_json_string(at, "state", od_footprint_state_name(footprint->state));
}
