/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The end of a program that cannot go on. See fatal.h. */
#include "omp_ext/runtime/fatal.h"

#include "util/log.h"

#include <stdlib.h>

_Noreturn void od_fatal(const char *message)
{
    od_log(OD_LOG_ERROR, "runtime", "%s; the program cannot go on with right results and is stopped", message);
    abort();
}
