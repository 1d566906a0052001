/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The end of a program that cannot go on. See fatal.h. */
#include "omp_ext/process/fatal.h"

#include "memmgr/device/mpi/module.h"
#include "util/log.h"
#include "util/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

_Noreturn void od_fatal(const char *message)
{
    od_log(OD_LOG_ERROR, "runtime", "%s; the program cannot continue correctly and is stopped", message);
    abort();
}

void od_refuse(const char *message)
{
    enum { EXIT_BAD_CONFIGURATION = 2 };
    fprintf(stderr, "ompdarts: %s\n", message);
    fflush(NULL);
    if (od_environment(OD_MPI_ROLE)) /* MPI has not begun */
        od_mpi_end_job(EXIT_BAD_CONFIGURATION);
    _exit(EXIT_BAD_CONFIGURATION);
}
