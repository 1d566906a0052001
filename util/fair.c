/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Time that a process has had. See fair.h. */
#include "util/fair.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

uint64_t od_fair_part(uint64_t elapsed_ns, uint64_t ran_ns, uint64_t waited_ns, unsigned cpus)
{
    double elapsed = (double)elapsed_ns, ran = (double)ran_ns, wanted = ran + (double)waited_ns;
    if (wanted > elapsed * cpus)
        wanted = elapsed * cpus; /* more threads than processors keep each other waiting */
    if (ran >= wanted)
        return elapsed_ns;
    double awake = wanted < elapsed ? wanted : elapsed; /* the rest it slept */
    return (uint64_t)(elapsed - awake + ran / wanted * awake);
}

static uint64_t clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

static void add(od_fair *sum, pid_t process);

static void add_children(od_fair *sum, const char *folder, long thread)
{
    char path[96];
    long child;
    snprintf(path, sizeof path, "%s/%ld/children", folder, thread);
    FILE *file = fopen(path, "re");
    while (file && fscanf(file, "%ld", &child) == 1)
        add(sum, (pid_t)child);
    if (file)
        fclose(file);
}

static void add_thread(od_fair *sum, const char *folder, long thread)
{
    char path[96];
    uint64_t ran, waited;
    snprintf(path, sizeof path, "%s/%ld/schedstat", folder, thread);
    FILE *file = fopen(path, "re");
    if (!file)
        return; /* it has ended */
    if (fscanf(file, "%" SCNu64 " %" SCNu64, &ran, &waited) == 2) {
        sum->ran_ns += ran;
        sum->waited_ns += waited;
    }
    fclose(file);
}

static void add(od_fair *sum, pid_t process)
{
    char folder[48];
    snprintf(folder, sizeof folder, process ? "/proc/%ld/task" : "/proc/self/task", (long)process);
    DIR *threads = opendir(folder);
    for (struct dirent *entry; threads && (entry = readdir(threads));) {
        long thread = strtol(entry->d_name, NULL, 10);
        if (thread <= 0)
            continue;
        add_thread(sum, folder, thread);
        if (sum->with_children)
            add_children(sum, folder, thread);
    }
    if (threads)
        closedir(threads);
}

static od_fair read_now(pid_t process, bool with_children)
{
    od_fair now = {.clock_ns = clock_ns(), .process = process, .with_children = with_children};
    add(&now, process);
    return now;
}

void od_fair_begin(od_fair *fair, pid_t process, bool with_children)
{
    *fair = read_now(process, with_children);
}

/* Sums shrink when threads end. */
static uint64_t grown(uint64_t now, uint64_t before)
{
    return now > before ? now - before : 0;
}

uint64_t od_fair_lap(od_fair *fair)
{
    od_fair before = *fair;
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    *fair = read_now(before.process, before.with_children);
    return od_fair_part(fair->clock_ns - before.clock_ns, grown(fair->ran_ns, before.ran_ns),
                        grown(fair->waited_ns, before.waited_ns), cpus > 0 ? (unsigned)cpus : 1);
}
