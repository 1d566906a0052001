/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Where code comes from, without the loader's lock: a thread in dlopen() or dlclose() may wait for locks of ours. */
#ifndef OD_UTIL_FILE_CODE_H
#define OD_UTIL_FILE_CODE_H

#include <stdbool.h>
#include <stdint.h>

typedef struct od_code_place {
    const char *file; /* the loader's, as long as that has it */
    uintptr_t base;   /* where it is in memory */
} od_code_place;

/* False: it is in no file. */
bool od_code_find(const void *code, od_code_place *place);

#endif
