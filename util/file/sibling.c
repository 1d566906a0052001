/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* See sibling.h. */
#include "util/file/sibling.h"

#include "util/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static FILE *open_of_parent(const char *what)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%ld/%s", (long)getppid(), what);
    return fopen(path, "re");
}

/* In the environment that it was started with; the later changes of a shell are not there. */
static bool parent_has(const char *variable)
{
    const char *value = od_environment(variable);
    FILE *file = value ? open_of_parent("environ") : NULL;
    char *entry = NULL;
    size_t size = 0, length = strlen(variable);
    bool found = false;

    while (file && !found && getdelim(&entry, &size, '\0', file) > 0)
        found = strncmp(entry, variable, length) == 0 && entry[length] == '=' && strcmp(entry + length + 1, value) == 0;
    if (file)
        fclose(file);
    free(entry);
    return found;
}

static double seconds(struct timespec t)
{
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* By the clock of files; -1: unknown. */
static double start_of_parent(void)
{
    enum { FIELDS_BEFORE = 19 }; /* of proc(5)'s starttime, behind the name, which ends with a parenthesis */
    char text[1024];
    unsigned long long ticks = 0;
    struct timespec now, since_boot;
    FILE *file = open_of_parent("stat");
    size_t n = file ? fread(text, 1, sizeof text - 1, file) : 0;

    if (file)
        fclose(file);
    text[n] = '\0';
    const char *at = strrchr(text, ')');
    for (int i = 0; at && i <= FIELDS_BEFORE; i++)
        at = strchr(at + 1, ' ');
    if (!at || sscanf(at, "%llu", &ticks) != 1 || clock_gettime(CLOCK_REALTIME, &now) ||
        clock_gettime(CLOCK_BOOTTIME, &since_boot))
        return -1;
    return seconds(now) - seconds(since_boot) + (double)ticks / (double)sysconf(_SC_CLK_TCK);
}

bool od_file_is_of_sibling(const char *path, const char *variable)
{
    struct stat info;
    if (stat(path, &info) || !S_ISREG(info.st_mode) || !parent_has(variable))
        return false;
    double start = start_of_parent();
    return start >= 0 && seconds(info.st_mtim) >= start;
}
