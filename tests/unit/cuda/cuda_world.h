/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * What tests of the CUDA back-end share. Each test is a child process: the driver's double reads its environment once,
 * and misuse ends the process. The child opens the double and the back-end's module as the library does; that finds the
 * double by its soname.
 */
#ifndef TESTS_UNIT_CUDA_WORLD_H
#define TESTS_UNIT_CUDA_WORLD_H

#include "memmgr/device/cuda/module.h"
#include "tests/cuda_double/functions.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <unistd.h>

/* In the child, where cmocka's assertions are of no use. */
#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #condition);                                  \
            _exit(1);                                                                                                  \
        }                                                                                                              \
    } while (0)

/* What it opens before the module; an old one lacks functions. */
typedef enum cuda_driver {
    CUDA_NONE,
    CUDA_OLD,
    CUDA_DOUBLE,
    CUDA_DOUBLE_AND_BLAS,
    CUDA_DOUBLE_AND_OLD_BLAS,
} cuda_driver;

/* A child process, and how it ended. */
typedef struct cuda_child {
    int status;   /* of waitpid() */
    char *errors; /* what it wrote to standard error */
    cJSON *stats; /* of the double, or NULL */
} cuda_child;

/* Runs the body with these variables, "A=1 B=2"; ends with cuda_child_free(). */
cuda_child cuda_child_run(cuda_driver driver, const char *variables, void (*body)(const void *arg), const void *arg);
void cuda_child_free(cuda_child *child);
/* Asserts that it ended well, that nothing leaked and nothing was misused. */
void cuda_child_assert_clean(const cuda_child *child);
/* How often a function was called; the name without its version. */
unsigned cuda_child_calls(const cuda_child *child, const char *name);
/* Lines on standard error with the text. */
unsigned cuda_child_lines(const cuda_child *child, const char *text);
/* Runs the body on the driver's double and asserts all that. */
void cuda_expect_clean(const char *variables, void (*body)(const void *arg), const void *arg);

/* --- in the child ------------------------------------------------------------------- */

typedef struct cuda_functions {
#define CUDA_MEMBER(member, name, arguments) od_cu_result(*member) arguments;
    OD_CU_FUNCTIONS(CUDA_MEMBER)
    CD_MORE_CU_FUNCTIONS(CUDA_MEMBER)
#undef CUDA_MEMBER
} cuda_functions;

typedef struct cuda_blas_functions {
#define CUDA_MEMBER(member, name, arguments) int(*member) arguments;
    CD_CUBLAS_FUNCTIONS(CUDA_MEMBER)
#undef CUDA_MEMBER
} cuda_blas_functions;

typedef struct cuda_module {
    od_cuda_count_fn *count;
    od_cuda_ordinal_fn *ordinal;
    od_cuda_backend_fn *backend;
} cuda_module;

/* Found for the child's body. */
extern cuda_functions cuda_double;
extern cuda_blas_functions cuda_blas;
extern cuda_module cuda_module_functions;

typedef struct cuda_world {
    od_backend backend;
    od_status status;
    size_t pin_budget, pool_bytes;
    unsigned pin_first; /* 0: 1 */
    bool pin_keep, windows, managed;
    unsigned ndevices;
    int ordinals[8];
    od_log_level log;
} cuda_world;

/* A back-end with its pools; `status` says whether there is one. */
void cuda_world_open(cuda_world *world);
/* Likewise; there must be one. */
cuda_world cuda_world_make(unsigned ndevices, size_t pin_budget, size_t pool_bytes);
void cuda_world_close(cuda_world *world);

/* The address of a byte in a device's pool; the double's device memory can be read. */
unsigned char *cuda_world_pool(const cuda_world *world, unsigned k, size_t offset);
od_status cuda_world_start(cuda_world *world, const od_copy *copy, od_ticket **ticket);
/* Asks until it has ended. */
od_status cuda_world_await(cuda_world *world, od_ticket *ticket);
od_status cuda_world_copy(cuda_world *world, const od_copy *copy);
/* Whole data, or a part of [base, base + size). */
od_copy cuda_to_device(const cuda_world *world, unsigned k, size_t offset, const void *base, size_t size);
od_copy cuda_to_host(const cuda_world *world, unsigned k, size_t offset, void *base, size_t size);

bool cuda_is_pinned(const void *address);
/* Bytes that tell where they are. */
void cuda_fill(void *bytes, size_t size, unsigned seed);
bool cuda_is_filled(const void *bytes, size_t size, unsigned seed);
void *cuda_map(size_t bytes);

#endif
