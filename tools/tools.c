/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What the subcommands share: errors, and finding what is installed beside the command. */
#include "tools/tools.h"

#include "omp_ext/options.h"
#include "util/file/name.h"
#include "util/nearest.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* From the folder of the installed command to that of the library. */
#ifndef OMPDARTS_LIBRARY_SUBDIR
#define OMPDARTS_LIBRARY_SUBDIR "../lib"
#endif
/* To that of the programs that it starts. */
#ifndef OMPDARTS_HELPER_SUBDIR
#define OMPDARTS_HELPER_SUBDIR "../libexec/ompdarts"
#endif

void od_tool_error(const char *format, ...)
{
    char text[2048];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    fprintf(stderr, "ompdarts: %s\n", text);
}

void od_tool_unknown(const char *what, const char *text, const char *const *known)
{
    char all[512] = "", name[256];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(text, "="), text); /* of an option with its value */
    const char *nearest = od_nearest_name(name, known);

    if (nearest) {
        od_tool_error("unknown %s '%s', did you mean '%s'?", what, name, nearest);
        return;
    }
    for (size_t length = 0; *known && length < sizeof all; known++)
        length += (size_t)snprintf(all + length, sizeof all - length, " %s", *known);
    od_tool_error("unknown %s '%s'; there are:%s", what, name, all);
}

/* What `text` has before its value is one of the words. */
static bool is_known(const char *text, const char *const *known)
{
    size_t length = strcspn(text, "=");
    while (*known && (strlen(*known) != length || memcmp(*known, text, length) != 0))
        known++;
    return *known;
}

void od_tool_bad_argument(char *const *argv, const char *const *known)
{
    for (size_t i = 1; argv[i]; i++) {
        bool found = false;
        for (size_t j = 0; known[j]; j++)
            found |= strcmp(argv[i], known[j]) == 0;
        if (!found && is_known(argv[i], known))
            od_tool_error("option '%.*s' takes no value", (int)strcspn(argv[i], "="), argv[i]);
        else if (!found)
            od_tool_unknown("argument", argv[i], known);
        if (!found)
            return;
    }
    od_tool_error("%s takes one argument", argv[0]);
}

/* The variable that a message begins with, or names behind "the same file as", becomes the option, which is shorter. */
static void name_as_typed(char *error, const od_option_spec *row)
{
    static const char *const ends[] = {"=", ";"};
    char variable[64], option[64];
    int length = snprintf(option, sizeof option, "--%s", row->long_option);

    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        snprintf(variable, sizeof variable, "%s%s", row->name, ends[i]);
        char *place = strstr(error, variable);
        if (!place || (i == 0 && place > error))
            continue;
        const char *rest = place + strlen(row->name);
        memcpy(place, option, (size_t)length);
        memmove(place + length, rest, strlen(rest) + 1);
    }
}

/* Else a letter was forgotten. */
static bool is_memory(size_t bytes)
{
    enum { LEAST = 1000 };
    if (bytes && bytes < LEAST)
        od_tool_error("OMPDARTS_MEM (--mem): only %zu bytes, did you mean %zuG?", bytes, bytes);
    return !bytes || bytes >= LEAST;
}

bool od_tool_accept_options(const bool *typed)
{
    od_options options;
    char error[OD_OPTION_ERROR];
    const od_option_spec *row;

    if (od_options_parse(&options, error, sizeof error) == OD_OK)
        return is_memory(options.memory.limit);
    for (size_t i = 0; typed && (row = od_option_row(od_all_options, i)); i++)
        if (typed[i])
            name_as_typed(error, row);
    od_tool_error("%s", error);
    return false;
}

bool od_tool_is_option_of_run(const char *text)
{
    const od_option_spec *row;
    char name[64];
    for (size_t i = 0; strncmp(text, "--", 2) == 0 && (row = od_option_row(od_all_options, i)); i++) {
        int length = snprintf(name, sizeof name, "--%s", row->long_option);
        if (strncmp(text, name, (size_t)length) == 0 && (!text[length] || text[length] == '='))
            return true;
    }
    return false;
}

static void unknown_long_option(const char *text, const struct option *options)
{
    enum { MOST = 64 };
    char names[MOST][32], name[64], instead[128];
    const char *known[MOST + 1];
    size_t count = 0;

    for (; options[count].name && count < MOST; count++) {
        snprintf(names[count], sizeof names[count], "--%s", options[count].name);
        known[count] = names[count];
    }
    known[count] = NULL;
    snprintf(name, sizeof name, "%.*s", (int)strcspn(text, "="), text);
    if (od_option_replacement(od_all_options, name, instead, sizeof instead) && is_known(instead, known))
        od_tool_error("unknown option '%s', write '%s'", name, instead);
    else
        od_tool_unknown("option", text, known);
}

/* "-mem" is no group of letters. */
static bool meant_long(const char *text, const struct option *options)
{
    size_t length = strcspn(text + 1, "=");

    while (options->name && (strlen(options->name) != length || strncmp(options->name, text + 1, length) != 0))
        options++;
    if (options->name)
        od_tool_error("unknown option '%.*s', did you mean '-%.*s'?", (int)length + 1, text, (int)length + 1, text);
    return options->name;
}

void od_tool_bad_option(char *const *argv, int result, const struct option *options)
{
    const char *text = argv[optind - 1], *next = argv[optind];
    bool is_long = strncmp(text, "--", 2) == 0;

    if (optopt && optopt < 256 && next && next[0] == '-' && next[1] != '-' && strchr(next, optopt))
        text = next, is_long = false; /* one of several letters: getopt has not gone on yet */
    if (!is_long && strlen(text) > 2 && meant_long(text, options))
        return;
    if (!is_long)
        od_tool_error(result == ':' ? "option '-%c' needs a value" : "unknown option '-%c'; --help lists all", optopt);
    else if (result == ':')
        od_tool_error("option '%s' needs a value", text);
    else if (optopt)
        od_tool_error("option '%.*s' takes no value", (int)strcspn(text, "="), text);
    else
        unknown_long_option(text, options);
}

pid_t od_tool_fork(void)
{
    signal(SIGCHLD, SIG_DFL);
    return fork();
}

bool od_tool_may_run(const char *path)
{
    struct stat info;

    if (stat(path, &info) != 0)
        return false;
    errno = S_ISDIR(info.st_mode) ? EISDIR : EACCES;
    return S_ISREG(info.st_mode) && access(path, X_OK) == 0;
}

bool od_tool_may_be_trace(const char *path)
{
    const char *type = strrchr(path, '.');

    return type && strcmp(type, ".json") == 0 && access(path, F_OK) == 0;
}

bool od_tool_folder(char *path, size_t size)
{
    ssize_t length = readlink("/proc/self/exe", path, size - 1);

    if (length < 0)
        return false;
    path[length] = '\0';
    *strrchr(path, '/') = '\0';
    return true;
}

bool od_tool_find_library(char *path, size_t size)
{
    static const char *const folders[] = {".", OMPDARTS_LIBRARY_SUBDIR};
    char command_path[PATH_MAX];

    if (!od_tool_folder(command_path, sizeof command_path))
        return false;
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        char candidate[2 * PATH_MAX], resolved[PATH_MAX];
        snprintf(candidate, sizeof candidate, "%s/%s/libompdarts.so", command_path, folders[i]);
        if (realpath(candidate, resolved) && (size_t)snprintf(path, size, "%s", resolved) < size)
            return true;
    }
    return false;
}

bool od_tool_find_helper(const char *name, char *path, size_t size)
{
    /* In the build tree the simulator lies beside this command, the kernels in bench/. */
    static const char *const folders[] = {OMPDARTS_HELPER_SUBDIR, "bench", "."};
    char command_path[PATH_MAX];

    if (!od_tool_folder(command_path, sizeof command_path))
        return false;
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        if ((size_t)snprintf(path, size, "%s/%s/%s", command_path, folders[i], name) < size && access(path, X_OK) == 0)
            return true;
    return false;
}

int od_tool_next_option(int argc, char **argv, const struct option *options)
{
    int option = getopt_long(argc, argv, ":h", options, NULL);
    if (option != '?' && option != ':')
        return option;
    od_tool_bad_option(argv, option, options);
    return '?';
}

/* --- files -------------------------------------------------------------------------------- */

FILE *od_tool_create(const char *command, const char *name)
{
    bool is_program = od_file_is_program(name);
    FILE *file = is_program ? NULL : fopen(name, "we");
    if (!file)
        od_tool_error("%s: %s: %s", command, name, is_program ? OD_FILE_IS_PROGRAM : strerror(errno));
    return file;
}

bool od_tool_close(const char *command, const char *name, FILE *file, od_status status)
{
    bool failed = ferror(file) | (fclose(file) != 0);
    if (failed || status)
        od_tool_error("%s: %s: %s", command, name, status ? od_status_text(status) : strerror(errno));
    return !failed && !status;
}

od_status od_tool_print_json(cJSON *root, FILE *out)
{
    char *text = cJSON_Print(root);
    if (text)
        fprintf(out, "%s\n", text);
    cJSON_Delete(root);
    free(text);
    return text ? OD_OK : OD_ENOMEM;
}
