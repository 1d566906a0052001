/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * What all calls begin and end with, and the statistics.
 */
#include "double.h"

#include <unistd.h>

cd_state cd = {.lock = PTHREAD_MUTEX_INITIALIZER, .progress = PTHREAD_COND_INITIALIZER};
_Thread_local bool cd_in_callback;

static od_cu_result count_call(cd_call call)
{
    unsigned long n = ++cd.stats.calls[call];
    for (unsigned i = 0; i < cd.settings.nrules; i++) {
        const cd_rule *rule = &cd.settings.rules[i];
        if (rule->call == call && (n == rule->n || (rule->onwards && n > rule->n)))
            return rule->result;
    }
    return OD_CU_SUCCESS;
}

od_cu_result cd_wrong_context(cd_call call)
{
    cd.stats.without_context[call]++;
    return OD_CU_INVALID_CONTEXT;
}

static od_cu_result check_needs(cd_call call, cd_needs needs)
{
    if (needs == CD_NOTHING)
        return OD_CU_SUCCESS;
    if (!cd.process)
        return CD_NOT_INITIALIZED;
    if (needs == CD_INITIALIZED)
        return OD_CU_SUCCESS;
    if (needs == CD_STREAMS_CONTEXT && !cd.settings.stream_context)
        return OD_CU_SUCCESS;
    if (!cd_current())
        return cd_wrong_context(call);
    od_cu_result result = cd_current()->references ? OD_CU_SUCCESS : CD_CONTEXT_IS_DESTROYED;
    return result || needs != CD_CONTEXT ? result : cd_context_health(cd_current());
}

od_cu_result cd_enter(cd_call call, cd_needs needs)
{
    int process = cd.process;
    if (process && process != getpid())
        return CD_NOT_INITIALIZED; /* a forked child: CUDA does not survive that, and the lock may be held for ever */
    if (cd_in_callback && needs != CD_NOTHING)
        return CD_NOT_PERMITTED;
    pthread_mutex_lock(&cd.lock);
    cd_settings_read(&cd.settings);
    od_cu_result result = count_call(call);
    if (!result)
        result = check_needs(call, needs);
    if (result)
        pthread_mutex_unlock(&cd.lock);
    return result;
}

od_cu_result cd_leave(od_cu_result result)
{
    pthread_mutex_unlock(&cd.lock);
    return result;
}

/* --- statistics -------------------------------------------------------------- */

static void print_calls(FILE *out, const char *name, const unsigned long *counts)
{
    const char *separator = "";
    fprintf(out, "\"%s\": {", name);
    for (unsigned i = 0; i < CD_NCALLS; i++) {
        if (!counts[i])
            continue;
        fprintf(out, "%s\"%s\": %lu", separator, cd_call_name((cd_call)i), counts[i]);
        separator = ", ";
    }
    fprintf(out, "}, ");
}

static void print_copies(FILE *out)
{
    static const char *const names[CD_NDIRECTIONS] = {"host_to_device", "device_to_host", "device_to_device", "peer"};
    const cd_stats *s = &cd.stats;
    fprintf(out, "\"copies\": {");
    for (unsigned i = 0; i < CD_NDIRECTIONS; i++)
        fprintf(out, "%s\"%s\": %lu", i ? ", " : "", names[i], s->copies[i]);
    fprintf(out, "}, \"bytes\": {");
    for (unsigned i = 0; i < CD_NDIRECTIONS; i++)
        fprintf(out, "%s\"%s\": %llu", i ? ", " : "", names[i], s->bytes[i]);
    fprintf(out, "}, \"pageable_copies\": %lu, \"staged_peer_copies\": %lu", s->pageable_copies, s->staged_peer_copies);
    fprintf(out, ", \"most_copies_in_flight\": %u, \"most_copies_running\": %u", s->most_in_flight, s->most_running);
}

static void print_leaks(FILE *out)
{
    unsigned long allocations = cd.stats.leaked_allocations, streams = cd.stats.leaked_streams;
    unsigned long events = cd.stats.leaked_events, pinned = 0;
    for (const cd_allocation *a = cd.allocations; a; a = a->next)
        allocations += !a->of_module;
    for (const cd_stream *s = cd.streams; s; s = s->next)
        streams += s->alive && s != s->context->null_stream;
    for (const cd_event *e = cd.events; e; e = e->next)
        events += e->alive;
    for (const cd_pinned *p = cd.pinned; p; p = p->next)
        pinned++;
    fprintf(out, ", \"leaked\": {\"allocations\": %lu, \"streams\": %lu, \"events\": %lu, \"registrations\": %lu}",
            allocations, streams, events, pinned);
}

void cd_stats_print(FILE *out)
{
    fprintf(out, "{");
    print_calls(out, "calls", cd.stats.calls);
    print_calls(out, "without_context", cd.stats.without_context);
    print_copies(out);
    print_leaks(out);
    fprintf(out, ", \"kernels\": %lu, \"empty_kernels\": %lu", cd.stats.kernels, cd.stats.empty_kernels);
    fprintf(out, ", \"main_launches\": %lu, \"main_ends\": %lu", cd.stats.main_launches, cd.stats.main_ends);
    fprintf(out, ", \"misuses\": %lu}\n", cd.stats.misuses);
}

__attribute__((destructor)) static void at_exit(void)
{
    if (!cd.process || cd.process != getpid() || !cd.settings.stats_file)
        return;
    FILE *out = fopen(cd.settings.stats_file, "w");
    if (!out) {
        perror(cd.settings.stats_file);
        return;
    }
    pthread_mutex_lock(&cd.lock);
    cd_stats_print(out);
    pthread_mutex_unlock(&cd.lock);
    fclose(out);
}
