/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Lines of words. A task comes before those that name it. */
#include "dag/read/formats.h"

#include <string.h>

static const char blanks[] = " \t\r";

static char *next_word(char **rest)
{
    char *word = *rest + strspn(*rest, blanks), *end = word + strcspn(word, blanks);
    *rest = *end ? end + 1 : end;
    *end = '\0';
    return *word ? word : NULL;
}

static bool needed_word(od_dag_builder *b, char **rest, const char *what, char **word)
{
    *word = next_word(rest);
    return *word || od_dag_refuse(b, "%s is missing", what);
}

static bool end_of_line(od_dag_builder *b, char *rest)
{
    char *word = next_word(&rest);
    return !word || od_dag_refuse(b, "'%.60s' is one word too many", word);
}

static bool read_task(od_dag_builder *b, char *rest)
{
    char *name, *seconds_text, *bytes_text;
    double seconds;
    int64_t bytes = 0;
    if (!needed_word(b, &rest, "the name of the task", &name) ||
        !needed_word(b, &rest, "how many seconds it takes", &seconds_text) ||
        !od_dag_take_seconds(b, seconds_text, &seconds))
        return false;
    bytes_text = next_word(&rest);
    return (!bytes_text || od_dag_take_bytes(b, bytes_text, &bytes)) && end_of_line(b, rest) &&
           od_dag_build_task(b, name, seconds, bytes);
}

static bool read_readers(od_dag_builder *b, char *rest)
{
    for (char *word; (word = next_word(&rest));) {
        uint32_t reader;
        if (!od_dag_find_task(b, word, &reader) || !od_dag_build_reader(b, reader))
            return false;
    }
    return true;
}

static bool read_datum(od_dag_builder *b, char *rest)
{
    char *bytes_text, *name;
    int64_t bytes;
    uint32_t producer = OD_DAG_NONE;
    return needed_word(b, &rest, "how many bytes the datum has", &bytes_text) &&
           od_dag_take_bytes(b, bytes_text, &bytes) && needed_word(b, &rest, "the task that makes it, or -", &name) &&
           (strcmp(name, "-") == 0 || od_dag_find_task(b, name, &producer)) &&
           od_dag_build_datum(b, bytes, producer, false) && read_readers(b, rest);
}

static bool read_lazy(od_dag_builder *b, char *rest)
{
    char *bytes_text;
    int64_t bytes;
    return needed_word(b, &rest, "how many bytes the datum has", &bytes_text) &&
           od_dag_take_bytes(b, bytes_text, &bytes) && od_dag_build_datum(b, bytes, OD_DAG_NONE, true) &&
           read_readers(b, rest);
}

static bool read_order(od_dag_builder *b, char *rest)
{
    char *first, *second;
    uint32_t before, after;
    return needed_word(b, &rest, "the task that comes first", &first) &&
           needed_word(b, &rest, "the task that comes then", &second) && od_dag_find_task(b, first, &before) &&
           od_dag_find_task(b, second, &after) && end_of_line(b, rest) && od_dag_build_order(b, before, after);
}

static bool read_line(od_dag_builder *b, char *line)
{
    static const struct {
        const char *word;
        bool (*read)(od_dag_builder *b, char *rest);
    } kinds[] = {{"task", read_task}, {"data", read_datum}, {"lazy", read_lazy}, {"order", read_order}};
    char *word = next_word(&line);
    if (!word || *word == '#')
        return true;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(word, kinds[i].word) == 0)
            return kinds[i].read(b, line);
    return od_dag_refuse(b, "'%.60s' is none of task, data, lazy, order", word);
}

bool od_dag_read_text(od_dag_builder *b, char *text)
{
    bool fine = true;
    b->line = 1; /* the header */
    for (char *line = strchr(text, '\n'); line && fine;) {
        char *end = strchr(++line, '\n');
        b->line++;
        if (end)
            *end = '\0';
        else if (*line) /* written last by every writer: without it the file is cut off */
            return od_dag_refuse(b, "the last line has no end: the file is cut off");
        fine = read_line(b, line);
        line = end;
    }
    return fine;
}
