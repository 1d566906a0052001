/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Kernels. One is executed by its stream's thread, as the function of its name that was compiled for LLVM's host
 * devices. All arguments are words of 8 bytes, addresses or values, whatever device LLVM compiles for.
 */
#include "double.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FUNCTION_MAGIC = 0xc0de0005, MAX_THREADS = 1024, MAX_THREADS_PER_BLOCK = 0 /* CU_FUNC_ATTRIBUTE_... */ };

od_cu_function cd_function_create(od_cu_module module, const cd_symbol *symbol)
{
    od_cu_function function = calloc(1, sizeof *function);
    char *copy = strdup(symbol->name);
    if (!function || !copy) {
        free(function);
        free(copy);
        return NULL;
    }
    *function = (struct od_cu_function_st){.magic = FUNCTION_MAGIC,
                                           .module = module,
                                           .name = copy,
                                           .parameter_bytes = symbol->parameter_bytes,
                                           .code = module->code ? dlsym(module->code, copy) : NULL,
                                           .next = cd.functions};
    return cd.functions = function;
}

static od_cu_result check(od_cu_function function)
{
    if (!function || (uintptr_t)function < CD_PAGE || function->magic != FUNCTION_MAGIC)
        return cd_misuse(OD_CU_INVALID_HANDLE, "%p is no kernel", (void *)function);
    if (!function->module->alive)
        return cd_misuse(OD_CU_INVALID_HANDLE, "the module of %s was unloaded", function->name);
    return OD_CU_SUCCESS;
}

od_cu_result cuFuncGetAttribute(int *value, int attribute, od_cu_function function)
{
    od_cu_result result = cd_enter(CD_cuFuncGetAttribute, CD_CONTEXT);
    if (result)
        return result;
    result = check(function);
    if (!result)
        *value = attribute == MAX_THREADS_PER_BLOCK ? MAX_THREADS : 0;
    return cd_leave(result);
}

od_cu_result cuFuncSetAttribute(od_cu_function function, int attribute, int value)
{
    (void)attribute, (void)value;
    od_cu_result result = cd_enter(CD_cuFuncSetAttribute, CD_CONTEXT);
    return result ? result : cd_leave(check(function));
}

od_cu_result cuFuncGetParamInfo(od_cu_function function, size_t index, size_t *offset, size_t *bytes)
{
    od_cu_result result = cd_enter(CD_cuFuncGetParamInfo, CD_CONTEXT);
    if (result)
        return result;
    result = check(function);
    if (!result && index >= function->parameter_bytes / sizeof(uint64_t))
        result = OD_CU_INVALID_VALUE;
    if (!result) {
        *offset = index * sizeof(uint64_t);
        *bytes = sizeof(uint64_t);
    }
    return cd_leave(result);
}

/* --- launches ----------------------------------------------------------------------- */

/* The arguments in one block, which is copied, with zeros behind it. NULL: these are not the kernel's. */
static uint64_t *copy_arguments(od_cu_function function, void *const *extra)
{
    const void *block = NULL;
    size_t bytes = 0;
    for (; extra && *extra != (void *)CD_LAUNCH_END; extra += 2) {
        if (*extra == (void *)CD_LAUNCH_BUFFER)
            block = extra[1];
        else if (*extra == (void *)CD_LAUNCH_SIZE)
            bytes = *(const size_t *)extra[1];
    }
    uint64_t *words = calloc(CD_MOST_ARGUMENTS, sizeof *words);
    if (!words || bytes < function->parameter_bytes || bytes > CD_MOST_ARGUMENTS * sizeof *words) {
        cd_misuse(0, "%s takes %zu bytes of arguments and gets %zu", function->name, function->parameter_bytes, bytes);
        free(words);
        return NULL;
    }
    if (bytes)
        memcpy(words, block, bytes);
    return words;
}

static bool is_shape(const unsigned *grid, const unsigned *block)
{
    uint64_t threads = (uint64_t)block[0] * block[1] * block[2];
    return grid[0] && grid[1] && grid[2] && threads && threads <= MAX_THREADS;
}

/* The kernel's context must be current, which must be the stream's. */
static od_cu_result launch(od_cu_function function, unsigned blocks, od_cu_stream handle, void *const *extra)
{
    cd_stream *stream;
    od_cu_result result = check(function);
    if (!result)
        result = cd_stream_find(handle, &stream);
    if (!result && cd.settings.stream_context && function->module->context != cd_current())
        result = cd_wrong_context(CD_cuLaunchKernel);
    if (!result && stream->context != function->module->context)
        result = OD_CU_INVALID_HANDLE;
    if (!result)
        result = cd_context_health(stream->context);
    if (result)
        return result;
    cd_op op = {.kind = CD_OP_KERNEL,
                .kernel = function,
                .blocks = blocks,
                .captured = copy_arguments(function, extra)};
    result = op.captured ? cd_stream_submit(stream, &op) : OD_CU_INVALID_VALUE;
    if (result) {
        free(op.captured);
        return result;
    }
    cd.stats.main_launches += getpid() == gettid();
    if (cd.stats.launches++ < cd.settings.launch_waits)
        cd_stream_drain(stream);
    return OD_CU_SUCCESS;
}

od_cu_result cuLaunchKernel(od_cu_function function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                            unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                            od_cu_stream stream, void **params, void **extra)
{
    (void)shared_bytes;
    od_cu_result result = cd_enter(CD_cuLaunchKernel, CD_STREAMS_CONTEXT);
    if (result)
        return result;
    unsigned grid[] = {grid_x, grid_y, grid_z}, block[] = {block_x, block_y, block_z};
    bool is_understood = is_shape(grid, block) && !params;
    return cd_leave(is_understood ? launch(function, grid_x, stream, extra) : OD_CU_INVALID_VALUE);
}

/* --- execution ------------------------------------------------------------------------ */

/* Kernels that have leagues as GPUs do ask how many blocks there are (tests/cuda_toolkit/league.c). */
static void tell_blocks(const cd_op *op)
{
    unsigned *blocks = dlsym(op->kernel->module->code, "cuda_double_blocks");
    if (blocks)
        *blocks = op->blocks;
}

/* More arguments than a function takes do no harm. */
static void compute(const cd_op *op)
{
    void *code = op->kernel->code;
    const uint64_t *w = op->captured;
    tell_blocks(op);
#define EIGHT uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t
    typedef void function(EIGHT, EIGHT, EIGHT, EIGHT, EIGHT, EIGHT, EIGHT, EIGHT);
#undef EIGHT
    function *call;
    memcpy(&call, &code, sizeof call);
#define EIGHT(i) w[i], w[i + 1], w[i + 2], w[i + 3], w[i + 4], w[i + 5], w[i + 6], w[i + 7]
    call(EIGHT(0), EIGHT(8), EIGHT(16), EIGHT(24), EIGHT(32), EIGHT(40), EIGHT(48), EIGHT(56));
#undef EIGHT
}

/* Kernels of one device have their times one after the other, whatever their streams. */
void cd_kernel_execute(cd_stream *stream, const cd_op *op)
{
    double seconds = cd.settings.kernel_s;
    uint64_t *device_end_ns = &stream->context->device->kernel_end_ns;
    uint64_t end_ns = seconds > 0 ? cd_stream_take_time(stream, op, seconds, device_end_ns, NULL) : 0;
    cd.stats.kernels++;
    cd.stats.empty_kernels += !op->kernel->code;
    pthread_mutex_unlock(&cd.lock);
    if (op->kernel->code)
        compute(op);
    if (end_ns)
        cd_sleep_until(end_ns);
    pthread_mutex_lock(&cd.lock);
}
