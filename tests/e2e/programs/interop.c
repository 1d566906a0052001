/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * `omp interop` with `targetsync`. Where the scheduler has given the code a device with queues of its own (the CUDA
 * back-end), the queue is that of ompdarts_stream(), and the properties are those of the device; else the program says
 * nothing about them.
 *
 * variants: task region
 */
#include "check.h"

#include "../../../omp_ext/hooks/ompdarts.h"

#include <omp.h>
#include <string.h>

enum { N = 1000 };

static double x[N];
static int seen; /* queues */

/* The calling code has been shown the device address of x. */
static void look(void)
{
    int code = 1;
    void *stream = ompdarts_stream();
    if (!stream)
        return;
    seen++;
    omp_interop_t object = omp_interop_none;
#pragma omp interop init(targetsync : object)
    CHECK(object != omp_interop_none);
    CHECK(omp_get_interop_ptr(object, omp_ipr_targetsync, &code) == stream && code == omp_irc_success);
    CHECK(omp_get_interop_int(object, omp_ipr_fr_id, &code) == omp_ifr_cuda && code == omp_irc_success);
    CHECK(omp_get_interop_ptr(object, omp_ipr_device_context, &code) != NULL);
    CHECK(omp_get_interop_int(object, omp_ipr_device_num, &code) >= 0);
    omp_get_interop_int(object, omp_ipr_targetsync, &code);
    CHECK(code == omp_irc_type_ptr);
    omp_get_interop_ptr(object, omp_ipr_platform, &code);
    CHECK(code == omp_irc_no_value);
    CHECK(omp_get_interop_str(object, omp_ipr_vendor_name, NULL)[0] == 'n');
    CHECK(omp_get_interop_type_desc(object, omp_ipr_targetsync)[0] == 'v');
#pragma omp interop use(object)
#pragma omp interop destroy(object)
    CHECK(object == omp_interop_none);
}

static void in_task(void)
{
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < 5; i++) {
#pragma omp task depend(inout : x[0 : N])
        {
            double *p = x;
#pragma omp target data map(tofrom : p[0 : N]) use_device_ptr(p)
            look();
#pragma omp target map(tofrom : x)
            for (int j = 0; j < N; j++)
                x[j] += j;
        }
    }
}

static void in_region(void)
{
    double *p = x;
#pragma omp target data map(tofrom : p[0 : N])
    {
#pragma omp target data use_device_ptr(p)
        look();
#pragma omp target map(tofrom : x)
        for (int j = 0; j < N; j++)
            x[j] += 5 * j;
    }
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "task") == 0)
        in_task();
    else
        in_region();
    for (int j = 0; j < N; j++)
        CHECK(x[j] == 5 * j);
    bool has_queues = getenv("E2E_CUDA_DOUBLE") && !getenv("E2E_MPI"); /* those of other ranks' GPUs are there */
    CHECK(seen || !ompdarts_ndevices() || !has_queues);
    return check_result();
}
