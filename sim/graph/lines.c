/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Reading recorded runs, line by line, word by word. */
#include "sim/graph/words.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- words ------------------------------------------------------------------- */

/* Nodes are numbered from 1 in the file. */
static bool node(sim_reader *in, uint32_t *index)
{
    uint64_t wide;
    if (!sim_number(in, in->r->nnodes, &wide) || !wide)
        return sim_refuse(in, "a task that was not created");
    *index = (uint32_t)(wide - 1);
    return true;
}

/* The node whose line this is, which its lines so far must have brought into the state. */
static bool node_in(sim_reader *in, sim_node_state state, uint32_t *index)
{
    static const char *const others[] = {
        [SIM_CREATED] = "a task that was ready or had ended before",
        [SIM_READY] = "a task that was not ready, or had ended before",
    };
    return node(in, index) && (in->r->nodes[*index].state == state || sim_refuse(in, others[state]));
}

static void end_node(sim_reader *in, uint32_t self, double at)
{
    in->r->nodes[self].state = SIM_ENDED;
    in->r->nodes[self].end = at;
}

/* --- lines -------------------------------------------------------------------- */

static sim_step *add_step(sim_reader *in, sim_step_kind kind)
{
    sim_recording *r = in->r;
    r->steps = sim_grown(r->steps, r->nsteps, &r->steps_capacity, sizeof *r->steps);
    r->steps[r->nsteps] = (sim_step){.kind = kind};
    return &r->steps[r->nsteps++];
}

/* A word NAME=NUMBER. */
static bool setting(sim_reader *in, const char *name, uint64_t most, uint64_t *value)
{
    char *text = sim_word(in);
    size_t length = strlen(name);
    if (text && strncmp(text, name, length) == 0 && text[length] == '=' &&
        sim_to_number(text + length + 1, most, value))
        return true;
    return sim_refuse(in, "not the settings of a run");
}

/* active=NUMBER, -1 for `auto`; older recordings have none. */
static bool read_working(sim_reader *in)
{
    static const char name[] = "active=";
    uint64_t count;
    const char *text = sim_word(in);
    if (text && strcmp(text, "active=-1") == 0)
        in->r->active = -1;
    else if (text && strncmp(text, name, sizeof name - 1) == 0 &&
             sim_to_number(text + sizeof name - 1, INT_MAX, &count))
        in->r->active = (int)count;
    else if (text)
        return sim_refuse(in, "not the settings of a run");
    return true;
}

static bool read_run(sim_reader *in)
{
    sim_recording *r = in->r;
    uint64_t devices, memory, buffer, spill;
    bool ok = setting(in, "devices", OD_MAX_DEVICES, &devices) && setting(in, "memory", SIZE_MAX, &memory) &&
              setting(in, "buffer", UINT32_MAX, &buffer) &&
              setting(in, "seed", UINT64_MAX, &r->seed) && setting(in, "spill", 1, &spill);
    if (!ok || !devices || !memory || !buffer)
        return sim_refuse(in, "not the settings of a run");
    r->ndevices = (unsigned)devices;
    r->memory = memory;
    r->buffer = (unsigned)buffer;
    r->spill = spill;
    return read_working(in);
}

static bool link(sim_reader *in, od_link *link)
{
    uint64_t bandwidth;
    bool ok = sim_number(in, UINT64_MAX, &bandwidth) && sim_seconds(in, &link->latency);
    link->bandwidth = (double)bandwidth;
    return ok;
}

static bool read_links(sim_reader *in)
{
    return link(in, &in->r->host_link) && link(in, &in->r->peer_link);
}

static bool read_name(sim_reader *in, char *name, size_t size)
{
    snprintf(name, size, "%s", in->rest);
    return *name || sim_refuse(in, "a name is missing");
}

static bool read_policy(sim_reader *in)
{
    return read_name(in, in->r->policy, sizeof in->r->policy);
}

static bool read_eviction(sim_reader *in)
{
    return read_name(in, in->r->evict, sizeof in->r->evict);
}

static bool read_kernel(sim_reader *in)
{
    uint64_t index;
    const char *name;
    if (!sim_number(in, UINT32_MAX, &index) || index != in->graph->nkernels || !(name = sim_word(in)))
        return sim_refuse(in, "not the next kernel");
    sim_graph_kernel(in->graph, name, 0, 0);
    return true;
}

static bool read_datum(sim_reader *in)
{
    uint64_t index, base, bytes;
    if (!sim_number(in, UINT32_MAX, &index) || index != in->graph->ndata || !sim_number(in, UINTPTR_MAX, &base) ||
        !sim_number(in, UINTPTR_MAX - base, &bytes) || !bytes)
        return sim_refuse(in, "not the next datum");
    sim_graph_datum(in->graph, &(sim_datum){.bytes = bytes,
                                            .base = base,
                                            .matrix = sim_graph_matrix(in->graph, "data"),
                                            .row = (uint32_t)index});
    return true;
}

/* The next word, FIRST:MODE...: returns MODE and what follows; NULL: there is no such word. */
static char *split_word(sim_reader *in, char **first)
{
    char *colon = (*first = sim_word(in)) ? strchr(*first, ':') : NULL;
    if (!colon)
        return NULL;
    *colon = '\0';
    return colon + 1;
}

/* A depend item ADDRESS:MODE. */
static bool read_use(sim_reader *in)
{
    char *text, *mode = split_word(in, &text);
    uint64_t address;
    od_mode use_mode;
    if (!mode)
        return sim_refuse(in, "a depend item is missing");
    if (!sim_to_number(text, UINTPTR_MAX, &address) || !sim_mode(mode, &use_mode))
        return sim_refuse(in, "not a depend item");
    sim_recording *r = in->r;
    r->uses = sim_grown(r->uses, r->nuses, &r->uses_capacity, sizeof *r->uses);
    r->uses[r->nuses++] = (od_level_use){address, use_mode & OD_WRITE, use_mode == OD_WRITE};
    return true;
}

static bool read_create(sim_reader *in)
{
    sim_recording *r = in->r;
    uint64_t id;
    uint32_t count;
    double at, predicted;
    if (!sim_number(in, UINT32_MAX - 1, &id) || id != (uint64_t)r->nnodes + 1 || !sim_seconds(in, &at) ||
        !sim_seconds(in, &predicted) || !sim_count(in, &count))
        return sim_refuse(in, "not the next task that is created");
    r->nodes = sim_grown(r->nodes, r->nnodes, &r->nodes_capacity, sizeof *r->nodes);
    r->nodes[r->nnodes++] =
        (sim_node){.task = SIM_NO_TASK, .first_use = r->nuses, .nuses = count, .seconds = predicted};
    sim_step *step = add_step(in, SIM_CREATE);
    step->at = at;
    step->node = r->nnodes - 1;
    for (uint32_t i = 0; i < count; i++)
        if (!read_use(in))
            return false;
    return true;
}

/* COUNT and so many numbers of tasks. */
static bool read_before(sim_reader *in, uint32_t self)
{
    sim_recording *r = in->r;
    uint32_t count, before = 0;
    if (!sim_count(in, &count))
        return false;
    r->nodes[self].first_before = r->nbefore;
    for (uint32_t i = 0; i < count; i++) {
        if (!node(in, &before))
            return false;
        if (r->nodes[before].state != SIM_ENDED)
            return sim_refuse(in, "a task that precedes another had not ended");
        r->before = sim_grown(r->before, r->nbefore, &r->before_capacity, sizeof *r->before);
        r->before[r->nbefore++] = before;
        r->nodes[self].nbefore++;
        if (r->nodes[self].task != SIM_NO_TASK && r->nodes[before].task != SIM_NO_TASK)
            sim_graph_before(in->graph, r->nodes[before].task);
    }
    return true;
}

/* DATUM:MODE[:home] */
static bool read_access(sim_reader *in)
{
    sim_recording *r = in->r;
    char *text, *mode = split_word(in, &text);
    uint64_t datum;
    od_mode access_mode;
    if (!mode)
        return sim_refuse(in, "an access is missing");
    char *flag = strchr(mode, ':');
    if (flag)
        *flag++ = '\0';
    if (!in->graph->ndata || !sim_to_number(text, in->graph->ndata - 1, &datum) || !sim_mode(mode, &access_mode) ||
        (flag && strcmp(flag, "home") != 0))
        return sim_refuse(in, "not an access");
    r->home = sim_grown(r->home, in->graph->naccesses, &r->home_capacity, sizeof *r->home);
    r->home[in->graph->naccesses] = flag != NULL;
    sim_graph_access(in->graph, (uint32_t)datum, access_mode);
    return true;
}

static bool to_priority(const char *text, int32_t *priority)
{
    uint64_t wide;
    bool negative = text && *text == '-';
    if (!sim_to_number(negative ? text + 1 : text, INT32_MAX, &wide))
        return false;
    *priority = negative ? -(int32_t)wide : (int32_t)wide;
    return true;
}

/* While the thread waited nothing could become ready by it: how long that takes the replay finds by itself. */
static void set_delay(sim_recording *r, uint32_t self, double at)
{
    const sim_node *n = &r->nodes[self];
    double end = r->resumed;
    for (uint32_t i = n->first_before; i < n->first_before + n->nbefore; i++)
        end = fmax(end, r->nodes[r->before[i]].end);
    r->nodes[self].delay = n->nbefore ? fmax(at - end, 0) : 0;
}

static bool read_task(sim_reader *in)
{
    sim_recording *r = in->r;
    uint32_t self, kernel, count;
    int32_t priority;
    double at, predicted;
    if (!node_in(in, SIM_CREATED, &self) || !sim_seconds(in, &at) || !sim_index(in, in->graph->nkernels, &kernel))
        return false;
    if (!to_priority(sim_word(in), &priority))
        return sim_refuse(in, "not a priority");
    if (!sim_seconds(in, &predicted) || !sim_count(in, &count))
        return false;
    r->predicted = sim_grown(r->predicted, in->graph->ntasks, &r->predicted_capacity, sizeof *r->predicted);
    r->predicted[in->graph->ntasks] = predicted;
    r->nodes[self].task = sim_graph_task(in->graph, &(sim_task){.kernel = kernel, .priority = priority});
    sim_step *step = add_step(in, SIM_TASK);
    step->at = at;
    step->node = self;
    for (uint32_t i = 0; i < count; i++)
        if (!read_access(in))
            return false;
    if (!read_before(in, self))
        return false;
    r->nodes[self].ready = at;
    r->nodes[self].state = SIM_READY;
    set_delay(r, self, at);
    return true;
}

static bool read_ran(sim_reader *in)
{
    uint32_t self;
    double start, duration, end;
    int where;
    if (!node_in(in, SIM_READY, &self))
        return false;
    if (!sim_place(in, &where) || !sim_seconds(in, &start) || !sim_seconds(in, &duration) || !sim_seconds(in, &end))
        return sim_refuse(in, "not the run of a task");
    in->graph->tasks[in->r->nodes[self].task].seconds = duration > 0 ? duration : 1e-9;
    in->r->nodes[self].ran = start + duration;
    end_node(in, self, end);
    add_step(in, SIM_RAN)->node = self;
    return true;
}

static bool read_copy(sim_reader *in)
{
    sim_recording *r = in->r;
    sim_copy copy;
    uint64_t bytes;
    double start;
    if (!sim_index(in, in->graph->ndata, &copy.datum) || !sim_place(in, &copy.from) || !sim_place(in, &copy.to) ||
        !sim_number(in, SIZE_MAX, &bytes) || !sim_seconds(in, &start) || !sim_seconds(in, &copy.end))
        return false;
    r->copies = sim_grown(r->copies, r->ncopies, &r->copies_capacity, sizeof *r->copies);
    r->copies[r->ncopies++] = copy;
    return true;
}

static bool read_plan(sim_reader *in)
{
    sim_recording *r = in->r;
    r->plans = sim_grown(r->plans, r->nplans, &r->plans_capacity, sizeof *r->plans);
    sim_plan *plan = &r->plans[r->nplans++];
    return sim_seconds(in, &plan->end) && sim_seconds(in, &plan->seconds);
}

static bool read_done(sim_reader *in)
{
    uint32_t self;
    double at;
    if (!node_in(in, SIM_CREATED, &self) || !sim_seconds(in, &at))
        return false;
    sim_step *step = add_step(in, SIM_DONE);
    step->at = at;
    step->node = self;
    if (!read_before(in, self))
        return false;
    end_node(in, self, at);
    return true;
}

static bool read_moment(sim_reader *in, sim_step_kind kind)
{
    double at;
    if (!sim_seconds(in, &at))
        return false;
    add_step(in, kind)->at = at;
    return true;
}

static bool read_await(sim_reader *in)
{
    return read_moment(in, SIM_AWAIT);
}

static bool read_sync(sim_reader *in)
{
    return read_moment(in, SIM_SYNC);
}

static bool read_resume(sim_reader *in)
{
    if (!read_moment(in, SIM_RESUME))
        return false;
    in->r->resumed = in->r->steps[in->r->nsteps - 1].at;
    return true;
}

static bool read_wait(sim_reader *in)
{
    return read_moment(in, SIM_WAIT) && node(in, &in->r->steps[in->r->nsteps - 1].node);
}

/* TIME OWNER BASE BYTES of a request; the words after them are left. */
static sim_step *read_request(sim_reader *in, sim_step_kind kind)
{
    double at;
    uint64_t owner, base, bytes;
    if (!sim_seconds(in, &at) || !sim_number(in, in->r->nnodes, &owner) || !sim_number(in, UINTPTR_MAX, &base) ||
        !sim_number(in, UINTPTR_MAX - base, &bytes))
        return NULL;
    sim_step *step = add_step(in, kind);
    step->at = at;
    step->node = (uint32_t)owner;
    step->base = base;
    step->bytes = bytes;
    return step;
}

/* One of two words. */
static bool either(sim_reader *in, const char *yes, const char *no, bool *value)
{
    const char *text = sim_word(in);
    if (!text || (strcmp(text, yes) != 0 && strcmp(text, no) != 0))
        return sim_refuse(in, "a word is missing or not known");
    *value = strcmp(text, yes) == 0;
    return true;
}

/* The words that may follow. */
static bool flags(sim_reader *in, bool *all, bool *hold)
{
    for (const char *text; (text = sim_word(in));) {
        if (strcmp(text, "hold") == 0)
            *hold = true;
        else if (all && strcmp(text, "delete") == 0)
            *all = true;
        else
            return sim_refuse(in, "a word that is not known");
    }
    return true;
}

static bool read_open(sim_reader *in)
{
    sim_step *step = read_request(in, SIM_OPEN);
    return step && either(in, "undefined", "defined", &step->undefined) && flags(in, NULL, &step->hold);
}

static bool read_close(sim_reader *in)
{
    sim_step *step = read_request(in, SIM_CLOSE);
    return step && either(in, "from", "release", &step->copy_out) && flags(in, &step->all, &step->hold);
}

static bool read_range(sim_reader *in)
{
    static const char *const names[] = {
        [OD_REQUEST_READ] = "read",     [OD_REQUEST_WRITE] = "write",     [OD_REQUEST_DISCARD] = "discard",
        [OD_REQUEST_PULL] = "pull",     [OD_REQUEST_PUSH] = "push",       [OD_REQUEST_SNAPSHOT] = "snapshot",
        [OD_REQUEST_SETTLE] = "settle", [OD_REQUEST_OUTSIDE] = "outside",
        [OD_REQUEST_READ_OUTSIDE] = "read-outside",
    };
    sim_step *step = read_request(in, SIM_RANGE);
    const char *text = step ? sim_word(in) : NULL;
    for (size_t i = 0; text && i < sizeof names / sizeof *names; i++)
        if (strcmp(text, names[i]) == 0) {
            step->request = (od_request_kind)i;
            return true;
        }
    return sim_refuse(in, "not a request");
}

static bool read_moved(sim_reader *in)
{
    uint64_t device, h2d, d2h, d2d;
    if (!sim_number(in, OD_MAX_DEVICES, &device) || !sim_number(in, UINT64_MAX, &h2d) ||
        !sim_number(in, UINT64_MAX, &d2h) || !sim_number(in, UINT64_MAX, &d2d))
        return false;
    in->r->h2d_bytes += h2d;
    in->r->d2h_bytes += d2h;
    in->r->d2d_bytes += d2d;
    return true;
}

static bool read_end(sim_reader *in)
{
    uint64_t tasks, data, lines;
    if (!sim_number(in, UINT32_MAX, &tasks) || !sim_number(in, UINT32_MAX, &data) ||
        !sim_number(in, UINT64_MAX, &lines))
        return false;
    if (tasks != in->graph->ntasks || data != in->graph->ndata || lines != in->lines)
        return sim_refuse(in, "the counts at the end are not those of the file: lines are missing");
    in->ended = true;
    return true;
}

static const struct {
    const char *name;
    bool (*read)(sim_reader *in);
} records[] = {
    {"create", read_create},     {"task", read_task},     {"ran", read_ran},     {"done", read_done},
    {"copy", read_copy},         {"plan", read_plan},     {"datum", read_datum}, {"kernel", read_kernel},
    {"sync", read_sync},         {"resume", read_resume}, {"wait", read_wait},   {"open", read_open},
    {"close", read_close},       {"range", read_range},   {"run", read_run},     {"policy", read_policy},
    {"eviction", read_eviction}, {"moved", read_moved},   {"end", read_end},     {"links", read_links},
    {"await", read_await},
};

static bool read_line(sim_reader *in)
{
    const char *name = sim_word(in);
    if (in->ended)
        return sim_refuse(in, "text after the end");
    for (size_t i = 0; name && i < sizeof records / sizeof *records; i++)
        if (strcmp(name, records[i].name) == 0)
            return records[i].read(in) && (!*in->rest || records[i].read == read_policy ||
                                           records[i].read == read_eviction || sim_refuse(in, "text after the record"));
    return sim_refuse(in, "not a record");
}

static bool read_version(sim_reader *in)
{
    uint64_t version;
    const char *name = sim_word(in);
    if (!name || strcmp(name, "ompdarts-graph") != 0 || !sim_to_number(sim_word(in), UINT64_MAX, &version) ||
        *in->rest) {
        snprintf(in->error, in->size,
                 "not a recorded run (its first line is not `ompdarts-graph %d`); `ompdarts run --record` makes one",
                 SIM_GRAPH_VERSION);
        return false;
    }
    if (version >= SIM_OLDEST_GRAPH && version <= SIM_GRAPH_VERSION)
        return true;
    snprintf(in->error, in->size, "a recorded run of format version %" PRIu64 ", this is made for version %d", version,
             SIM_GRAPH_VERSION);
    return false;
}

/* --- the file ------------------------------------------------------------------- */

static bool is_whole(const sim_reader *in)
{
    if (!in->ended)
        snprintf(in->error, in->size, "cut off after %" PRIu64 " lines: the recorded run did not end", in->lines);
    return in->ended;
}

static bool every_task_ran(const sim_reader *in)
{
    for (uint32_t t = 0; t < in->graph->ntasks; t++)
        if (in->graph->tasks[t].seconds <= 0) {
            snprintf(in->error, in->size, "a task that was ready did not run: the recorded run did not end");
            return false;
        }
    return in->r->ndevices > 0 || (snprintf(in->error, in->size, "the settings of the run are missing"), false);
}

static bool read_lines(sim_reader *in, FILE *file)
{
    char *line = NULL;
    size_t size = 0;
    bool ok = true;
    for (ssize_t length; ok && (length = getline(&line, &size, file)) > 0;) {
        if (line[length - 1] != '\n')
            break;
        line[length - 1] = '\0';
        in->rest = line;
        in->lines++;
        ok = strlen(line) + 1 < (size_t)length ? sim_refuse(in, "not text")
             : in->lines == 1                  ? read_version(in)
                                               : read_line(in);
    }
    free(line);
    if (ok && !in->lines)
        snprintf(in->error, in->size, "not a recorded run");
    return ok && in->lines && is_whole(in) && every_task_ran(in);
}

od_status sim_graph_read(const char *path, sim_graph *graph, sim_recording *recording, char *error, size_t size)
{
    char why[256] = "";
    *graph = (sim_graph){0};
    *recording = (sim_recording){0};
    FILE *file = fopen(path, "r");
    if (!file) {
        snprintf(error, size, "%s: %s", path, strerror(errno));
        return OD_EIO;
    }
    sim_reader in = {.graph = graph, .r = recording, .error = why, .size = sizeof why};
    bool ok = read_lines(&in, file);
    fclose(file);
    if (ok)
        return OD_OK;
    snprintf(error, size, "%s: %s", path, why);
    sim_graph_free(graph);
    sim_recording_free(recording);
    return OD_EINVAL;
}

void sim_recording_free(sim_recording *recording)
{
    free(recording->steps);
    free(recording->nodes);
    free(recording->before);
    free(recording->uses);
    free(recording->copies);
    free(recording->plans);
    free(recording->predicted);
    free(recording->home);
    *recording = (sim_recording){0};
}
