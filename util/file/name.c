/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* See name.h. */
#include "util/file/name.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct name {
    char *text;
    size_t length, size;
    bool cut;
    const char *(*variable)(const char *name);
} name;

static void append(name *n, const char *text, size_t length)
{
    n->cut |= length >= n->size - n->length;
    if (n->cut)
        return;
    memcpy(n->text + n->length, text, length);
    n->length += length;
    n->text[n->length] = '\0';
}

/* `at` is behind "%q": where "{NAME}" ends, or NULL. */
static const char *append_variable(name *n, const char *at)
{
    char variable[128];
    size_t length = *at == '{' ? strcspn(at, "}") : 0;
    if (length < 2 || at[length] != '}' || length > sizeof variable)
        return NULL;
    memcpy(variable, at + 1, length - 1);
    variable[length - 1] = '\0';
    const char *value = n->variable(variable);
    if (value)
        append(n, value, strlen(value));
    return value ? at + length + 1 : NULL;
}

/* As Open MPI, MPICH and others, and Slurm tell it to their processes. */
static const char *rank_of(const name *n)
{
    static const char *const variables[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"};
    const char *rank = NULL;
    for (size_t i = 0; !rank && i < sizeof variables / sizeof *variables; i++)
        rank = n->variable(variables[i]);
    return rank ? rank : "0";
}

/* `at` is behind a percent sign: where the pattern goes on, or NULL. */
static const char *append_special(name *n, const char *at)
{
    char text[256] = "";
    switch (*at) {
    case 'p':
        snprintf(text, sizeof text, "%ld", (long)getpid());
        break;
    case 'h':
        if (gethostname(text, sizeof text - 1))
            return NULL;
        break;
    case 'r':
        snprintf(text, sizeof text, "%s", rank_of(n));
        break;
    case '%':
        snprintf(text, sizeof text, "%%");
        break;
    case 'q':
        return append_variable(n, at + 1);
    default:
        return NULL;
    }
    append(n, text, strlen(text));
    return at + 1;
}

od_status od_file_name(char *text, size_t size, const char *pattern, const char *(*variable)(const char *name))
{
    name n = {.text = text, .size = size, .variable = variable};
    char folder[PATH_MAX];
    if (*pattern != '/') {
        if (!getcwd(folder, sizeof folder))
            return OD_EIO;
        append(&n, folder, strlen(folder));
        append(&n, "/", 1);
    }
    while (*pattern) {
        size_t plain = strcspn(pattern, "%");
        append(&n, pattern, plain);
        pattern += plain;
        if (*pattern && !(pattern = append_special(&n, pattern + 1)))
            return OD_EINVAL;
    }
    if (!n.cut)
        return OD_OK;
    errno = ENAMETOOLONG;
    return OD_EIO;
}

const char *od_file_name_error(const char *pattern, const char *(*variable)(const char *name), char *text, size_t size)
{
    char scratch[PATH_MAX];
    const char *at = pattern, *next;
    name n = {.text = scratch, .size = sizeof scratch, .variable = variable};
    while ((at = strchr(at, '%')) && (next = append_special(&n, at + 1)))
        at = next;
    size_t length = at && at[1] == 'q' ? strcspn(at, "}") : 0;
    if (length && at[length] && at[2] == '{')
        snprintf(text, size, "the variable %.*s is not set", (int)(length < 128 ? length - 3 : 128), at + 3);
    else
        snprintf(text, size, "%.2s is no known pattern (%%%% is a percent sign)", at ? at : "");
    return text;
}

/* Its folder as the system knows it, and the last part. */
static bool resolve(const char *path, char folder[PATH_MAX], const char **last)
{
    char text[PATH_MAX];
    const char *slash = strrchr(path, '/');
    snprintf(text, sizeof text, "%.*s", slash ? (int)(slash - path) + 1 : 1, slash ? path : ".");
    *last = slash ? slash + 1 : path;
    return realpath(text, folder);
}

bool od_file_is_same(const char *a, const char *b)
{
    struct stat of_a, of_b;
    char folder_a[PATH_MAX], folder_b[PATH_MAX];
    const char *last_a, *last_b;
    bool a_exists = stat(a, &of_a) == 0, b_exists = stat(b, &of_b) == 0;
    if (a_exists && b_exists)
        return S_ISREG(of_a.st_mode) && of_a.st_dev == of_b.st_dev && of_a.st_ino == of_b.st_ino;
    return !a_exists && !b_exists && resolve(a, folder_a, &last_a) && resolve(b, folder_b, &last_b) &&
           strcmp(folder_a, folder_b) == 0 && strcmp(last_a, last_b) == 0;
}

bool od_file_is_program(const char *path)
{
    char magic[4] = "";
    struct stat info;
    if (stat(path, &info) != 0 || !S_ISREG(info.st_mode))
        return false;
    FILE *file = fopen(path, "re");
    size_t read = file ? fread(magic, 1, sizeof magic, file) : 0;
    if (file)
        fclose(file);
    return (read >= 4 && memcmp(magic, "\177ELF", 4) == 0) || (read >= 2 && memcmp(magic, "#!", 2) == 0);
}
