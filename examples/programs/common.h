/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * What the example programs share and what has nothing to do with their domains: the command line, memory, random
 * numbers, the checksum, the verdict. Nothing here knows of any scheduler, and neither do the programs.
 */
#ifndef EXAMPLE_COMMON_H
#define EXAMPLE_COMMON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { EXAMPLE_EXIT_WRONG = 1, EXAMPLE_EXIT_USAGE = 2 };

/* One option `--name VALUE`: a whole number within [low, high], or, where `words` is given, one of these words. */
typedef struct example_option {
    const char *name;
    size_t *value; /* holds the default; for words the index of the chosen one */
    size_t low, high;
    const char *const *words; /* NULL-terminated, or NULL for a number */
    const char *help;
} example_option;

/* Reads the command line; --help prints `summary` and the options. A mistake ends the program with a message. */
void example_parse(int argc, char **argv, const char *summary, const example_option *options);

/* One line "PROGRAM: text" on standard error, then exit with EXAMPLE_EXIT_USAGE. */
__attribute__((format(printf, 1, 2))) _Noreturn void example_fail(const char *format, ...);

/* `count` doubles, all 0, aligned for vector units; ends the program where there is no memory. free() it. */
double *example_doubles(size_t count);

/* The next number of a stream, uniform in [0, 1). A stream's state starts with any seed. */
double example_random(uint64_t *state);

/* Prints the checksum of the result's bits and the verdict on a measured error; returns main's exit code. */
int example_verdict(const double *result, size_t count, double error, double allowed);

#endif
