/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "dag/read/builder.h"

#include "util/container/array.h"
#include "util/file/lines.h"
#include "util/options.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void od_dag_builder_free(od_dag_builder *b)
{
    od_names_free(&b->names);
    free(b->tasks);
    b->tasks = NULL;
}

static bool is_control(char c)
{
    return (unsigned char)c < ' ' || c == 127;
}

/* One line, whatever words of the file are in it. */
static void clean(char *text)
{
    for (; *text; text++)
        if (is_control(*text))
            *text = '?';
}

bool od_dag_refuse(od_dag_builder *b, const char *format, ...)
{
    va_list arguments;
    int written = 0;
    if (*b->error)
        return false;
    if (b->line)
        written = snprintf(b->error, b->size, "line %llu: ", (unsigned long long)b->line);
    va_start(arguments, format);
    vsnprintf(b->error + written, b->size - (size_t)written, format, arguments);
    va_end(arguments);
    clean(b->error);
    return false;
}

/* The number of a new name, or of a known one if `known` allows it. */
static bool add_name(od_dag_builder *b, const char *name, uint32_t task, bool known)
{
    uint32_t count = b->names.count, number = od_names_number(&b->names, name);
    if (number == OD_NO_POSITION || !od_array_reserve(&b->tasks, &b->room, (uint64_t)number + 1, sizeof *b->tasks))
        return false;
    if (number < count)
        return known || od_dag_refuse(b, "a second task '%.60s'", name);
    b->tasks[number] = task;
    return true;
}

bool od_dag_build_alias(od_dag_builder *b, const char *name, uint32_t task)
{
    return add_name(b, name, task, true);
}

bool od_dag_build_task(od_dag_builder *b, const char *name, double seconds, int64_t bytes)
{
    bool word = *name != '\0';
    for (const char *c = name; *c; c++)
        word &= !is_control(*c) && *c != ' ' && *c != '"';
    if (!word)
        return od_dag_refuse(b, "a task's name is '%.60s', not one word", name);
    uint32_t task = od_dag_add_task(b->dag, name, seconds, bytes);
    return task != OD_DAG_NONE && add_name(b, name, task, false);
}

bool od_dag_build_datum(od_dag_builder *b, int64_t bytes, uint32_t producer, bool lazy)
{
    return od_dag_add_datum(b->dag, bytes, producer, lazy) != OD_DAG_NONE;
}

bool od_dag_build_reader(od_dag_builder *b, uint32_t task)
{
    return od_dag_add_reader(b->dag, task) != OD_DAG_NONE;
}

bool od_dag_build_order(od_dag_builder *b, uint32_t before, uint32_t after)
{
    return od_dag_add_order(b->dag, before, after) != OD_DAG_NONE;
}

bool od_dag_find_task(od_dag_builder *b, const char *name, uint32_t *task)
{
    uint32_t number = od_names_find(&b->names, name);
    if (number == OD_NO_POSITION)
        return od_dag_refuse(b, "no task '%.60s'", name);
    *task = b->tasks[number];
    return true;
}

bool od_dag_take_seconds(od_dag_builder *b, const char *text, double *seconds)
{
    return od_number(text, 0, 1e12, seconds) || od_dag_refuse(b, "'%.60s': not seconds from 0 to 1e12", text);
}

bool od_dag_take_bytes(od_dag_builder *b, const char *text, int64_t *bytes)
{
    size_t value;
    double number;
    if (od_parse_size(text, &value) != OD_OK) {
        if (!od_number(text, 0, (double)OD_DAG_MOST_BYTES, &number)) /* 1.2e6 */
            return od_dag_refuse(b, "'%.60s': not bytes from 0 to 2^60", text);
        value = (size_t)number;
    }
    *bytes = (int64_t)value;
    return value <= (uint64_t)OD_DAG_MOST_BYTES || od_dag_refuse(b, "'%.60s': more than 2^60 bytes", text);
}
