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

static od_status take_pin(const char *text, void *value)
{
    od_backend_choice *choice = value;
    return text ? od_parse_size(text, &choice->pin) : OD_EINVAL;
}

static od_status take_link(const char *text, void *value)
{
    od_backend_choice *choice = value;
    size_t rate;
    if (!text || od_parse_size(text, &rate))
        return OD_EINVAL;
    choice->link = (double)rate;
    return OD_OK;
}

static const od_option_word none[] = {{0}}, of_omptarget[] = {{"link", take_link}, {0}},
                            of_cuda[] = {{"pin", take_pin}, {0}};

const od_backend_row od_backend_rows[] = {
    [OD_BACKEND_AUTO] = {"auto", "cuda where all devices are NVIDIA's, else omptarget", none},
    [OD_BACKEND_OMPTARGET] = {"omptarget", "any device, by blocking copies through libomptarget", of_omptarget},
    [OD_BACKEND_CUDA] = {"cuda", "NVIDIA's GPUs: asynchronous copies of pinned memory, cuBLAS tasks (docs/design.md)",
                         of_cuda},
    {0}};

static od_status parse_backend(const od_option_spec *spec, const char *text, void *value, char *cause, size_t size)
{
    size_t length = strcspn(text, ":");
    od_backend_choice *choice = value;

    for (unsigned k = 0; od_backend_rows[k].name; k++) {
        const od_backend_row *row = &od_backend_rows[k];
        if (strlen(row->name) != length || memcmp(text, row->name, length) != 0)
            continue;
        *choice = (od_backend_choice){.kind = (od_backend_kind)k, .pin = OD_PIN_AUTO};
        return text[length] ? od_option_words(spec, text + length + 1, row->words, value, cause, size) : OD_OK;
    }
    return OD_EINVAL;
}

#define MEMBER(name) offsetof(od_memory_options, name)

static const od_option_hint memory_hints[] = {{"MEM_LIMIT", "SIZE"}, {0}};
static const od_option_hint backend_hints[] = {
    {"PIN", "cuda:pin=SIZE"}, {"LINK_BANDWIDTH", "omptarget:link=RATE"}, {"LINK", "omptarget:link=RATE"}, {0}};

const od_option_spec od_memory_option_rows[] = {
    {OD_OPTION_PREFIX "MEM", "mem", "size", "auto", "bytes", "auto, or a size > 0 such as 500M, 1.5G or 512Mi",
     "Memory for tiles on each device; auto uses most of what is free.", memory_hints, parse_memory,
     MEMBER(limit)},
    {OD_OPTION_PREFIX "BACKEND", "backend", "words", "auto", "",
     "auto, omptarget, omptarget:link=RATE, cuda, or cuda:pin=SIZE; RATE: 0 (off) or bytes per second such as 12G; "
     "SIZE: 0 (none) or a size such as 8G",
     "How data are copied to and from devices: by the CUDA driver (asynchronously, also between GPUs; pin limits the "
     "host memory that is pinned for fast copies, by default to half of the machine's) or through libomptarget (link "
     "limits all transfers to and from LLVM's host devices together to this rate); auto selects cuda if all devices "
     "are NVIDIA's.",
     backend_hints, parse_backend, MEMBER(backend)},
    {OD_OPTION_PREFIX "SPILL", "spill", "flag", "1", "", "0|1",
     "Inside a data region, tiles are evicted to a spill area in host memory, as large as the region; 0 evicts them to "
     "the program's arrays, which then change before the region closes.",
     NULL, od_option_flag, MEMBER(spill)},
    {0}};
