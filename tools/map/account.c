/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The events of a trace in the order of time, and what is known of each copy on the way. See account.h. */
#include "tools/map/account.h"

#include <stdlib.h>
#include <string.h>

typedef enum kind { LOAD, USE, EVICTION, WRITE_BACK, WRITE } kind; /* in this order where times are equal */

typedef struct event {
    double at_us;
    kind kind;
    uint32_t index; /* of trace_file.transfers, uses, evictions */
    uint32_t task;  /* of a use or a write */
} event;

enum { NONE = UINT32_MAX };

typedef struct copy { /* of a datum on a device */
    uint32_t user;    /* the last one: of trace_file.uses, or NONE */
    uint64_t coming;  /* bytes loaded for the next one */
    int from;
    map_came why; /* what the next load will be for */
    bool present;
} copy;

typedef struct ledger {
    const trace_file *trace;
    map_account *account;
    copy *copies; /* by datum, by device */
    event *events;
    size_t nevents;
} ledger;

static int by_time(const void *a, const void *b)
{
    const event *x = a, *y = b;
    if (x->at_us != y->at_us)
        return x->at_us > y->at_us ? 1 : -1;
    return x->kind != y->kind ? (x->kind > y->kind ? 1 : -1) : (x->index > y->index) - (x->index < y->index);
}

static void add(ledger *l, double at_us, kind what, size_t index, size_t task)
{
    l->events[l->nevents++] = (event){at_us, what, (uint32_t)index, (uint32_t)task};
}

static void add_tasks(ledger *l)
{
    const trace_file *t = l->trace;
    for (size_t i = 0; i < t->ntasks; i++) {
        const trace_task *task = &t->tasks[i];
        for (uint32_t u = task->first_use; !task->failed && u < task->first_use + task->nuses; u++) {
            add(l, task->from_us, USE, u, i);
            if (t->uses[u].mode & OD_WRITE)
                add(l, task->to_us, WRITE, u, i);
        }
    }
}

static bool list_events(ledger *l)
{
    const trace_file *t = l->trace;
    l->events = malloc((2 * t->nuses + t->ntransfers + t->nevictions + 1) * sizeof *l->events);
    if (!l->events)
        return false;
    add_tasks(l);
    for (size_t i = 0; i < t->ntransfers; i++) {
        const trace_transfer *x = &t->transfers[i];
        if (x->failed || x->kind == TRACE_UPDATE)
            continue;
        if (x->to >= 0)
            add(l, x->from_us, LOAD, i, 0);
        else if (x->from >= 0)
            add(l, x->from_us, WRITE_BACK, i, 0);
    }
    for (size_t i = 0; i < t->nevictions; i++)
        if (t->evictions[i].place >= 0)
            add(l, t->evictions[i].at_us, EVICTION, i, 0);
    qsort(l->events, l->nevents, sizeof *l->events, by_time);
    return true;
}

static copy *copy_of(const ledger *l, uint32_t datum, int place)
{
    return &l->copies[(size_t)datum * l->trace->ndevices + (size_t)place];
}

/* Nothing in a trace says so when it happens; that it is loaded again does. */
static void note_return(const ledger *l, copy *c)
{
    if (c->user != NONE && c->present)
        l->account->uses[c->user].left = MAP_RETURNED;
    c->why = MAP_AFTER_RETURN;
}

static void note_load(const ledger *l, const trace_transfer *x)
{
    copy *c = copy_of(l, x->datum, x->to);
    if (!c->coming && c->why == MAP_FIRST && x->reload)
        note_return(l, c);
    c->coming += x->bytes;
    c->from = x->from;
}

static void note_use(const ledger *l, uint32_t use, const trace_task *task)
{
    map_use_fate *fate = &l->account->uses[use];
    if (task->place < 0) {
        fate->came = MAP_ON_HOST;
        return;
    }
    copy *c = copy_of(l, l->trace->uses[use].datum, task->place);
    fate->came = c->coming ? c->why : c->present ? MAP_PRESENT : MAP_EMPTY;
    fate->moved_bytes = c->coming;
    fate->from = c->from;
    *c = (copy){.user = use, .why = MAP_FIRST, .present = true};
}

static void note_eviction(const ledger *l, const trace_choice *eviction)
{
    static const map_left left[OD_EVICT_REASONS] = {[OD_EVICT_FOR_TASK] = MAP_EVICTED_FOR_TASK,
                                                    [OD_EVICT_FOR_PREFETCH] = MAP_EVICTED_FOR_PREFETCH,
                                                    [OD_EVICT_COMPACTION] = MAP_EVICTED_TO_COMPACT,
                                                    [OD_EVICT_TO_SHRINK] = MAP_EVICTED_TO_SHRINK};
    copy *c = copy_of(l, eviction->datum, eviction->place);
    if (c->user != NONE && c->present)
        l->account->uses[c->user].left = left[eviction->reason];
    c->present = false;
    c->coming = 0;
    c->why = MAP_AFTER_EVICTION;
}

static void note_write_back(const ledger *l, const trace_transfer *x)
{
    const copy *c = copy_of(l, x->datum, x->from);
    if (c->user != NONE)
        l->account->uses[c->user].written_bytes += x->bytes;
}

static void note_write(const ledger *l, uint32_t use, const trace_task *task)
{
    for (int k = 0; k < (int)l->trace->ndevices; k++) {
        copy *c = copy_of(l, l->trace->uses[use].datum, k);
        if (k == task->place || !c->present)
            continue;
        l->account->uses[c->user].left = MAP_OVERWRITTEN;
        c->present = false;
        c->why = MAP_AFTER_WRITE;
    }
}

static void go_through(const ledger *l)
{
    const trace_file *t = l->trace;
    for (size_t i = 0; i < l->nevents; i++) {
        const event *e = &l->events[i];
        switch (e->kind) {
        case LOAD:
            note_load(l, &t->transfers[e->index]);
            break;
        case USE:
            note_use(l, e->index, &t->tasks[e->task]);
            break;
        case EVICTION:
            note_eviction(l, &t->evictions[e->index]);
            break;
        case WRITE_BACK:
            note_write_back(l, &t->transfers[e->index]);
            break;
        case WRITE:
            note_write(l, e->index, &t->tasks[e->task]);
        }
    }
}

/* --- data constructs -------------------------------------------------------------- */

static void note_copy(map_fate *fate, const trace_transfer *x)
{
    if (x->to >= 0)
        fate->device_bytes += x->bytes;
    else if (x->to == TRACE_SPILL)
        fate->saved_bytes += x->from == TRACE_HOST ? x->bytes : 0;
    else
        *(x->from >= 0 ? &fate->home_bytes : &fate->spill_bytes) += x->bytes;
}

/* The copy is the first entry's that has its datum. */
static void give_to_entry(const ledger *l, const trace_construct *c, const trace_transfer *x)
{
    const trace_datum *d = &l->trace->data[x->datum];
    for (uint32_t m = c->first_map; m < c->first_map + c->nmaps; m++) {
        const trace_map *map = &l->trace->maps[m];
        if (d->address >= map->address && d->address < map->address + map->size) {
            note_copy(&l->account->maps[m], x);
            return;
        }
    }
}

/* What is asked for while the construct is carried out, and has to do with its entries. */
static bool account_constructs(ledger *l)
{
    const trace_file *t = l->trace;
    size_t n = 0;
    event *asked = malloc((t->ntransfers + 1) * sizeof *asked);
    if (!asked)
        return false;
    for (size_t i = 0; i < t->ntransfers; i++)
        if (t->transfers[i].demanded && !t->transfers[i].failed)
            asked[n++] = (event){t->transfers[i].queued_us, LOAD, (uint32_t)i, 0};
    qsort(asked, n, sizeof *asked, by_time);
    for (size_t i = 0; i < t->nconstructs; i++) {
        const trace_construct *c = &t->constructs[i];
        size_t low = 0, high = n;
        while (low < high) {
            size_t middle = (low + high) / 2;
            if (asked[middle].at_us < c->from_us)
                low = middle + 1;
            else
                high = middle;
        }
        for (; low < n && asked[low].at_us <= c->to_us; low++)
            give_to_entry(l, c, &t->transfers[asked[low].index]);
    }
    free(asked);
    return true;
}

od_status map_account_make(const trace_file *trace, map_account *account)
{
    ledger l = {.trace = trace, .account = account};
    size_t ncopies = trace->ndata * trace->ndevices;
    *account = (map_account){.uses = calloc(trace->nuses + 1, sizeof *account->uses),
                             .maps = calloc(trace->nmaps + 1, sizeof *account->maps)};
    l.copies = calloc(ncopies + 1, sizeof *l.copies);
    for (size_t i = 0; l.copies && i < ncopies; i++)
        l.copies[i].user = NONE;
    bool ok = account->uses && account->maps && l.copies && list_events(&l);
    if (ok)
        go_through(&l);
    ok = ok && account_constructs(&l);
    free(l.events);
    free(l.copies);
    if (!ok)
        map_account_free(account);
    return ok ? OD_OK : OD_ENOMEM;
}

void map_account_free(map_account *account)
{
    free(account->uses);
    free(account->maps);
    *account = (map_account){0};
}
