/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The readers of logs; see read.h. What is missing where columns say otherwise is an error of that line. */
#include "batch/log/read.h"

#include "util/file/lines.h"

#include <math.h>
#include <string.h>

enum { MOST_COLUMNS = 64, SWF_FIELDS = 18 };

enum { JOB, SUBMIT, WALLTIME, DURATION, CORES, USER, SESSION, FILE_NAME, SIZE, COLUMNS };

static const char *const column_names[COLUMNS] = {"job",  "submit_s", "walltime_s", "duration_s", "cores",
                                                  "user", "session",  "file",       "size_gb"};

typedef struct csv_header {
    size_t position[COLUMNS]; /* of a column in the file; MOST_COLUMNS: it is not there */
    size_t count;
} csv_header;

static bool number(od_lines *in, const char *what, const char *text, double least, double most, double *value)
{
    if (od_number(text, least, most, value))
        return true;
    return od_refuse_line(in, "%s is '%.40s', not a number from %g to %g", what, text, least, most);
}

static od_status out_of_memory_or(const od_lines *in)
{
    return *in->error ? OD_EINVAL : ferror(in->file) ? OD_EIO : OD_ENOMEM;
}

/* --- CSV ----------------------------------------------------------------------------- */

static bool read_header(od_lines *in, csv_header *header)
{
    char *fields[MOST_COLUMNS];
    header->count = od_fields(in->text, ',', fields, MOST_COLUMNS);
    if (header->count > MOST_COLUMNS)
        return od_refuse_line(in, "%zu columns, more than %d", header->count, MOST_COLUMNS);
    for (size_t c = 0; c < COLUMNS; c++) {
        header->position[c] = MOST_COLUMNS;
        for (size_t i = 0; i < header->count; i++)
            if (strcmp(fields[i], column_names[c]) == 0)
                header->position[c] = i;
    }
    static const int needed[] = {SUBMIT, DURATION, CORES};
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
        if (header->position[needed[i]] == MOST_COLUMNS)
            return od_refuse_line(in, "no column '%s' among the names of columns", column_names[needed[i]]);
    return true;
}

/* The field of that column, or NULL: there is no such column, or nothing in it. */
static const char *field(const csv_header *header, char *const *fields, int column)
{
    size_t at = header->position[column];
    return at < header->count && *fields[at] ? fields[at] : NULL;
}

/* Optional numbers stay as they are where there is none. */
static bool optional(od_lines *in, const csv_header *header, char *const *fields, int column, double least,
                     double most, double *value)
{
    const char *text = field(header, fields, column);
    return !text || number(in, column_names[column], text, least, most, value);
}

static bool needed_number(od_lines *in, const csv_header *header, char *const *fields, int column, double least,
                          double *value)
{
    const char *text = field(header, fields, column);
    if (!text)
        return od_refuse_line(in, "nothing in column '%s'", column_names[column]);
    return number(in, column_names[column], text, least, column == CORES ? OD_BATCH_MOST_ASKED : OD_BATCH_MOST_SECONDS,
                  value);
}

static bool optional_name(od_names *names, const char *text, uint32_t *value)
{
    *value = text ? od_names_number(names, text) : OD_BATCH_NONE;
    return !text || *value != OD_BATCH_NONE;
}

static bool csv_names(od_batch_log *log, const csv_header *header, char *const *fields, od_batch_job *job)
{
    const char *user = field(header, fields, USER), *session = field(header, fields, SESSION);
    return optional_name(&log->user_names, user ? user : session, &job->user) &&
           optional_name(&log->session_names, session, &job->session) &&
           optional_name(&log->file_names, field(header, fields, FILE_NAME), &job->file);
}

static bool whole(od_lines *in, double cores, od_batch_job *job)
{
    job->cores = (uint32_t)cores;
    return job->cores >= cores || od_refuse_line(in, "%g cores, not a whole number", cores);
}

static bool csv_job(od_lines *in, const csv_header *header, od_batch_log *log)
{
    char *fields[MOST_COLUMNS];
    double cores = 0, id = (double)log->count + 1;
    size_t count = od_fields(in->text, ',', fields, MOST_COLUMNS);
    if (count != header->count)
        return od_refuse_line(in, "%zu fields and not %zu as in the names of columns", count, header->count);
    od_batch_job *job = od_batch_log_add(log);
    if (!job)
        return false;
    job->line = in->number;
    bool fine = needed_number(in, header, fields, SUBMIT, 0, &job->submit) &&
                needed_number(in, header, fields, DURATION, -OD_BATCH_MOST_SECONDS, &job->duration) &&
                needed_number(in, header, fields, CORES, 1, &cores) && whole(in, cores, job) &&
                optional(in, header, fields, JOB, 0, 1e15, &id) &&
                optional(in, header, fields, WALLTIME, 1e-3, OD_BATCH_MOST_SECONDS, &job->walltime) &&
                optional(in, header, fields, SIZE, 0, 1e9, &job->size) && csv_names(log, header, fields, job);
    job->id = (uint64_t)id;
    return fine;
}

static od_status read_csv(od_lines *in, od_batch_log *log)
{
    csv_header header;
    if (!read_header(in, &header))
        return OD_EINVAL;
    while (od_next_line(in, "#"))
        if (!csv_job(in, &header, log))
            return out_of_memory_or(in);
    return *in->error ? OD_EINVAL : ferror(in->file) ? OD_EIO : OD_OK;
}

/* --- SWF ----------------------------------------------------------------------------- */

enum { SWF_ID, SWF_SUBMIT, SWF_DURATION = 3, SWF_CORES, SWF_ASKED_CORES = 7, SWF_WALLTIME, SWF_STATUS = 10, SWF_USER };

static bool swf_numbers(od_lines *in, double *values)
{
    char *fields[SWF_FIELDS];
    size_t count = od_fields(in->text, ' ', fields, SWF_FIELDS);
    if (count != SWF_FIELDS)
        return od_refuse_line(in, "%zu fields and not %d as in the Standard Workload Format", count, SWF_FIELDS);
    for (int i = 0; i < SWF_FIELDS; i++) {
        char what[32];
        snprintf(what, sizeof what, "field %d", i + 1);
        if (!number(in, what, fields[i], -1e15, 1e15, &values[i]))
            return false;
    }
    return true;
}

/* -1 means not known in all fields. Jobs without cores or duration never ran; states 2 to 4 are parts of a job that has
 * a line of its own. */
static bool swf_job(od_lines *in, od_batch_log *log)
{
    double values[SWF_FIELDS];
    if (!swf_numbers(in, values))
        return false;
    double cores = values[SWF_ASKED_CORES] > 0 ? values[SWF_ASKED_CORES] : values[SWF_CORES];
    bool part = values[SWF_STATUS] >= 2 && values[SWF_STATUS] <= 4;
    if (values[SWF_DURATION] <= 0 || cores <= 0 || part) {
        log->left_out++;
        return true;
    }
    if (values[SWF_SUBMIT] < 0 || values[SWF_SUBMIT] > OD_BATCH_MOST_SECONDS ||
        values[SWF_DURATION] > OD_BATCH_MOST_SECONDS)
        return od_refuse_line(in, "submitted at %g s for %g s: not times of a log", values[SWF_SUBMIT],
                              values[SWF_DURATION]);
    if (cores > OD_BATCH_MOST_ASKED)
        return od_refuse_line(in, "%g cores, more than %d", cores, OD_BATCH_MOST_ASKED);
    od_batch_job *job = od_batch_log_add(log);
    if (!job)
        return false;
    job->line = in->number;
    job->id = values[SWF_ID] > 0 ? (uint64_t)values[SWF_ID] : 0;
    job->submit = values[SWF_SUBMIT];
    job->duration = values[SWF_DURATION];
    if (values[SWF_WALLTIME] > 0)
        job->walltime = values[SWF_WALLTIME];
    if (values[SWF_USER] >= 0 && values[SWF_USER] < OD_BATCH_NONE)
        job->user = (uint32_t)values[SWF_USER];
    return whole(in, cores, job);
}

static od_status read_swf(od_lines *in, od_batch_log *log)
{
    do
        if (!swf_job(in, log))
            return out_of_memory_or(in);
    while (od_next_line(in, ";"));
    return *in->error ? OD_EINVAL : ferror(in->file) ? OD_EIO : OD_OK;
}

od_status od_batch_log_read(FILE *file, od_batch_log *log, char *error, size_t size)
{
    od_lines in = {.file = file, .error = error, .size = size};
    od_status status = OD_EINVAL;
    *error = '\0';
    if (od_next_line(&in, "#;"))
        status = strchr(in.text, ',') ? read_csv(&in, log) : read_swf(&in, log);
    else if (!*error && ferror(file))
        status = OD_EIO;
    if (status == OD_EINVAL && !*error)
        snprintf(error, size, "line %llu: no jobs", (unsigned long long)(in.number ? in.number : 1));
    if (!status && !log->count) {
        snprintf(error, size, "line %llu: no jobs before the end", (unsigned long long)in.number);
        status = OD_EINVAL;
    }
    od_lines_free(&in);
    return status;
}
