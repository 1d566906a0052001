/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The study as tables and JSON. */
#include "tools/analyze/study.h"
#include "tools/tools.h"

#include <cjson/cJSON.h>
#include <inttypes.h>

enum { MOST_NAMED = 6 };

/* --- tables -------------------------------------------------------------------------------------- */

static void print_orders(const analyze_study *study, FILE *out)
{
    fprintf(out, "\n%-18s %10s %9s\n", "one processor", "peak", "relative");
    for (int kind = 0; kind < ANALYZE_ORDERS; kind++) {
        const analyze_order *o = &study->orders[kind];
        int64_t best = study->orders[study->best].peak;
        if (o->order)
            fprintf(out, "%-18s %10s %9.3f  %s\n", o->name, analyze_bytes(o->peak),
                    best ? (double)o->peak / (double)best : 1.0, o->note);
        else
            fprintf(out, "%-18s %10s %9s  %s\n", o->name, "-", "-", o->note);
    }
}

static void print_names(const analyze_study *study, od_dag_phase phase, FILE *out)
{
    uint32_t count = 0;
    for (uint32_t t = 0; t < study->dag.ntasks; t++)
        if (study->cut.phase[t] == phase && count++ < MOST_NAMED)
            fprintf(out, "%s%s", count > 1 ? ", " : ": ", od_dag_name(&study->dag, t));
    if (count > MOST_NAMED)
        fputs(", …", out);
}

static uint32_t count_phase(const analyze_study *study, od_dag_phase phase)
{
    uint32_t count = 0;
    for (uint32_t t = 0; t < study->dag.ntasks; t++)
        count += study->cut.phase[t] == phase;
    return count;
}

static void print_cut(const analyze_study *study, FILE *out)
{
    const od_dag_cut *cut = &study->cut;
    int64_t best = study->orders[study->best].peak;
    fprintf(out, "\nany number of processors: ");
    if (cut->reached == cut->bound)
        fprintf(out, "at most %s, which is reached (maximum topological cut)\n", analyze_bytes(cut->bound));
    else
        fprintf(out, "at most %s; %s is reached (data with several last readers: no exact cut)\n",
                analyze_bytes(cut->bound), analyze_bytes(cut->reached));
    fprintf(out, "%.3g times the best order of one processor%s\n", best ? (double)cut->bound / (double)best : 1.0,
            study->optimal ? "" : " that was found");
    fprintf(out, "at the peak %u tasks have ended and %u run", count_phase(study, OD_DAG_ENDED),
            count_phase(study, OD_DAG_RUNNING));
    print_names(study, OD_DAG_RUNNING, out);
    fprintf(out, "\nmemory x time is at least %.4g GB s", study->path_product * 1e-9);
    if (study->path > 0)
        fprintf(out, ": %s in a schedule as long as the critical path",
                analyze_bytes((int64_t)(study->path_product / study->path)));
    fputc('\n', out);
}

static void print_rules(const analyze_study *study, FILE *out)
{
    fprintf(out, "\nat most %s%s %6s %10s %12s %9s\n", analyze_bytes(study->bound), "       added", "kept", "peak",
            "path (s)", "parallel");
    for (od_dag_rule rule = 0; rule < OD_DAG_RULES; rule++) {
        const od_dag_serialized *r = &study->rules[rule].result;
        if (study->rules[rule].added)
            fprintf(out, "%-14s %11" PRIu32 " %6s %10s %12.6g %9.2f\n", od_dag_rule_names[rule], r->added,
                    r->kept ? "yes" : "no", analyze_bytes(r->peak), r->path, r->path > 0 ? study->work / r->path : 0);
        else if (study->rules[rule].asked)
            fprintf(out, "%-14s left out: too many tasks\n", od_dag_rule_names[rule]);
    }
}

static double moved(const analyze_run *run)
{
    return run->loaded + run->stored + run->exchanged;
}

static void print_run(const analyze_run *run, FILE *out)
{
    fprintf(out, " %10s %9.6g s", analyze_bytes((int64_t)moved(run)), run->makespan);
}

static void print_machine(const analyze_machine *m, FILE *out)
{
    fprintf(out, "\n%s, devices: %s\n%-18s %10s %10s %11s %10s %11s   %s\n", m->platform, m->devices, "policy", "peak",
            "moved", "makespan", "half moved", "makespan", "a device with its peak");
    for (int i = 0; i < m->count; i++) {
        const analyze_policy *p = &m->policies[i];
        fprintf(out, "%-18.18s %10s", p->name, analyze_bytes(p->run[0].peak));
        print_run(&p->run[0], out);
        if (p->runs == ANALYZE_RUNS)
            print_run(&p->run[2], out);
        else
            fprintf(out, " %10s %11s", "-", "-");
        if (p->runs == 1)
            fputs("   cannot run a task\n", out);
        else
            fprintf(out, "   evicts %.0f data\n", p->run[1].evictions);
    }
}

/* What is enough, beside what there was. */
static void print_enough(const analyze_machine *m, FILE *out)
{
    const analyze_policy *least = NULL;
    for (int i = 0; i < m->count; i++) {
        const analyze_policy *p = &m->policies[i];
        bool enough = p->runs > 1 && p->run[1].evictions <= 0;
        if (enough && (!least || p->run[0].peak < least->run[0].peak))
            least = p;
    }
    if (!least || !m->memory)
        return;
    fprintf(out, "with %s a device this program would evict nothing under %s;", analyze_bytes(least->run[0].peak),
            least->name);
    fprintf(out, " the recorded run had %s\n", analyze_bytes(m->memory));
}

void analyze_print(const analyze_study *study, FILE *out)
{
    const od_dag *dag = &study->dag;
    fprintf(out, "%" PRIu32 " tasks, %" PRIu32 " precedences, %" PRIu32 " data of %s; model: %s\n", dag->ntasks,
            dag->after.first[dag->ntasks], dag->ndata, analyze_bytes(study->data_bytes),
            od_dag_model_names[study->model]);
    fprintf(out, "work %.6g s, critical path %.6g s, parallelism %.2f; one task needs up to %s\n", study->work,
            study->path, study->path > 0 ? study->work / study->path : 0, analyze_bytes(study->largest_need));
    print_orders(study, out);
    print_cut(study, out);
    if (study->bound)
        print_rules(study, out);
    if (study->machine.count)
        print_machine(&study->machine, out);
    print_enough(&study->machine, out);
}

/* --- JSON ---------------------------------------------------------------------------------------------- */

static void put_names(const analyze_study *study, cJSON *object, const char *name, od_dag_phase phase)
{
    cJSON *array = cJSON_AddArrayToObject(object, name);
    for (uint32_t t = 0; t < study->dag.ntasks; t++)
        if (study->cut.phase[t] == phase)
            cJSON_AddItemToArray(array, cJSON_CreateString(od_dag_name(&study->dag, t)));
}

static void put_orders(const analyze_study *study, cJSON *root)
{
    cJSON *array = cJSON_AddArrayToObject(root, "orders");
    for (int kind = 0; kind < ANALYZE_ORDERS; kind++) {
        const analyze_order *o = &study->orders[kind];
        cJSON *object = cJSON_CreateObject();
        cJSON_AddStringToObject(object, "name", o->name);
        if (o->order)
            cJSON_AddNumberToObject(object, "peak_bytes", (double)o->peak);
        cJSON_AddStringToObject(object, "note", o->note);
        cJSON_AddItemToArray(array, object);
    }
    cJSON_AddStringToObject(root, "best_order", study->orders[study->best].name);
    cJSON_AddBoolToObject(root, "optimal", study->optimal);
}

static cJSON *rule_object(const analyze_study *study, od_dag_rule rule)
{
    const analyze_rule *r = &study->rules[rule];
    cJSON *object = cJSON_CreateObject(), *added = cJSON_AddArrayToObject(object, "added");
    cJSON_AddStringToObject(object, "rule", od_dag_rule_names[rule]);
    cJSON_AddBoolToObject(object, "kept", r->result.kept);
    cJSON_AddNumberToObject(object, "peak_bytes", (double)r->result.peak);
    cJSON_AddNumberToObject(object, "critical_path_s", r->result.path);
    cJSON_AddNumberToObject(object, "parallelism", r->result.path > 0 ? study->work / r->result.path : 0);
    for (uint32_t i = 0; i < r->result.added; i++) {
        const char *pair[] = {od_dag_name(&study->dag, r->added[i].before),
                              od_dag_name(&study->dag, r->added[i].after)};
        cJSON_AddItemToArray(added, cJSON_CreateStringArray(pair, 2));
    }
    return object;
}

static void put_serialised(const analyze_study *study, cJSON *root)
{
    cJSON *object = cJSON_AddObjectToObject(root, "serialised"), *array;
    cJSON_AddNumberToObject(object, "bound_bytes", (double)study->bound);
    array = cJSON_AddArrayToObject(object, "rules");
    for (od_dag_rule rule = 0; rule < OD_DAG_RULES; rule++)
        if (study->rules[rule].added)
            cJSON_AddItemToArray(array, rule_object(study, rule));
}

static cJSON *run_object(const analyze_run *run)
{
    cJSON *object = cJSON_CreateObject();
    cJSON_AddNumberToObject(object, "memory_bytes", (double)run->memory);
    cJSON_AddNumberToObject(object, "peak_bytes", (double)run->peak);
    cJSON_AddNumberToObject(object, "h2d_bytes", run->loaded);
    cJSON_AddNumberToObject(object, "d2h_bytes", run->stored);
    cJSON_AddNumberToObject(object, "d2d_bytes", run->exchanged);
    cJSON_AddNumberToObject(object, "evictions", run->evictions);
    cJSON_AddNumberToObject(object, "spilled_bytes", run->spilled);
    cJSON_AddNumberToObject(object, "spill_peak_bytes", run->host);
    cJSON_AddNumberToObject(object, "makespan_s", run->makespan);
    return object;
}

static void put_machine(const analyze_machine *m, cJSON *root)
{
    cJSON *array = cJSON_AddArrayToObject(root, "policies");
    for (int i = 0; i < m->count; i++) {
        cJSON *object = cJSON_CreateObject(), *runs = cJSON_AddArrayToObject(object, "runs");
        cJSON_AddStringToObject(object, "policy", m->policies[i].name);
        for (int n = 0; n < m->policies[i].runs; n++)
            cJSON_AddItemToArray(runs, run_object(&m->policies[i].run[n]));
        cJSON_AddItemToArray(array, object);
    }
}

static void put_numbers(const analyze_study *study, cJSON *root)
{
    const struct {
        const char *name;
        double value;
    } rows[] = {{"tasks", study->dag.ntasks},
                {"precedences", study->dag.after.first[study->dag.ntasks]},
                {"data", study->dag.ndata},
                {"data_bytes", (double)study->data_bytes},
                {"largest_need_bytes", (double)study->largest_need},
                {"work_s", study->work},
                {"critical_path_s", study->path},
                {"least_byte_seconds", study->path_product}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        cJSON_AddNumberToObject(root, rows[i].name, rows[i].value);
}

od_status analyze_write_json(const analyze_study *study, FILE *out)
{
    cJSON *root = cJSON_CreateObject(), *cut;
    cJSON_AddStringToObject(root, "format", "ompdarts-analyze 1");
    cJSON_AddStringToObject(root, "model", od_dag_model_names[study->model]);
    put_numbers(study, root);
    put_orders(study, root);
    cut = cJSON_AddObjectToObject(root, "maximum_cut");
    cJSON_AddNumberToObject(cut, "bound_bytes", (double)study->cut.bound);
    cJSON_AddNumberToObject(cut, "reached_bytes", (double)study->cut.reached);
    cJSON_AddBoolToObject(cut, "exact", study->cut.reached == study->cut.bound);
    put_names(study, cut, "ended", OD_DAG_ENDED);
    put_names(study, cut, "running", OD_DAG_RUNNING);
    if (study->bound)
        put_serialised(study, root);
    if (study->machine.count)
        put_machine(&study->machine, root);
    return od_tool_print_json(root, out);
}
