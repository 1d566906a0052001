/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * An OMPT tool, preloaded or named by OMP_TOOL_LIBRARIES (ompt.sh): when the program ends it prints each kind of
 * event with the place in the program that has caused it, once, in order of their names. `strange` are places
 * outside of the program, and data operations outside of a target region. OMPT_TOOL_EMI=1: with the newer
 * callbacks for target events.
 */
#define _GNU_SOURCE
#include "omp_ext/libomp/ompt.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 512, LENGTH = 128 };
enum { MUTEX_RELEASED = 17, MUTEX_ACQUIRE = 26, MUTEX_ACQUIRED = 27, NEST_LOCK = 28 }; /* events, of omp-tools.h */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char seen[MOST][LENGTH];
static int nseen;
static _Thread_local int regions;
static _Thread_local void *in_region;

static void note(const char *text)
{
    pthread_mutex_lock(&lock);
    int i = 0;
    while (i < nseen && strcmp(seen[i], text) != 0)
        i++;
    if (i == nseen && nseen < MOST)
        snprintf(seen[nseen++], LENGTH, "%s", text);
    pthread_mutex_unlock(&lock);
}

static void event(const char *name, int kind, const void *from)
{
    char text[LENGTH];
    Dl_info info;
    const char *slash = from && dladdr(from, &info) && info.dli_fname ? strrchr(info.dli_fname, '/') : NULL;
    if (!from)
        snprintf(text, sizeof text, "%s %d nowhere", name, kind);
    else if (slash && !strstr(slash, ".so"))
        snprintf(text, sizeof text, "%s %d program+0x%zx", name, kind,
                 (size_t)((const char *)from - (const char *)info.dli_fbase));
    else
        snprintf(text, sizeof text, "%s %d %s strange", name, kind, slash ? slash + 1 : "?");
    note(text);
}

static void on_parallel_begin(od_ompt_data *task, const void *frame, od_ompt_data *parallel, unsigned requested,
                              int flags, const void *from)
{
    (void)task, (void)frame, (void)parallel, (void)requested, (void)flags;
    event("parallel_begin", 0, from);
}

static void on_parallel_end(od_ompt_data *parallel, od_ompt_data *task, int flags, const void *from)
{
    (void)parallel, (void)task, (void)flags;
    event("parallel_end", 0, from);
}

static void on_task_create(od_ompt_data *task, const void *frame, od_ompt_data *created, int flags, int has_dependences,
                           const void *from)
{
    (void)task, (void)frame, (void)created, (void)flags, (void)has_dependences;
    event("task_create", 0, from);
}

static void on_sync_region(int kind, int endpoint, od_ompt_data *parallel, od_ompt_data *task, const void *from)
{
    (void)parallel, (void)task;
    event(endpoint == OD_OMPT_BEGIN ? "sync_begin" : "sync_end", kind, from);
}

static void on_sync_wait(int kind, int endpoint, od_ompt_data *parallel, od_ompt_data *task, const void *from)
{
    (void)parallel, (void)task;
    event(endpoint == OD_OMPT_BEGIN ? "wait_begin" : "wait_end", kind, from);
}

static void on_mutex_acquire(int kind, unsigned hint, unsigned how, uint64_t mutex, const void *from)
{
    (void)hint, (void)how, (void)mutex;
    event("mutex_acquire", kind, from);
}

static void on_mutex_acquired(int kind, uint64_t mutex, const void *from)
{
    (void)mutex;
    event("mutex_acquired", kind, from);
}

static void on_mutex_released(int kind, uint64_t mutex, const void *from)
{
    (void)mutex;
    event("mutex_released", kind, from);
}

static void on_nest_lock(int endpoint, uint64_t mutex, const void *from)
{
    (void)mutex;
    event("mutex_nest", endpoint, from);
}

static void target(int kind, int endpoint, int device, const void *from)
{
    if (device < 0 || device > 1000)
        note("target of a device that is none: strange");
    regions += endpoint == OD_OMPT_BEGIN ? 1 : -1;
    event(endpoint == OD_OMPT_BEGIN ? "target_begin" : "target_end", kind, from);
}

static void on_target(int kind, int endpoint, int device, od_ompt_data *task, uint64_t id, const void *from)
{
    (void)task;
    in_region = (void *)(uintptr_t)(endpoint == OD_OMPT_BEGIN ? id : 0);
    if (!id)
        note("target with id 0: strange");
    target(kind, endpoint, device, from);
}

static void on_target_emi(int kind, int endpoint, int device, od_ompt_data *task, od_ompt_data *target_task,
                          od_ompt_data *data, const void *from)
{
    (void)task, (void)target_task;
    if (endpoint == OD_OMPT_BEGIN)
        data->pointer = in_region = &in_region;
    target(kind, endpoint, device, from);
}

static void on_data_op(uint64_t id, uint64_t op, int type, void *source, int from_device, void *to, int to_device,
                       size_t bytes, const void *from)
{
    (void)op, (void)type, (void)source, (void)from_device, (void)to, (void)to_device, (void)bytes;
    if (regions != 1 || !id || id != (uintptr_t)in_region)
        note("data operation outside of its target region: strange");
    event("data_op", 0, from);
}

static void on_data_op_emi(int endpoint, od_ompt_data *target_task, od_ompt_data *data, uint64_t *op, int type,
                           void *source, int from_device, void *to, int to_device, size_t bytes, const void *from)
{
    (void)endpoint, (void)target_task, (void)op, (void)type, (void)source, (void)from_device, (void)to, (void)to_device;
    (void)bytes;
    if (regions != 1 || !data || data->pointer != &in_region)
        note("data operation outside of its target region: strange");
    event("data_op", 0, from);
}

static void on_submit(uint64_t id, uint64_t op, unsigned teams)
{
    (void)id, (void)op, (void)teams;
    note(regions == 1 ? "submit" : "submit outside of a target region: strange");
}

static void on_submit_emi(int endpoint, od_ompt_data *data, uint64_t *op, unsigned teams)
{
    (void)endpoint, (void)data;
    on_submit(0, *op, teams);
}

static int initialize(od_ompt_lookup lookup, int initial_device, od_ompt_data *tool_data)
{
    int (*set)(int, od_ompt_function) = (int (*)(int, od_ompt_function))lookup("ompt_set_callback");
    bool emi = getenv("OMPT_TOOL_EMI") != NULL;
    (void)initial_device;
    if (tool_data->value != 17)
        note("tool_data is not the tool's: strange");
    set(OD_OMPT_PARALLEL_BEGIN, (od_ompt_function)on_parallel_begin);
    set(OD_OMPT_PARALLEL_END, (od_ompt_function)on_parallel_end);
    set(OD_OMPT_TASK_CREATE, (od_ompt_function)on_task_create);
    set(OD_OMPT_SYNC_REGION, (od_ompt_function)on_sync_region);
    set(OD_OMPT_SYNC_REGION_WAIT, (od_ompt_function)on_sync_wait);
    set(MUTEX_ACQUIRE, (od_ompt_function)on_mutex_acquire);
    set(MUTEX_ACQUIRED, (od_ompt_function)on_mutex_acquired);
    set(MUTEX_RELEASED, (od_ompt_function)on_mutex_released);
    set(NEST_LOCK, (od_ompt_function)on_nest_lock);
    set(emi ? OD_OMPT_TARGET_EMI : OD_OMPT_TARGET, emi ? (od_ompt_function)on_target_emi : (od_ompt_function)on_target);
    set(emi ? OD_OMPT_DATA_OP_EMI : OD_OMPT_DATA_OP,
        emi ? (od_ompt_function)on_data_op_emi : (od_ompt_function)on_data_op);
    set(emi ? OD_OMPT_SUBMIT_EMI : OD_OMPT_SUBMIT, emi ? (od_ompt_function)on_submit_emi : (od_ompt_function)on_submit);
    return 1;
}

static int compare(const void *left, const void *right)
{
    return strcmp(left, right);
}

static void finalize(od_ompt_data *tool_data)
{
    (void)tool_data;
    qsort(seen, (size_t)nseen, LENGTH, compare);
    for (int i = 0; i < nseen; i++)
        printf("%s\n", seen[i]);
    fflush(stdout);
}

od_ompt_tool *ompt_start_tool(unsigned omp_version, const char *runtime_version);
od_ompt_tool *ompt_start_tool(unsigned omp_version, const char *runtime_version)
{
    static od_ompt_tool tool = {.initialize = initialize, .finalize = finalize, .tool_data = {.value = 17}};
    (void)omp_version, (void)runtime_version;
    return &tool;
}
