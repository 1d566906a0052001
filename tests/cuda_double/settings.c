/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The environment. What is not understood ends the process: a test whose failure is not injected would pass.
 */
#include "double.h"

#include <stdlib.h>
#include <string.h>

static const char *const call_names[CD_NCALLS] = {
#define CD_NAME(member, name, arguments) #name,
    CD_ALL_FUNCTIONS(CD_NAME)
#undef CD_NAME
};

const char *cd_call_name(cd_call call)
{
    static _Thread_local char name[64];
    snprintf(name, sizeof name, "%s", call_names[call]);
    size_t length = strlen(name);
    if (length > 3 && !strncmp(name + length - 3, "_v", 2))
        name[length - 3] = '\0';
    return name;
}

static void refuse(const char *variable, const char *text)
{
    fprintf(stderr, "cuda double: %s=%s: not understood\n", variable, text);
    abort();
}

/* A number, with Ki, Mi or Gi behind it or not. */
static double number(const char *variable, double otherwise)
{
    const char *text = getenv(variable);
    if (!text || !*text)
        return otherwise;
    char *end;
    double value = strtod(text, &end);
    static const char units[] = "KMG";
    const char *unit = *end ? strchr(units, *end) : NULL;
    if (unit && end[1] == 'i' && !end[2])
        value *= (double)(1ull << (10 * (unit - units + 1)));
    else if (*end || end == text)
        refuse(variable, text);
    if (value < 0)
        refuse(variable, text);
    return value;
}

static cd_call find_call(const char *text, const char *name, size_t length)
{
    for (unsigned i = 0; i < CD_NCALLS; i++) {
        const char *known = cd_call_name((cd_call)i);
        if (strlen(known) == length && !strncmp(known, name, length))
            return (cd_call)i;
    }
    refuse("CUDA_DOUBLE_FAIL", text);
    return CD_NCALLS;
}

/* name:n[+]:code; returns where it ends. */
static const char *read_rule(const char *text, const char *from, cd_rule *rule)
{
    size_t length = strcspn(from, ":");
    rule->call = find_call(text, from, length);
    if (!from[length])
        refuse("CUDA_DOUBLE_FAIL", text);
    char *end;
    rule->n = strtoul(from + length + 1, &end, 10);
    rule->onwards = *end == '+';
    end += rule->onwards;
    if (*end != ':' || !rule->n)
        refuse("CUDA_DOUBLE_FAIL", text);
    const char *code = end + 1;
    rule->result = (od_cu_result)strtol(code, &end, 10);
    if (end == code || (*end && *end != ','))
        refuse("CUDA_DOUBLE_FAIL", text);
    return end;
}

static void read_rules(cd_settings *s)
{
    const char *text = getenv("CUDA_DOUBLE_FAIL");
    for (const char *at = text; at && *at; at += *at == ',') {
        if (s->nrules == CD_MOST_RULES)
            refuse("CUDA_DOUBLE_FAIL", text);
        at = read_rule(text, at, &s->rules[s->nrules++]);
    }
}

/* device:n; -1 without it. */
static int read_lost(const char *variable, unsigned long *n)
{
    const char *text = getenv(variable);
    if (!text || !*text)
        return -1;
    char *end;
    int device = (int)strtol(text, &end, 10);
    if (end == text || *end != ':')
        refuse(variable, text);
    *n = strtoul(end + 1, &end, 10);
    if (*end || !*n)
        refuse(variable, text);
    return device;
}

static void read_misuse(cd_settings *s)
{
    const char *text = getenv("CUDA_DOUBLE_MISUSE");
    s->warn = text && !strcmp(text, "warn");
    if (text && *text && !s->warn && strcmp(text, "abort"))
        refuse("CUDA_DOUBLE_MISUSE", text);
}

static unsigned count_visible(unsigned ndevices)
{
    const char *text = getenv("CUDA_VISIBLE_DEVICES");
    unsigned n = 0;
    while (text && n < ndevices) {
        char *end;
        unsigned long device = strtoul(text, &end, 10);
        if (end == text || device >= ndevices)
            return n;
        n++;
        text = *end == ',' ? end + 1 : "";
    }
    return text ? n : ndevices;
}

void cd_settings_read(cd_settings *s)
{
    if (s->is_read)
        return;
    s->is_read = true;
    double ndevices = number("CUDA_DOUBLE_DEVICES", 4);
    if (ndevices > (double)CD_MOST_DEVICES)
        refuse("CUDA_DOUBLE_DEVICES", getenv("CUDA_DOUBLE_DEVICES"));
    s->ndevices = count_visible((unsigned)ndevices);
    s->memory = (size_t)number("CUDA_DOUBLE_MEMORY", 64 << 20);
    s->peer = number("CUDA_DOUBLE_PEER", 1) > 0;
    s->managed = number("CUDA_DOUBLE_MANAGED", 1) > 0;
    s->stream_context = number("CUDA_DOUBLE_STREAM_CONTEXT", 1) > 0;
    s->bandwidth = number("CUDA_DOUBLE_BANDWIDTH", 0);
    s->pin_bandwidth = number("CUDA_DOUBLE_PIN_BANDWIDTH", 0);
    s->jitter_s = number("CUDA_DOUBLE_JITTER", 0);
    s->seed = (uint64_t)number("CUDA_DOUBLE_SEED", 1);
    s->pin_limit = (size_t)number("CUDA_DOUBLE_PIN_LIMIT", 0);
    s->watch_pins = number("CUDA_DOUBLE_WATCH_PINS", 0) > 0;
    s->arch = (unsigned)number("CUDA_DOUBLE_ARCH", 90);
    s->kernel_s = number("CUDA_DOUBLE_KERNEL_TIME", 0);
    s->launch_waits = (unsigned long)number("CUDA_DOUBLE_LAUNCH_WAITS", 0);
    s->others = (size_t)number("CUDA_DOUBLE_OTHERS", 0);
    s->granularity = (size_t)number("CUDA_DOUBLE_GRANULARITY", 2 << 20);
    s->compute_mode = (int)number("CUDA_DOUBLE_COMPUTE_MODE", 0);
    s->version = (int)number("CUDA_DOUBLE_VERSION", 13000);
    s->name = getenv("CUDA_DOUBLE_NAME") ? getenv("CUDA_DOUBLE_NAME") : "CUDA double";
    s->kernels_file = getenv("CUDA_DOUBLE_KERNELS");
    s->stats_file = getenv("CUDA_DOUBLE_STATS");
    read_misuse(s);
    read_rules(s);
    s->lost_device = read_lost("CUDA_DOUBLE_LOST", &s->lost_copy);
    s->lost_kernel_device = read_lost("CUDA_DOUBLE_LOST_KERNEL", &s->lost_kernel);
}
