/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Threads that have nothing left to do. See quiet.h. */
#define _GNU_SOURCE 1 /* gettid */

#include "omp_ext/process/quiet.h"

#include "util/container/array.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool read_text(long thread, const char *name, char *text, size_t size)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/self/task/%ld/%s", thread, name);
    FILE *file = fopen(path, "re");
    size_t n = file ? fread(text, 1, size - 1, file) : 0;
    text[n] = 0;
    if (file)
        fclose(file);
    return n > 0;
}

/* Its name, which stands before its state, may have any characters. */
static bool read_thread(long id, od_quiet_thread *t)
{
    char stat[512], schedstat[128];
    if (!read_text(id, "stat", stat, sizeof stat) || !read_text(id, "schedstat", schedstat, sizeof schedstat))
        return false;
    const char *state = strrchr(stat, ')');
    t->id = id;
    t->sleeps = state && strlen(state) > 2 && strchr("SZX", state[2]);
    return sscanf(schedstat, "%" SCNu64, &t->ran_ns) == 1;
}

/* All but the caller; false: the kernel does not tell, or out of memory. */
static bool read_all(od_quiet *q)
{
    DIR *threads = opendir("/proc/self/task");
    bool known = threads != NULL;
    q->count = 0;
    for (struct dirent *entry; known && (entry = readdir(threads));) {
        long id = strtol(entry->d_name, NULL, 10);
        od_quiet_thread t;
        if (id <= 0 || id == gettid() || !read_thread(id, &t))
            continue; /* or it has ended */
        known = od_array_reserve(&q->threads, &q->room, (uint64_t)q->count + 1, sizeof *q->threads);
        if (known)
            q->threads[q->count++] = t;
    }
    if (threads)
        closedir(threads);
    return known && q->count;
}

static const od_quiet_thread *find(const od_quiet *q, long id)
{
    for (uint32_t i = 0; i < q->count; i++)
        if (q->threads[i].id == id)
            return &q->threads[i];
    return NULL;
}

static bool spins(const od_quiet *begin, const od_quiet_thread *t)
{
    const od_quiet_thread *then = find(begin, t->id);
    return t->ran_ns - (then ? then->ran_ns : 0) >= OD_QUIET_SPIN_NS;
}

/* Asleep in both and has not run in between: there was a moment at which all of these slept. */
static bool slept(const od_quiet *before, const od_quiet_thread *t)
{
    const od_quiet_thread *then = find(before, t->id);
    return t->sleeps && then && then->sleeps && then->ran_ns == t->ran_ns;
}

void od_quiet_begin(od_quiet *q)
{
    if (!read_all(q))
        od_quiet_end(q);
}

bool od_quiet_lasts(const od_quiet *begin)
{
    od_quiet before = {0}, now = {0};
    bool quiet = true;
    if (begin->count && read_all(&before) && read_all(&now))
        for (uint32_t i = 0; i < now.count; i++)
            quiet = quiet && (slept(&before, &now.threads[i]) || spins(begin, &now.threads[i]));
    od_quiet_end(&before);
    od_quiet_end(&now);
    return quiet;
}

void od_quiet_end(od_quiet *q)
{
    free(q->threads);
    *q = (od_quiet){0};
}
