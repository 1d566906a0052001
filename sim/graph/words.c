/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The words of recorded runs. */
#include "sim/graph/words.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool sim_refuse(sim_reader *in, const char *what)
{
    snprintf(in->error, in->size, "line %" PRIu64 ": %s", in->lines, what);
    return false;
}

/* The next word, or NULL: the line ends. */
char *sim_word(sim_reader *in)
{
    char *begin = in->rest + strspn(in->rest, " ");
    if (!*begin)
        return NULL;
    char *end = begin + strcspn(begin, " ");
    in->rest = *end ? end + 1 : end;
    *end = '\0';
    return begin;
}

bool sim_to_number(const char *text, uint64_t most, uint64_t *value)
{
    char *end;
    errno = 0;
    if (!text || *text < '0' || *text > '9')
        return false;
    *value = strtoull(text, &end, 0);
    return !errno && !*end && *value <= most;
}

bool sim_number(sim_reader *in, uint64_t most, uint64_t *value)
{
    return sim_to_number(sim_word(in), most, value) || sim_refuse(in, "a number is missing or out of range");
}

bool sim_index(sim_reader *in, uint32_t below, uint32_t *value)
{
    uint64_t wide;
    if (!below || !sim_number(in, below - 1, &wide))
        return sim_refuse(in, "a number is missing or out of range");
    *value = (uint32_t)wide;
    return true;
}

bool sim_count(sim_reader *in, uint32_t *value)
{
    return sim_index(in, UINT32_MAX, value);
}

bool sim_seconds(sim_reader *in, double *value)
{
    char *end, *text = sim_word(in);
    if (!text)
        return sim_refuse(in, "a time is missing");
    *value = strtod(text, &end);
    return (end != text && !*end && *value >= 0 && *value < 1e9) || sim_refuse(in, "not a time in seconds");
}

bool sim_mode(const char *text, od_mode *mode)
{
    *mode = strcmp(text, "r") == 0 ? OD_READ : strcmp(text, "w") == 0 ? OD_WRITE : OD_READ_WRITE;
    return *mode != OD_READ_WRITE || strcmp(text, "rw") == 0;
}

bool sim_place(sim_reader *in, int *value)
{
    uint64_t device;
    const char *text = sim_word(in);
    if (text && strcmp(text, "host") == 0)
        *value = OD_HOST;
    else if (text && strcmp(text, "spill") == 0)
        *value = OD_SPILL;
    else if (sim_to_number(text, OD_MAX_DEVICES - 1, &device))
        *value = (int)device;
    else
        return sim_refuse(in, "not a place");
    return true;
}
