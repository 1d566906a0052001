/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Failures below the CUDA back-end, on the driver's double: every function at its n-th call, devices that are lost,
 * memory that runs out, drivers that are none. Whatever fails is told, by OD_EDEVICE and a line; nothing of it goes on
 * afterwards, nothing is leaked, and the next attempt succeeds.
 */
#include "tests/unit/cuda/cuda_world.h"

#include "memmgr/device/cuda/cuda.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include <cmocka.h>

enum {
    MIB = 1 << 20,
    NDEVICES = 3,
    BETWEEN = NDEVICES /* in place of a device */,
    POOL = 2 * MIB,
    LARGE = 30 * OD_PAGE + 1000,
    SMALL = 1000,
    HALF = POOL / 2
};

/* --- a small scenario ----------------------------------------------------------------- */

/* Copies of all kinds, and queues. What has failed is overwritten at once: bytes that come later are found out. */
typedef struct scene {
    cuda_world world;
    unsigned char *pinned, *unpinned; /* LARGE each, page-aligned */
    unsigned seed, failures, of_device[BETWEEN + 1];
} scene;

static void note(scene *s, unsigned k, od_status status)
{
    CHECK(status == OD_OK || status == OD_EDEVICE);
    s->failures += status != OD_OK;
    s->of_device[k] += status != OD_OK;
}

static void pass_time(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
}

/* The bytes at `to` are those wanted, or after a failure nobody's: they stay as they are made now. */
static void check_end(unsigned char *to, size_t bytes, unsigned seed, od_status status)
{
    if (status) {
        cuda_fill(to, bytes, seed + 1000);
        pass_time();
    }
    CHECK(cuda_is_filled(to, bytes, status ? seed + 1000 : seed));
}

static void copy_in(scene *s, unsigned k, unsigned char *bytes, size_t size)
{
    od_copy copy = cuda_to_device(&s->world, k, 0, bytes, size);
    cuda_fill(bytes, size, ++s->seed);
    od_status status = cuda_world_copy(&s->world, &copy);
    note(s, k, status);
    check_end(cuda_world_pool(&s->world, k, 0), size, s->seed, status);
}

static void copy_out(scene *s, unsigned k, unsigned char *bytes, size_t size)
{
    od_copy copy = cuda_to_host(&s->world, k, HALF, bytes, size);
    cuda_fill(cuda_world_pool(&s->world, k, HALF), size, ++s->seed);
    od_status status = cuda_world_copy(&s->world, &copy);
    note(s, k, status);
    check_end(bytes, size, s->seed, status);
}

static void copy_across(scene *s, unsigned from, unsigned to)
{
    od_copy copy = {.to = (int)to,
                    .from = (int)from,
                    .to_address = cuda_world_pool(&s->world, to, 0),
                    .from_address = cuda_world_pool(&s->world, from, HALF),
                    .bytes = LARGE};
    cuda_fill(cuda_world_pool(&s->world, from, HALF), LARGE, ++s->seed);
    od_status status = cuda_world_copy(&s->world, &copy);
    note(s, BETWEEN, status);
    check_end(cuda_world_pool(&s->world, to, 0), LARGE, s->seed, status);
}

static void use_queue(scene *s, unsigned k)
{
    const od_backend *b = &s->world.backend;
    const od_queue_ops *queues = b->ops->queues;
    od_queue *queue;
    od_ticket *ticket;
    od_status status = queues->enter(b->state, k);
    note(s, k, status);
    if (status)
        return;
    status = queues->take(b->state, k, &queue);
    note(s, k, status);
    if (!status) {
        queues->blas(b->state, queue, &(od_status){OD_OK});
        note(s, k, queues->drain(b->state, queue));
        status = queues->mark(b->state, queue, &ticket);
        note(s, k, status ? status : cuda_world_await(&s->world, ticket));
    }
    queues->leave(b->state, k);
}

static void act(scene *s)
{
    const od_backend *b = &s->world.backend;
    for (unsigned k = 0; k < 2; k++) {
        copy_in(s, k, s->unpinned + SMALL, SMALL);
        copy_in(s, k, s->pinned + 77, LARGE - 177);
        copy_out(s, k, s->pinned + 77, LARGE - 177);
        copy_in(s, k, s->unpinned, LARGE);
        copy_out(s, k, s->unpinned, LARGE);
        copy_out(s, k, s->unpinned + SMALL, SMALL);
        use_queue(s, k);
    }
    copy_across(s, 0, 1);
    copy_across(s, 2, 0);
    b->ops->release_host(b->state, (uintptr_t)s->pinned, LARGE);
    b->ops->reclaim(b->state);
}

/* With a back-end whose devices 0 and 2 are of one GPU; the budget is enough for one of the data. */
static bool enter_scene(scene *s)
{
    *s = (scene){.world = {.pin_budget = 30 * OD_PAGE,
                           .pool_bytes = POOL,
                           .ndevices = NDEVICES,
                           .ordinals = {0, 1, 0},
                           .log = OD_LOG_ERROR}};
    s->pinned = cuda_map(LARGE);
    s->unpinned = cuda_map(LARGE);
    cuda_world_open(&s->world);
    return !s->world.status;
}

static void leave_scene(scene *s)
{
    cuda_world_close(&s->world);
    munmap(s->pinned, LARGE);
    munmap(s->unpinned, LARGE);
}

/* One failure, in whichever act: the next one is without. */
static void recover(const void *arg)
{
    scene s;
    (void)arg;
    if (enter_scene(&s)) {
        for (int i = 0; i < 3; i++)
            act(&s);
        CHECK(s.failures <= 1);
    } else {
        CHECK(s.world.status == OD_EDEVICE);
    }
    leave_scene(&s);
}

/* A device that has failed stays so, the other GPU's goes on. */
static void survive(const void *arg)
{
    scene s;
    (void)arg;
    if (enter_scene(&s)) {
        act(&s);
        act(&s);
        CHECK(!s.of_device[0] || !s.of_device[1]);
        memset(s.of_device, 0, sizeof s.of_device);
        act(&s);
        CHECK(!s.of_device[0] || !s.of_device[1]);
    }
    leave_scene(&s);
}

/* --- every function at every call -------------------------------------------------------- */

#define DOUBLE_SETTINGS "CUDA_DOUBLE_JITTER=0.0002 CUDA_DOUBLE_GRANULARITY=64Ki" /* pools are in pieces */

static const char *const functions[] = {
#define NAME(member, name, arguments) #name,
    OD_CU_FUNCTIONS(NAME)
#undef NAME
};

enum { NFUNCTIONS = sizeof functions / sizeof *functions };

/* Without the version. */
static const char *plain_name(unsigned function)
{
    static char name[64];
    snprintf(name, sizeof name, "%s", functions[function]);
    char *version = strstr(name, "_v2");
    if (version)
        *version = '\0';
    return name;
}

/* When it fails it may leave behind what it should have released. */
static bool is_release(const char *name)
{
    static const char *const releases[] = {
        "cuDevicePrimaryCtxRelease", "cuMemFree",      "cuMemFreeHost",  "cuMemHostUnregister",
        "cuStreamDestroy",           "cuEventDestroy", "cuCtxPopCurrent", "cuMemUnmap",
        "cuMemAddressFree",          "cuMemRelease"};
    for (size_t i = 0; i < sizeof releases / sizeof *releases; i++)
        if (!strcmp(releases[i], name))
            return true;
    return false;
}

static cuda_child fail_at(const char *name, unsigned n, od_cu_result error, void (*body)(const void *arg))
{
    char variables[160];
    snprintf(variables, sizeof variables, DOUBLE_SETTINGS " CUDA_DOUBLE_FAIL=%s:%u:%d", name, n, error);
    cuda_child child = cuda_child_run(CUDA_DOUBLE_AND_BLAS, variables, body, NULL);
    if (child.status) {
        fprintf(stderr, "%s:%u:%d\n", name, n, error);
        cuda_child_assert_clean(&child);
    }
    return child;
}

static void fail_everywhere(od_cu_result error, void (*body)(const void *arg), unsigned most,
                            void (*check)(const cuda_child *child, const cuda_child *sound))
{
    cuda_child sound = cuda_child_run(CUDA_DOUBLE_AND_BLAS, DOUBLE_SETTINGS, body, NULL);
    cuda_child_assert_clean(&sound);
    for (unsigned f = 0; f < NFUNCTIONS; f++) {
        const char *name = plain_name(f);
        unsigned calls = cuda_child_calls(&sound, name);
        for (unsigned n = 1; n <= calls && n <= most; n++) {
            cuda_child child = fail_at(name, n, error, body);
            if (strcmp(name, "cuInit") && !is_release(name))
                cuda_child_assert_clean(&child);
            check(&child, &sound);
            cuda_child_free(&child);
        }
    }
    cuda_child_free(&sound);
}

/* No more tickets were made than without the failure. */
static void check_growth(const cuda_child *child, const cuda_child *sound)
{
    static const char *const grows[] = {"cuEventCreate", "cuMemHostAlloc", "cuStreamCreate"};
    for (size_t i = 0; i < sizeof grows / sizeof *grows; i++)
        assert_true(cuda_child_calls(child, grows[i]) <= cuda_child_calls(sound, grows[i]) + 1);
}

static void check_lines(const cuda_child *child, const cuda_child *sound)
{
    (void)sound;
    assert_true(cuda_child_lines(child, "CUDA_ERROR_ILLEGAL_ADDRESS") <= 1);
}

static void test_every_call_fails(void **state)
{
    (void)state;
    fail_everywhere(OD_CU_UNKNOWN, recover, 12, check_growth);
}

static void test_every_call_finds_the_device_lost(void **state)
{
    (void)state;
    fail_everywhere(OD_CU_ILLEGAL_ADDRESS, survive, 4, check_lines);
}

/* --- lost devices ---------------------------------------------------------------------------- */

static void lose(const void *arg)
{
    scene s;
    CHECK(enter_scene(&s));
    act(&s);
    act(&s);
    const unsigned k = *(const unsigned *)arg, other = !k;
    CHECK(s.of_device[k] > 0 && !s.of_device[other]);
    s.of_device[k] = s.of_device[other] = 0;
    act(&s);
    CHECK(s.of_device[k] >= 6 && !s.of_device[other]);
    leave_scene(&s);
}

/* A device is lost at its n-th copy; it is said once, and the other one goes on. */
static void test_lost_device(void **state)
{
    (void)state;
    for (unsigned n = 1; n <= 12; n++) {
        const unsigned k = 1;
        char variables[80];
        snprintf(variables, sizeof variables, "CUDA_DOUBLE_LOST=1:%u", n);
        cuda_child child = cuda_child_run(CUDA_DOUBLE_AND_BLAS, variables, lose, &k);
        cuda_child_assert_clean(&child);
        assert_int_equal(cuda_child_lines(&child, "CUDA_ERROR_ILLEGAL_ADDRESS"), 1);
        assert_int_equal(cuda_child_lines(&child, "device 1: "), 1);
        cuda_child_free(&child);
    }
}

/* The source of a copy is lost, which the receiver does not suffer for. */
static void lose_source(const void *arg)
{
    cuda_world w = cuda_world_make(2, 0, POOL);
    unsigned char bytes[SMALL];
    od_copy in = cuda_to_device(&w, 0, 0, bytes, SMALL), other = cuda_to_device(&w, 1, 0, bytes, SMALL);
    od_copy across = {.to = 1,
                      .from = 0,
                      .to_address = cuda_world_pool(&w, 1, 0),
                      .from_address = cuda_world_pool(&w, 0, 0),
                      .bytes = SMALL};
    const od_queue_ops *queues = w.backend.ops->queues;
    size_t free_bytes, total;
    (void)arg;
    cuda_fill(bytes, SMALL, 1);
    CHECK(!queues->enter(w.backend.state, 0)); /* a copy that the back-end knows nothing of */
    CHECK(!cuda_double.copy_h2d((uintptr_t)cuda_world_pool(&w, 0, 0), bytes, SMALL, NULL));
    while (!cuda_double.memory_info(&free_bytes, &total))
        pass_time();
    queues->leave(w.backend.state, 0);
    CHECK(cuda_world_copy(&w, &across) == OD_EDEVICE);
    CHECK(cuda_world_copy(&w, &in) == OD_EDEVICE);
    CHECK(!cuda_world_copy(&w, &other));
    cuda_world_close(&w);
}

static void test_lost_source(void **state)
{
    (void)state;
    cuda_child child = cuda_child_run(CUDA_DOUBLE, "CUDA_DOUBLE_LOST=0:1", lose_source, NULL);
    cuda_child_assert_clean(&child);
    assert_int_equal(cuda_child_lines(&child, "device 0: copying between devices: CUDA_ERROR_ILLEGAL_ADDRESS"), 1);
    assert_int_equal(cuda_child_lines(&child, "CUDA_ERROR_ILLEGAL_ADDRESS"), 1);
    cuda_child_free(&child);
}

/* Whose context can be entered no longer, with threads and pins. */
static void close_unreachable(const void *arg)
{
    (void)arg;
    cuda_world w = cuda_world_make(2, 30 * OD_PAGE, POOL);
    unsigned char *bytes = cuda_map(2 * (size_t)LARGE);
    for (int i = 0; i < 2; i++) {
        od_copy in = cuda_to_device(&w, 0, 0, bytes + (size_t)i * LARGE, LARGE);
        CHECK(!cuda_world_copy(&w, &in));
    }
    od_queue *queue;
    od_ticket *ticket;
    CHECK(!w.backend.ops->queues->take(w.backend.state, 0, &queue));
    CHECK(!w.backend.ops->queues->mark(w.backend.state, queue, &ticket) && !cuda_world_await(&w, ticket));
    while (w.backend.ops->queues->enter(w.backend.state, 0) == OD_OK) /* until it fails */
        w.backend.ops->queues->leave(w.backend.state, 0);
    cuda_world_close(&w);
    munmap(bytes, 2 * (size_t)LARGE);
}

/* Memory checkers see what is left; here, that the threads have ended. */
static void test_close_unreachable(void **state)
{
    (void)state;
    cuda_child child =
        cuda_child_run(CUDA_DOUBLE, "CUDA_DOUBLE_FAIL=cuCtxPushCurrent:20000+:201", close_unreachable, NULL);
    assert_int_equal(child.status, 0);
    assert_int_equal(cuda_child_calls(&child, "cuDevicePrimaryCtxRelease"), 2);
    cuda_child_free(&child);
}

/* --- memory, drivers ---------------------------------------------------------------------------- */

static void ask_too_much(const void *arg)
{
    (void)arg;
    cuda_world w = {.ndevices = 3, .ordinals = {0, 1, 1}, .pool_bytes = 6 * MIB, .log = OD_LOG_INFO};
    cuda_world_open(&w);
    CHECK(w.status == OD_EDEVICE); /* the second one on its GPU */
    w.pool_bytes = 3 * MIB;
    cuda_world_open(&w);
    CHECK(!w.status);
    size_t bytes = 0, total = 0;
    CHECK(!w.backend.ops->memory(w.backend.state, 0, &bytes, &total) && bytes > 6 * MIB && bytes < 7 * MIB);
    CHECK(total > 9 * MIB && total < 11 * MIB);
    CHECK(cuda_module_functions.ordinal(cuda_world_pool(&w, 2, 5)) == 1);
    CHECK(cuda_module_functions.ordinal(cuda_world_pool(&w, 0, 5)) == 0);
    CHECK(cuda_module_functions.ordinal(&bytes) == -1);
    cuda_world_close(&w);
}

static void test_out_of_memory(void **state)
{
    (void)state;
    cuda_child child = cuda_child_run(CUDA_DOUBLE, "CUDA_DOUBLE_MEMORY=10Mi", ask_too_much, NULL);
    cuda_child_assert_clean(&child);
    assert_int_equal(cuda_child_lines(&child, "device 2 does not give 6291520 bytes of its memory"), 1);
    cuda_child_free(&child);
}

/* `arg` is part of the reason. */
static void expect_none(const void *arg)
{
    char why[256] = "";
    CHECK(cuda_module_functions.count(why, sizeof why) == 0);
    if (!strstr(why, arg))
        fprintf(stderr, "%s\n", why);
    CHECK(strstr(why, arg));
    cuda_world w = {.ndevices = 1, .pool_bytes = POOL, .log = OD_LOG_ERROR};
    CHECK(cuda_module_functions.ordinal(&w) == -1);
    cuda_world_open(&w);
    CHECK(w.status == OD_EDEVICE);
}

static void expect_reason(cuda_driver driver, const char *variables, const char *reason)
{
    cuda_child child = cuda_child_run(driver, variables, expect_none, reason);
    if (child.status)
        fail_msg("%s", child.errors);
    assert_int_equal(cuda_child_lines(&child, reason), 1);
    cuda_child_free(&child);
}

static void test_no_driver(void **state)
{
    (void)state;
    expect_reason(CUDA_OLD, "", "libcuda.so.1 has no cu");
    expect_reason(CUDA_DOUBLE, "CUDA_DOUBLE_DEVICES=0", "cuInit failed: CUDA_ERROR_NO_DEVICE (");
    expect_reason(CUDA_DOUBLE, "CUDA_DOUBLE_FAIL=cuInit:1+:802", "cuInit failed: ");
    void *library = dlopen("libcuda.so.1", RTLD_LAZY);
    if (library)
        skip(); /* this machine has one */
    expect_reason(CUDA_NONE, "", "libcuda.so.1: cannot open shared object file");
}

static void expect_count(const void *arg)
{
    char why[256] = "";
    CHECK(cuda_module_functions.count(why, sizeof why) == *(const unsigned *)arg);
}

static void test_count(void **state)
{
    (void)state;
    const unsigned three = 3;
    cuda_expect_clean("CUDA_DOUBLE_DEVICES=3", expect_count, &three);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_call_fails),  cmocka_unit_test(test_every_call_finds_the_device_lost),
        cmocka_unit_test(test_lost_device),       cmocka_unit_test(test_lost_source),
        cmocka_unit_test(test_close_unreachable), cmocka_unit_test(test_out_of_memory),
        cmocka_unit_test(test_no_driver),         cmocka_unit_test(test_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
