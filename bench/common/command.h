/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Command lines of the benchmark programs: one table of options per program, from which --help is printed as well. */
#ifndef BENCH_COMMON_COMMAND_H
#define BENCH_COMMON_COMMAND_H

#include <stdint.h>

enum { BENCH_EXIT_WRONG = 1, BENCH_EXIT_USAGE = 2 };

#define BENCH_EXIT_CODES "Exit code: 0 right, 1 wrong result, 2 bad command line or not enough memory.\n"

typedef struct bench_option {
    const char *name;     /* without the hyphens */
    const char *argument; /* as --help writes it; NULL: the option takes none */
    const char *help;     /* lines */
    /* Stores the argument in *value. */
    void (*take)(const struct bench_option *option, char *text);
    void *value;
    uint64_t low, high, standard; /* of bench_take_number(); standard: what *value is without the option */
    const char *const *names;     /* of bench_take_choice(), NULL at the end */
} bench_option;

void bench_take_yes(const bench_option *option, char *text);    /* bool: true */
void bench_take_no(const bench_option *option, char *text);     /* bool: false */
void bench_take_text(const bench_option *option, char *text);   /* char * */
void bench_take_number(const bench_option *option, char *text); /* uint64_t within [low, high] */
void bench_take_choice(const bench_option *option, char *text); /* unsigned: which of the names */

typedef struct bench_command {
    const char *usage;           /* the lines up to the options */
    const bench_option *options; /* without --help; no name at the end */
    const char *notes;           /* the lines after the options */
    const char *expected;        /* the arguments besides options, in words */
    int least, most;             /* how many of them */
} bench_command;

/* Applies the options; returns the number of arguments besides them, which are moved to the end of argv. Prints the
 * help, or a message, and ends the program where the command line says so, or is wrong. */
int bench_parse(int argc, char **argv, const bench_command *command);

/* One line "PROGRAM: text" on standard error, then exit with BENCH_EXIT_USAGE. */
__attribute__((format(printf, 1, 2))) _Noreturn void bench_fail(const char *format, ...);

/* `text` as a whole number within [low, high]; anything else ends the program with a message naming `what`. */
uint64_t bench_number(const char *what, const char *text, uint64_t low, uint64_t high);

#endif
