/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * What the subcommands of `ompdarts` share: exit codes, errors, finding the
 * library and looking into a program.
 */
#ifndef OD_TOOLS_TOOLS_H
#define OD_TOOLS_TOOLS_H

#include "util/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

#ifndef OMPDARTS_VERSION
#define OMPDARTS_VERSION "0.1.0"
#endif

enum {
    OD_EXIT_FAILURE = 1, /* ompdarts itself failed: out of memory, library not found */
    OD_EXIT_REFUSED = 2, /* the command line, an option or the program was refused */
};

/* Subcommands; argv[0] is the subcommand's name. */
int od_tool_run(int argc, char **argv);
int od_tool_serve(int argc, char **argv);
int od_tool_env(int argc, char **argv);
int od_tool_info(int argc, char **argv);
int od_tool_history(int argc, char **argv);
int od_tool_bench(int argc, char **argv);
int od_tool_sim(int argc, char **argv);
int od_tool_report(int argc, char **argv);
int od_tool_map(int argc, char **argv);
int od_tool_trace(int argc, char **argv);
int od_tool_batch(int argc, char **argv);
int od_tool_analyze(int argc, char **argv);

/* One line on standard error, "ompdarts: …". */
__attribute__((format(printf, 1, 2))) void od_tool_error(const char *format, ...);

/* All options are what the library allows. Else one line on standard error that names what was typed: `typed`, unless
 * it is NULL, says of the row with each number whether that was the option of `ompdarts run`. */
bool od_tool_accept_options(const bool *typed);

struct option; /* getopt.h */
/* What is wrong with the option at which getopt_long() stopped; `result` is what it returned, ':' or '?'. */
void od_tool_bad_option(char *const *argv, int result, const struct option *options);

/* getopt_long() with -h alone beside the long options. 'h': help is asked for; '?': refused, with a message; -1: no
 * more. */
int od_tool_next_option(int argc, char **argv, const struct option *options);

/* Files that a subcommand writes. NULL, false: with a message. */
FILE *od_tool_create(const char *command, const char *name);
bool od_tool_close(const char *command, const char *name, FILE *file, od_status status);

struct cJSON;
/* Prints and frees it. */
od_status od_tool_print_json(struct cJSON *root, FILE *out);

/* `--NAME` or `--NAME=VALUE` for a row of the option table. */
bool od_tool_is_option_of_run(const char *text);

/* The error "unknown <what> '<text>'", with the nearest of `known` (NULL-terminated) or else all of them. */
void od_tool_unknown(const char *what, const char *text, const char *const *known);

/* Of a subcommand that takes one of `known` and has got something else. */
void od_tool_bad_argument(char *const *argv, const char *const *known);

/* fork(): the child's exit status can be had, also where whoever has started the command ignores SIGCHLD. */
pid_t od_tool_fork(void);

/* The file may be run as a program; else errno says why not. */
bool od_tool_may_run(const char *path);

/* There is a file of this name, and traces have such names. */
bool od_tool_may_be_trace(const char *path);

/* The folder of this command. False: not known, see errno. */
bool od_tool_folder(char *path, size_t size);

/* Path of libompdarts.so: beside the command (build tree), else where it is installed. False: in neither place. */
bool od_tool_find_library(char *path, size_t size);

/* Path of a program that the command starts: where it is installed, else in the build tree. False: in neither place. */
bool od_tool_find_helper(const char *name, char *path, size_t size);

typedef enum od_program_kind {
    OD_PROGRAM_OFFLOADS,   /* has device code, or needs libomptarget */
    OD_PROGRAM_PLAIN,      /* an executable without either */
    OD_PROGRAM_GCC,        /* likewise, with GCC's OpenMP runtime */
    OD_PROGRAM_STATIC,     /* linked statically, with device code or without */
    OD_PROGRAM_PRIVILEGED, /* runs with other rights than its caller's */
    OD_PROGRAM_SCRIPT,     /* begins with "#!": what it starts is not known */
    OD_PROGRAM_UNREADABLE, /* executable, but nobody may look into it */
    OD_PROGRAM_FOREIGN,    /* no format that this system runs */
} od_program_kind;

od_program_kind od_program_inspect(const char *path);

#endif
