/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Reading recorded runs, line by line, word by word. */
#include "bench/sim/graph_file.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct reader {
    sim_graph *graph;
    sim_recording *r;
    char *rest;     /* of the line */
    uint64_t lines; /* so far */
    bool ended;     /* the line `end` has been read */
    char *error;
    size_t size;
} reader;

static bool refuse(reader *in, const char *what)
{
    snprintf(in->error, in->size, "line %" PRIu64 ": %s", in->lines, what);
    return false;
}

/* --- words ------------------------------------------------------------------- */

/* The next word, or NULL: the line ends. */
static char *word(reader *in)
{
    char *begin = in->rest + strspn(in->rest, " ");
    if (!*begin)
        return NULL;
    char *end = begin + strcspn(begin, " ");
    in->rest = *end ? end + 1 : end;
    *end = '\0';
    return begin;
}

static bool to_number(const char *text, uint64_t most, uint64_t *value)
{
    char *end;
    errno = 0;
    if (!text || *text < '0' || *text > '9')
        return false;
    *value = strtoull(text, &end, 0);
    return !errno && !*end && *value <= most;
}

static bool number(reader *in, uint64_t most, uint64_t *value)
{
    return to_number(word(in), most, value) || refuse(in, "a number is missing or out of range");
}

static bool index32(reader *in, uint32_t below, uint32_t *value)
{
    uint64_t wide;
    if (!below || !number(in, below - 1, &wide))
        return refuse(in, "a number is missing or out of range");
    *value = (uint32_t)wide;
    return true;
}

static bool count32(reader *in, uint32_t *value)
{
    return index32(in, UINT32_MAX, value);
}

static bool seconds(reader *in, double *value)
{
    char *end, *text = word(in);
    if (!text)
        return refuse(in, "a time is missing");
    *value = strtod(text, &end);
    return (end != text && !*end && *value >= 0 && *value < 1e9) || refuse(in, "not a time in seconds");
}

/* Nodes are numbered from 1 in the file. */
static bool node(reader *in, uint32_t *index)
{
    uint64_t wide;
    if (!number(in, in->r->nnodes, &wide) || !wide)
        return refuse(in, "a task that was not created");
    *index = (uint32_t)(wide - 1);
    return true;
}

static bool mode(const char *text, od_mode *mode)
{
    *mode = strcmp(text, "r") == 0 ? OD_READ : strcmp(text, "w") == 0 ? OD_WRITE : OD_READ_WRITE;
    return *mode != OD_READ_WRITE || strcmp(text, "rw") == 0;
}

static bool place(reader *in, int *value)
{
    uint64_t device;
    const char *text = word(in);
    if (text && strcmp(text, "host") == 0)
        *value = OD_HOST;
    else if (text && strcmp(text, "spill") == 0)
        *value = OD_SPILL;
    else if (to_number(text, OD_MAX_DEVICES - 1, &device))
        *value = (int)device;
    else
        return refuse(in, "not a place");
    return true;
}

/* --- lines -------------------------------------------------------------------- */

static sim_step *add_step(reader *in, sim_step_kind kind)
{
    sim_recording *r = in->r;
    r->steps = sim_grown(r->steps, r->nsteps, &r->steps_capacity, sizeof *r->steps);
    r->steps[r->nsteps] = (sim_step){.kind = kind};
    return &r->steps[r->nsteps++];
}

/* A word NAME=NUMBER. */
static bool setting(reader *in, const char *name, uint64_t most, uint64_t *value)
{
    char *text = word(in);
    size_t length = strlen(name);
    if (text && strncmp(text, name, length) == 0 && text[length] == '=' && to_number(text + length + 1, most, value))
        return true;
    return refuse(in, "not the settings of a run");
}

static bool read_run(reader *in)
{
    sim_recording *r = in->r;
    uint64_t devices, memory, buffer, lookahead, spill;
    const char *text;
    bool ok = setting(in, "devices", OD_MAX_DEVICES, &devices) && setting(in, "memory", SIZE_MAX, &memory) &&
              setting(in, "buffer", UINT32_MAX, &buffer) && setting(in, "lookahead_ns", UINT64_MAX, &lookahead) &&
              setting(in, "seed", UINT64_MAX, &r->seed) && setting(in, "spill", 1, &spill);
    if (!ok || !devices || !memory || !buffer)
        return refuse(in, "not the settings of a run");
    r->ndevices = (unsigned)devices;
    r->memory = memory;
    r->buffer = (unsigned)buffer;
    r->lookahead = (double)lookahead * 1e-9;
    r->spill = spill;
    text = word(in);
    if (text && sscanf(text, "working=%d", &r->working) != 1)
        return refuse(in, "not the settings of a run");
    return true;
}

static bool link(reader *in, od_link *link)
{
    uint64_t bandwidth;
    bool ok = number(in, UINT64_MAX, &bandwidth) && seconds(in, &link->latency);
    link->bandwidth = (double)bandwidth;
    return ok;
}

static bool read_links(reader *in)
{
    return link(in, &in->r->host_link) && link(in, &in->r->peer_link);
}

static bool read_name(reader *in, char *name, size_t size)
{
    snprintf(name, size, "%s", in->rest);
    return *name || refuse(in, "a name is missing");
}

static bool read_policy(reader *in)
{
    return read_name(in, in->r->policy, sizeof in->r->policy);
}

static bool read_eviction(reader *in)
{
    return read_name(in, in->r->evict, sizeof in->r->evict);
}

static bool read_kernel(reader *in)
{
    uint64_t index;
    const char *name;
    if (!number(in, UINT32_MAX, &index) || index != in->graph->nkernels || !(name = word(in)))
        return refuse(in, "not the next kernel");
    sim_graph_kernel(in->graph, name, 0, 0);
    return true;
}

static bool read_datum(reader *in)
{
    uint64_t index, base, bytes;
    if (!number(in, UINT32_MAX, &index) || index != in->graph->ndata || !number(in, UINTPTR_MAX, &base) ||
        !number(in, UINTPTR_MAX - base, &bytes) || !bytes)
        return refuse(in, "not the next datum");
    sim_graph_datum(in->graph, &(sim_datum){.bytes = bytes,
                                            .base = base,
                                            .matrix = sim_graph_matrix(in->graph, "data"),
                                            .row = (uint32_t)index});
    return true;
}

/* A depend item ADDRESS:MODE. */
static bool read_use(reader *in)
{
    sim_recording *r = in->r;
    char *text = word(in), *colon = text ? strchr(text, ':') : NULL;
    uint64_t address;
    od_mode use_mode;
    if (!colon)
        return refuse(in, "a depend item is missing");
    *colon = '\0';
    if (!to_number(text, UINTPTR_MAX, &address) || !mode(colon + 1, &use_mode))
        return refuse(in, "not a depend item");
    r->uses = sim_grown(r->uses, r->nuses, &r->uses_capacity, sizeof *r->uses);
    r->uses[r->nuses++] = (od_level_use){address, use_mode & OD_WRITE, use_mode == OD_WRITE};
    return true;
}

static bool read_create(reader *in)
{
    sim_recording *r = in->r;
    uint64_t id;
    uint32_t count;
    double at, predicted;
    if (!number(in, UINT32_MAX - 1, &id) || id != (uint64_t)r->nnodes + 1 || !seconds(in, &at) ||
        !seconds(in, &predicted) || !count32(in, &count))
        return refuse(in, "not the next task that is created");
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
static bool read_before(reader *in, uint32_t self)
{
    sim_recording *r = in->r;
    uint32_t count, before;
    if (!count32(in, &count))
        return false;
    r->nodes[self].first_before = r->nbefore;
    for (uint32_t i = 0; i < count; i++) {
        if (!node(in, &before))
            return false;
        if (!r->nodes[before].ended)
            return refuse(in, "a task that precedes another had not ended");
        r->before = sim_grown(r->before, r->nbefore, &r->before_capacity, sizeof *r->before);
        r->before[r->nbefore++] = before;
        r->nodes[self].nbefore++;
        if (r->nodes[self].task != SIM_NO_TASK && r->nodes[before].task != SIM_NO_TASK)
            sim_graph_before(in->graph, r->nodes[before].task);
    }
    return true;
}

/* DATUM:MODE[:home] */
static bool read_access(reader *in)
{
    sim_recording *r = in->r;
    char *text = word(in), *colon = text ? strchr(text, ':') : NULL;
    uint64_t datum;
    od_mode access_mode;
    if (!colon)
        return refuse(in, "an access is missing");
    *colon = '\0';
    char *flag = strchr(colon + 1, ':');
    if (flag)
        *flag++ = '\0';
    if (!in->graph->ndata || !to_number(text, in->graph->ndata - 1, &datum) || !mode(colon + 1, &access_mode) ||
        (flag && strcmp(flag, "home") != 0))
        return refuse(in, "not an access");
    r->home = sim_grown(r->home, in->graph->naccesses, &r->home_capacity, sizeof *r->home);
    r->home[in->graph->naccesses] = flag != NULL;
    sim_graph_access(in->graph, (uint32_t)datum, access_mode);
    return true;
}

static bool to_priority(const char *text, int32_t *priority)
{
    uint64_t wide;
    bool negative = text && *text == '-';
    if (!to_number(negative ? text + 1 : text, INT32_MAX, &wide))
        return false;
    *priority = negative ? -(int32_t)wide : (int32_t)wide;
    return true;
}

static void set_delay(sim_recording *r, uint32_t self, double at)
{
    const sim_node *n = &r->nodes[self];
    double end = 0;
    for (uint32_t i = n->first_before; i < n->first_before + n->nbefore; i++)
        end = fmax(end, r->nodes[r->before[i]].end);
    r->nodes[self].delay = n->nbefore ? fmax(at - end, 0) : 0;
}

static bool read_task(reader *in)
{
    sim_recording *r = in->r;
    uint32_t self, kernel, count;
    int32_t priority;
    double at, predicted;
    if (!node(in, &self) || !seconds(in, &at) || !index32(in, in->graph->nkernels, &kernel))
        return false;
    if (!to_priority(word(in), &priority))
        return refuse(in, "not a priority");
    if (!seconds(in, &predicted) || !count32(in, &count))
        return false;
    if (r->nodes[self].task != SIM_NO_TASK)
        return refuse(in, "a task that was ready before");
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
    set_delay(r, self, at);
    return true;
}

static bool read_ran(reader *in)
{
    uint32_t self;
    double start, duration, end;
    if (!node(in, &self) || in->r->nodes[self].task == SIM_NO_TASK)
        return refuse(in, "a task that was not ready");
    int where;
    if (!place(in, &where) || !seconds(in, &start) || !seconds(in, &duration) || !seconds(in, &end))
        return refuse(in, "not the run of a task");
    in->graph->tasks[in->r->nodes[self].task].seconds = duration > 0 ? duration : 1e-9;
    in->r->nodes[self].ended = true;
    in->r->nodes[self].end = end;
    in->r->nodes[self].ran = start + duration;
    add_step(in, SIM_RAN)->node = self;
    return true;
}

static bool read_copy(reader *in)
{
    sim_recording *r = in->r;
    sim_copy copy;
    uint64_t bytes;
    double start;
    if (!index32(in, in->graph->ndata, &copy.datum) || !place(in, &copy.from) || !place(in, &copy.to) ||
        !number(in, SIZE_MAX, &bytes) || !seconds(in, &start) || !seconds(in, &copy.end))
        return false;
    r->copies = sim_grown(r->copies, r->ncopies, &r->copies_capacity, sizeof *r->copies);
    r->copies[r->ncopies++] = copy;
    return true;
}

static bool read_plan(reader *in)
{
    sim_recording *r = in->r;
    r->plans = sim_grown(r->plans, r->nplans, &r->plans_capacity, sizeof *r->plans);
    sim_plan *plan = &r->plans[r->nplans++];
    return seconds(in, &plan->end) && seconds(in, &plan->seconds);
}

static bool read_done(reader *in)
{
    uint32_t self;
    double at;
    if (!node(in, &self) || !seconds(in, &at))
        return false;
    if (in->r->nodes[self].task != SIM_NO_TASK)
        return refuse(in, "a task of the scheduler's cannot end so");
    sim_step *step = add_step(in, SIM_DONE);
    step->at = at;
    step->node = self;
    bool ok = read_before(in, self);
    in->r->nodes[self].ended = true;
    in->r->nodes[self].end = at;
    return ok;
}

static bool read_moment(reader *in, sim_step_kind kind)
{
    double at;
    if (!seconds(in, &at))
        return false;
    add_step(in, kind)->at = at;
    return true;
}

static bool read_sync(reader *in)
{
    return read_moment(in, SIM_SYNC);
}

static bool read_resume(reader *in)
{
    return read_moment(in, SIM_RESUME);
}

static bool read_wait(reader *in)
{
    return read_moment(in, SIM_WAIT) && node(in, &in->r->steps[in->r->nsteps - 1].node);
}

/* TIME OWNER BASE BYTES of a request; the words after them are left. */
static sim_step *read_request(reader *in, sim_step_kind kind)
{
    double at;
    uint64_t owner, base, bytes;
    if (!seconds(in, &at) || !number(in, in->r->nnodes, &owner) || !number(in, UINTPTR_MAX, &base) ||
        !number(in, UINTPTR_MAX - base, &bytes))
        return NULL;
    sim_step *step = add_step(in, kind);
    step->at = at;
    step->node = (uint32_t)owner;
    step->base = base;
    step->bytes = bytes;
    return step;
}

/* One of two words. */
static bool either(reader *in, const char *yes, const char *no, bool *value)
{
    const char *text = word(in);
    if (!text || (strcmp(text, yes) != 0 && strcmp(text, no) != 0))
        return refuse(in, "a word is missing or not known");
    *value = strcmp(text, yes) == 0;
    return true;
}

/* The words that may follow. */
static bool flags(reader *in, bool *all, bool *hold)
{
    for (const char *text; (text = word(in));) {
        if (strcmp(text, "hold") == 0)
            *hold = true;
        else if (all && strcmp(text, "delete") == 0)
            *all = true;
        else
            return refuse(in, "a word that is not known");
    }
    return true;
}

static bool read_open(reader *in)
{
    sim_step *step = read_request(in, SIM_OPEN);
    return step && either(in, "undefined", "defined", &step->undefined) && flags(in, NULL, &step->hold);
}

static bool read_close(reader *in)
{
    sim_step *step = read_request(in, SIM_CLOSE);
    return step && either(in, "from", "release", &step->copy_out) && flags(in, &step->all, &step->hold);
}

static bool read_range(reader *in)
{
    static const char *const names[] = {
        [OD_REQUEST_READ] = "read",     [OD_REQUEST_WRITE] = "write", [OD_REQUEST_DISCARD] = "discard",
        [OD_REQUEST_PULL] = "pull",     [OD_REQUEST_PUSH] = "push",   [OD_REQUEST_SNAPSHOT] = "snapshot",
        [OD_REQUEST_SETTLE] = "settle",
    };
    sim_step *step = read_request(in, SIM_RANGE);
    const char *text = step ? word(in) : NULL;
    for (size_t i = 0; text && i < sizeof names / sizeof *names; i++)
        if (strcmp(text, names[i]) == 0) {
            step->request = (od_request_kind)i;
            return true;
        }
    return refuse(in, "not a request");
}

static bool read_moved(reader *in)
{
    uint64_t device, h2d, d2h, d2d;
    if (!number(in, OD_MAX_DEVICES, &device) || !number(in, UINT64_MAX, &h2d) || !number(in, UINT64_MAX, &d2h) ||
        !number(in, UINT64_MAX, &d2d))
        return false;
    in->r->h2d_bytes += h2d;
    in->r->d2h_bytes += d2h;
    in->r->d2d_bytes += d2d;
    return true;
}

static bool read_end(reader *in)
{
    uint64_t tasks, data, lines;
    if (!number(in, UINT32_MAX, &tasks) || !number(in, UINT32_MAX, &data) || !number(in, UINT64_MAX, &lines))
        return false;
    if (tasks != in->graph->ntasks || data != in->graph->ndata || lines != in->lines)
        return refuse(in, "the counts at the end are not those of the file: lines are missing");
    in->ended = true;
    return true;
}

static const struct {
    const char *name;
    bool (*read)(reader *in);
} records[] = {
    {"create", read_create},     {"task", read_task},     {"ran", read_ran},     {"done", read_done},
    {"copy", read_copy},         {"plan", read_plan},     {"datum", read_datum}, {"kernel", read_kernel},
    {"sync", read_sync},         {"resume", read_resume}, {"wait", read_wait},   {"open", read_open},
    {"close", read_close},       {"range", read_range},   {"run", read_run},     {"policy", read_policy},
    {"eviction", read_eviction}, {"moved", read_moved},   {"end", read_end},     {"links", read_links},
};

static bool read_line(reader *in)
{
    const char *name = word(in);
    if (in->ended)
        return refuse(in, "text after the end");
    for (size_t i = 0; name && i < sizeof records / sizeof *records; i++)
        if (strcmp(name, records[i].name) == 0)
            return records[i].read(in) && (!*in->rest || records[i].read == read_policy ||
                                           records[i].read == read_eviction || refuse(in, "text after the record"));
    return refuse(in, "not a record");
}

static bool read_version(reader *in)
{
    uint64_t version;
    const char *name = word(in);
    if (!name || strcmp(name, "ompdarts-graph") != 0 || !to_number(word(in), UINT64_MAX, &version) || *in->rest) {
        snprintf(in->error, in->size, "not a recorded run (its first line is not `ompdarts-graph %d`)",
                 SIM_GRAPH_VERSION);
        return false;
    }
    if (version == SIM_GRAPH_VERSION)
        return true;
    snprintf(in->error, in->size, "a recorded run of format version %" PRIu64 ", this is made for version %d", version,
             SIM_GRAPH_VERSION);
    return false;
}

/* --- the file ------------------------------------------------------------------- */

static bool is_whole(const reader *in)
{
    if (!in->ended)
        snprintf(in->error, in->size, "cut off after %" PRIu64 " lines: the recorded run did not end", in->lines);
    return in->ended;
}

static bool every_task_ran(const reader *in)
{
    for (uint32_t t = 0; t < in->graph->ntasks; t++)
        if (in->graph->tasks[t].seconds <= 0) {
            snprintf(in->error, in->size, "a task that was ready did not run: the recorded run did not end");
            return false;
        }
    return in->r->ndevices > 0 || (snprintf(in->error, in->size, "the settings of the run are missing"), false);
}

static bool read_lines(reader *in, FILE *file)
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
        ok = in->lines == 1 ? read_version(in) : read_line(in);
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
    reader in = {.graph = graph, .r = recording, .error = why, .size = sizeof why};
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
