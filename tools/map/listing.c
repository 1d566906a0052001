/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Each run of a construct, line by line. See listing.h; sums.c adds them up. */
#include "tools/map/listing.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

typedef struct entry { /* a task or a data construct */
    double at_us;
    size_t index;
    bool is_task;
} entry;

static int by_time(const void *a, const void *b)
{
    const entry *x = a, *y = b;
    return (x->at_us > y->at_us) - (x->at_us < y->at_us);
}

static const char *place_name(const trace_file *t, int place)
{
    return place >= 0 ? t->device[place] : place == TRACE_HOST ? "the host" : "the spill area";
}

static const char *variable_of(const trace_file *t, uint32_t variable, uint64_t address, char text[24])
{
    if (variable != TRACE_NO_NAME)
        return t->variables[variable];
    snprintf(text, 24, "%#" PRIx64, address);
    return text;
}

static void put_coming(const trace_file *t, const map_use_fate *fate, FILE *out)
{
    static const char *const why[MAP_CAME] = {
        [MAP_FIRST] = ", for the first time",
        [MAP_AFTER_EVICTION] = " again: it had been evicted",
        [MAP_AFTER_WRITE] = " again: it had been written elsewhere",
        [MAP_AFTER_RETURN] = " again: it had gone back to the host",
        [MAP_PRESENT] = "present",
        [MAP_EMPTY] = "nothing to copy",
        [MAP_ON_HOST] = "on the host",
    };
    if (fate->moved_bytes)
        fprintf(out, "moved from %s%s", place_name(t, fate->from), why[fate->came]);
    else
        fputs(why[fate->came], out);
}

static void put_leaving(const map_use_fate *fate, FILE *out)
{
    static const char *const how[MAP_LEFT] = {
        [MAP_KEPT] = "kept",
        [MAP_RETURNED] = "went back to the host",
        [MAP_EVICTED_FOR_TASK] = "evicted for a task's data",
        [MAP_EVICTED_FOR_PREFETCH] = "evicted for a prefetch",
        [MAP_EVICTED_TO_COMPACT] = "evicted because it was in the way",
        [MAP_EVICTED_TO_SHRINK] = "evicted because others needed the memory",
        [MAP_OVERWRITTEN] = "written elsewhere",
    };
    if (fate->came != MAP_ON_HOST)
        fprintf(out, "; %s%s", how[fate->left], fate->written_bytes ? ", written back" : "");
}

static void put_task(const trace_file *t, const map_account *account, const trace_task *task, FILE *out)
{
    static const char *const modes[] = {"", "r", "w", "rw"};
    const char *source = t->sources[task->name];
    char text[24];
    fprintf(out, "%12.6f s  %s%s%s%s, task %" PRIu64 " on %s%s\n", task->from_us * 1e-6, t->names[task->name],
            source ? " (" : "", source ? source : "", source ? ")" : "", task->number, place_name(t, task->place),
            task->failed ? ": failed, and ran again" : "");
    for (uint32_t u = task->first_use; !task->failed && u < task->first_use + task->nuses; u++) {
        const trace_use *use = &t->uses[u];
        const trace_datum *d = &t->data[use->datum];
        fprintf(out, "    %-20s %-7s %12" PRIu64 " bytes  ", variable_of(t, use->variable, d->address, text),
                modes[use->mode], d->size);
        put_coming(t, &account->uses[u], out);
        put_leaving(&account->uses[u], out);
        fputc('\n', out);
    }
}

static void put_part(FILE *out, bool *any, uint64_t bytes, const char *what)
{
    if (bytes)
        fprintf(out, "%s%" PRIu64 " bytes %s", *any ? ", " : "", bytes, what);
    *any |= bytes > 0;
}

static const char *why_nothing(const trace_map *map, bool enters)
{
    return enters ? "nothing to copy" : strstr(map->type, "from") ? "nothing left to copy" : "nothing moved";
}

static void put_construct(const trace_file *t, const map_account *account, const trace_construct *c, FILE *out)
{
    bool has_source = c->source != TRACE_NO_NAME, enters = strcmp(c->name, "enter data") == 0;
    char text[24];
    fprintf(out, "%12.6f s  %s%s%s%s\n", c->from_us * 1e-6, c->name, has_source ? " (" : "",
            has_source ? t->variables[c->source] : "", has_source ? ")" : "");
    for (uint32_t m = c->first_map; m < c->first_map + c->nmaps; m++) {
        const trace_map *map = &t->maps[m];
        const map_fate *fate = &account->maps[m];
        bool any = false;
        fprintf(out, "    %-20s %-7s %12" PRIu64 " bytes  ", variable_of(t, map->variable, map->address, text),
                map->type, map->size);
        put_part(out, &any, fate->saved_bytes, "saved in the spill area");
        put_part(out, &any, fate->device_bytes, "moved to devices");
        put_part(out, &any, fate->home_bytes, "written back from devices");
        put_part(out, &any, fate->spill_bytes, "written back from the spill area");
        if (enters && !fate->device_bytes && strncmp(map->type, "to", 2) == 0)
            fprintf(out, "%seach part moves with the first task that uses it", any ? "; " : "");
        else if (!any)
            fputs(why_nothing(map, enters), out);
        fputc('\n', out);
    }
}

od_status map_list_each(const trace_file *t, const map_account *account, FILE *out)
{
    size_t n = 0;
    entry *entries = malloc((t->ntasks + t->nconstructs + 1) * sizeof *entries);
    if (!entries)
        return OD_ENOMEM;
    for (size_t i = 0; i < t->ntasks; i++)
        entries[n++] = (entry){t->tasks[i].from_us, i, true};
    for (size_t i = 0; i < t->nconstructs; i++)
        entries[n++] = (entry){t->constructs[i].from_us, i, false};
    qsort(entries, n, sizeof *entries, by_time);
    for (size_t i = 0; i < n; i++)
        if (entries[i].is_task)
            put_task(t, account, &t->tasks[entries[i].index], out);
        else
            put_construct(t, account, &t->constructs[entries[i].index], out);
    free(entries);
    return OD_OK;
}
