/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Lines of text and the numbers in them. */
#include "util/file/lines.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define BYTE_ORDER_MARK "\xef\xbb\xbf" /* UTF-8's, which spreadsheets write */

bool od_refuse_line(od_lines *in, const char *format, ...)
{
    va_list arguments;
    int written = snprintf(in->error, in->size, "line %llu: ", (unsigned long long)in->number);
    va_start(arguments, format);
    if (written > 0 && (size_t)written < in->size)
        vsnprintf(in->error + written, in->size - (size_t)written, format, arguments);
    va_end(arguments);
    return false;
}

bool od_next_line(od_lines *in, const char *comments)
{
    ssize_t length;
    while ((length = getline(&in->text, &in->room, in->file)) >= 0) {
        in->number++;
        if (memchr(in->text, '\0', (size_t)length))
            return od_refuse_line(in, "a zero byte: this is no text, unless it is compressed");
        if (in->number == 1 && strncmp(in->text, BYTE_ORDER_MARK, strlen(BYTE_ORDER_MARK)) == 0)
            memmove(in->text, in->text + 3, (size_t)(length -= 3) + 1);
        while (length > 0 && strchr("\r\n", in->text[length - 1]))
            in->text[--length] = '\0';
        const char *begin = in->text + strspn(in->text, " \t");
        if (*begin && !strchr(comments, *begin))
            return true;
    }
    return false;
}

void od_lines_free(od_lines *in)
{
    free(in->text);
    in->text = NULL;
}

static char *trimmed(char *text)
{
    text += strspn(text, " \t");
    size_t length = strlen(text);
    while (length > 0 && strchr(" \t", text[length - 1]))
        text[--length] = '\0';
    if (length < 2 || *text != '"' || text[length - 1] != '"')
        return text;
    text[length - 1] = '\0';
    return text + 1;
}

size_t od_fields(char *line, char separator, char **fields, size_t most)
{
    char spaces[] = " \t", own[] = {separator, '\0'}, *at = line;
    const char *separators = separator == ' ' ? spaces : own;
    size_t count = 0;
    for (;;) {
        if (separator == ' ')
            at += strspn(at, spaces);
        if (separator == ' ' && !*at)
            return count;
        char *end = at + strcspn(at, separators);
        bool last = !*end;
        *end = '\0';
        if (count++ < most)
            fields[count - 1] = trimmed(at);
        if (last)
            return count;
        at = end + 1;
    }
}

bool od_number(const char *text, double least, double most, double *value)
{
    char *end;
    if (!*text || strspn(text, "0123456789+-.eE") != strlen(text))
        return false;
    *value = strtod(text, &end);
    return !*end && *value >= least && *value <= most;
}
