/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The memory manager's options: memory of the devices, and how bytes get there. */
#ifndef OD_MEMMGR_OPTIONS_H
#define OD_MEMMGR_OPTIONS_H

#include "util/options.h"

typedef enum od_backend_kind {
    OD_BACKEND_AUTO,      /* cuda where all devices are NVIDIA's, else omptarget */
    OD_BACKEND_OMPTARGET, /* blocking copies through the OpenMP API */
    OD_BACKEND_CUDA,      /* the CUDA driver */
} od_backend_kind;

/* One row per kind, in their order. */
typedef struct od_backend_row {
    const char *name; /* value of OMPDARTS_BACKEND; NULL: the end */
    const char *description;
    const od_option_word *words; /* NAME:WORD=VALUE */
} od_backend_row;

extern const od_backend_row od_backend_rows[];

#define OD_PIN_AUTO SIZE_MAX

typedef struct od_backend_choice {
    od_backend_kind kind;
    size_t pin;  /* of cuda: bytes of host memory that may be pinned, or OD_PIN_AUTO; 0 = none */
    double link; /* of omptarget: bytes/s, shared by all devices; 0 = not slowed */
} od_backend_choice;

typedef struct od_memory_options {
    size_t limit;              /* OMPDARTS_MEM: bytes per device, 0 = most of what is free */
    od_backend_choice backend; /* OMPDARTS_BACKEND */
    bool spill;                /* OMPDARTS_SPILL */
} od_memory_options;

extern const od_option_spec od_memory_option_rows[];

#endif
