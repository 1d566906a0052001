/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Tools between libomp and the program. See ompt.h. */
#define _GNU_SOURCE
#include "omp_ext/libomp/ompt.h"

#include "util/options.h"
#include "util/tsan.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

typedef od_ompt_tool *(*start_tool)(unsigned omp_version, const char *runtime_version);

bool od_ompt_present;

/* All but the ids are set once, by the thread that initialises libomp. */
static struct {
    od_ompt_tool *tool;
    od_ompt_lookup lookup;
    int (*set_callback)(int event, od_ompt_function callback);
    int (*get_callback)(int event, od_ompt_function *callback);
    int (*state)(uint64_t *wait_id);
    od_ompt_data *(*thread_data)(void);
    int (*task_info)(int level, int *flags, od_ompt_data **task, void **frame, od_ompt_data **parallel, int *thread);
    od_ompt_function callback[OD_OMPT_EVENTS]; /* the tool's */
    _Atomic uint64_t last_id;                  /* of target constructs that are reported here */
    atomic_bool reports;                       /* libomptarget does: some builds report no target events */
} ompt;

enum { FIRST_ID = 1 << 30 }; /* libomptarget counts its own from 1 */

static _Thread_local struct {
    const void *at;      /* the program's code, of the thread's target construct */
    const void *api;     /* the same, of a call of omp_target_alloc() and its kin */
    unsigned depth;      /* target regions whose begin has been reported and whose end has not */
    unsigned emitted;    /* the depth of one that is reported here; 0: none is */
    od_ompt_data target; /* of that one */
    bool silent;         /* constructs are not reported */
} own;

/* --- addresses -------------------------------------------------------------- */

/* From the linker: the library's code, and what is before it. */
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char etext[] __attribute__((visibility("hidden")));

static bool is_ours(const void *address)
{
    return (const char *)address >= __ehdr_start && (const char *)address < etext;
}

/* libomp's ompt_thread_info_t (LLVM 19, 22): three data, which the tool may reach, then the address from which its
 * entry point was called, and the thread's state. */
typedef struct thread_info {
    od_ompt_data thread, task, target_task;
    const void *from;
    int state;
} thread_info;

od_program_call od_ompt_enter(const void *from)
{
    uint64_t wait_id;
    thread_info *info = ompt.thread_data ? (thread_info *)(void *)ompt.thread_data() : NULL;
    if (!info || info->from || info->state != ompt.state(&wait_id)) /* the last: another layout */
        return (od_program_call){NULL};
    info->from = from;
    return (od_program_call){&info->from};
}

const void *od_ompt_set_at(const void *from)
{
    const void *before = own.at;
    own.at = from;
    return before;
}

const void *od_ompt_set_api_at(const void *from)
{
    const void *before = own.api;
    own.api = from;
    return before;
}

void od_ompt_silence(bool silent)
{
    own.silent = silent;
}

/* The constructs with which devices are opened show whether libomptarget reports any. */
static bool is_silent(void)
{
    if (own.silent)
        atomic_store_explicit(&ompt.reports, true, memory_order_relaxed);
    return own.silent;
}

/* --- callbacks -------------------------------------------------------------- */

#define TOOL(type, event) ((type)ompt.callback[event])

/* Tasks that the library makes are reported: others may follow them. */
static void on_task_create(od_ompt_data *task, const void *frame, od_ompt_data *created, int flags, int has_dependences,
                           const void *from)
{
    TOOL(od_ompt_task_create, OD_OMPT_TASK_CREATE)
    (task, frame, created, flags, has_dependences, is_ours(from) ? NULL : from);
}

static void on_sync_region(int kind, int endpoint, od_ompt_data *parallel, od_ompt_data *task, const void *from)
{
    if (!is_ours(from))
        TOOL(od_ompt_sync_region, OD_OMPT_SYNC_REGION)(kind, endpoint, parallel, task, from);
}

static void on_sync_region_wait(int kind, int endpoint, od_ompt_data *parallel, od_ompt_data *task, const void *from)
{
    if (!is_ours(from))
        TOOL(od_ompt_sync_region, OD_OMPT_SYNC_REGION_WAIT)(kind, endpoint, parallel, task, from);
}

static const void *target_from(const void *from)
{
    return !is_ours(from) ? from : own.api ? own.api : own.at;
}

static void count_depth(int endpoint)
{
    own.depth += endpoint == OD_OMPT_BEGIN ? 1 : own.depth ? -1U : 0;
}

static void on_target(int kind, int endpoint, int device, od_ompt_data *task, uint64_t id, const void *from)
{
    if (is_silent())
        return;
    count_depth(endpoint);
    TOOL(od_ompt_target, OD_OMPT_TARGET)(kind, endpoint, device, task, id, target_from(from));
}

static void on_target_emi(int kind, int endpoint, int device, od_ompt_data *task, od_ompt_data *target_task,
                          od_ompt_data *target, const void *from)
{
    if (is_silent())
        return;
    count_depth(endpoint);
    TOOL(od_ompt_target_emi, OD_OMPT_TARGET_EMI)(kind, endpoint, device, task, target_task, target, target_from(from));
}

/* A region that is reported here. */
static void emit_target(int kind, int endpoint, int device, const void *from)
{
    int flags, thread;
    void *frame;
    od_ompt_data *task = NULL, *parallel;
    if (ompt.task_info)
        ompt.task_info(0, &flags, &task, &frame, &parallel, &thread);
    if (endpoint == OD_OMPT_BEGIN)
        own.target.value = ompt.callback[OD_OMPT_TARGET_EMI] ? 0 : FIRST_ID + atomic_fetch_add(&ompt.last_id, 1);
    count_depth(endpoint);
    own.emitted = endpoint == OD_OMPT_BEGIN ? own.depth : 0;
    if (ompt.callback[OD_OMPT_TARGET_EMI])
        TOOL(od_ompt_target_emi, OD_OMPT_TARGET_EMI)(kind, endpoint, device, task, NULL, &own.target, from);
    else if (ompt.callback[OD_OMPT_TARGET])
        TOOL(od_ompt_target, OD_OMPT_TARGET)(kind, endpoint, device, task, own.target.value, from);
}

/* What the scheduler copies or allocates is part of no construct: a region around it is reported. True where it is. */
static bool is_schedulers(const void *from)
{
    return is_ours(from) && own.depth == 0 && !own.api;
}

/* In a region that is reported here, of which libomptarget knows nothing. */
static bool is_in_emitted(const void *from)
{
    return is_ours(from) && own.emitted && own.depth == own.emitted;
}

static int device_of(int from_device, int to_device)
{
    return to_device >= from_device ? from_device : to_device; /* the host has the highest number */
}

static void on_data_op(uint64_t target, uint64_t op, int type, void *source, int from_device, void *to, int to_device,
                       size_t bytes, const void *from)
{
    bool alone = is_schedulers(from);
    if (alone)
        emit_target(OD_OMPT_KIND_UPDATE, OD_OMPT_BEGIN, device_of(from_device, to_device), NULL);
    TOOL(od_ompt_data_op, OD_OMPT_DATA_OP)
    (is_in_emitted(from) ? own.target.value : target, op, type, source, from_device, to, to_device, bytes,
     alone ? NULL : target_from(from));
    if (alone)
        emit_target(OD_OMPT_KIND_UPDATE, OD_OMPT_END, device_of(from_device, to_device), NULL);
}

static void on_data_op_emi(int endpoint, od_ompt_data *target_task, od_ompt_data *target, uint64_t *op, int type,
                           void *source, int from_device, void *to, int to_device, size_t bytes, const void *from)
{
    static _Thread_local bool alone; /* from the operation's begin to its end */
    if (endpoint == OD_OMPT_BEGIN && (alone = is_schedulers(from)))
        emit_target(OD_OMPT_KIND_UPDATE, OD_OMPT_BEGIN, device_of(from_device, to_device), NULL);
    TOOL(od_ompt_data_op_emi, OD_OMPT_DATA_OP_EMI)
    (endpoint, target_task, is_in_emitted(from) ? &own.target : target, op, type, source, from_device, to, to_device,
     bytes, alone ? NULL : target_from(from));
    if (endpoint == OD_OMPT_END && alone) {
        emit_target(OD_OMPT_KIND_UPDATE, OD_OMPT_END, device_of(from_device, to_device), NULL);
        alone = false;
    }
}

void od_ompt_data_construct(od_ompt_target_kind kind, int endpoint, int device)
{
    if (od_ompt_present && atomic_load_explicit(&ompt.reports, memory_order_relaxed))
        emit_target((int)kind, endpoint, device, own.at);
}

/* --- between libomp and the tool ---------------------------------------------- */

static od_ompt_function wrapper_of(int event)
{
    static const od_ompt_function wrappers[OD_OMPT_EVENTS] = {
        [OD_OMPT_TASK_CREATE] = (od_ompt_function)on_task_create,
        [OD_OMPT_SYNC_REGION] = (od_ompt_function)on_sync_region,
        [OD_OMPT_SYNC_REGION_WAIT] = (od_ompt_function)on_sync_region_wait,
        [OD_OMPT_TARGET] = (od_ompt_function)on_target,
        [OD_OMPT_TARGET_EMI] = (od_ompt_function)on_target_emi,
        [OD_OMPT_DATA_OP] = (od_ompt_function)on_data_op,
        [OD_OMPT_DATA_OP_EMI] = (od_ompt_function)on_data_op_emi,
    };
    return event > 0 && event < OD_OMPT_EVENTS ? wrappers[event] : NULL;
}

OD_TSAN_BEFORE_ALL static int set_callback(int event, od_ompt_function callback)
{
    od_ompt_function wrapper = wrapper_of(event);
    if (wrapper)
        ompt.callback[event] = callback;
    return ompt.set_callback(event, wrapper && callback ? wrapper : callback);
}

static int get_callback(int event, od_ompt_function *callback)
{
    if (wrapper_of(event)) {
        *callback = ompt.callback[event];
        return *callback != NULL;
    }
    return ompt.get_callback(event, callback);
}

static od_ompt_function look_up(const char *name)
{
    if (strcmp(name, "ompt_set_callback") == 0)
        return (od_ompt_function)set_callback;
    if (strcmp(name, "ompt_get_callback") == 0)
        return (od_ompt_function)get_callback;
    return ompt.lookup(name);
}

OD_TSAN_BEFORE_ALL static int initialize(od_ompt_lookup lookup, int initial_device, od_ompt_data *unused)
{
    (void)unused;
    ompt.lookup = lookup;
    ompt.set_callback = (int (*)(int, od_ompt_function))lookup("ompt_set_callback");
    ompt.get_callback = (int (*)(int, od_ompt_function *))lookup("ompt_get_callback");
    ompt.state = (int (*)(uint64_t *))lookup("ompt_get_state");
    ompt.thread_data = (od_ompt_data * (*)(void)) lookup("ompt_get_thread_data");
    ompt.task_info =
        (int (*)(int, int *, od_ompt_data **, void **, od_ompt_data **, int *))lookup("ompt_get_task_info");
    if (!ompt.set_callback || !ompt.get_callback || !ompt.state)
        return ompt.tool->initialize(lookup, initial_device, &ompt.tool->tool_data);
    od_ompt_present = ompt.tool->initialize(look_up, initial_device, &ompt.tool->tool_data) != 0;
    return od_ompt_present;
}

static void finalize(od_ompt_data *unused)
{
    (void)unused;
    if (ompt.tool->finalize)
        ompt.tool->finalize(&ompt.tool->tool_data);
    od_ompt_present = false;
}

/* --- finding the tool --------------------------------------------------------- */

static od_ompt_tool *start(void *symbol, unsigned omp_version, const char *runtime_version)
{
    start_tool function;
    memcpy(&function, &symbol, sizeof function);
    return symbol ? function(omp_version, runtime_version) : NULL;
}

/* As libomp does: the first library of OMP_TOOL_LIBRARIES whose tool wants to run. */
static od_ompt_tool *start_listed(unsigned omp_version, const char *runtime_version)
{
    const char *listed = od_environment("OMP_TOOL_LIBRARIES");
    char *names = listed ? strdup(listed) : NULL, *rest = names;
    od_ompt_tool *tool = NULL;
    for (const char *name; !tool && (name = strsep(&rest, ":"));) {
        void *library = *name ? dlopen(name, RTLD_LAZY) : NULL;
        if (library && !(tool = start(dlsym(library, "ompt_start_tool"), omp_version, runtime_version)))
            dlclose(library);
    }
    free(names);
    return tool;
}

/* libomp calls it before anything else. What it finds without us, and Archer, which it tries last, is as ever. */
od_ompt_tool *ompt_start_tool(unsigned omp_version, const char *runtime_version);
od_ompt_tool *ompt_start_tool(unsigned omp_version, const char *runtime_version)
{
    static od_ompt_tool between = {.initialize = initialize, .finalize = finalize};
    ompt.tool = start(dlsym(RTLD_NEXT, "ompt_start_tool"), omp_version, runtime_version);
    if (!ompt.tool)
        ompt.tool = start_listed(omp_version, runtime_version);
    return ompt.tool ? &between : NULL;
}
