/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* See cpu.h. */
#define _GNU_SOURCE 1 /* affinity */
#include "omp_ext/runtime/cpu/cpu.h"

#include "omp_ext/libomp/images.h"
#include "omp_ext/libomp/real.h"
#include "omp_ext/runtime/cpu/alone.h"
#include "omp_ext/runtime/cpu/groups.h"
#include "omp_ext/runtime/internal.h"
#include "omp_ext/tasks/entry.h"
#include "util/clock.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>

/* --- how many ------------------------------------------------------------------ */

unsigned od_cpu_workers(void)
{
    unsigned workers = od_runtime.options.cpu.workers;
    const char *why = od_runtime.mandatory       ? "OMP_TARGET_OFFLOAD=mandatory forbids the host"
                      : od_runtime.single_device && !od_cpu_are_alone() ? "device code has variables of its own"
                                                 : NULL;
    if (workers && why)
        od_log(OD_LOG_WARNING, "runtime", "%s: no CPU workers (OMPDARTS_CPU)", why);
    return why ? 0 : workers;
}

/* Between two looks at what the process uses of the processors, and what is to be left or idle then. */
static const uint64_t look_ns = 10000000;
static const double saturated = 0.1, enough = 0.75; /* processors */

unsigned od_cpu_allowed(void *driver, unsigned given)
{
    static struct {
        uint64_t ns, process_ns;
        double idle; /* processors, between the last two looks */
        unsigned most;
    } last; /* under the lock */
    uint64_t now = od_clock_ns();
    (void)driver;
    if (now - last.ns < look_ns)
        return last.most;
    uint64_t process_ns = od_clock_process_ns();
    double busy = (double)(process_ns - last.process_ns) / (double)(now - last.ns);
    double idle = REAL(omp_get_num_procs)() - busy, lasting = idle < last.idle ? idle : last.idle;
    if (idle < saturated)
        last.most = given ? given - 1 : 0;
    else
        last.most = lasting < enough ? given : given + (unsigned)(lasting + 1 - enough);
    if (!last.ns || last.most > od_runtime.options.cpu.workers)
        last.most = last.ns ? od_runtime.options.cpu.workers : 0;
    last.ns = now;
    last.process_ns = process_ns;
    last.idle = idle;
    return last.most;
}

/* --- where ----------------------------------------------------------------------- */

void od_cpu_bind(void)
{
    static atomic_uint made;
    const od_cpu_choice *cpu = &od_runtime.options.cpu;
    cpu_set_t all, own;
    if (!cpu->workers || cpu->automatic || sched_getaffinity(0, sizeof all, &all))
        return;
    od_cpu_group(&all, cpu->workers, cpu->cores, atomic_fetch_add(&made, 1) % cpu->workers, &own);
    if (CPU_COUNT(&own))
        sched_setaffinity(0, sizeof own, &own);
}

/* --- which kernels ------------------------------------------------------------------ */

/* What clang's name of a kernel says to a user: FUNCTION_lLINE of __omp_offloading_ID_ID_FUNCTION_lLINE. */
static const char *short_name(const char *name)
{
    static const char prefix[] = "__omp_offloading_";
    const char *at = name;
    if (strncmp(name, prefix, sizeof prefix - 1) != 0)
        return name;
    at += sizeof prefix - 1;
    for (int id = 0; id < 2 && at; id++)
        at = strchr(at, '_') ? strchr(at, '_') + 1 : NULL;
    return at ? at : name;
}

const char *od_cpu_kernel_name(const void *kernel)
{
    const char *name = od_images_kernel_name(kernel);
    return name ? short_name(name) : NULL;
}

/* A word of so many characters is the kernel's name, with its line or without. */
static bool names(const char *word, size_t length, const char *kernel)
{
    const char *own = short_name(kernel), *line = NULL;
    for (const char *at = own; (at = strstr(at, "_l")); at++)
        line = at;
    size_t function = line ? (size_t)(line - own) : strlen(own);
    return (strlen(kernel) == length && strncmp(word, kernel, length) == 0) ||
           (strlen(own) == length && strncmp(word, own, length) == 0) ||
           (function == length && strncmp(word, own, length) == 0);
}

/* Calls visit for each name of the list until it answers true, and answers that. */
static bool any_word(bool (*visit)(const char *word, size_t length, void *arg), void *arg)
{
    for (const char *at = od_runtime.options.cpu_exclude; *at;) {
        size_t length = strcspn(at, ",");
        if (length && visit(at, length, arg))
            return true;
        at += length + (at[length] == ',');
    }
    return false;
}

static bool names_this(const char *word, size_t length, void *arg)
{
    return names(word, length, arg);
}

static bool is_excluded(od_entry *entry, const void *kernel)
{
    od_answer answer = atomic_load(&entry->excluded);
    if (answer != OD_NOT_ASKED)
        return answer == OD_YES;
    const char *name = od_images_kernel_name(kernel);
    bool excluded = !name || od_images_kernel_reduces(kernel) || any_word(names_this, (void *)(uintptr_t)name);
    atomic_store(&entry->excluded, excluded ? OD_YES : OD_NO);
    return excluded;
}

double od_cpu_seconds(od_entry *entry, const void *kernel)
{
    if (!od_runtime.options.cpu.workers)
        return 0;
    if (!entry || od_runtime.single_device || is_excluded(entry, kernel))
        return -1;
    return entry->host.mean;
}

/* --- names that no kernel has ---------------------------------------------------------- */

struct search {
    const char *word;
    size_t length;
    bool found;
    char all[1024]; /* names, as far as they fit */
};

static void compare(const char *kernel, void *arg)
{
    struct search *s = arg;
    size_t length = strlen(s->all);
    s->found |= names(s->word, s->length, kernel);
    if (strlen(short_name(kernel)) + length + 3 < sizeof s->all)
        snprintf(s->all + length, sizeof s->all - length, "%s%s", length ? ", " : "", short_name(kernel));
}

static bool check_name(const char *word, size_t length, void *arg)
{
    struct search s = {.word = word, .length = length};
    (void)arg;
    od_images_visit_kernels(compare, &s);
    if (!s.found)
        od_log(OD_LOG_WARNING, "runtime", "OMPDARTS_CPU_EXCLUDE=%.*s: the program has no such kernel; it has %s",
               (int)length, word, s.all);
    return false;
}

void od_cpu_check_names(void)
{
    any_word(check_name, NULL);
}
