/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "dag/read/read.h"

#include "dag/read/formats.h"

#include <stdlib.h>
#include <string.h>

/* All of it, with a zero byte behind; NULL: see *status. */
static char *read_whole(FILE *file, size_t *length, od_status *status)
{
    size_t room = 1 << 16, got;
    char *text = malloc(room);
    *length = 0;
    while (text && (got = fread(text + *length, 1, room - *length - 1, file)) > 0) {
        *length += got;
        if (*length + 1 == room) {
            char *more = realloc(text, room *= 2);
            if (!more)
                free(text);
            text = more;
        }
    }
    *status = !text ? OD_ENOMEM : ferror(file) ? OD_EIO : OD_OK;
    if (text && *status) {
        free(text);
        text = NULL;
    }
    if (text)
        text[*length] = '\0';
    return text;
}

static bool begins_with(const char *text, const char *word)
{
    return strncmp(text, word, strlen(word)) == 0;
}

static bool read_format(od_dag_builder *b, char *text, size_t length)
{
    const char *begin = text + strspn(text, " \t\r\n");
    if (memchr(text, '\0', length))
        return od_dag_refuse(b, "a zero byte: this is no text");
    if (begins_with(text, OD_DAG_TEXT_HEADER) && strchr("\r\n", text[strlen(OD_DAG_TEXT_HEADER)]))
        return od_dag_read_text(b, text);
    if (begins_with(text, "ompdarts-dag "))
        return od_dag_refuse(b, "line 1: not '" OD_DAG_TEXT_HEADER "': another version");
    if (*begin == '{')
        return od_dag_read_workflow(b, begin);
    if (begins_with(begin, "digraph") || begins_with(begin, "strict") || *begin == '/' || *begin == '#')
        return od_dag_read_dot(b, text);
    return od_dag_refuse(b, "neither '" OD_DAG_TEXT_HEADER "' nor DOT nor a workflow in JSON");
}

od_status od_dag_read(FILE *file, od_dag *dag, char *error, size_t size)
{
    od_dag_builder b = {.dag = dag, .error = error, .size = size};
    od_status status;
    size_t length;
    *error = '\0';
    char *text = read_whole(file, &length, &status);
    if (!text)
        return status;
    bool fine = read_format(&b, text, length);
    if (fine && !dag->ntasks)
        fine = od_dag_refuse(&b, "no task");
    if (fine)
        status = od_dag_finish(dag, error, size);
    else
        status = *error ? OD_EINVAL : OD_ENOMEM;
    od_dag_builder_free(&b);
    free(text);
    return status;
}
