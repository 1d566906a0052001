/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Lines of text and the numbers in them. */
#ifndef OD_UTIL_FILE_LINES_H
#define OD_UTIL_FILE_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef struct od_lines {
    FILE *file;
    char *text; /* the line, without its end; getline()'s */
    size_t room;
    uint64_t number; /* of the line */
    char *error;     /* one line, where something is refused */
    size_t size;
} od_lines;

/* The next line that is neither empty nor a comment, which begins with one of `comments`. False: no more, or the line
 * holds a zero byte, which `error` then says. */
bool od_next_line(od_lines *in, const char *comments);
void od_lines_free(od_lines *in);

/* Writes the error; false. */
__attribute__((format(printf, 2, 3))) bool od_refuse_line(od_lines *in, const char *format, ...);

/* Up to `most` fields of the line, which is cut into them at `separator`; spaces and quotes around them go. Runs of
 * spaces are one separator. Returns how many there are, perhaps more than `most`. */
size_t od_fields(char *line, char separator, char **fields, size_t most);

/* All of the text is a number between the two. */
bool od_number(const char *text, double least, double most, double *value);

#endif
