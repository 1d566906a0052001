/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What the runs of each construct of the source come to. See listing.h. */
#include "tools/map/listing.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_WIDTH = 28 };

typedef struct row { /* one variable of one construct, or of all */
    uint32_t variable;
    uint32_t position; /* in the construct's list, where the variable has no name */
    uint64_t mapped, mapped_bytes, came[MAP_CAME], left[MAP_LEFT], moved_bytes, written_bytes;
} row;

typedef struct rows {
    row *row;
    size_t count, room;
} rows;

/* NULL: out of memory. */
static row *find_row(rows *all, uint32_t variable, uint32_t position)
{
    for (size_t i = 0; i < all->count; i++)
        if (all->row[i].variable == variable && (variable != TRACE_NO_NAME || all->row[i].position == position))
            return &all->row[i];
    if (all->count == all->room) {
        size_t room = all->room ? 2 * all->room : 8;
        row *more = realloc(all->row, room * sizeof *more);
        if (!more)
            return NULL;
        all->row = more;
        all->room = room;
    }
    all->row[all->count] = (row){.variable = variable, .position = position};
    return &all->row[all->count++];
}

static void add_use(row *r, uint64_t bytes, const map_use_fate *fate)
{
    r->mapped++;
    r->mapped_bytes += bytes;
    r->came[fate->came]++;
    r->left[fate->left] += fate->came != MAP_ON_HOST;
    r->moved_bytes += fate->moved_bytes;
    r->written_bytes += fate->written_bytes;
}

static void put_row(const char *name, const row *r, FILE *out)
{
    fprintf(out, "%-*.*s %9" PRIu64 " %10.3f", NAME_WIDTH, NAME_WIDTH, name, r->mapped, (double)r->mapped_bytes * 1e-6);
    for (unsigned i = 0; i < MAP_CAME; i++)
        fprintf(out, " %7" PRIu64, r->came[i]);
    fprintf(out, " %9.3f", (double)r->moved_bytes * 1e-6);
    for (unsigned i = 0; i < MAP_LEFT; i++)
        fprintf(out, " %7" PRIu64, r->left[i]);
    fprintf(out, " %9.3f\n", (double)r->written_bytes * 1e-6);
}

static void put_head(FILE *out)
{
    _Static_assert(MAP_CAME == 7 && MAP_LEFT == 7, "a column each");
    fprintf(out, "%-*s %9s %10s %-31s %-23s %9s %-47s\n", NAME_WIDTH, "", "", "", "  moved: new, or again after", "",
            "", "then:            evicted for");
    fprintf(out, "%-*s %9s %10s %7s %7s %7s %7s %7s %7s %7s %9s %7s %7s %7s %7s %7s %7s %7s %9s\n", NAME_WIDTH,
            "target region or task, data", "mapped", "MB", "new", "leaving", "writing", "return", "present", "empty",
            "on host", "moved MB", "kept", "back", "a task", "others", "order", "memory", "written",
            "back MB");
}

static void put_group(const trace_file *t, uint32_t name, uint64_t tasks, const rows *of, FILE *out)
{
    char text[64];
    fprintf(out, "%s%s%s, %" PRIu64 " time%s\n", t->names[name], t->sources[name] ? ", " : "",
            t->sources[name] ? t->sources[name] : "", tasks, tasks == 1 ? "" : "s");
    for (size_t i = 0; i < of->count; i++) {
        const row *r = &of->row[i];
        if (r->variable != TRACE_NO_NAME)
            snprintf(text, sizeof text, "  %.60s", t->variables[r->variable]);
        else
            snprintf(text, sizeof text, "  datum %" PRIu32, r->position + 1);
        put_row(text, r, out);
    }
}

/* `group` by name. */
static od_status sum_tasks(const trace_file *t, const map_account *account, rows *group, uint64_t *tasks, row *all)
{
    for (size_t i = 0; i < t->ntasks; i++) {
        const trace_task *task = &t->tasks[i];
        tasks[task->name] += !task->failed;
        for (uint32_t u = 0; !task->failed && u < task->nuses; u++) {
            const trace_use *use = &t->uses[task->first_use + u];
            row *r = find_row(&group[task->name], use->variable, u);
            if (!r)
                return OD_ENOMEM;
            add_use(r, t->data[use->datum].size, &account->uses[task->first_use + u]);
            add_use(all, t->data[use->datum].size, &account->uses[task->first_use + u]);
        }
    }
    return OD_OK;
}

static od_status list_tasks(const trace_file *t, const map_account *account, FILE *out)
{
    rows *group = calloc(t->nnames + 1, sizeof *group);
    uint64_t *tasks = calloc(t->nnames + 1, sizeof *tasks);
    row all = {0};
    od_status status = group && tasks ? sum_tasks(t, account, group, tasks, &all) : OD_ENOMEM;
    if (!status && t->ntasks) {
        put_head(out);
        for (uint32_t name = 0; name < t->nnames; name++)
            if (tasks[name])
                put_group(t, name, tasks[name], &group[name], out);
        put_row("all", &all, out);
    }
    for (size_t name = 0; group && name < t->nnames; name++)
        free(group[name].row);
    free(group);
    free(tasks);
    return status;
}

/* --- data constructs ------------------------------------------------------------------ */

typedef struct construct_row { /* one entry of one construct */
    const trace_construct *construct;
    const trace_map *map;
    uint64_t times, bytes;
    map_fate fate;
} construct_row;

static bool is_same(const construct_row *r, const trace_construct *c, const trace_map *map)
{
    return r->construct->source == c->source && strcmp(r->construct->name, c->name) == 0 &&
           r->map->variable == map->variable && strcmp(r->map->type, map->type) == 0;
}

static void add_map(construct_row *r, const trace_map *map, const map_fate *fate)
{
    r->times++;
    r->bytes += map->size;
    r->fate.saved_bytes += fate->saved_bytes;
    r->fate.device_bytes += fate->device_bytes;
    r->fate.home_bytes += fate->home_bytes;
    r->fate.spill_bytes += fate->spill_bytes;
}

static void put_construct_row(const trace_file *t, const construct_row *r, bool first, FILE *out)
{
    char text[64];
    if (first)
        fprintf(out, "%s%s%s\n", r->construct->name, r->construct->source != TRACE_NO_NAME ? ", " : "",
                r->construct->source != TRACE_NO_NAME ? t->variables[r->construct->source] : "");
    snprintf(text, sizeof text, "  %.44s %s",
             r->map->variable != TRACE_NO_NAME ? t->variables[r->map->variable] : "data", r->map->type);
    fprintf(out, "%-*.*s %9" PRIu64 " %10.3f %13.3f %13.3f %13.3f %13.3f\n", NAME_WIDTH, NAME_WIDTH, text, r->times,
            (double)r->bytes * 1e-6, (double)r->fate.saved_bytes * 1e-6, (double)r->fate.device_bytes * 1e-6,
            (double)r->fate.home_bytes * 1e-6, (double)r->fate.spill_bytes * 1e-6);
}

static od_status list_constructs(const trace_file *t, const map_account *account, FILE *out)
{
    construct_row *all = NULL;
    size_t n = 0;
    for (size_t i = 0; i < t->nconstructs; i++)
        for (uint32_t m = t->constructs[i].first_map; m < t->constructs[i].first_map + t->constructs[i].nmaps; m++) {
            size_t at = 0;
            while (at < n && !is_same(&all[at], &t->constructs[i], &t->maps[m]))
                at++;
            if (at == n) {
                construct_row *more = realloc(all, (n + 1) * sizeof *all);
                if (!more) {
                    free(all);
                    return OD_ENOMEM;
                }
                all = more;
                all[n++] = (construct_row){.construct = &t->constructs[i], .map = &t->maps[m]};
            }
            add_map(&all[at], &t->maps[m], &account->maps[m]);
        }
    if (n)
        fprintf(out, "\n%-*s %9s %10s %13s %13s %13s %13s\n", NAME_WIDTH, "data construct, data", "times", "MB",
                "saved MB", "to devices MB", "back: devices", "back: spilled");
    for (size_t i = 0; i < n; i++)
        put_construct_row(t, &all[i],
                          i == 0 || all[i].construct->source != all[i - 1].construct->source ||
                              strcmp(all[i].construct->name, all[i - 1].construct->name) != 0,
                          out);
    free(all);
    return OD_OK;
}

od_status map_list_sums(const trace_file *t, const map_account *account, FILE *out)
{
    od_status status = list_tasks(t, account, out);
    return status ? status : list_constructs(t, account, out);
}
