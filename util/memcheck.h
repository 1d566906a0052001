/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * What valgrind's memcheck is told, in Debug builds where its header is installed.
 */
#ifndef OD_UTIL_MEMCHECK_H
#define OD_UTIL_MEMCHECK_H

#if OD_DEBUG_CHECKS && __has_include(<valgrind/memcheck.h>)
#include <valgrind/memcheck.h>
/* These bytes may be looked at although the program has not written all of them: the padding of its structs. */
#define OD_MEMCHECK_DEFINED(address, size) ((void)VALGRIND_MAKE_MEM_DEFINED(address, size))
#else
#define OD_MEMCHECK_DEFINED(address, size) ((void)(address), (void)(size))
#endif

#endif
