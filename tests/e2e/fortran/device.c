/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * What flang's kernels call on a device, for LLVM's host devices: LLVM has these functions in its device runtimes for
 * GPUs only. Linked into the device image. A kernel runs on the thread that launches it, as one team; its parallel
 * regions are libomp's, which the process has already.
 */
#include <omp.h>
#include <stdint.h>

int32_t __kmpc_target_init(void *kernel_environment, void *launch_environment);
void __kmpc_target_deinit(void);

enum { IS_MAIN_THREAD = -1 };

int32_t __kmpc_target_init(void *kernel_environment, void *launch_environment)
{
    (void)kernel_environment, (void)launch_environment;
    return IS_MAIN_THREAD;
}

void __kmpc_target_deinit(void)
{
}

/* flang hands all that a region uses over as one argument. */
typedef void (*region)(int32_t *thread, int32_t *zero, void *argument);

void __kmpc_parallel_60(void *ident, int32_t gtid, int32_t condition, int32_t threads, int32_t binding, region body,
                        void *wrapper, void **arguments, int64_t count, int32_t strict);
void __kmpc_parallel_60(void *ident, int32_t gtid, int32_t condition, int32_t threads, int32_t binding, region body,
                        void *wrapper, void **arguments, int64_t count, int32_t strict)
{
    (void)ident, (void)gtid, (void)binding, (void)wrapper, (void)count, (void)strict;
#pragma omp parallel num_threads(threads > 0 ? threads : omp_get_max_threads()) if (condition)
    {
        int32_t thread = omp_get_thread_num(), zero = 0;
        body(&thread, &zero, arguments[0]);
    }
}

/* Loops, in blocks: the first threads get one iteration more where they do not come out even. With one team, those of
 * `distribute parallel do` are those of `parallel do`. */
#define LOOPS(TYPE, SUFFIX)                                                                                            \
    typedef void (*body_##SUFFIX)(TYPE i, void *argument);                                                             \
    static void share_##SUFFIX(body_##SUFFIX body, void *argument, TYPE count)                                         \
    {                                                                                                                  \
        TYPE threads = (TYPE)omp_get_num_threads(), thread = (TYPE)omp_get_thread_num();                               \
        TYPE each = count / threads, rest = count % threads;                                                           \
        TYPE begin = each * thread + (thread < rest ? thread : rest), end = begin + each + (thread < rest);            \
        for (TYPE i = begin; i < end; i++)                                                                             \
            body(i, argument);                                                                                         \
    }                                                                                                                  \
    void __kmpc_for_static_loop_##SUFFIX(void *ident, body_##SUFFIX body, void *argument, TYPE count, TYPE threads,    \
                                         TYPE chunk, uint8_t once);                                                    \
    void __kmpc_for_static_loop_##SUFFIX(void *ident, body_##SUFFIX body, void *argument, TYPE count, TYPE threads,    \
                                         TYPE chunk, uint8_t once)                                                     \
    {                                                                                                                  \
        (void)ident, (void)threads, (void)chunk, (void)once;                                                           \
        share_##SUFFIX(body, argument, count);                                                                         \
    }                                                                                                                  \
    void __kmpc_distribute_for_static_loop_##SUFFIX(void *ident, body_##SUFFIX body, void *argument, TYPE count,       \
                                                    TYPE threads, TYPE block, TYPE chunk, uint8_t once);               \
    void __kmpc_distribute_for_static_loop_##SUFFIX(void *ident, body_##SUFFIX body, void *argument, TYPE count,       \
                                                    TYPE threads, TYPE block, TYPE chunk, uint8_t once)                \
    {                                                                                                                  \
        (void)ident, (void)threads, (void)block, (void)chunk, (void)once;                                              \
        share_##SUFFIX(body, argument, count);                                                                         \
    }

LOOPS(uint32_t, 4u)
LOOPS(uint64_t, 8u)
