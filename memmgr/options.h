/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The memory manager's options: memory of the devices, and how bytes get there. */
#ifndef OD_MEMMGR_OPTIONS_H
#define OD_MEMMGR_OPTIONS_H

#include "memmgr/device/backends.h"
#include "util/options.h"

typedef struct od_memory_options {
    size_t limit;              /* OMPDARTS_MEM: bytes per device, 0 = most of what is free */
    od_backend_choice backend; /* OMPDARTS_BACKEND */
    bool spill;                /* OMPDARTS_SPILL */
    size_t spill_limit;        /* OMPDARTS_SPILL_LIMIT: bytes, 0 = off */
} od_memory_options;

extern const od_option_spec od_memory_option_rows[];

/* Reads off or a size, as in od_memory_options. */
od_status od_parse_spill_limit(const char *text, size_t *limit);
#define OD_SPILL_LIMIT_ALLOWED "off, or a size > 0 such as 500M or 2Gi"

#endif
