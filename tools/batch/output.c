/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Schedules as a table, CSV and JSON. */
#include "tools/batch/schedules.h"
#include "tools/tools.h"

#include <cjson/cJSON.h>
#include <inttypes.h>
#include <math.h>

static const char *const quantile_names[] = {"whisker_low", "quartile_low", "median", "quartile_high", "whisker_high"};

/* In percent of the first schedule's; 0 where that is 0. */
static double reduction(double reference, double value)
{
    return reference > 0 ? 100 * (1 - value / reference) : 0;
}

static double percent(uint32_t part, uint32_t whole)
{
    return whole ? 100.0 * part / whole : 0;
}

static void print_number(FILE *out, const char *format, double value)
{
    if (isnan(value))
        fputs("        -", out);
    else
        fprintf(out, format, value);
}

void batch_print_table(const batch_study *study, FILE *out)
{
    const od_batch_sums *first = &study->schedules[0].sums;
    fprintf(out,
            "%" PRIu64 " jobs on %" PRIu32 " nodes with %" PRIu32
            " cores; improvement over %s of sessions that change by more than 1 %%\n",
            first->jobs, study->cluster.count, study->cores, study->schedules[0].name);
    fprintf(out, "%-10s %9s %9s %9s %9s %9s %9s %9s %10s %9s\n", "scheduler", "stretch", "changed", "median", "mean",
            "quart. 25", "quart. 75", "loads", "core time", "killed");
    for (int i = 0; i < study->count; i++) {
        const batch_schedule *s = &study->schedules[i];
        const od_batch_improvement *better = &s->improvement;
        fprintf(out, "%-10s %9.3f %7.1f %%", s->name, s->sums.stretch, percent(better->changed, better->sessions));
        print_number(out, " %9.3f", better->quantile[OD_BATCH_MEDIAN]);
        print_number(out, " %9.3f", better->mean);
        print_number(out, " %9.3f", better->quantile[OD_BATCH_QUARTILE_LOW]);
        print_number(out, " %9.3f", better->quantile[OD_BATCH_QUARTILE_HIGH]);
        fprintf(out, " %+7.1f %% %+8.2f %% %9" PRIu64 "\n", 0 - reduction(first->load_wait, s->sums.load_wait),
                0 - reduction(first->core_time, s->sums.core_time), s->sums.killed);
    }
}

/* --- CSV ------------------------------------------------------------------------------ */

/* The log's word, or # and a number of our own; nothing where it is not known. */
static void put_name(FILE *out, const od_names *names, uint32_t number)
{
    if (number < names->count)
        fprintf(out, ",%s", names->text[number]);
    else if (number == OD_BATCH_NONE)
        fputc(',', out);
    else
        fprintf(out, ",#%" PRIu32, number);
}

void batch_write_jobs(const batch_study *study, FILE *out)
{
    fputs(
        "scheduler,job,user,session,file,node,cores,submit_s,start_s,load_wait_s,end_s,killed,counts,flow_s,stretch\n",
        out);
    for (int i = 0; i < study->count; i++)
        for (uint32_t j = 0; j < study->log.count; j++) {
            const od_batch_job *job = &study->log.jobs[j];
            const od_batch_outcome *o = &study->schedules[i].outcomes[j];
            fprintf(out, "%s,%" PRIu64, study->schedules[i].name, job->id);
            put_name(out, &study->log.user_names, job->user);
            put_name(out, &study->log.session_names, job->session);
            put_name(out, &study->log.file_names, job->file);
            fprintf(out, ",%" PRIu32 ",%" PRIu32 ",%.15g,%.15g,%.15g,%.15g,%d,%d,%.15g,%.6g\n", o->node, job->cores,
                    job->submit, o->start, od_batch_load_wait(o), o->end, o->killed,
                    od_batch_counts(&study->window, job), od_batch_flow(job, o),
                    od_batch_stretch(job, o, &study->cluster));
        }
}

void batch_write_sessions(const batch_study *study, FILE *out)
{
    fputs("scheduler,user,session,jobs,submit_s,flow_s,stretch,improvement\n", out);
    for (int i = 0; i < study->count; i++)
        for (uint32_t n = 0; n < study->log.sessions; n++) {
            const od_batch_session *s = &study->schedules[i].sessions[n];
            if (!s->jobs)
                continue;
            fputs(study->schedules[i].name, out);
            put_name(out, &study->log.user_names, s->user);
            put_name(out, &study->log.session_names, n);
            fprintf(out, ",%" PRIu32 ",%.15g,%.15g,%.6g,%.6g\n", s->jobs, s->submit, s->flow, s->stretch,
                    study->schedules[0].sessions[n].stretch / s->stretch);
        }
}

/* --- JSON ----------------------------------------------------------------------------- */

static void put_improvement(cJSON *object, const od_batch_improvement *better)
{
    cJSON *improvement = cJSON_AddObjectToObject(object, "improvement");
    cJSON_AddNumberToObject(improvement, "sessions", better->sessions);
    cJSON_AddNumberToObject(improvement, "changed", better->changed);
    cJSON_AddNumberToObject(improvement, "mean", better->mean); /* null: none is changed */
    for (int q = 0; q < OD_BATCH_QUANTILES; q++)
        cJSON_AddNumberToObject(improvement, quantile_names[q], better->quantile[q]);
}

static void put_sums(cJSON *object, const od_batch_sums *sums)
{
    const struct {
        const char *name;
        double value;
    } rows[] = {{"jobs", (double)sums->jobs},          {"killed", (double)sums->killed},
                {"mean_stretch", sums->stretch},       {"greatest_stretch", sums->greatest_stretch},
                {"mean_flow_s", sums->flow},           {"queue_wait_s", sums->queue_wait},
                {"load_wait_s", sums->load_wait},      {"core_time_s", sums->core_time},
                {"end_s", sums->end}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        cJSON_AddNumberToObject(object, rows[i].name, rows[i].value);
}

static cJSON *schedule_object(const batch_schedule *s, const od_batch_sums *first)
{
    cJSON *object = cJSON_CreateObject();
    cJSON_AddStringToObject(object, "name", s->name);
    cJSON_AddStringToObject(object, "policy", s->settings.policy->name);
    cJSON_AddBoolToObject(object, "backfill", s->settings.backfill);
    cJSON_AddNumberToObject(object, "weight", s->settings.weight);
    put_sums(object, &s->sums);
    cJSON_AddNumberToObject(object, "load_wait_reduction_percent", reduction(first->load_wait, s->sums.load_wait));
    cJSON_AddNumberToObject(object, "core_time_reduction_percent", reduction(first->core_time, s->sums.core_time));
    put_improvement(object, &s->improvement);
    cJSON_AddNumberToObject(object, "plans", (double)s->effort.plans);
    cJSON_AddNumberToObject(object, "placements", (double)s->effort.placements);
    cJSON_AddNumberToObject(object, "processor_s", s->seconds);
    return object;
}

od_status batch_write_json(const batch_study *study, FILE *out)
{
    cJSON *root = cJSON_CreateObject(), *array = cJSON_AddArrayToObject(root, "schedules");
    cJSON_AddStringToObject(root, "format", "ompdarts-batch 1");
    cJSON_AddNumberToObject(root, "nodes", study->cluster.count);
    cJSON_AddNumberToObject(root, "cores", study->cores);
    for (int i = 0; i < study->count; i++)
        cJSON_AddItemToArray(array, schedule_object(&study->schedules[i], &study->schedules[0].sums));
    return od_tool_print_json(root, out);
}
