/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Back-end `mpi`: devices of the other ranks of an MPI job. Its module is in the process already where `ompdarts run`
 * has started it, since MPI is to be initialised before main().
 */
#define _GNU_SOURCE
#include "memmgr/device/backends.h"
#include "memmgr/device/mpi/module.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static bool find(const char *name, void *function, char *error, size_t size)
{
    void *symbol = dlsym(RTLD_DEFAULT, name);
    if (!symbol)
        snprintf(error, size,
                 "this process is no rank of an MPI job: mpirun starts `ompdarts run --backend=mpi PROGRAM` "
                 "(docs/cluster.md)");
    memcpy(function, &symbol, sizeof symbol);
    return symbol;
}

static unsigned count(char *error, size_t size)
{
    od_mpi_count_fn *ranks;
    return find("ompdarts_mpi_v1_count", &ranks, error, size) ? ranks(error, size) : 0;
}

/* --- settings ---------------------------------------------------------------- */

typedef struct mpi_settings {
    uint32_t silence; /* seconds */
} mpi_settings;

_Static_assert(sizeof(mpi_settings) <= OD_BACKEND_SETTINGS, "fits");

enum { SILENCE = 20, MOST_SILENCE = 3600 };

static void defaults(void *value)
{
    ((mpi_settings *)value)->silence = SILENCE;
}

static od_status take_silence(const char *text, void *value)
{
    mpi_settings *settings = value;
    return text && !od_parse_count(text, MOST_SILENCE, &settings->silence) && settings->silence ? OD_OK : OD_EINVAL;
}

static const od_option_word words[] = {{"silence", take_silence}, {0}};

static od_status open_mpi(od_backend *backend, const od_backend_request *request, char *error, size_t size)
{
    const mpi_settings *settings = request->settings;
    od_mpi_backend_fn *make;
    od_mpi_config config = {.interface_version = OD_BACKEND_INTERFACE,
                            .devices = request->device_numbers,
                            .first = request->first,
                            .memory = request->memory,
                            .silence_s = settings->silence,
                            .log = request->log,
                            .knows = request->knows};
    if (!find("ompdarts_mpi_v1_backend", &make, error, size))
        return OD_EINVAL;
    return make(backend, &config, error, size);
}

static const od_backend_type mpi_type = {
    .interface_version = OD_BACKEND_INTERFACE,
    .name = "mpi",
    .description = "devices of other ranks, which run `ompdarts serve` (docs/cluster.md)",
    .module = OD_MPI_MODULE,
    .words = words,
    .usage = "silence=SECONDS; SECONDS: 1 to 3600, after which a rank is lost",
    .defaults = defaults,
    .count = count,
    .open = open_mpi,
};

OD_REGISTER_BACKEND(mpi_type);
