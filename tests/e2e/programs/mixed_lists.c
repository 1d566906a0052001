/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Random constructs on arrays that are in regions, associated, or neither, in any mixture: kernels, synchronous, as
 * tasks and inside tasks, on pointers, structs and device addresses, data constructs, and writes of the host in
 * between. What the host sees after each synchronous one is printed.
 *
 * memory: 12Ki
 * variants: 1 5 11 21 32 42
 */
#include "check.h"

#include <omp.h>
#include <string.h>

enum { COUNT = 512, ARRAYS = 5, STEPS = 80 };

typedef struct holder {
    double *p;
    double value;
} holder;

typedef struct array {
    double *host, *associated; /* NULL: it is not */
    int references;            /* of regions */
} array;

static array arrays[ARRAYS];
static unsigned seed;

static unsigned below(unsigned n)
{
    seed = seed * 1103515245u + 12345u;
    return (seed >> 16) % n;
}

static void show(const char *what)
{
    unsigned long hash = 14695981039346656037ul, bits;
    for (int a = 0; a < ARRAYS; a++)
        for (int i = 0; i < COUNT; i++) {
            memcpy(&bits, &arrays[a].host[i], sizeof bits);
            hash = (hash ^ bits) * 1099511628211ul;
        }
    printf("%s %lx\n", what, hash);
}

/* --- kernels ---------------------------------------------------------------- */

#define BODY                                                                                                           \
    for (int i = 0; i < COUNT; i++) {                                                                                  \
        a[i] = a[i] / 4 + 2 * b[i] + k;                                                                                \
        c[i] = c[i] / 2 + i % 3;                                                                                       \
    }

static void plain(double *a, double *b, double *c, int k)
{
#pragma omp target map(tofrom : a[0 : COUNT], c[0 : COUNT]) map(to : b[0 : COUNT])
    BODY
}

static void always(double *a, double *b, double *c, int k)
{
#pragma omp target map(always, tofrom : a[0 : COUNT]) map(tofrom : c[0 : COUNT]) map(always, to : b[0 : COUNT])
    BODY
}

static void halves(double *a, double *b, double *c, int k)
{
    enum { HALF = COUNT / 2 };
#pragma omp target map(tofrom : a[0 : HALF], c[HALF : HALF]) map(to : b[0 : COUNT])
    for (int i = 0; i < HALF; i++) {
        a[i] = b[i] / 3 + k;
        c[HALF + i] += b[i] / 4;
    }
}

static void through_structs(double *a, double *b, double *c, int k)
{
    holder s = {a, k}, t = {b, 3};
#pragma omp target map(tofrom : s, c[0 : COUNT]) map(tofrom : s.p[0 : COUNT]) map(to : t) map(to : t.p[0 : COUNT])
    {
        for (int i = 0; i < COUNT; i++) {
            s.p[i] = s.p[i] / 2 + t.p[i] / 4 + s.value;
            c[i] = c[i] / 2 + t.value;
        }
        s.value += 1;
    }
    CHECK(s.p == a && t.p == b && s.value == k + 1);
}

static void by_address(double *a, double *b, double *c, int k)
{
#pragma omp target data map(tofrom : a[0 : COUNT], b[0 : COUNT]) use_device_ptr(a, b)
#pragma omp target is_device_ptr(a, b) map(tofrom : c[0 : COUNT])
    BODY
}

static void target_task(double *a, double *b, double *c, int k)
{
#pragma omp target nowait depend(inout : a[0], b[0], c[0]) map(tofrom : a[0 : COUNT], c[0 : COUNT])                    \
    map(to : b[0 : COUNT])
    BODY
}

static void in_a_task(double *a, double *b, double *c, int k)
{
#pragma omp task depend(inout : a[0], b[0], c[0])
#pragma omp target map(tofrom : a[0 : COUNT], c[0 : COUNT]) map(to : b[0 : COUNT])
    BODY
}

typedef void kernel(double *a, double *b, double *c, int k);

/* --- data constructs ------------------------------------------------------------ */

static bool are_present(const array *a, const array *b)
{
    return (a->references || a->associated) && (b->references || b->associated);
}

static void enter(array *a, array *b)
{
    double *x = a->host, *y = b->host;
#pragma omp target enter data nowait depend(inout : x[0], y[0]) map(to : x[0 : COUNT], y[0 : COUNT])
    a->references++, b->references++;
}

static void leave(array *a, array *b)
{
    double *x = a->host, *y = b->host;
    if (!a->references || !b->references)
        return;
#pragma omp target exit data nowait depend(inout : x[0], y[0]) map(from : x[0 : COUNT]) map(release : y[0 : COUNT])
    a->references--, b->references--;
}

static void move(array *a, array *b)
{
    enum { PART = COUNT / 4 };
    double *x = a->host, *y = b->host;
    if (!are_present(a, b))
        return;
#pragma omp taskwait
#pragma omp target update to(x[0 : PART]) from(y[0 : COUNT])
    show("update");
}

/* Associates it, or ends that. */
static void associate(array *a)
{
    double numbers[COUNT];
    int device = omp_get_default_device();
#pragma omp taskwait
    if (a->references)
        return;
    if (a->associated) {
        CHECK(omp_target_disassociate_ptr(a->host, device) == 0);
        omp_target_free(a->associated, device);
        a->associated = NULL;
        return;
    }
    for (int i = 0; i < COUNT; i++)
        numbers[i] = i;
    a->associated = omp_target_alloc(sizeof numbers, device);
    omp_target_memcpy(a->associated, numbers, sizeof numbers, 0, 0, device, omp_get_initial_device());
    CHECK(omp_target_associate_ptr(a->host, a->associated, sizeof numbers, 0, device) == 0);
}

/* --- all of them ------------------------------------------------------------------ */

static void step(array *a, array *b, array *c)
{
    static kernel *const synchronous[] = {plain, always, halves, through_structs, by_address},
                        *const task[] = {target_task, in_a_task};
    int k = (int)below(7);
    switch (below(8)) {
    case 0:
    case 1: {
#pragma omp taskwait
        synchronous[below(5)](a->host, b->host, c->host, k);
        show("kernel");
        break;
    }
    case 2:
    case 3:
        task[below(2)](a->host, b->host, c->host, k);
        break;
    case 4:
        enter(a, b);
        break;
    case 5:
        leave(a, b);
        break;
    case 6:
        move(a, b);
        break;
    default:
        associate(a);
        a->host[k] = -k; /* nothing is under way */
    }
}

int main(int argc, char **argv)
{
    seed = argc > 1 ? (unsigned)atoi(argv[1]) : 1;
    for (int a = 0; a < ARRAYS; a++)
        arrays[a].host = make_tiles(1, a);
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < STEPS; i++) {
        unsigned a = below(ARRAYS), b = 1 + below(ARRAYS - 1), c = 1 + below(ARRAYS - 2);
        step(&arrays[a], &arrays[(a + b) % ARRAYS], &arrays[(a + (c < b ? c : c + 1)) % ARRAYS]);
    }
    show("end");
    for (int a = 0; a < ARRAYS; a++)
        free(arrays[a].host);
    return check_result();
}
