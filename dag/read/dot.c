/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * DOT, as far as it says something of tasks: digraphs without subgraphs. Tasks have `seconds` and `bytes` (of their
 * own); an edge has `bytes`, or none: an order. With `data=again` it reads the datum of the edge before. Other
 * attributes, and defaults for all nodes or edges, say nothing.
 */
#include "dag/read/formats.h"

#include <stdlib.h>
#include <string.h>

typedef enum token_kind { END, WORD, ARROW, SIGN } token_kind;

typedef struct token {
    token_kind kind;
    char sign;  /* of { } [ ] ; , = */
    char *text; /* WORD */
} token;

typedef struct scanner {
    od_dag_builder *b;
    const char *at;
    char *words; /* room for the next word: twice as much as text is left */
    token now;
} scanner;

typedef struct attributes {
    char *seconds, *bytes, *data;
} attributes;

/* --- tokens --------------------------------------------------------------------------------- */

static bool is_word_character(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' ||
           c == '+' || (unsigned char)c >= 128;
}

/* At a minus that belongs to a number, as in -1 or 1e-3. */
static bool is_minus_of_number(const char *at, const char *begin)
{
    return *at == '-' && at[1] >= '0' && at[1] <= '9' && (at == begin || at[-1] == 'e' || at[-1] == 'E');
}

static void skip_to(scanner *s, const char *end)
{
    while (*s->at && strncmp(s->at, end, strlen(end)) != 0)
        s->b->line += *s->at++ == '\n';
    s->at += *s->at ? strlen(end) : 0;
}

static void skip_blanks(scanner *s)
{
    for (;;) {
        if (*s->at && strchr(" \t\r\n", *s->at))
            s->b->line += *s->at++ == '\n';
        else if (strncmp(s->at, "//", 2) == 0 || *s->at == '#')
            s->at += strcspn(s->at, "\n");
        else if (strncmp(s->at, "/*", 2) == 0)
            skip_to(s, "*/");
        else
            return;
    }
}

static void begin_word(scanner *s)
{
    s->now = (token){.kind = WORD, .text = s->words};
}

static void end_word(scanner *s)
{
    *s->words++ = '\0';
}

static bool scan_quoted(scanner *s)
{
    s->at++;
    begin_word(s);
    while (*s->at && *s->at != '"') {
        s->b->line += *s->at == '\n';
        if (*s->at == '\\' && s->at[1] == '"')
            s->at++;
        *s->words++ = *s->at++;
    }
    if (!*s->at)
        return od_dag_refuse(s->b, "a string has no end");
    s->at++;
    end_word(s);
    return true;
}

static bool scan_word(scanner *s)
{
    const char *begin = s->at;
    begin_word(s);
    while (is_word_character(*s->at) || is_minus_of_number(s->at, begin))
        *s->words++ = *s->at++;
    end_word(s);
    return s->at > begin;
}

static bool scan(scanner *s)
{
    skip_blanks(s);
    const char *begin = s->at;
    s->now = (token){.kind = END};
    if (!*s->at)
        return true;
    if (*s->at == '"')
        return scan_quoted(s);
    if (s->at[0] == '-' && (s->at[1] == '>' || s->at[1] == '-')) {
        s->now.kind = ARROW;
        s->at += 2;
        return begin[1] == '>' || od_dag_refuse(s->b, "an edge without direction");
    }
    if (scan_word(s))
        return true;
    s->words--; /* nothing but its end */
    s->now = (token){.kind = SIGN, .sign = *s->at++};
    return strchr("{}[];,=:", *begin) || od_dag_refuse(s->b, "'%c' has no meaning here", *begin);
}

static bool at_sign(const scanner *s, char sign)
{
    return s->now.kind == SIGN && s->now.sign == sign;
}

static bool need_sign(scanner *s, char sign)
{
    return (at_sign(s, sign) || od_dag_refuse(s->b, "no '%c' where one must be", sign)) && scan(s);
}

static bool need_word(scanner *s, char **text)
{
    if (s->now.kind != WORD) {
        od_dag_refuse(s->b, "no name where one must be");
        return false;
    }
    *text = s->now.text;
    return scan(s);
}

/* --- statements --------------------------------------------------------------------------------- */

static bool read_attributes(scanner *s, attributes *a)
{
    while (at_sign(s, '[')) {
        if (!scan(s))
            return false;
        while (!at_sign(s, ']')) {
            char *name, *value;
            if (!need_word(s, &name) || !need_sign(s, '=') || !need_word(s, &value))
                return false;
            if (strcmp(name, "seconds") == 0)
                a->seconds = value;
            else if (strcmp(name, "bytes") == 0)
                a->bytes = value;
            else if (strcmp(name, "data") == 0)
                a->data = value;
            if ((at_sign(s, ',') || at_sign(s, ';')) && !scan(s))
                return false;
        }
        if (!scan(s))
            return false;
    }
    return true;
}

/* Tasks exist from where they are named first. */
static bool task_of(scanner *s, const char *name, uint32_t *task)
{
    uint32_t number = od_names_find(&s->b->names, name);
    if (number == OD_NO_POSITION && !od_dag_build_task(s->b, name, 0, 0))
        return false;
    return od_dag_find_task(s->b, name, task);
}

static bool set_task(scanner *s, uint32_t task, const attributes *a)
{
    od_dag_task *t = &s->b->dag->tasks[task];
    return (!a->seconds || od_dag_take_seconds(s->b, a->seconds, &t->seconds)) &&
           (!a->bytes || od_dag_take_bytes(s->b, a->bytes, &t->bytes));
}

static bool add_edge(scanner *s, uint32_t from, uint32_t to, const attributes *a)
{
    int64_t bytes;
    if (!a->bytes)
        return od_dag_build_order(s->b, from, to);
    if (!od_dag_take_bytes(s->b, a->bytes, &bytes))
        return false;
    /* Edges of one datum follow each other, as our writer has them. */
    const od_dag *dag = s->b->dag;
    const od_dag_datum *last = dag->ndata ? &dag->data[dag->ndata - 1] : NULL;
    bool same = a->data && last && last->producer == from && last->bytes == bytes && strcmp(a->data, "again") == 0;
    return (same || od_dag_build_datum(s->b, bytes, from, false)) && od_dag_build_reader(s->b, to);
}

/* a -> b -> c [...] */
static bool read_edges(scanner *s, uint32_t first)
{
    enum { MOST = 1000 };
    uint32_t path[MOST], count = 1;
    attributes a = {0};
    path[0] = first;
    while (s->now.kind == ARROW) {
        char *name;
        if (count == MOST)
            return od_dag_refuse(s->b, "more than %d edges in one statement", MOST);
        if (!scan(s) || !need_word(s, &name) || !task_of(s, name, &path[count]))
            return false;
        count++;
    }
    bool fine = read_attributes(s, &a);
    for (uint32_t i = 0; i + 1 < count && fine; i++)
        fine = add_edge(s, path[i], path[i + 1], &a);
    return fine;
}

static bool read_statement(scanner *s)
{
    char *name;
    attributes a = {0};
    uint32_t task;
    if (at_sign(s, '{') || !need_word(s, &name))
        return od_dag_refuse(s->b, "a subgraph");
    if (strcmp(name, "subgraph") == 0)
        return od_dag_refuse(s->b, "a subgraph");
    if (at_sign(s, '=')) /* of the graph */
        return scan(s) && need_word(s, &name);
    if (strcmp(name, "graph") == 0 || strcmp(name, "node") == 0 || strcmp(name, "edge") == 0)
        return read_attributes(s, &a);
    if (!task_of(s, name, &task))
        return false;
    if (s->now.kind == ARROW)
        return read_edges(s, task);
    return read_attributes(s, &a) && set_task(s, task, &a);
}

static bool read_graph(scanner *s)
{
    char *name;
    if (!scan(s) || !need_word(s, &name) || (strcmp(name, "strict") == 0 && !need_word(s, &name)))
        return false;
    if (strcmp(name, "digraph") != 0)
        return od_dag_refuse(s->b, "'%.60s' and not 'digraph'", name);
    if ((s->now.kind == WORD && !scan(s)) || !need_sign(s, '{'))
        return false;
    while (!at_sign(s, '}')) {
        if (s->now.kind == END)
            return od_dag_refuse(s->b, "no '}' at the end: the file is cut off");
        if (!read_statement(s) || (at_sign(s, ';') && !scan(s)))
            return false;
    }
    return true;
}

bool od_dag_read_dot(od_dag_builder *b, const char *text)
{
    char *words = malloc(2 * strlen(text) + 2);
    scanner s = {.b = b, .at = text, .words = words};
    b->line = 1;
    bool fine = words && read_graph(&s);
    free(words);
    return fine;
}
