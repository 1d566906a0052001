/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The doubles of NVIDIA's libraries do what the tests that use them rely on. Each test is a child process that sets the
 * environment and opens the doubles: they read it once, and misuse ends the process.
 */
#include "tests/cuda_double/functions.h"

#include <cblas.h>
#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { PAGE = 4096, MIB = 1 << 20, NOT_INITIALIZED = 3, PEER_UNSUPPORTED = 217, NOT_PERMITTED = 800 };

static struct {
#define MEMBER(member, name, arguments) od_cu_result(*member) arguments;
    OD_CU_FUNCTIONS(MEMBER)
    CD_MORE_CU_FUNCTIONS(MEMBER)
#undef MEMBER
} cu;

#define MEMBER(member, name, arguments) int(*member) arguments;
static struct {
    CD_CUBLAS_FUNCTIONS(MEMBER)
} blas;

static struct {
    CD_CUBLAS_XT_FUNCTIONS(MEMBER)
} xt;

static struct {
    CD_CUSOLVER_FUNCTIONS(MEMBER)
} solver;
#undef MEMBER

/* cmocka's own assertions are for the parent. */
#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #condition);                                  \
            _exit(1);                                                                                                  \
        }                                                                                                              \
    } while (0)

#define EXPECT(expected, call)                                                                                         \
    do {                                                                                                               \
        int got = (call);                                                                                              \
        if (got != (expected)) {                                                                                       \
            fprintf(stderr, "%s:%d: %s is %d\n", __FILE__, __LINE__, #call, got);                                      \
            _exit(1);                                                                                                  \
        }                                                                                                              \
    } while (0)

/* --- child processes ------------------------------------------------------------- */

static void find(void *library, const char *name, void *pointer)
{
    void *symbol = dlsym(library, name);
    CHECK(symbol);
    memcpy(pointer, &symbol, sizeof symbol);
}

static void open_doubles(void)
{
    void *library = dlopen(TEST_CUDA_DOUBLE, RTLD_NOW);
    CHECK(library);
#define FIND(member, name, arguments) find(library, #name, &cu.member);
    OD_CU_FUNCTIONS(FIND)
    CD_MORE_CU_FUNCTIONS(FIND)
#undef FIND
    library = dlopen(TEST_CUBLAS_DOUBLE, RTLD_NOW);
    CHECK(library);
#define FIND(member, name, arguments) find(library, #name, &blas.member);
    CD_CUBLAS_FUNCTIONS(FIND)
#undef FIND
#define FIND(member, name, arguments) find(library, #name, &xt.member);
    CD_CUBLAS_XT_FUNCTIONS(FIND)
#undef FIND
    library = dlopen(TEST_CUSOLVER_DOUBLE, RTLD_NOW);
    CHECK(library);
#define FIND(member, name, arguments) find(library, #name, &solver.member);
    CD_CUSOLVER_FUNCTIONS(FIND)
#undef FIND
}

static void *host_memory; /* given back after the test, whatever it has left undone */

/* How a process ends that runs the body with these variables, "A=1 B=2". */
static int run(const char *variables, void (*body)(void))
{
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (!child) {
        setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
        signal(SIGABRT, SIG_DFL); /* a sanitizer may have taken it */
        char *text = strdup(variables), *rest = text;
        for (char *one = strtok_r(text, " ", &rest); one; one = strtok_r(NULL, " ", &rest)) {
            char *value = strchr(one, '=');
            *value = '\0';
            setenv(one, value + 1, 1);
        }
        free(text);
        open_doubles();
        body();
        free(host_memory);
        exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static void expect_success(const char *variables, void (*body)(void))
{
    int status = run(variables, body);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void expect_abort(void (*body)(void))
{
    int status = run("", body);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGABRT);
}

/* One device's context, made current, with a stream, an event, and memory on both sides. */
typedef struct world {
    od_cu_context context;
    od_cu_stream stream;
    od_cu_event event;
    od_cu_address device;
    unsigned char *host;
    size_t bytes;
} world;

static world begin(size_t bytes)
{
    world w = {.bytes = bytes};
    EXPECT(0, cu.init(0));
    EXPECT(0, cu.context_retain(&w.context, 0));
    EXPECT(0, cu.context_push(w.context));
    EXPECT(0, cu.stream_create(&w.stream, OD_CU_STREAM_NON_BLOCKING));
    EXPECT(0, cu.event_create(&w.event, OD_CU_EVENT_DISABLE_TIMING));
    EXPECT(0, cu.alloc(&w.device, bytes));
    host_memory = w.host = aligned_alloc(PAGE, (bytes + PAGE - 1) / PAGE * PAGE);
    CHECK(w.host);
    for (size_t i = 0; i < bytes; i++)
        w.host[i] = (unsigned char)(i * 7 + i / PAGE);
    return w;
}

static void end(world *w)
{
    EXPECT(0, cu.free(w->device));
    EXPECT(0, cu.event_destroy(w->event));
    EXPECT(0, cu.stream_destroy(w->stream));
    EXPECT(0, cu.context_pop(NULL));
    EXPECT(0, cu.context_release(0));
}

/* Holds the stream's work back until the gate is opened. */
static atomic_bool gate_is_open;

static void wait_for_gate(void *arg)
{
    (void)arg;
    while (!atomic_load(&gate_is_open))
        usleep(100);
}

static void close_gate(const world *w)
{
    EXPECT(0, cu.launch_host(w->stream, wait_for_gate, NULL));
}

static void open_gate(void)
{
    atomic_store(&gate_is_open, true);
}

static const void *on_device(od_cu_address address)
{
    return (const void *)(uintptr_t)address;
}

/* --- copies ------------------------------------------------------------------------ */

static void copy_pinned(void)
{
    world w = begin(MIB);
    EXPECT(0, cu.event_query(w.event)); /* never recorded */
    EXPECT(0, cu.host_register(w.host, MIB, OD_CU_MEMHOST_PORTABLE));
    EXPECT(0, cu.copy_h2d(w.device, w.host, MIB, w.stream));
    EXPECT(0, cu.event_record(w.event, w.stream));
    EXPECT(OD_CU_NOT_READY, cu.event_query(w.event));
    EXPECT(OD_CU_NOT_READY, cu.stream_query(w.stream));
    EXPECT(0, cu.event_synchronize(w.event));
    EXPECT(0, cu.event_query(w.event));
    EXPECT(0, memcmp(on_device(w.device), w.host, MIB));

    unsigned char *expected = malloc(MIB);
    CHECK(expected);
    memcpy(expected, w.host, MIB);
    memset(w.host, 0, MIB);
    EXPECT(0, cu.copy_d2h(w.host, w.device, MIB, w.stream));
    EXPECT(0, w.host[MIB - 1]); /* the copy takes half a second */
    EXPECT(0, cu.stream_synchronize(w.stream));
    EXPECT(0, memcmp(expected, w.host, MIB));
    free(expected);
    EXPECT(0, cu.host_unregister(w.host));
    end(&w);
}

/* A source that is not pinned may be changed at once; a destination has its bytes at the end of the call. */
static void copy_pageable(void)
{
    world w = begin(MIB);
    EXPECT(0, cu.copy_h2d(w.device, w.host, MIB, w.stream));
    memset(w.host, 0, MIB);
    EXPECT(0, cu.copy_d2h(w.host, w.device, MIB, w.stream));
    for (size_t i = 0; i < MIB; i++)
        EXPECT((unsigned char)(i * 7 + i / PAGE), w.host[i]);
    end(&w);
}

/* Around a ring of devices and back, on streams of each, also on the default streams. */
static void copy_between_devices(void)
{
    enum { N = 4, BYTES = 8 * PAGE };
    world w = begin(BYTES);
    od_cu_context contexts[N] = {w.context};
    od_cu_address addresses[N] = {w.device};
    for (int k = 1; k < N; k++) {
        EXPECT(0, cu.context_retain(&contexts[k], k));
        EXPECT(0, cu.context_set(contexts[k]));
        EXPECT(0, cu.alloc(&addresses[k], BYTES));
    }
    EXPECT(0, cu.context_set(w.context));
    EXPECT(0, cu.copy_h2d(w.device, w.host, BYTES, w.stream));
    EXPECT(0, cu.stream_synchronize(w.stream));
    for (int k = 1; k < N; k++) {
        EXPECT(0, cu.context_set(contexts[k]));
        EXPECT(0, cu.copy_peer(addresses[k], contexts[k], addresses[k - 1], contexts[k - 1], BYTES, NULL));
        EXPECT(0, cu.stream_synchronize(NULL));
        EXPECT(0, memcmp(on_device(addresses[k]), w.host, BYTES));
    }
    od_cu_address last = addresses[N - 1];
    EXPECT(0, cu.copy_d2d(last, last + PAGE, PAGE, NULL));
    EXPECT(0, cu.stream_synchronize(NULL));
    EXPECT(0, memcmp(on_device(last), w.host + PAGE, PAGE));
    EXPECT(OD_CU_INVALID_VALUE, cu.copy_d2d(last, addresses[0], PAGE, NULL)); /* a warning */
}

/* 3 rows of 100 bytes, out of pinned rows of 500, within the device, and into pageable rows of 200. */
static void copy_rows(void)
{
    enum { WIDTH = 100, ROWS = 3, WIDE = 500, LESS = 200 };
    world w = begin(2 * PAGE);
    unsigned char back[ROWS * LESS] = {0};
    cd_copy_2d in = {.from_type = OD_CU_MEMORYTYPE_HOST, .from_host = w.host, .from_x = 7, .from_y = 1, .from_pitch = WIDE,
                     .to_type = OD_CU_MEMORYTYPE_DEVICE, .to_device = w.device, .to_pitch = WIDTH,
                     .width = WIDTH, .height = ROWS};
    cd_copy_2d within = {.from_type = OD_CU_MEMORYTYPE_DEVICE, .from_device = w.device, .from_pitch = WIDTH,
                         .to_type = OD_CU_MEMORYTYPE_DEVICE, .to_device = w.device + PAGE, .to_pitch = WIDE,
                         .width = WIDTH, .height = ROWS};
    cd_copy_2d out = {.from_type = OD_CU_MEMORYTYPE_DEVICE, .from_device = w.device + PAGE, .from_pitch = WIDE,
                      .to_type = OD_CU_MEMORYTYPE_HOST, .to_host = back, .to_pitch = LESS,
                      .width = WIDTH, .height = ROWS};
    EXPECT(0, cu.host_register(w.host, 2 * PAGE, 0));
    close_gate(&w);
    EXPECT(0, cu.copy_2d(&in, w.stream));
    EXPECT(OD_CU_NOT_READY, cu.stream_query(w.stream));
    open_gate();
    EXPECT(0, cu.copy_2d(&within, w.stream));
    EXPECT(0, cu.copy_2d(&out, w.stream));
    for (int i = 0; i < ROWS; i++)
        EXPECT(0, memcmp(back + i * LESS, w.host + (i + 1) * WIDE + 7, WIDTH));
    EXPECT(0, back[WIDTH]);
    in.from_pitch = WIDTH - 1;
    EXPECT(OD_CU_INVALID_VALUE, cu.copy_2d(&in, w.stream));
    EXPECT(0, cu.host_unregister(w.host));
    end(&w);
}

static void copy_too_many_rows(void)
{
    world w = begin(PAGE);
    cd_copy_2d c = {.from_type = OD_CU_MEMORYTYPE_DEVICE, .from_device = w.device, .from_pitch = 100,
                    .to_type = OD_CU_MEMORYTYPE_HOST, .to_host = w.host, .to_pitch = 50, .width = 50, .height = 42};
    cu.copy_2d(&c, w.stream);
}

static void prefetch(void)
{
    world w = begin(PAGE);
    od_cu_address managed;
    EXPECT(0, cu.managed_alloc(&managed, PAGE, 1));
    memcpy((void *)(uintptr_t)managed, w.host, PAGE);
    EXPECT(0, cu.managed_prefetch(managed, PAGE, 0, w.stream));
    EXPECT(0, cu.managed_prefetch(managed, PAGE, OD_CU_ON_HOST, w.stream));
    EXPECT(OD_CU_INVALID_DEVICE, cu.managed_prefetch(managed, PAGE, 1, w.stream));
    EXPECT(0, cu.stream_synchronize(w.stream));
    EXPECT(0, memcmp(on_device(managed), w.host, PAGE));
    EXPECT(0, cu.free(managed));
    end(&w);
}

static void test_copies_of_rows(void **state)
{
    (void)state;
    expect_success("", copy_rows);
    expect_success("CUDA_DOUBLE_BANDWIDTH=2Mi", prefetch);
    expect_abort(copy_too_many_rows);
}

static void test_copies_are_asynchronous(void **state)
{
    (void)state;
    expect_success("CUDA_DOUBLE_BANDWIDTH=2Mi CUDA_DOUBLE_JITTER=0.01", copy_pinned);
}

static void test_pageable_copies(void **state)
{
    (void)state;
    expect_success("CUDA_DOUBLE_JITTER=0.02", copy_pageable);
}

static void test_copies_between_devices(void **state)
{
    (void)state;
    expect_success("CUDA_DOUBLE_MISUSE=warn CUDA_DOUBLE_JITTER=0.001", copy_between_devices);
}

/* --- contexts ------------------------------------------------------------------------ */

static void use_no_context(void)
{
    int n;
    od_cu_address address;
    od_cu_stream stream;
    od_cu_context context;
    EXPECT(NOT_INITIALIZED, cu.device_count(&n));
    EXPECT(NOT_INITIALIZED, cu.alloc(&address, 1));
    EXPECT(0, cu.driver_version(&n));
    EXPECT(0, cu.init(0));
    EXPECT(0, cu.device_count(&n));
    EXPECT(3, n);
    EXPECT(OD_CU_INVALID_DEVICE, cu.device_get(&n, 3));
    EXPECT(OD_CU_INVALID_CONTEXT, cu.alloc(&address, 1));
    EXPECT(OD_CU_INVALID_CONTEXT, cu.stream_create(&stream, 0));
    EXPECT(OD_CU_INVALID_CONTEXT, cu.host_register(&n, 1, 0));
    EXPECT(OD_CU_INVALID_CONTEXT, cu.context_pop(&context));
    EXPECT(OD_CU_INVALID_CONTEXT, cu.context_release(0));
    char text[32];
    EXPECT(0, cu.device_name(text, sizeof text, 2));
    EXPECT(0, strcmp(text, "CUDA double 2"));
    EXPECT(0, cu.device_bus_id(text, sizeof text, 2));
    EXPECT(0, strcmp(text, "0000:02:00.0"));
}

static void use_two_contexts(void)
{
    world w = begin(PAGE);
    od_cu_context other, current;
    od_cu_stream stream;
    EXPECT(0, cu.context_retain(&other, 1));
    EXPECT(0, cu.context_push(other));
    EXPECT(0, cu.stream_create(&stream, 0));
    EXPECT(OD_CU_INVALID_HANDLE, cu.event_record(w.event, stream));
    EXPECT(OD_CU_INVALID_HANDLE, cu.event_record(w.event, NULL));
    EXPECT(0, cu.stream_context(stream, &current));
    CHECK(current == other);
    EXPECT(0, cu.enable_peer_access(w.context, 0));
    EXPECT(OD_CU_PEER_ACCESS_ALREADY_ENABLED, cu.enable_peer_access(w.context, 0));
    EXPECT(OD_CU_INVALID_CONTEXT, cu.enable_peer_access(other, 0));
    size_t free_bytes, total;
    EXPECT(0, cu.memory_info(&free_bytes, &total));
    EXPECT(MIB, (int)free_bytes);
    EXPECT(0, cu.context_pop(&current));
    CHECK(current == other);
    EXPECT(0, cu.memory_info(&free_bytes, &total));
    EXPECT(MIB - PAGE, (int)free_bytes);
    EXPECT(OD_CU_OUT_OF_MEMORY, cu.alloc(&w.device, MIB));
}

static void use_no_peers(void)
{
    world w = begin(PAGE);
    od_cu_context other;
    int can = 1;
    EXPECT(0, cu.can_access_peer(&can, 0, 1));
    EXPECT(0, can);
    EXPECT(0, cu.context_retain(&other, 1));
    EXPECT(PEER_UNSUPPORTED, cu.enable_peer_access(other, 0));
    end(&w);
}

static void test_contexts(void **state)
{
    (void)state;
    expect_success("CUDA_DOUBLE_DEVICES=3", use_no_context);
    expect_success("CUDA_DOUBLE_MEMORY=1Mi", use_two_contexts);
    expect_success("CUDA_DOUBLE_PEER=0", use_no_peers);
}

/* --- pinned memory --------------------------------------------------------------------- */

static void pin(void)
{
    world w = begin(8 * PAGE);
    EXPECT(0, cu.host_register(w.host + 100, PAGE, 0)); /* pages 0 and 1 */
    EXPECT(OD_CU_HOST_MEMORY_ALREADY_REGISTERED, cu.host_register(w.host + 2 * PAGE - 8, PAGE, 0));
    EXPECT(OD_CU_HOST_MEMORY_ALREADY_REGISTERED, cu.host_register(w.host, 8, 0));
    EXPECT(0, cu.host_register(w.host + 2 * PAGE, PAGE, 0));
    EXPECT(OD_CU_INVALID_VALUE, cu.copy_h2d(w.device, w.host, PAGE, w.stream));
    EXPECT(0, cu.copy_h2d(w.device, w.host + 100, PAGE, w.stream));
    EXPECT(0, cu.host_register(w.host + 3 * PAGE, PAGE, 0));
    EXPECT(OD_CU_INVALID_VALUE, cu.copy_d2h(w.host + 2 * PAGE, w.device, 2 * PAGE, w.stream));
    EXPECT(OD_CU_OUT_OF_MEMORY, cu.host_register(w.host + 4 * PAGE, 2 * PAGE, 0));
    EXPECT(OD_CU_INVALID_VALUE, cu.host_register(w.host + 7 * PAGE, PAGE, 16));
    EXPECT(OD_CU_HOST_MEMORY_NOT_REGISTERED, cu.host_unregister(w.host));
    EXPECT(0, cu.stream_synchronize(w.stream));
    EXPECT(0, cu.host_unregister(w.host + 100));
    EXPECT(OD_CU_HOST_MEMORY_NOT_REGISTERED, cu.host_unregister(w.host + 100));

    unsigned type = 0;
    int ordinal = -1;
    EXPECT(0, cu.pointer_attribute(&type, OD_CU_POINTER_ATTRIBUTE_MEMORY_TYPE, w.device + 8));
    EXPECT(OD_CU_MEMORYTYPE_DEVICE, (int)type);
    EXPECT(0, cu.pointer_attribute(&ordinal, OD_CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, w.device));
    EXPECT(0, ordinal);
    EXPECT(0, cu.pointer_attribute(&type, OD_CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (uintptr_t)w.host + 2 * PAGE));
    EXPECT(OD_CU_MEMORYTYPE_HOST, (int)type);
    EXPECT(OD_CU_INVALID_VALUE,
           cu.pointer_attribute(&type, OD_CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (uintptr_t)w.host + 6 * PAGE));

    void *memory;
    EXPECT(0, cu.host_alloc(&memory, PAGE, OD_CU_MEMHOST_PORTABLE));
    EXPECT(0, cu.host_free(memory));
}

static void test_pinned_memory(void **state)
{
    (void)state;
    expect_success("CUDA_DOUBLE_PIN_LIMIT=16Ki", pin);
}

/* --- failures ---------------------------------------------------------------------------- */

static void meet_failures(void)
{
    world w = begin(PAGE);
    EXPECT(0, cu.copy_h2d(w.device, w.host, PAGE, w.stream));
    EXPECT(OD_CU_OUT_OF_MEMORY, cu.copy_h2d(w.device, w.host, PAGE, w.stream));
    EXPECT(0, cu.copy_h2d(w.device, w.host, PAGE, w.stream));
    EXPECT(0, cu.event_record(w.event, w.stream));
    EXPECT(OD_CU_LAUNCH_FAILED, cu.event_record(w.event, w.stream));
    EXPECT(OD_CU_LAUNCH_FAILED, cu.event_record(w.event, w.stream));
    const char *text;
    EXPECT(0, cu.error_name(OD_CU_ILLEGAL_ADDRESS, &text));
    EXPECT(0, strcmp(text, "CUDA_ERROR_ILLEGAL_ADDRESS"));
    EXPECT(0, cu.error_text(OD_CU_ILLEGAL_ADDRESS, &text));
    CHECK(text && *text);
    EXPECT(OD_CU_INVALID_VALUE, cu.error_name(12345, &text));
    CHECK(!text);
    EXPECT(0, cu.stream_synchronize(w.stream));
    end(&w);
}

static void lose_a_device(void)
{
    world w = begin(PAGE);
    od_cu_context other;
    od_cu_stream stream;
    od_cu_address address;
    EXPECT(0, cu.copy_h2d(w.device, w.host, PAGE, w.stream));
    EXPECT(0, cu.stream_synchronize(w.stream));
    close_gate(&w);
    EXPECT(0, cu.copy_h2d(w.device, w.host, PAGE, w.stream)); /* the last one: nothing is known yet */
    EXPECT(0, cu.event_record(w.event, w.stream));
    EXPECT(OD_CU_NOT_READY, cu.event_query(w.event));
    open_gate();
    EXPECT(OD_CU_ILLEGAL_ADDRESS, cu.event_synchronize(w.event));
    EXPECT(OD_CU_ILLEGAL_ADDRESS, cu.event_query(w.event));
    EXPECT(OD_CU_ILLEGAL_ADDRESS, cu.stream_synchronize(w.stream));
    EXPECT(OD_CU_ILLEGAL_ADDRESS, cu.copy_d2h(w.host, w.device, PAGE, w.stream));
    EXPECT(OD_CU_ILLEGAL_ADDRESS, cu.alloc(&address, PAGE));
    EXPECT(OD_CU_ILLEGAL_ADDRESS, cu.free(w.device));

    EXPECT(0, cu.context_retain(&other, 1)); /* the others go on */
    EXPECT(0, cu.context_push(other));
    EXPECT(0, cu.stream_create(&stream, 0));
    EXPECT(0, cu.alloc(&address, PAGE));
    EXPECT(0, cu.copy_h2d(address, w.host, PAGE, stream));
    EXPECT(0, cu.stream_synchronize(stream));
    EXPECT(0, memcmp(on_device(address), w.host, PAGE));
}

static void test_failures(void **state)
{
    (void)state;
    expect_success("CUDA_DOUBLE_FAIL=cuMemcpyHtoDAsync:2:2,cuEventRecord:2+:719", meet_failures);
    expect_success("CUDA_DOUBLE_LOST=0:2", lose_a_device);
}

/* --- misuse ------------------------------------------------------------------------------- */

static void copy_too_much(void)
{
    world w = begin(PAGE);
    cu.copy_h2d(w.device + 8, w.host, PAGE, w.stream);
}

static void copy_into_freed(void)
{
    world w = begin(PAGE);
    EXPECT(0, cu.free(w.device));
    cu.copy_h2d(w.device, w.host, PAGE, w.stream);
}

static void free_too_early(void)
{
    world w = begin(PAGE);
    close_gate(&w);
    EXPECT(0, cu.copy_h2d(w.device, w.host, PAGE, w.stream));
    cu.free(w.device);
}

static void free_twice(void)
{
    world w = begin(PAGE);
    EXPECT(0, cu.free(w.device));
    cu.free(w.device);
}

static void unregister_too_early(void)
{
    world w = begin(PAGE);
    EXPECT(0, cu.host_register(w.host, PAGE, 0));
    close_gate(&w);
    EXPECT(0, cu.copy_h2d(w.device, w.host, PAGE, w.stream));
    cu.host_unregister(w.host);
}

static void use_destroyed_stream(void)
{
    world w = begin(PAGE);
    EXPECT(0, cu.stream_destroy(w.stream));
    cu.copy_h2d(w.device, w.host, PAGE, w.stream);
}

static void use_destroyed_event(void)
{
    world w = begin(PAGE);
    EXPECT(0, cu.event_destroy(w.event));
    cu.event_query(w.event);
}

static void use_destroyed_context(void)
{
    world w = begin(PAGE);
    EXPECT(0, cu.context_release(0));
    cu.context_push(w.context);
}

static void copy_to_another_device(void)
{
    world w = begin(PAGE);
    od_cu_context other;
    EXPECT(0, cu.context_retain(&other, 1));
    EXPECT(0, cu.context_push(other));
    cu.copy_h2d(w.device, w.host, PAGE, NULL);
}

static void test_misuse_aborts(void **state)
{
    (void)state;
    expect_abort(copy_too_much);
    expect_abort(copy_into_freed);
    expect_abort(free_too_early);
    expect_abort(free_twice);
    expect_abort(unregister_too_early);
    expect_abort(use_destroyed_stream);
    expect_abort(use_destroyed_event);
    expect_abort(use_destroyed_context);
    expect_abort(copy_to_another_device);
}

/* Allowed: what is pending is still done. */
static void destroy_while_pending(void)
{
    world w = begin(PAGE);
    close_gate(&w);
    EXPECT(0, cu.copy_h2d(w.device, w.host, PAGE, w.stream));
    EXPECT(0, cu.event_record(w.event, w.stream));
    EXPECT(0, cu.event_destroy(w.event));
    EXPECT(0, cu.stream_destroy(w.stream));
    EXPECT(OD_CU_INVALID_VALUE, cu.free(w.device)); /* a warning */
    open_gate();
    while (cu.free(w.device) == OD_CU_INVALID_VALUE)
        usleep(10000);
}

static void test_destroyed_while_pending(void **state)
{
    (void)state;
    expect_success("CUDA_DOUBLE_MISUSE=warn", destroy_while_pending);
}

/* --- host functions, processes, statistics ---------------------------------------------------- */

static void call_cuda(void *arg)
{
    int n;
    atomic_store((atomic_int *)arg, cu.device_count(&n));
}

static void run_host_function(void)
{
    world w = begin(PAGE);
    atomic_int result = -1;
    EXPECT(0, cu.launch_host(w.stream, call_cuda, &result));
    EXPECT(0, cu.stream_synchronize(w.stream));
    EXPECT(NOT_PERMITTED, atomic_load(&result));
    end(&w);
}

static void fork_after_use(void)
{
    world w = begin(PAGE);
    pid_t child = fork();
    if (!child) {
        int n;
        _exit(cu.device_count(&n) == NOT_INITIALIZED ? 0 : 1);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child);
    EXPECT(0, status);
    end(&w);
}

static void test_host_functions(void **state)
{
    (void)state;
    expect_success("", run_host_function);
}

static void test_forks(void **state)
{
    (void)state;
    expect_success("", fork_after_use);
}

static void leave_things(void)
{
    world w = begin(PAGE);
    EXPECT(0, cu.copy_h2d(w.device, w.host, PAGE, w.stream));
    EXPECT(0, cu.copy_d2h(w.host, w.device, 96, w.stream));
    EXPECT(0, cu.host_register(w.host, PAGE, 0));
    EXPECT(0, cu.copy_d2h(w.host, w.device, 4, w.stream));
    EXPECT(0, cu.stream_synchronize(w.stream));
    EXPECT(0, cu.event_destroy(w.event));
}

static void test_statistics(void **state)
{
    (void)state;
    char file[] = "/tmp/ompdarts-double-XXXXXX", variables[64], line[4096] = "";
    int descriptor = mkstemp(file);
    assert_true(descriptor >= 0);
    snprintf(variables, sizeof variables, "CUDA_DOUBLE_STATS=%s", file);
    expect_success(variables, leave_things);
    assert_true(read(descriptor, line, sizeof line - 1) > 0);
    close(descriptor);
    unlink(file);
    static const char *const parts[] = {
        "\"cuMemcpyDtoHAsync\": 2",
        "\"bytes\": {\"host_to_device\": 4096, \"device_to_host\": 100, ",
        "\"pageable_copies\": 2",
        "\"leaked\": {\"allocations\": 1, \"streams\": 1, \"events\": 0, \"registrations\": 1}",
        "\"misuses\": 0}\n",
    };
    for (unsigned i = 0; i < sizeof parts / sizeof *parts; i++)
        assert_non_null(strstr(line, parts[i]));
}

/* --- cuBLAS -------------------------------------------------------------------------------------- */

enum { ORDER = 48, MATRIX = ORDER * ORDER };

/* Three matrices on device 0 from three on the host. */
static double *begin_matrices(world *w, cd_cublas *handle)
{
    *w = begin(3 * MATRIX * sizeof(double));
    double *x = (double *)(void *)w->host;
    for (unsigned i = 0; i < 3 * MATRIX; i++)
        x[i] = (i * 37 % 101) / 101.0 + (i % MATRIX % (ORDER + 1) == 0 ? ORDER : 0);
    EXPECT(0, cu.copy_h2d(w->device, x, w->bytes, w->stream));
    EXPECT(0, blas.create(handle));
    EXPECT(0, blas.set_stream(*handle, w->stream));
    EXPECT(0, blas.set_math_mode(*handle, 0));
    return x;
}

static void end_matrices(world *w, cd_cublas handle)
{
    EXPECT(0, cu.stream_synchronize(w->stream));
    EXPECT(0, memcmp(on_device(w->device), w->host, w->bytes));
    EXPECT(0, blas.destroy(handle));
    end(w);
}

static void multiply(void)
{
    world w;
    cd_cublas handle;
    double *a = begin_matrices(&w, &handle), *b = a + MATRIX, *c = b + MATRIX;
    double *on = (double *)(uintptr_t)w.device, alpha = 2, beta = -1;
    close_gate(&w);
    EXPECT(0, blas.dgemm(handle, CD_CUBLAS_N, CD_CUBLAS_T, ORDER, ORDER, ORDER, &alpha, on, ORDER, on + MATRIX, ORDER,
                         &beta, on + 2 * MATRIX, ORDER));
    EXPECT(OD_CU_NOT_READY, cu.stream_query(w.stream));
    alpha = 0; /* was read */
    EXPECT(0,
           blas.dsyrk(handle, CD_CUBLAS_LOWER, CD_CUBLAS_N, ORDER, ORDER, &beta, on, ORDER, &beta, on + MATRIX, ORDER));
    EXPECT(0, blas.dtrsm(handle, CD_CUBLAS_RIGHT, CD_CUBLAS_LOWER, CD_CUBLAS_T, CD_CUBLAS_NON_UNIT, ORDER, ORDER, &beta,
                         on, ORDER, on + 2 * MATRIX, ORDER));
    open_gate();
    cblas_dgemm(CblasColMajor, CblasNoTrans, CblasTrans, ORDER, ORDER, ORDER, 2, a, ORDER, b, ORDER, -1, c, ORDER);
    cblas_dsyrk(CblasColMajor, CblasLower, CblasNoTrans, ORDER, ORDER, -1, a, ORDER, -1, b, ORDER);
    cblas_dtrsm(CblasColMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit, ORDER, ORDER, -1, a, ORDER, c, ORDER);
    end_matrices(&w, handle);
}

static void multiply_single(void)
{
    world w;
    cd_cublas handle;
    begin_matrices(&w, &handle);
    float *x = (float *)(void *)w.host, *on = (float *)(uintptr_t)w.device, one = 1;
    for (unsigned i = 0; i < 6 * MATRIX; i++)
        x[i] = (float)(i * 37 % 101) / 101.0f + (i % MATRIX % (ORDER + 1) == 0 ? ORDER : 0);
    EXPECT(0, cu.copy_h2d(w.device, x, w.bytes, w.stream));
    EXPECT(0, blas.sgemm(handle, CD_CUBLAS_N, CD_CUBLAS_N, ORDER, ORDER, ORDER, &one, on, ORDER, on + MATRIX, ORDER,
                         &one, on + 2 * MATRIX, ORDER));
    EXPECT(0, blas.ssyrk(handle, CD_CUBLAS_UPPER, CD_CUBLAS_T, ORDER, ORDER, &one, on, ORDER, &one, on + 3 * MATRIX,
                         ORDER));
    EXPECT(0, blas.strsm(handle, CD_CUBLAS_LEFT, CD_CUBLAS_UPPER, CD_CUBLAS_N, CD_CUBLAS_UNIT, ORDER, ORDER, &one, on,
                         ORDER, on + 4 * MATRIX, ORDER));
    cblas_sgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, ORDER, ORDER, ORDER, 1, x, ORDER, x + MATRIX, ORDER, 1,
                x + 2 * MATRIX, ORDER);
    cblas_ssyrk(CblasColMajor, CblasUpper, CblasTrans, ORDER, ORDER, 1, x, ORDER, 1, x + 3 * MATRIX, ORDER);
    cblas_strsm(CblasColMajor, CblasLeft, CblasUpper, CblasNoTrans, CblasUnit, ORDER, ORDER, 1, x, ORDER,
                x + 4 * MATRIX, ORDER);
    end_matrices(&w, handle);
}

static void multiply_wrongly(void)
{
    world w;
    cd_cublas handle, none = NULL;
    begin_matrices(&w, &handle);
    double *on = (double *)(uintptr_t)w.device, one = 1;
    EXPECT(CD_CUBLAS_INVALID_VALUE, blas.dgemm(handle, CD_CUBLAS_N, CD_CUBLAS_N, ORDER, 1, 1, &one, on, ORDER - 1, on,
                                               1, &one, on + MATRIX, ORDER));
    EXPECT(CD_CUBLAS_INVALID_VALUE,
           blas.dgemm(handle, 3, CD_CUBLAS_N, 1, 1, 1, &one, on, 1, on, 1, &one, on + MATRIX, 1));
    EXPECT(CD_CUBLAS_INVALID_VALUE, blas.dsyrk(handle, 0, 0, 1, 1, NULL, on, 1, &one, on + MATRIX, 1));
    EXPECT(CD_CUBLAS_INVALID_VALUE, blas.dtrsm(handle, 0, 0, 0, 2, 1, 1, &one, on, 1, on + MATRIX, 1));
    EXPECT(CD_CUBLAS_NOT_INITIALIZED, blas.set_stream(none, w.stream));
    end_matrices(&w, handle);
}

static void multiply_on_host(void)
{
    world w;
    cd_cublas handle;
    double *a = begin_matrices(&w, &handle), one = 1;
    double *on = (double *)(uintptr_t)w.device;
    blas.dgemm(handle, CD_CUBLAS_N, CD_CUBLAS_N, 1, 1, 1, &one, a, 1, on, 1, &one, on + MATRIX, 1);
}

/* C = 2 A' B - C of the host's matrices, in blocks that do not divide them, on two devices. */
static void multiply_on_several(void)
{
    enum { BLOCK = 20 };
    cd_cublas_xt handle;
    world w = begin(3 * MATRIX * sizeof(double));
    double *a = (double *)(void *)w.host, *b = a + MATRIX, *c = b + MATRIX, expected[MATRIX], two = 2, minus = -1;
    for (unsigned i = 0; i < 3 * MATRIX; i++)
        a[i] = (i * 37 % 101) / 101.0;
    memcpy(expected, c, sizeof expected);
    cblas_dgemm(CblasColMajor, CblasTrans, CblasNoTrans, ORDER, ORDER, ORDER, 2, a, ORDER, b, ORDER, -1, expected, ORDER);
    EXPECT(0, cu.host_register(w.host, w.bytes, OD_CU_MEMHOST_PORTABLE));
    EXPECT(0, xt.create(&handle));
    EXPECT(CD_CUBLAS_NOT_INITIALIZED,
           xt.dgemm(handle, CD_CUBLAS_T, CD_CUBLAS_N, ORDER, ORDER, ORDER, &two, a, ORDER, b, ORDER, &minus, c, ORDER));
    EXPECT(CD_CUBLAS_INVALID_VALUE, xt.select(handle, 1, (int[]){9}));
    EXPECT(0, xt.select(handle, 2, (int[]){0, 1}));
    EXPECT(0, xt.set_block(handle, BLOCK));
    EXPECT(0, xt.set_pinning(handle, 1));
    EXPECT(0, xt.dgemm(handle, CD_CUBLAS_T, CD_CUBLAS_N, ORDER, ORDER, ORDER, &two, a, ORDER, b, ORDER, &minus, c, ORDER));
    for (int i = 0; i < MATRIX; i++)
        CHECK(c[i] - expected[i] < 1e-9 && expected[i] - c[i] < 1e-9);
    EXPECT(0, xt.destroy(handle));
    EXPECT(0, cu.context_set(w.context));
    EXPECT(0, cu.host_unregister(w.host));
    end(&w);
}

/* L L' of a matrix whose diagonal is large gives it back. */
static void factor(void)
{
    world w;
    cd_cublas handle;
    cd_cusolver s;
    int elements = 0, *info = NULL;
    double *a = begin_matrices(&w, &handle), *on = (double *)(uintptr_t)w.device;
    double l[MATRIX] = {0}, product[MATRIX];
    od_cu_address more;
    EXPECT(0, solver.create(&s));
    EXPECT(0, solver.set_stream(s, w.stream));
    EXPECT(0, solver.dpotrf_size(s, CD_CUBLAS_LOWER, ORDER, on, ORDER, &elements));
    EXPECT(0, cu.alloc(&more, (size_t)elements * sizeof(double) + sizeof *info));
    info = (int *)(uintptr_t)(more + (size_t)elements * sizeof(double));
    EXPECT(0, solver.dpotrf(s, CD_CUBLAS_LOWER, ORDER, on, ORDER, (double *)(uintptr_t)more, elements, info));
    EXPECT(0, cu.stream_synchronize(w.stream));
    EXPECT(0, *info);
    for (int j = 0; j < ORDER; j++)
        for (int i = j; i < ORDER; i++)
            l[i + j * ORDER] = on[i + j * ORDER];
    cblas_dgemm(CblasColMajor, CblasNoTrans, CblasTrans, ORDER, ORDER, ORDER, 1, l, ORDER, l, ORDER, 0, product, ORDER);
    for (int j = 0; j < ORDER; j++)
        for (int i = j; i < ORDER; i++)
            CHECK(product[i + j * ORDER] - a[i + j * ORDER] < 1e-9 && a[i + j * ORDER] - product[i + j * ORDER] < 1e-9);
    EXPECT(0, solver.destroy(s));
    EXPECT(0, cu.free(more));
    EXPECT(0, blas.destroy(handle));
    end(&w);
}

static void test_blocks_and_factors(void **state)
{
    (void)state;
    expect_success("", multiply_on_several);
    expect_success("", factor);
}

static void test_cublas(void **state)
{
    (void)state;
    expect_success("", multiply);
    expect_success("", multiply_single);
    expect_success("", multiply_wrongly);
    expect_abort(multiply_on_host);
}

/* --- many threads ---------------------------------------------------------------------------------- */

static void *copy_back_and_forth(void *arg)
{
    int k = (int)(uintptr_t)arg % 4;
    enum { ROUNDS = 100, BYTES = 3 * PAGE };
    od_cu_context context;
    od_cu_stream stream;
    od_cu_event event;
    od_cu_address address;
    void *host;
    EXPECT(0, cu.context_retain(&context, k));
    EXPECT(0, cu.context_set(context));
    EXPECT(0, cu.stream_create(&stream, OD_CU_STREAM_NON_BLOCKING));
    EXPECT(0, cu.event_create(&event, OD_CU_EVENT_DISABLE_TIMING));
    EXPECT(0, cu.alloc(&address, BYTES));
    EXPECT(0, cu.host_alloc(&host, BYTES, OD_CU_MEMHOST_PORTABLE));
    unsigned char *bytes = host;
    for (int i = 0; i < ROUNDS; i++) {
        memset(bytes, i, BYTES);
        EXPECT(0, cu.copy_h2d(address, bytes, BYTES, stream));
        EXPECT(0, cu.event_record(event, stream));
        EXPECT(0, cu.event_synchronize(event));
        memset(bytes, -1, BYTES);
        EXPECT(0, cu.copy_d2h(bytes, address, BYTES, stream));
        EXPECT(0, cu.event_record(event, stream));
        while (cu.event_query(event) == OD_CU_NOT_READY)
            usleep(20);
        EXPECT(i, bytes[0]);
        EXPECT(i, bytes[BYTES - 1]);
    }
    EXPECT(0, cu.host_free(host));
    EXPECT(0, cu.free(address));
    EXPECT(0, cu.event_destroy(event));
    EXPECT(0, cu.stream_destroy(stream));
    EXPECT(0, cu.context_set(NULL));
    EXPECT(0, cu.context_release(k));
    return NULL;
}

static void use_many_threads(void)
{
    enum { NTHREADS = 8 };
    pthread_t threads[NTHREADS];
    EXPECT(0, cu.init(0));
    for (uintptr_t i = 0; i < NTHREADS; i++)
        EXPECT(0, pthread_create(&threads[i], NULL, copy_back_and_forth, (void *)i));
    for (unsigned i = 0; i < NTHREADS; i++)
        EXPECT(0, pthread_join(threads[i], NULL));
}

static void test_many_threads(void **state)
{
    (void)state;
    expect_success("CUDA_DOUBLE_JITTER=0.0002", use_many_threads);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_copies_are_asynchronous),
        cmocka_unit_test(test_pageable_copies),
        cmocka_unit_test(test_copies_between_devices),
        cmocka_unit_test(test_contexts),
        cmocka_unit_test(test_pinned_memory),
        cmocka_unit_test(test_failures),
        cmocka_unit_test(test_misuse_aborts),
        cmocka_unit_test(test_destroyed_while_pending),
        cmocka_unit_test(test_host_functions),
        cmocka_unit_test(test_forks),
        cmocka_unit_test(test_statistics),
        cmocka_unit_test(test_copies_of_rows),
        cmocka_unit_test(test_cublas),
        cmocka_unit_test(test_blocks_and_factors),
        cmocka_unit_test(test_many_threads),
    };
    return cmocka_run_group_tests_name("cuda double", tests, NULL, NULL);
}
