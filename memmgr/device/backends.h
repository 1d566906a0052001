/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The back-ends that there are, by name. Each registers itself where it is defined (OD_REGISTER_BACKEND) and is found
 * here; no list names it.
 */
#ifndef OD_MEMMGR_DEVICE_BACKENDS_H
#define OD_MEMMGR_DEVICE_BACKENDS_H

#include "memmgr/device/backend.h"
#include "util/container/registry.h"
#include "util/options.h"

#include <stddef.h>

enum { OD_BACKEND_SETTINGS = 256 }; /* bytes, for what the words of a back-end say */

/* Whether the program has this device code. */
struct od_mpi_kernel;
typedef bool od_knows_kernel(const struct od_mpi_kernel *kernel);

/* What a back-end is opened with. */
typedef struct od_backend_request {
    unsigned ndevices;
    const int *device_numbers;   /* OpenMP's number of each of our devices; outlives the back-end */
    const od_omptarget_api *api; /* copied where it is needed later */
    const void *settings;        /* what type->words have set */
    bool is_automatic;           /* nobody has named it: it refuses devices that are not its own kind */
    bool trusted;                /* kernels use nothing of arrays but what their tasks name */
    od_log_level log;
    int first;     /* the number of the back-end's first one, where it counts its own */
    size_t memory; /* bytes that the user wants of each device; 0: most of what is free */
    od_knows_kernel *knows;
} od_backend_request;

typedef struct od_backend_type {
    unsigned interface_version; /* OD_BACKEND_INTERFACE */
    const char *name;           /* value of OMPDARTS_BACKEND */
    const char *description;
    const char *module; /* file beside libompdarts.so that it needs, or NULL */
    unsigned rank;      /* `auto` tries those that are present, the highest rank first; 0: only if it is named */

    /* Words of its own (NAME:WORD=VALUE), which write into settings; NULL: none. */
    const od_option_word *words;
    const char *usage;               /* "link=RATE; RATE: 0 (off) or …", or NULL */
    void (*defaults)(void *settings); /* NULL: all zero */

    /* NULL: devices are libomptarget's. Else how many there are, which device_numbers then count. 0: none, `error` says
     * why. */
    unsigned (*count)(char *error, size_t error_size);
    bool (*is_present)(void); /* cheap, loads nothing; NULL: always */
    /* Fills *backend, but takes no pool. On failure `error` says why. */
    od_status (*open)(od_backend *backend, const od_backend_request *request, char *error, size_t error_size);
} od_backend_type;

#define OD_REGISTER_BACKEND(type) OD_REGISTER(od_backends, od_backend_type, type)

/* Which back-end the user wants. */
typedef struct od_backend_choice {
    const od_backend_type *type; /* NULL: auto */
    _Alignas(max_align_t) char settings[OD_BACKEND_SETTINGS];
} od_backend_choice;

const char *const *od_backend_names(void);             /* sorted, up to NULL */
const od_backend_type *od_backend_find(const char *name); /* NULL: unknown */

/* Parses "auto", NAME or NAME:WORD=VALUE,…; `spec` is the option's row. OD_EINVAL: `cause` says what is allowed. */
od_status od_backend_choose(const od_option_spec *spec, const char *text, od_backend_choice *choice, char *cause,
                            size_t size);

/* Opens the chosen back-end, or the first that takes all devices; what `request` says of settings and choice is set
 * here. OD_EINVAL: `error` says why it is not possible. */
od_status od_backend_open(od_backend *backend, const od_backend_choice *choice, od_backend_request *request,
                          char *error, size_t error_size);

#endif
