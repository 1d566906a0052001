/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* See options.h. */
#include "memmgr/options.h"

#include <string.h>

static od_status parse_memory(const od_option_spec *spec, const char *text, void *value, char *cause, size_t size)
{
    size_t bytes = 0;

    (void)spec, (void)cause, (void)size;
    if (strcmp(text, "auto") != 0 && (od_parse_size(text, &bytes) || bytes == 0))
        return OD_EINVAL;
    *(size_t *)value = bytes;
    return OD_OK;
}

od_status od_parse_spill_limit(const char *text, size_t *limit)
{
    size_t bytes = 0;

    if (strcmp(text, "off") != 0 && (od_parse_size(text, &bytes) || bytes == 0 || bytes > INT64_MAX / 4))
        return OD_EINVAL;
    *limit = bytes;
    return OD_OK;
}

static od_status parse_spill_limit(const od_option_spec *spec, const char *text, void *value, char *cause, size_t size)
{
    (void)spec, (void)cause, (void)size;
    return od_parse_spill_limit(text, value);
}

static od_status parse_backend(const od_option_spec *spec, const char *text, void *value, char *cause, size_t size)
{
    return od_backend_choose(spec, text, value, cause, size);
}

#define MEMBER(name) offsetof(od_memory_options, name)

static const od_option_hint memory_hints[] = {{"MEM_LIMIT", "SIZE"}, {0}};
static const od_option_hint backend_hints[] = {
    {"PIN", "cuda:pin=SIZE"}, {"LINK_BANDWIDTH", "omptarget:link=RATE"}, {"LINK", "omptarget:link=RATE"}, {0}};

const od_option_spec od_memory_option_rows[] = {
    {OD_OPTION_PREFIX "MEM", "mem", "size", "auto", "bytes", "auto, or a size > 0 such as 500M, 1.5G or 512Mi",
     "Memory for tiles on each device; auto uses most of what is free.", memory_hints, parse_memory, MEMBER(limit)},
    {OD_OPTION_PREFIX "BACKEND", "backend", "words", "auto", "",
     "auto, or a back-end that `ompdarts info` lists, optionally with words: NAME:WORD=VALUE",
     "How data are copied to and from devices: mpi, devices of other ranks of an MPI job (docs/cluster.md; "
     "mpi:silence=SECONDS says when a rank is lost); cuda, by the CUDA driver (asynchronously, also between GPUs; "
     "cuda:pin=SIZE limits the host memory that is pinned for fast copies, by default to half of the machine's, "
     "loads=N says after how many loads, by default 8; keep leaves it pinned over synchronisation, until the program "
     "gives it back), or "
     "omptarget, through libomptarget (omptarget:link=RATE limits all transfers to and from LLVM's host devices "
     "together to so many bytes per second, slow=TIMES lets their kernels take so many times as long, slow=8/2 those "
     "of the first one 8 and of all others 2 times, slow=gemm:8/2 those with gemm in their name); auto selects cuda if "
     "all devices are NVIDIA's.",
     backend_hints, parse_backend, MEMBER(backend)},
    {OD_OPTION_PREFIX "SPILL", "spill", "flag", "1", "", "0|1",
     "Inside a data region, tiles are evicted to a spill area in host memory, as large as the region; 0 evicts them to "
     "the program's arrays, which then change before the region closes.",
     NULL, od_option_flag, MEMBER(spill)},
    {OD_OPTION_PREFIX "SPILL_LIMIT", "spill-limit", "size", "off", "bytes", OD_SPILL_LIMIT_ALLOWED,
     "Host memory for spill areas of evicted tiles: tasks that would make more data on devices wait as the guard's do "
     "(docs/memory.md).",
     NULL, parse_spill_limit, MEMBER(spill_limit)},
    {0}};
