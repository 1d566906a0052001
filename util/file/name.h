/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Names of files as the user gives them: patterns, so that the processes of a job do not write over each other. */
#ifndef OD_UTIL_FILE_NAME_H
#define OD_UTIL_FILE_NAME_H

#include "util/status.h"

#include <stdbool.h>
#include <stddef.h>

/* The absolute name for `pattern`: %p is the number of this process, %h the name of the machine, %r the rank in a job
 * of several processes (0 where there is none), %q{NAME} what `variable` says of NAME, %% a percent sign. OD_EINVAL:
 * another letter, or a variable that is not set; OD_EIO with errno: too long, or no folder. */
od_status od_file_name(char *name, size_t size, const char *pattern, const char *(*variable)(const char *name));

/* What is wrong with a pattern for which od_file_name() returns OD_EINVAL; it is written to `text`. */
const char *od_file_name_error(const char *pattern, const char *(*variable)(const char *name), char *text, size_t size);

/* True where both are one plain file, which what is written to one would take from the other. Neither need exist. */
bool od_file_is_same(const char *a, const char *b);

#define OD_FILE_IS_PROGRAM "is a program, which would be replaced"
/* An executable or a script: hardly meant where something is to be written. */
bool od_file_is_program(const char *path);

#endif
