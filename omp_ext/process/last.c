/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Whether the program has any thread left. See last.h. */
#include "omp_ext/process/last.h"

#include "util/thread.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A main thread that has ended stays, as a zombie, as long as the process has others. */
static bool main_has_ended(void)
{
    char path[64], text[256] = "";
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", (int)getpid());
    FILE *file = fopen(path, "r");
    if (!file)
        return false;
    bool known = fgets(text, sizeof text, file) != NULL;
    fclose(file);
    const char *name_end = strrchr(text, ')'); /* which the name may contain */
    return known && name_end && strncmp(name_end, ") Z", 3) == 0;
}

/* Threads of libomp that one of ours has started have its name, too. */
static bool is_ours(const char *thread)
{
    char path[64], name[sizeof OD_THREAD_PREFIX] = "";
    snprintf(path, sizeof path, "/proc/self/task/%.16s/comm", thread);
    FILE *file = fopen(path, "r");
    if (!file)
        return true; /* it has just ended */
    bool known = fgets(name, sizeof name, file) != NULL;
    fclose(file);
    return known && strcmp(name, OD_THREAD_PREFIX) == 0;
}

/* Beside the main thread; 1 where it is not known. */
static unsigned count_others(void)
{
    unsigned count = 0;
    DIR *threads = opendir("/proc/self/task");
    if (!threads)
        return 1;
    for (struct dirent *entry; (entry = readdir(threads));)
        count += entry->d_name[0] != '.' && atoi(entry->d_name) != getpid() && !is_ours(entry->d_name);
    closedir(threads);
    return count;
}

/* Twice: a thread that ends while the others are looked at may have created another one. */
bool od_only_we_are_left(void)
{
    return main_has_ended() && count_others() == 0 && count_others() == 0;
}
