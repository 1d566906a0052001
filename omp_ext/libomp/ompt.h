/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Tools (OMPT). A performance tool or a race detector sees events with the address of the program's code that has
 * caused them. As ours stand in front of the runtimes' entry points, these would take our code for the program's.
 * So, where there is a tool:
 *
 *  - a call that a hook passes on says where the program called it from (OD_PROGRAM_CALL), in the place in which
 *    libomp keeps that address and which it fills only where it is empty;
 *  - the callbacks of the tool are wrapped: waits that the library adds are not reported, and target events name the
 *    program's construct;
 *  - data constructs that libomptarget does not get are reported here, and copies of the scheduler's, which belong to
 *    no construct, come inside of a target update of their own.
 *
 * A tool in the program itself, not in a library, is found by libomp without us. Where the program offloads it sees
 * addresses of ours; where it does not, all hooks jump to libomp's entry points, which see the program as their caller.
 */
#ifndef OD_OMP_EXT_OMPT_H
#define OD_OMP_EXT_OMPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The part of LLVM's omp-tools.h that is needed. */
typedef union od_ompt_data {
    uint64_t value;
    void *pointer;
} od_ompt_data;

typedef void (*od_ompt_function)(void);
typedef od_ompt_function (*od_ompt_lookup)(const char *name);

/* Into *function, a pointer to a function of any type; NULL: the runtime has none of this name. */
static inline void od_ompt_find(od_ompt_lookup lookup, const char *name, void *function)
{
    od_ompt_function found = lookup(name);
    memcpy(function, &found, sizeof found);
}

typedef struct od_ompt_tool {
    int (*initialize)(od_ompt_lookup lookup, int initial_device, od_ompt_data *tool_data);
    void (*finalize)(od_ompt_data *tool_data);
    od_ompt_data tool_data;
} od_ompt_tool;

enum { /* events */
       OD_OMPT_PARALLEL_BEGIN = 3,
       OD_OMPT_PARALLEL_END = 4,
       OD_OMPT_TASK_CREATE = 5,
       OD_OMPT_TARGET = 8,
       OD_OMPT_DATA_OP = 9,
       OD_OMPT_SUBMIT = 10,
       OD_OMPT_SYNC_REGION_WAIT = 16,
       OD_OMPT_SYNC_REGION = 23,
       OD_OMPT_TARGET_EMI = 33,
       OD_OMPT_DATA_OP_EMI = 34,
       OD_OMPT_SUBMIT_EMI = 35,
       OD_OMPT_EVENTS = 38,
};

typedef enum od_ompt_target_kind {
    OD_OMPT_KIND_TARGET = 1,
    OD_OMPT_KIND_ENTER_DATA = 2,
    OD_OMPT_KIND_EXIT_DATA = 3,
    OD_OMPT_KIND_UPDATE = 4,
} od_ompt_target_kind;

enum { OD_OMPT_BEGIN = 1, OD_OMPT_END = 2 };

typedef void (*od_ompt_parallel_begin)(od_ompt_data *task, const void *frame, od_ompt_data *parallel,
                                       unsigned requested, int flags, const void *from);
typedef void (*od_ompt_parallel_end)(od_ompt_data *parallel, od_ompt_data *task, int flags, const void *from);
typedef void (*od_ompt_task_create)(od_ompt_data *task, const void *frame, od_ompt_data *created, int flags,
                                    int has_dependences, const void *from);
typedef void (*od_ompt_sync_region)(int kind, int endpoint, od_ompt_data *parallel, od_ompt_data *task,
                                    const void *from);
typedef void (*od_ompt_target)(int kind, int endpoint, int device, od_ompt_data *task, uint64_t id, const void *from);
typedef void (*od_ompt_target_emi)(int kind, int endpoint, int device, od_ompt_data *task, od_ompt_data *target_task,
                                   od_ompt_data *target, const void *from);
typedef void (*od_ompt_data_op)(uint64_t target, uint64_t op, int type, void *source, int from_device, void *to,
                                int to_device, size_t bytes, const void *from);
typedef void (*od_ompt_data_op_emi)(int endpoint, od_ompt_data *target_task, od_ompt_data *target, uint64_t *op,
                                    int type, void *source, int from_device, void *to, int to_device, size_t bytes,
                                    const void *from);
typedef void (*od_ompt_submit)(uint64_t target, uint64_t op, unsigned teams);
typedef void (*od_ompt_submit_emi)(int endpoint, od_ompt_data *target, uint64_t *op, unsigned teams);

/* --- calls that are passed on ------------------------------------------------ */

extern bool od_ompt_present __attribute__((visibility("hidden"))); /* set before the first thread of libomp's runs */

typedef struct od_program_call {
    const void **at; /* libomp's place for the address, of this thread; NULL: nothing to be undone */
} od_program_call;

od_program_call od_ompt_enter(const void *from);

static inline od_program_call od_program_call_begin(const void *from)
{
    return od_ompt_present ? od_ompt_enter(from) : (od_program_call){NULL};
}

static inline void od_program_call_end(od_program_call *call)
{
    if (call->at)
        *call->at = NULL;
}

/* Until the end of the block libomp takes its caller for code at the address; OD_PROGRAM_CALL: at the hook's
 * caller. */
#define OD_PROGRAM_CALL_FROM(from)                                                                                     \
    od_program_call program_call_ __attribute__((cleanup(od_program_call_end), unused)) = od_program_call_begin(from)
#define OD_PROGRAM_CALL OD_PROGRAM_CALL_FROM(__builtin_return_address(0))

/* --- target constructs -------------------------------------------------------- */

const void *od_ompt_set_at(const void *from);
const void *od_ompt_set_api_at(const void *from);

/* The calling thread is about to meet, or to carry out, a target construct at that address: what the thread's
 * target events are said to come from. Returns what it was before. */
static inline const void *od_ompt_at(const void *from)
{
    return od_ompt_present ? od_ompt_set_at(from) : NULL;
}

/* Likewise, of a call of omp_target_alloc() or its kin, which is part of no construct. */
static inline const void *od_ompt_api_at(const void *from)
{
    return od_ompt_present ? od_ompt_set_api_at(from) : NULL;
}

/* The calling thread's constructs are not the program's, and a tool does not get to know of them; or they are again. */
void od_ompt_silence(bool silent);

/* A data construct that libomptarget does not get begins or ends. Nothing without a tool. */
void od_ompt_data_construct(od_ompt_target_kind kind, int endpoint, int device);

#endif
