/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* See cuda_world.h. */
#define _GNU_SOURCE
#include "tests/unit/cuda/cuda_world.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

#include <cmocka.h>

enum { CHILD_SECONDS = 240 };

cuda_functions cuda_double;
cuda_blas_functions cuda_blas;
cuda_module cuda_module_functions;

/* --- child processes ------------------------------------------------------------- */

static void find(void *library, const char *name, void *pointer)
{
    void *symbol = dlsym(library, name);
    CHECK(symbol);
    memcpy(pointer, &symbol, sizeof symbol);
}

static void *open_library(const char *path)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        fprintf(stderr, "%s\n", dlerror());
    CHECK(library);
    return library;
}

static void open_libraries(cuda_driver driver)
{
    void *library = NULL;
    if (driver == CUDA_OLD)
        open_library(TEST_OLD_DRIVER);
    if (driver == CUDA_DOUBLE_AND_OLD_BLAS)
        open_library(TEST_OLD_CUBLAS);
    if (driver >= CUDA_DOUBLE) {
        library = open_library(TEST_CUDA_DOUBLE);
#define FIND(member, name, arguments) find(library, #name, &cuda_double.member);
        OD_CU_FUNCTIONS(FIND)
        CD_MORE_CU_FUNCTIONS(FIND)
#undef FIND
    }
    if (driver == CUDA_DOUBLE_AND_BLAS) {
        library = open_library(TEST_CUBLAS_DOUBLE);
#define FIND(member, name, arguments) find(library, #name, &cuda_blas.member);
        CD_CUBLAS_FUNCTIONS(FIND)
#undef FIND
    }
    library = open_library(TEST_CUDA_MODULE);
    find(library, "ompdarts_cuda_v1_count", &cuda_module_functions.count);
    find(library, "ompdarts_cuda_v1_ordinal", &cuda_module_functions.ordinal);
    find(library, "ompdarts_cuda_v1_backend", &cuda_module_functions.backend);
}

static void set_variables(const char *variables)
{
    char *text = strdup(variables), *rest = text;
    for (char *one = strtok_r(text, " ", &rest); one; one = strtok_r(NULL, " ", &rest)) {
        char *value = strchr(one, '=');
        *value = '\0';
        setenv(one, value + 1, 1);
    }
    free(text);
    setenv("HWLOC_SYNTHETIC", "node:1 pu:2", 0); /* looking at the machine takes longer than the rest */
    setenv("OPENBLAS_NUM_THREADS", "1", 0);
}

static char *read_all(FILE *file)
{
    fseek(file, 0, SEEK_END);
    long size = ftell(file);
    char *text = calloc(1, (size_t)size + 1);
    assert_non_null(text);
    rewind(file);
    assert_int_equal(fread(text, 1, (size_t)size, file), size);
    fclose(file);
    return text;
}

cuda_child cuda_child_run(cuda_driver driver, const char *variables, void (*body)(const void *arg), const void *arg)
{
    cuda_child child = {0};
    char path[] = "/tmp/cuda_world.XXXXXX";
    int file = mkstemp(path);
    FILE *errors = tmpfile(), *stats;
    assert_true(file >= 0 && errors && (stats = fdopen(file, "r")));
    fflush(NULL);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (!pid) {
        setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
        alarm(CHILD_SECONDS);
        dup2(fileno(errors), STDERR_FILENO);
        setenv("CUDA_DOUBLE_STATS", path, 1);
        set_variables(variables);
        open_libraries(driver);
        body(arg);
        exit(0);
    }
    assert_int_equal(waitpid(pid, &child.status, 0), pid);
    child.errors = read_all(errors);
    char *text = read_all(stats);
    child.stats = cJSON_Parse(text);
    free(text);
    unlink(path);
    return child;
}

void cuda_child_free(cuda_child *child)
{
    free(child->errors);
    cJSON_Delete(child->stats);
}

void cuda_child_assert_clean(const cuda_child *child)
{
    if (!WIFEXITED(child->status) || WEXITSTATUS(child->status))
        fail_msg("the child ended with status %#x:\n%s", child->status, child->errors);
    const cJSON *one;
    cJSON_ArrayForEach(one, cJSON_GetObjectItem(child->stats, "leaked"))
    {
        if (one->valuedouble > 0)
            fail_msg("%g %s leaked:\n%s", one->valuedouble, one->string, child->errors);
    }
    assert_non_null(child->stats);
    assert_int_equal(cJSON_GetObjectItem(child->stats, "misuses")->valuedouble, 0);
}

unsigned cuda_child_calls(const cuda_child *child, const char *name)
{
    const cJSON *calls = cJSON_GetObjectItem(cJSON_GetObjectItem(child->stats, "calls"), name);
    return calls ? (unsigned)calls->valuedouble : 0;
}

unsigned cuda_child_lines(const cuda_child *child, const char *text)
{
    unsigned lines = 0;
    for (const char *at = child->errors; (at = strstr(at, text)); lines++)
        at = strchr(at, '\n') ? strchr(at, '\n') : at + strlen(at);
    return lines;
}

void cuda_expect_clean(const char *variables, void (*body)(const void *arg), const void *arg)
{
    cuda_child child = cuda_child_run(CUDA_DOUBLE, variables, body, arg);
    cuda_child_assert_clean(&child);
    cuda_child_free(&child);
}

/* --- in the child ------------------------------------------------------------------- */

void cuda_world_open(cuda_world *w)
{
    const od_cuda_config config = {.interface_version = OD_BACKEND_INTERFACE,
                                   .ndevices = w->ndevices,
                                   .ordinals = w->ordinals,
                                   .pin_budget = w->pin_budget,
                                   .pin_first = w->pin_first ? w->pin_first : 1,
                                   .pin_wanted = true,
                                   .pin_keep = w->pin_keep,
                                   .trusted = w->windows,
                                   .managed = w->managed,
                                   .log = w->log};
    w->backend = (od_backend){0};
    w->status = cuda_module_functions.backend(&w->backend, &config);
    if (w->status)
        return;
    w->status = od_backend_take_pools(&w->backend, w->ndevices, w->pool_bytes);
    if (w->status)
        od_backend_release(&w->backend);
}

cuda_world cuda_world_make(unsigned ndevices, size_t pin_budget, size_t pool_bytes)
{
    cuda_world w = {.pin_budget = pin_budget, .pool_bytes = pool_bytes, .ndevices = ndevices, .log = OD_LOG_INFO};
    for (unsigned k = 0; k < ndevices; k++)
        w.ordinals[k] = (int)k;
    cuda_world_open(&w);
    CHECK(!w.status);
    return w;
}

void cuda_world_close(cuda_world *w)
{
    if (!w->status)
        od_backend_release(&w->backend);
}

unsigned char *cuda_world_pool(const cuda_world *w, unsigned k, size_t offset)
{
    return (unsigned char *)w->backend.pool_address[k] + offset;
}

od_status cuda_world_start(cuda_world *w, const od_copy *copy, od_ticket **ticket)
{
    return w->backend.ops->start(w->backend.state, copy, ticket);
}

od_status cuda_world_await(cuda_world *w, od_ticket *ticket)
{
    od_status status = OD_OK;
    while (ticket && (status = w->backend.ops->poll(w->backend.state, ticket)) == OD_EBUSY)
        nanosleep(&(struct timespec){.tv_nsec = 20000}, NULL);
    return status;
}

od_status cuda_world_copy(cuda_world *w, const od_copy *copy)
{
    od_ticket *ticket;
    od_status status = cuda_world_start(w, copy, &ticket);
    return status ? status : cuda_world_await(w, ticket);
}

od_copy cuda_to_device(const cuda_world *w, unsigned k, size_t offset, const void *base, size_t size)
{
    return (od_copy){.to = (int)k,
                     .from = OD_HOST,
                     .to_address = cuda_world_pool(w, k, offset),
                     .from_address = base,
                     .bytes = size,
                     .host_base = (uintptr_t)base,
                     .host_bytes = size};
}

od_copy cuda_to_host(const cuda_world *w, unsigned k, size_t offset, void *base, size_t size)
{
    return (od_copy){.to = OD_HOST,
                     .from = (int)k,
                     .to_address = base,
                     .from_address = cuda_world_pool(w, k, offset),
                     .bytes = size,
                     .host_base = (uintptr_t)base,
                     .host_bytes = size};
}

bool cuda_is_pinned(const void *address)
{
    unsigned type = 0;
    return !cuda_double.pointer_attribute(&type, OD_CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (uintptr_t)address) &&
           type == OD_CU_MEMORYTYPE_HOST;
}

static unsigned char byte_at(size_t i, unsigned seed)
{
    return (unsigned char)(i * 7 + (i >> 8) * 3 + (i >> 16) + seed * 41);
}

void cuda_fill(void *bytes, size_t size, unsigned seed)
{
    for (size_t i = 0; i < size; i++)
        ((unsigned char *)bytes)[i] = byte_at(i, seed);
}

bool cuda_is_filled(const void *bytes, size_t size, unsigned seed)
{
    for (size_t i = 0; i < size; i++)
        if (((const unsigned char *)bytes)[i] != byte_at(i, seed))
            return false;
    return true;
}

void *cuda_map(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(memory != MAP_FAILED);
    return memory;
}
