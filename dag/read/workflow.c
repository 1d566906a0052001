/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Workflows of WfCommons. Schema 1.4 and later: specification.tasks, specification.files, execution.tasks; 1.3: tasks,
 * or jobs, with their files. A file is a datum: its producer is the task that has it as output; one without is in
 * memory from its first reader on.
 */
#include "dag/read/formats.h"
#include "util/container/array.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct file_use {
    uint32_t file, task;
} file_use;

typedef struct file_about {
    int64_t bytes;
    uint32_t producer;
} file_about;

typedef struct workflow {
    od_dag_builder *b;
    od_names names; /* of files */
    file_about *files;
    file_use *uses; /* as inputs */
    uint32_t files_room, nuses, uses_room;
} workflow;

static const cJSON *member(const cJSON *object, const char *name)
{
    return cJSON_GetObjectItemCaseSensitive(object, name);
}

static const cJSON *either(const cJSON *object, const char *name, const char *other)
{
    const cJSON *found = member(object, name);
    return found ? found : member(object, other);
}

static const char *text_of(const cJSON *item)
{
    return cJSON_IsString(item) ? item->valuestring : NULL;
}

/* Its identifier, or else its name. */
static const char *identifier(const cJSON *task)
{
    const char *id = text_of(member(task, "id"));
    return id ? id : text_of(member(task, "name"));
}

static bool number_of(od_dag_builder *b, const cJSON *item, const char *what, double most, double *value)
{
    *value = 0;
    if (!item || cJSON_IsNull(item))
        return true;
    if (!cJSON_IsNumber(item) || !(item->valuedouble >= 0 && item->valuedouble <= most))
        return od_dag_refuse(b, "%s is no number from 0 to %g", what, most);
    *value = item->valuedouble;
    return true;
}

/* --- files ------------------------------------------------------------------------------------- */

static bool file_of(workflow *w, const char *name, uint32_t *file)
{
    uint32_t count = w->names.count;
    if (!name)
        return od_dag_refuse(w->b, "a file without name");
    *file = od_names_number(&w->names, name);
    if (*file == OD_NO_POSITION || !od_array_reserve(&w->files, &w->files_room, (uint64_t)*file + 1, sizeof *w->files))
        return false;
    if (*file == count)
        w->files[*file] = (file_about){0, OD_DAG_NONE};
    return true;
}

static bool set_size(workflow *w, const cJSON *about, uint32_t file)
{
    double bytes;
    if (!number_of(w->b, either(about, "sizeInBytes", "size"), "the size of a file", (double)OD_DAG_MOST_BYTES, &bytes))
        return false;
    w->files[file].bytes = (int64_t)bytes;
    return true;
}

static bool use_file(workflow *w, uint32_t task, uint32_t file, bool output)
{
    if (output && w->files[file].producer != OD_DAG_NONE && w->files[file].producer != task)
        return od_dag_refuse(w->b, "file '%.60s' is the output of two tasks", w->names.text[file]);
    if (output) {
        w->files[file].producer = task;
        return true;
    }
    if (!od_array_reserve(&w->uses, &w->uses_room, (uint64_t)w->nuses + 1, sizeof *w->uses))
        return false;
    w->uses[w->nuses++] = (file_use){file, task};
    return true;
}

/* Lists of identifiers (1.4 and later). */
static bool read_uses(workflow *w, const cJSON *list, uint32_t task, bool output)
{
    const cJSON *item;
    uint32_t file;
    cJSON_ArrayForEach(item,
                       list) if (!file_of(w, text_of(item), &file) || !use_file(w, task, file, output)) return false;
    return true;
}

/* Lists of objects (1.3). */
static bool read_own_files(workflow *w, const cJSON *list, uint32_t task)
{
    const cJSON *item;
    uint32_t file;
    cJSON_ArrayForEach(item, list)
    {
        const char *link = text_of(member(item, "link"));
        if (!link || (strcmp(link, "input") != 0 && strcmp(link, "output") != 0))
            return od_dag_refuse(w->b, "a file that is neither input nor output");
        const char *name = text_of(either(item, "name", "id"));
        if (!file_of(w, name, &file) || !set_size(w, item, file) || !use_file(w, task, file, *link == 'o'))
            return false;
    }
    return true;
}

static int by_file(const void *left, const void *right)
{
    const file_use *a = left, *b = right;
    if (a->file != b->file)
        return a->file < b->file ? -1 : 1;
    return a->task < b->task ? -1 : a->task > b->task;
}

static bool build_data(workflow *w)
{
    uint32_t at = 0;
    if (w->nuses)
        qsort(w->uses, w->nuses, sizeof *w->uses, by_file);
    for (uint32_t f = 0; f < w->names.count; f++) {
        if (!od_dag_build_datum(w->b, w->files[f].bytes, w->files[f].producer, true))
            return false;
        for (; at < w->nuses && w->uses[at].file == f; at++)
            if (w->uses[at].task != w->files[f].producer && !od_dag_build_reader(w->b, w->uses[at].task))
                return false;
    }
    return true;
}

/* --- tasks -------------------------------------------------------------------------------------- */

static bool build_tasks(workflow *w, const cJSON *tasks)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, tasks)
    {
        const char *id = identifier(item), *name = text_of(member(item, "name"));
        double seconds;
        char word[256];
        if (!id)
            return od_dag_refuse(w->b, "a task without id or name");
        snprintf(word, sizeof word, "%s", id);
        for (char *c = word; *c; c++)
            if ((unsigned char)*c <= ' ' || *c == '"' || *c == 127)
                *c = '_';
        uint32_t task = w->b->dag->ntasks;
        if (!number_of(w->b, either(item, "runtimeInSeconds", "runtime"), "the runtime of a task", 1e12, &seconds) ||
            !od_dag_build_task(w->b, word, seconds, 0) || !od_dag_build_alias(w->b, id, task) ||
            (name && !od_dag_build_alias(w->b, name, task)))
            return false;
    }
    return true;
}

static bool read_parents(workflow *w, const cJSON *list, uint32_t task, bool parents)
{
    const cJSON *item;
    uint32_t other;
    cJSON_ArrayForEach(item, list)
    {
        const char *name = text_of(item);
        if (!name)
            return od_dag_refuse(w->b, "a parent or child that is no name");
        if (!od_dag_find_task(w->b, name, &other) ||
            !od_dag_build_order(w->b, parents ? other : task, parents ? task : other))
            return false;
    }
    return true;
}

static bool read_links(workflow *w, const cJSON *tasks)
{
    const cJSON *item;
    uint32_t task = 0;
    cJSON_ArrayForEach(item, tasks)
    {
        if (!read_parents(w, member(item, "parents"), task, true) ||
            !read_parents(w, member(item, "children"), task, false) ||
            !read_uses(w, member(item, "inputFiles"), task, false) ||
            !read_uses(w, member(item, "outputFiles"), task, true) || !read_own_files(w, member(item, "files"), task))
            return false;
        task++;
    }
    return true;
}

static bool read_runtimes(workflow *w, const cJSON *tasks)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, tasks)
    {
        const char *id = identifier(item);
        uint32_t task;
        if (!id)
            return od_dag_refuse(w->b, "a task that was executed has no id");
        if (!od_dag_find_task(w->b, id, &task) ||
            !number_of(w->b, either(item, "runtimeInSeconds", "runtime"), "the runtime of a task", 1e12,
                       &w->b->dag->tasks[task].seconds))
            return false;
    }
    return true;
}

static bool read_sizes(workflow *w, const cJSON *files)
{
    const cJSON *item;
    uint32_t file;
    cJSON_ArrayForEach(item, files) if (!file_of(w, identifier(item), &file) || !set_size(w, item, file)) return false;
    return true;
}

static bool read_root(workflow *w, const cJSON *root)
{
    const cJSON *flow = member(root, "workflow"), *specification = member(flow, "specification");
    const cJSON *tasks = specification ? member(specification, "tasks") : either(flow, "tasks", "jobs");
    if (!cJSON_IsArray(tasks))
        return od_dag_refuse(w->b,
                             "no workflow.specification.tasks and no workflow.tasks: not a workflow of WfCommons");
    return build_tasks(w, tasks) && read_sizes(w, member(specification, "files")) && read_links(w, tasks) &&
           read_runtimes(w, member(member(flow, "execution"), "tasks")) && build_data(w);
}

bool od_dag_read_workflow(od_dag_builder *b, const char *text)
{
    workflow w = {.b = b};
    const char *end = text;
    cJSON *root = cJSON_ParseWithOpts(text, &end, true);
    b->line = 0;
    bool fine = root ? read_root(&w, root) : od_dag_refuse(b, "not JSON from byte %zu on", (size_t)(end - text));
    cJSON_Delete(root);
    od_names_free(&w.names);
    free(w.files);
    free(w.uses);
    return fine;
}
