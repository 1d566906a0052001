/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The real entry points behind ours, found with dlsym(RTLD_NEXT) once.
 *
 * OD_REAL_FUNCTIONS lists those that must exist: when one is missing, or libomptarget's version is
 * none that we know, the library says so and stays off. Everything is resolved before the first hook runs.
 */
#ifndef OD_OMP_EXT_REAL_H
#define OD_OMP_EXT_REAL_H

#include "omp_ext/libomp/abi.h"

#include <stdbool.h>

#define OD_DATA_ARGS (od_ident *, int64_t, int32_t, void **, void **, int64_t *, int64_t *, void **, void **)
#define OD_DATA_NOWAIT_ARGS                                                                                            \
    (od_ident *, int64_t, int32_t, void **, void **, int64_t *, int64_t *, void **, void **, int32_t, void *, int32_t, \
     void *)

#define OD_STATIC_INIT_ARGS(type, step)                                                                                \
    (od_ident *, int32_t, int32_t, int32_t *, type *, type *, step *, step, step)

/* X(return type, name, parameters) */
#define OD_REAL_FUNCTIONS(X)                                                                                           \
    X(int, __tgt_target_kernel, (od_ident *, int64_t, int32_t, int32_t, void *, od_kernel_args *))                     \
    X(void, __tgt_target_data_begin_mapper, OD_DATA_ARGS)                                                              \
    X(void, __tgt_target_data_end_mapper, OD_DATA_ARGS)                                                                \
    X(void, __tgt_target_data_update_mapper, OD_DATA_ARGS)                                                             \
    X(void, __tgt_target_data_begin_nowait_mapper, OD_DATA_NOWAIT_ARGS)                                                \
    X(void, __tgt_target_data_end_nowait_mapper, OD_DATA_NOWAIT_ARGS)                                                  \
    X(void, __tgt_target_data_update_nowait_mapper, OD_DATA_NOWAIT_ARGS)                                               \
    X(void, __tgt_push_mapper_component, (void *, void *, void *, int64_t, int64_t, void *))                           \
    X(int64_t, __tgt_mapper_num_components, (void *))                                                                  \
    X(void, __tgt_register_lib, (od_bin_desc *))                                                                       \
    X(void, __tgt_unregister_lib, (od_bin_desc *))                                                                     \
    X(void, __tgt_target_nowait_query, (void **))                                                                      \
    X(int32_t, __kmpc_omp_has_task_team, (int32_t))                                                                    \
    X(void **, __kmpc_omp_get_target_async_handle_ptr, (int32_t))                                                      \
    X(void, __tgt_interop_init, (od_ident *, int32_t, void **, int32_t, int32_t, int32_t, od_depend *, int32_t))       \
    X(void, __tgt_interop_use, (od_ident *, int32_t, void **, int32_t, int32_t, od_depend *, int32_t))                 \
    X(void, __tgt_interop_destroy, (od_ident *, int32_t, void **, int32_t, int32_t, od_depend *, int32_t))             \
    X(intptr_t, omp_get_interop_int, (const void *, int, int *))                                                       \
    X(void *, omp_get_interop_ptr, (const void *, int, int *))                                                         \
    X(const char *, omp_get_interop_str, (const void *, int, int *))                                                   \
    X(const char *, omp_get_interop_type_desc, (const void *, int))                                                    \
    X(void *, omp_target_alloc, (size_t, int))                                                                         \
    X(void, omp_target_free, (void *, int))                                                                            \
    X(int, omp_target_memcpy, (void *, const void *, size_t, size_t, size_t, int, int))                                \
    X(int, omp_target_associate_ptr, (const void *, const void *, size_t, size_t, int))                                \
    X(int, omp_target_disassociate_ptr, (const void *, int))                                                           \
    X(int, omp_target_is_present, (const void *, int))                                                                 \
    X(void *, omp_get_mapped_ptr, (const void *, int))                                                                 \
    X(void, __kmpc_omp_task_begin_if0, (od_ident *, int32_t, void *))                                                  \
    X(void, __kmpc_omp_task_complete_if0, (od_ident *, int32_t, void *))                                               \
    X(void, __kmpc_push_num_teams, (od_ident *, int32_t, int32_t, int32_t))                                            \
    X(void, __kmpc_push_num_teams_51, (od_ident *, int32_t, int32_t, int32_t, int32_t))                                \
    X(int, omp_get_thread_limit, (void))                                                                               \
    X(size_t, kmp_get_stacksize_s, (void))                                                                             \
    X(void, omp_set_num_threads, (int))                                                                                \
    X(int, omp_get_num_procs, (void))                                                                                  \
    X(int, omp_get_max_threads, (void))                                                                                \
    X(int, omp_get_dynamic, (void))                                                                                    \
    X(void, omp_set_dynamic, (int))                                                                                    \
    X(int, omp_get_max_active_levels, (void))                                                                          \
    X(void, omp_set_max_active_levels, (int))                                                                          \
    X(void, omp_get_schedule, (int *, int *))                                                                          \
    X(void, omp_set_schedule, (int, int))                                                                              \
    X(int, omp_get_cancellation, (void))                                                                               \
    X(int, omp_in_explicit_task, (void))                                                                               \
    X(int, omp_in_final, (void))                                                                                       \
    X(int, omp_get_num_threads, (void))                                                                                \
    X(int, omp_get_level, (void))                                                                                      \
    X(int, omp_get_num_teams, (void))                                                                                  \
    X(int, omp_get_num_devices, (void))                                                                                \
    X(int, omp_get_initial_device, (void))                                                                             \
    X(int, omp_get_default_device, (void))                                                                             \
    X(void, omp_set_default_device, (int))                                                                             \
    X(int, omp_pause_resource, (int, int))                                                                             \
    X(int, omp_pause_resource_all, (int))                                                                              \
    X(void *, __kmpc_omp_task_alloc, (od_ident *, int32_t, int32_t, size_t, size_t, od_task_entry))                    \
    X(int32_t, __kmpc_omp_task, (od_ident *, int32_t, void *))                                                         \
    X(void, __kmpc_taskloop,                                                                                           \
      (od_ident *, int32_t, void *, int32_t, uint64_t *, uint64_t *, int64_t, int32_t, int32_t, uint64_t, void *))     \
    X(void, __kmpc_taskloop_5,                                                                                         \
      (od_ident *, int32_t, void *, int32_t, uint64_t *, uint64_t *, int64_t, int32_t, int32_t, uint64_t, int32_t,     \
       void *))                                                                                                        \
    X(void *, __kmpc_omp_target_task_alloc, (od_ident *, int32_t, int32_t, size_t, size_t, od_task_entry, int64_t))    \
    X(int32_t, __kmpc_omp_task_with_deps, (od_ident *, int32_t, void *, int32_t, od_depend *, int32_t, od_depend *))   \
    X(int32_t, __kmpc_omp_taskwait, (od_ident *, int32_t))                                                             \
    X(int32_t, __kmpc_omp_taskyield, (od_ident *, int32_t, int32_t))                                                   \
    X(void, __kmpc_omp_taskwait_deps_51, (od_ident *, int32_t, int32_t, od_depend *, int32_t, od_depend *, int32_t))   \
    X(void, __kmpc_omp_wait_deps, (od_ident *, int32_t, int32_t, od_depend *, int32_t, od_depend *))                   \
    X(void, __kmpc_taskgroup, (od_ident *, int32_t))                                                                   \
    X(void, __kmpc_end_taskgroup, (od_ident *, int32_t))                                                               \
    X(void *, __kmpc_task_reduction_get_th_data, (int32_t, void *, void *))                                            \
    X(void, __kmpc_task_reduction_modifier_fini, (od_ident *, int32_t, int32_t))                                       \
    X(void, __kmpc_barrier, (od_ident *, int32_t))                                                                     \
    X(int32_t, __kmpc_masked, (od_ident *, int32_t, int32_t))                                                          \
    X(int32_t, __kmpc_cancel, (od_ident *, int32_t, int32_t))                                                          \
    X(int32_t, __kmpc_cancel_barrier, (od_ident *, int32_t))                                                           \
    X(void, __kmpc_serialized_parallel, (od_ident *, int32_t))                                                         \
    X(void, __kmpc_push_num_threads, (od_ident *, int32_t, int32_t))                                                   \
    X(void, __kmpc_end_serialized_parallel, (od_ident *, int32_t))                                                     \
    X(int32_t, __kmpc_reduce, (od_ident *, int32_t, int32_t, size_t, void *, od_reduction, void *))                    \
    X(int32_t, __kmpc_reduce_nowait, (od_ident *, int32_t, int32_t, size_t, void *, od_reduction, void *))             \
    X(void, __kmpc_end_reduce, (od_ident *, int32_t, void *))                                                          \
    X(void, __kmpc_end_reduce_nowait, (od_ident *, int32_t, void *))                                                   \
    X(void, __kmpc_critical, (od_ident *, int32_t, void *))                                                            \
    X(void, __kmpc_critical_with_hint, (od_ident *, int32_t, void *, uint32_t))                                        \
    X(void, __kmpc_end_critical, (od_ident *, int32_t, void *))                                                        \
    X(void, __kmpc_for_static_init_4, OD_STATIC_INIT_ARGS(int32_t, int32_t))                                           \
    X(void, __kmpc_for_static_init_4u, OD_STATIC_INIT_ARGS(uint32_t, int32_t))                                         \
    X(void, __kmpc_for_static_init_8, OD_STATIC_INIT_ARGS(int64_t, int64_t))                                           \
    X(void, __kmpc_for_static_init_8u, OD_STATIC_INIT_ARGS(uint64_t, int64_t))                                         \
    X(void, __kmpc_copyprivate, (od_ident *, int32_t, size_t, void *, od_copyprivate, int32_t))                        \
    X(void, __kmpc_fork_call_if, (od_ident *, int32_t, void *, int32_t, void *))                                       \
    X(void *, __kmpc_task_allow_completion_event, (od_ident *, int32_t, void *))                                       \
    X(void, omp_fulfill_event, (void *))                                                                               \
    X(int32_t, __kmpc_global_thread_num, (od_ident *))

/* Only code of LLVM 18 and newer calls these, with the libraries of that. */
#define OD_REAL_SINCE_18(X)                                                                                            \
    X(void, __kmpc_set_thread_limit, (od_ident *, int32_t, int32_t))                                                   \
    X(void *, llvm_omp_target_alloc_device, (size_t, int))                                                             \
    X(void, llvm_omp_target_free_device, (void *, int))

typedef struct od_real {
#define X(type, name, parameters) type(*name) parameters;
    OD_REAL_FUNCTIONS(X)
    OD_REAL_SINCE_18(X)
#undef X
    void *__kmpc_fork_call; /* variadic, as the next */
    void *__kmpc_fork_teams;
} od_real;

/* What these two are. */
typedef void (*od_fork_function)(od_ident *, int32_t, void *, ...);

extern od_real od_real_table __attribute__((visibility("hidden")));

typedef int (*od_kernel_function)(od_ident *, int64_t, int32_t, int32_t, void *, od_kernel_args *);
typedef void (*od_data_function)(od_ident *, int64_t, int32_t, void **, void **, int64_t *, int64_t *, void **,
                                 void **);

/* What libomp and libomptarget offer a scheduler: they have it with the series in patches/. NULL where they have
 * not. */
typedef struct od_offered {
    void (*run_body)(void *task);
    void (*complete)(void *task); /* of one that was claimed, whose successors it releases; executes none of them */
    /* libomptarget asks about what compiled code launches, but not about these. handle: NULL, or the kernel may be left
     * running, with what __tgt_target_nowait_query() takes there. */
    int (*launch)(const od_offload_launch *launch, void *const *addresses, void **handle);
    void (*data)(const od_offload_construct *construct);
    od_kernel_function asking_kernel; /* the entry points that ask; the table of the real ones has those that do not */
    od_data_function asking_begin, asking_end, asking_update;
} od_offered;

extern od_offered od_offered_table __attribute__((visibility("hidden")));

/* Resolves the table when the library is loaded. False: not a complete offload runtime; *missing names the first
 * entry point that is not there, NULL means that the program has no offload runtime at all. */
bool od_real_resolve(const char **missing);
/* libomptarget asks from now on: REAL(__tgt_target_kernel) and its kin are these, which do not ask. */
void od_real_use_offered(od_kernel_function kernel, od_data_function begin, od_data_function end,
                         od_data_function update);
/* Resolves what was not there at load time in the libraries that have been opened since, which then stay. False: some
 * entry points are still missing. */
bool od_real_resolve_opened(void);
/* The same; ends the program when `name` still is not. */
void od_real_late(const char *name);

/* "19.1" from the file name of the libomptarget in use, or "" where it does not say. */
const char *od_real_llvm_version(void);
/* LLVM 19, not 22: for what libomptarget does differently. */
bool od_real_is_old(void);

#define REAL(name) (od_real_table.name ? od_real_table.name : (od_real_late(#name), od_real_table.name))

#endif
