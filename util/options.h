/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Options: tables of rows, each with name, type, default, unit, allowed values and help.
 *
 * Each layer has its own table (sched/options.h, memmgr/options.h); omp_ext/options.h puts them together. The
 * tables drive parsing, `ompdarts env`, the manual page and the warning about unknown OMPDARTS_ names. options.c is the
 * only code of the project that reads the environment.
 */
#ifndef OD_UTIL_OPTIONS_H
#define OD_UTIL_OPTIONS_H

#include "util/log.h"
#include "util/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OD_OPTION_PREFIX "OMPDARTS_"

enum { OD_OPTION_PATH = 1024, OD_OPTION_ERROR = 1024 }; /* bytes of a path, of a message */

/* A name that somebody may try, without the prefix, and what is to be written: "WORKING", "WHICH:ACTIVE". */
typedef struct od_option_hint {
    const char *name;
    const char *value;
} od_option_hint;

/* One row of a table; a row without a name ends it. */
typedef struct od_option_spec od_option_spec;
struct od_option_spec {
    const char *name;            /* "OMPDARTS_SCHED" */
    const char *long_option;     /* "sched" for `ompdarts run --sched`: the same word */
    const char *type;            /* "name", "size", "integer", "number", "choice", "path", "flag", "words" */
    const char *default_value;   /* as a user would write it */
    const char *unit;            /* "bytes", "tasks", "s", "" */
    const char *allowed;         /* "auto|strict|depend" for a choice, else words: "a whole number from 1 to 10" */
    const char *help;            /* one sentence */
    const od_option_hint *hints; /* up to one without a name; NULL: none */

    /* Turns text into the value of the member at `member` of the layer's struct. On failure it may say in `cause` what
     * is wrong and what is allowed; else the message says it with the row's own words. */
    od_status (*parse)(const od_option_spec *spec, const char *text, void *value, char *cause, size_t size);
    size_t member;
};

/* Tables, up to NULL. */
typedef const od_option_spec *const *od_option_tables;

/* The row with this number, counted through all tables; NULL: there are fewer. */
const od_option_spec *od_option_row(od_option_tables tables, size_t number);

/* Reads the environment: values[i] is the struct that tables[i] fills. An empty variable counts as unset. On failure:
 * OD_EINVAL and a one-line message that names the variable, the value and what is allowed. */
od_status od_option_read(od_option_tables tables, void *const *values, char *error, size_t error_size);

/* Logs a warning for each OMPDARTS_ variable that no table has. */
void od_option_warn_unknown(od_option_tables tables);

/* What to write instead of a name that has gone or that others use: `--devices=WHICH:ACTIVE` for a name that begins
 * with `--`, else the variable. False: there is nothing to say of it. */
bool od_option_replacement(od_option_tables tables, const char *name, char *text, size_t size);

/* The message of a value that is not allowed, in one line: NAME=VALUE: CAUSE, long values cut. */
void od_option_refuse(const char *name, const char *text, const char *cause, char *error, size_t error_size);

/* The table of this layer: LOG, whose struct is an od_log_level. */
extern const od_option_spec od_log_option_rows[];

/* --- for the tables: parsers of rows -------------------------------------------------- */

/* The value is the position of the word in `allowed`, as unsigned: enums follow that order. `0` means `off`. */
od_status od_option_choice(const od_option_spec *spec, const char *text, void *value, char *cause, size_t size);
/* 0 or 1, into a bool. */
od_status od_option_flag(const od_option_spec *spec, const char *text, void *value, char *cause, size_t size);
/* Seconds, into a double. */
od_status od_option_seconds(const od_option_spec *spec, const char *text, void *value, char *cause, size_t size);
#define OD_FILE_ALLOWED                                                                                                \
    "in a folder that can be written; in its name %p is the process, %h the machine, %r the rank, %q{NAME} the "       \
    "environment variable NAME"
/* 0 or a file that can be written, into char[OD_OPTION_PATH]: absolute, so that a program that changes its folder does
 * not move it; "": none. */
od_status od_option_path(const od_option_spec *spec, const char *text, void *value, char *cause, size_t size);

/* Parts of a value: WORD or WORD=VALUE, separated by commas; a word that comes again counts anew. */
typedef struct od_option_word {
    const char *name; /* NULL: the end of the list */
    od_status (*take)(const char *text, void *value); /* `text` NULL: the word alone */
} od_option_word;

/* Reads them into `value`; says in `cause` which of them is not allowed. */
od_status od_option_words(const od_option_spec *spec, const char *text, const od_option_word *words, void *value,
                          char *cause, size_t size);

/* --- parsers of text ---------------------------------------------------------------------- */

/* Sizes: powers of ten for K, M, G, T and powers of
 * two for Ki, Mi, Gi, Ti; a bare number is bytes. A fraction (1.5G) and a trailing B are
 * allowed; parts of a byte are cut off. OD_EINVAL when malformed, negative or too large for size_t. */
od_status od_parse_size(const char *text, size_t *bytes);

/* Digits alone. */
od_status od_parse_integer(const char *text, uint64_t least, uint64_t most, uint64_t *value);
/* Likewise, from 1 to `most`. */
od_status od_parse_count(const char *text, uint32_t most, uint32_t *count);

#define OD_MOST_SECONDS "1000000"
/* From 0 to OD_MOST_SECONDS, without sign or exponent. */
od_status od_parse_seconds(const char *text, double *seconds);

/* --- the environment -------------------------------------------------------------------------- */

/* The value of environment variable `name`, or NULL: for the few names that are
 * not ours (OMP_TARGET_OFFLOAD); kept here so that only this file calls getenv. */
const char *od_environment(const char *name);

/* Like it, but NULL in a program that runs with other rights than its caller's (AT_SECURE: setuid, setgid, file
 * capabilities): for names of files, which would be written or loaded with these rights. Our own variables count as
 * unset there, too. */
const char *od_environment_trusted(const char *name);

/* `ompdarts run` to the library: the process that ignores SIGUSR1 since nobody is there yet to answer it. */
#define OD_IGNORES_SIGUSR1 "_OMPDARTS_IGNORES_SIGUSR1"

/* Sets environment variable `name` of this process to `value` where the user has not set it. */
void od_environment_default(const char *name, const char *value);

#endif
