/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What a program has opened stays loaded: sanitizers find the names of libraries in which something was allocated. */
#include <dlfcn.h>

__attribute__((visibility("default"))) int dlclose(void *library)
{
    (void)library;
    return 0;
}
