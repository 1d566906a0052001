/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* See code.h. */
#define _GNU_SOURCE
#include "util/file/code.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>

#ifdef DLFO_STRUCT_HAS_EH_DBASE /* glibc 2.35 */

bool od_code_find(const void *code, od_code_place *place)
{
    struct dl_find_object object;
    if (_dl_find_object((void *)(uintptr_t)code, &object) || !object.dlfo_link_map->l_name)
        return false;
    const char *name = object.dlfo_link_map->l_name; /* empty: the program */
    *place = (od_code_place){*name ? name : program_invocation_name, (uintptr_t)object.dlfo_map_start};
    return true;
}

#else

bool od_code_find(const void *code, od_code_place *place)
{
    Dl_info info;
    if (!dladdr(code, &info) || !info.dli_fname)
        return false;
    *place = (od_code_place){info.dli_fname, (uintptr_t)info.dli_fbase};
    return true;
}

#endif
