/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * How far the library is in this process: off, to be started at the first construct, on, in the child of a fork, ended.
 * Everything else asks here; what starts it is registered by omp_ext/process/load.c.
 */
#ifndef OD_OMP_EXT_ACTIVITY_H
#define OD_OMP_EXT_ACTIVITY_H

#include <stdatomic.h>
#include <stdbool.h>

extern atomic_bool od_runtime_watches __attribute__((visibility("hidden")));
/* True in programs without an offload runtime, and where the library has been off from the start: hooks forward at
 * once. */
static inline bool od_runtime_is_idle(void)
{
    return !atomic_load_explicit(&od_runtime_watches, memory_order_relaxed);
}

/* True where constructs are to be scheduled; starts everything at the first call. */
bool od_runtime_active(void);
/* True where the library is not off and the program has brought device code. Starts nothing. */
bool od_runtime_offloads(void);
/* True once started, until the process ends. */
bool od_runtime_started(void);
/* True once exit() has been called: constructs that the program meets, and tasks that become ready because it waits for
 * them in an exit handler, are carried out by the thread that meets them. */
bool od_runtime_ending(void);
/* Device code may have gone: tasks that libomp still has are not carried out any more. */
bool od_runtime_drops_tasks(void);
/* Once the process unloads its device code, threads other than the one that ends it do not return from here: what they
 * are about to call is being torn down. They end with the process. */
void od_runtime_settle_if_ended(void);
/* Around what a thread of the program lets libomptarget do: the end of the process waits for it. The first may not
 * return, as od_runtime_settle_if_ended. */
void od_runtime_enter_libomptarget(void);
void od_runtime_leave_libomptarget(void);
/* This is the child of a fork that found threads inside of libomptarget: what they held there stays locked in it. */
bool od_runtime_was_left_inside(void);
/* True once nothing is scheduled any more. */
bool od_runtime_ended(void);
/* Nothing in this program is to be scheduled; before the start. */
void od_runtime_switch_off(const char *why);
/* The program has brought device code. */
void od_runtime_has_images(void);

/* --- for those who change it: load.c, start.c, stop.c ------------------------- */

typedef enum od_activity { OD_UNSTARTED, OD_OFF, OD_ON, OD_FORKED, OD_ENDED } od_activity;

typedef struct od_process {
    atomic_int activity;  /* an od_activity; UNSTARTED once the library has been loaded with all it needs */
    atomic_bool ending;   /* exit() has been called */
    atomic_uint inside;   /* threads of the program that are inside of libomptarget */
    bool left_inside;     /* others were, of the program's or ours, when this process was forked */
    void (*start)(void);  /* at the first construct; leaves OFF or ON */
    void (*revive)(void); /* likewise in the child of a fork */
} od_process;

extern od_process od_process_self __attribute__((visibility("hidden")));
/* How deep the calling thread is inside of libomptarget. */
extern _Thread_local unsigned od_own_inside __attribute__((visibility("hidden"), tls_model("initial-exec")));
/* The calling thread ends the process. */
extern _Thread_local bool od_ends_process __attribute__((visibility("hidden"), tls_model("initial-exec")));

#endif
