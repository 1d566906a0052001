/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Shared objects that the user names and that hold one object we ask for. */
#ifndef OD_UTIL_PLUGIN_H
#define OD_UTIL_PLUGIN_H

#include <stddef.h>

/* The address of `symbol` in the shared object, which stays loaded. NULL: one line in `error` says why. */
const void *od_plugin_symbol(const char *file, const char *symbol, char *error, size_t size);

#endif
