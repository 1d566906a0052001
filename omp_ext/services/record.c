/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Recorded runs. See record.h; the format is that of docs/graph-format.md. */
#define _GNU_SOURCE
#include "omp_ext/services/record.h"

#include "omp_ext/libomp/images.h"
#include "util/clock.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FORMAT_VERSION = 3, FLUSH_BYTES = 1 << 16, FIRST_BUCKETS = 1024 };

typedef struct numbers {
    uint64_t *item;
    uint32_t count, capacity;
} numbers;

/* A task by its number. */
typedef struct node {
    numbers before;
    bool complete;
} node;

/* Tasks that named an address last: all of `current` come after all of `previous` and have no order among themselves. */
typedef struct use {
    int32_t kind; /* IN, INOUTSET, or 0: the one task of `current` is alone */
    numbers current, previous;
} use;

/* What has been given an index: a datum, a kernel, an address of depend items. */
typedef struct key {
    uint64_t first, second;
    uint32_t index;
    struct key *next;
} key;

typedef struct table {
    key **bucket;
    size_t nbuckets;
    uint32_t count;
} table;

static struct {
    pthread_mutex_t lock; /* protects all that follows */
    int file;
    pid_t process; /* that records; not its children */
    char path[sizeof((od_options *)0)->record];
    char *text; /* not written yet */
    size_t length, capacity;
    uint64_t start_ns;
    uint64_t lines, tasks;
    node *nodes; /* by number - 1 */
    uint64_t nnodes, nodes_capacity;
    table data, kernels, addresses;
    use *uses; /* by index in `addresses` */
    uint32_t uses_capacity;
    numbers all_memory; /* the last task that depends on all memory, per thread: pairs of thread and number */
} recorder = {.lock = PTHREAD_MUTEX_INITIALIZER, .file = -1};

static atomic_bool on; /* set and cleared under the lock; the first look is without it */
static _Thread_local uint64_t owner;

/* --- writing ----------------------------------------------------------------- */

static void give_up(const char *why)
{
    od_log(OD_LOG_WARNING, "record", "%s: %s; the recording ends here and cannot be replayed", recorder.path, why);
    atomic_store(&on, false);
    close(recorder.file);
    recorder.file = -1;
}

static void flush(void)
{
    size_t done = 0;
    while (done < recorder.length && atomic_load(&on)) {
        ssize_t n = write(recorder.file, recorder.text + done, recorder.length - done);
        if (n >= 0)
            done += (size_t)n;
        else if (errno != EINTR)
            give_up(strerror(errno));
    }
    recorder.length = 0;
}

static bool make_room(size_t bytes)
{
    size_t capacity = recorder.capacity ? recorder.capacity : 2 * (size_t)FLUSH_BYTES;
    while (capacity - recorder.length <= bytes)
        capacity *= 2;
    if (capacity == recorder.capacity)
        return true;
    char *text = realloc(recorder.text, capacity);
    if (!text) {
        give_up("out of memory");
        return false;
    }
    recorder.text = text;
    recorder.capacity = capacity;
    return true;
}

__attribute__((format(printf, 1, 2))) static void put(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    int length = vsnprintf(NULL, 0, format, list);
    va_end(list);
    if (length < 0 || !atomic_load(&on) || !make_room((size_t)length))
        return;
    va_start(list, format);
    vsnprintf(recorder.text + recorder.length, (size_t)length + 1, format, list);
    va_end(list);
    recorder.length += (size_t)length;
}

static void end_line(void)
{
    put("\n");
    recorder.lines++;
    if (recorder.length >= FLUSH_BYTES)
        flush();
}

static double now(void)
{
    return (double)(od_clock_ns() - recorder.start_ns) * 1e-9;
}

/* True, with the lock taken: this process is being recorded. */
static bool begin(void)
{
    if (!atomic_load_explicit(&on, memory_order_acquire) || getpid() != recorder.process)
        return false;
    pthread_mutex_lock(&recorder.lock);
    if (atomic_load(&on))
        return true;
    pthread_mutex_unlock(&recorder.lock);
    return false;
}

static void end(void)
{
    pthread_mutex_unlock(&recorder.lock);
}

/* --- tables ------------------------------------------------------------------ */

static size_t bucket_of(const table *t, uint64_t first, uint64_t second)
{
    uint64_t h = first * UINT64_C(0x9e3779b97f4a7c15) ^ second * UINT64_C(0xc2b2ae3d27d4eb4f);
    return (size_t)(h >> 20) % t->nbuckets;
}

static void grow(table *t)
{
    size_t nbuckets = t->nbuckets ? 4 * t->nbuckets : FIRST_BUCKETS;
    table larger = {.bucket = calloc(nbuckets, sizeof *larger.bucket), .nbuckets = nbuckets, .count = t->count};
    if (!larger.bucket) {
        if (!t->nbuckets)
            give_up("out of memory");
        return;
    }
    for (size_t i = 0; i < t->nbuckets; i++)
        for (key *k = t->bucket[i], *next; k; k = next) {
            key **bucket = &larger.bucket[bucket_of(&larger, k->first, k->second)];
            next = k->next;
            k->next = *bucket;
            *bucket = k;
        }
    free(t->bucket);
    *t = larger;
}

/* The index of a key; *is_new: it has just been given one. */
static uint32_t index_of(table *t, uint64_t first, uint64_t second, bool *is_new)
{
    *is_new = false;
    if (t->count >= t->nbuckets)
        grow(t);
    if (!t->nbuckets)
        return 0;
    key **bucket = &t->bucket[bucket_of(t, first, second)];
    for (const key *k = *bucket; k; k = k->next)
        if (k->first == first && k->second == second)
            return k->index;
    key *added = malloc(sizeof *added);
    if (!added) {
        give_up("out of memory");
        return 0;
    }
    *added = (key){first, second, t->count, *bucket};
    *bucket = added;
    *is_new = true;
    return t->count++;
}

static void add_number(numbers *list, uint64_t number)
{
    if (list->count == list->capacity) {
        uint32_t capacity = list->capacity ? 2 * list->capacity : 4;
        uint64_t *item = realloc(list->item, capacity * sizeof *item);
        if (!item) {
            give_up("out of memory");
            return;
        }
        list->item = item;
        list->capacity = capacity;
    }
    list->item[list->count++] = number;
}

/* --- which tasks precede which ------------------------------------------------ */

static uint64_t add_node(void)
{
    if (recorder.nnodes == recorder.nodes_capacity) {
        uint64_t capacity = recorder.nodes_capacity ? 2 * recorder.nodes_capacity : 1024;
        node *nodes = realloc(recorder.nodes, capacity * sizeof *nodes);
        if (!nodes) {
            give_up("out of memory");
            return 0;
        }
        recorder.nodes = nodes;
        recorder.nodes_capacity = capacity;
    }
    recorder.nodes[recorder.nnodes] = (node){0};
    return ++recorder.nnodes;
}

static void add_before(uint64_t number, uint64_t before)
{
    numbers *list = &recorder.nodes[number - 1].before;
    for (uint32_t i = 0; i < list->count; i++)
        if (list->item[i] == before)
            return;
    if (before != number)
        add_number(list, before);
}

static use *use_of(uintptr_t address, uint64_t thread)
{
    bool is_new;
    uint32_t index = index_of(&recorder.addresses, address, thread, &is_new);
    if (index >= recorder.uses_capacity) {
        uint32_t capacity = recorder.uses_capacity ? 2 * recorder.uses_capacity : 256;
        use *uses = realloc(recorder.uses, capacity * sizeof *uses);
        if (!uses) {
            give_up("out of memory");
            return NULL;
        }
        recorder.uses = uses;
        recorder.uses_capacity = capacity;
    }
    if (is_new) {
        recorder.uses[index] = (use){0};
        for (uint32_t i = 0; i + 1 < recorder.all_memory.count; i += 2)
            if (recorder.all_memory.item[i] == thread)
                add_number(&recorder.uses[index].current, recorder.all_memory.item[i + 1]);
    }
    return &recorder.uses[index];
}

/* Tasks of one kind that need no order among themselves form a group: each comes after all of the group before. */
static void order(uint64_t number, use *u, int32_t kind)
{
    bool shared = kind == OD_DEPEND_IN || kind == OD_DEPEND_INOUTSET;
    if (!shared || u->kind != kind) {
        numbers old = u->previous;
        u->previous = u->current;
        u->current = old;
        u->current.count = 0;
        u->kind = shared ? kind : 0;
    }
    for (uint32_t i = 0; i < u->previous.count; i++)
        add_before(number, u->previous.item[i]);
    if (!u->current.count || u->current.item[u->current.count - 1] != number)
        add_number(&u->current, number);
}

static void order_after_all(uint64_t number, uint64_t thread)
{
    for (size_t i = 0; i < recorder.addresses.nbuckets; i++)
        for (const key *k = recorder.addresses.bucket[i]; k; k = k->next)
            if (k->second == thread)
                order(number, &recorder.uses[k->index], 0);
    for (uint32_t i = 0; i + 1 < recorder.all_memory.count; i += 2)
        if (recorder.all_memory.item[i] == thread) {
            add_before(number, recorder.all_memory.item[i + 1]);
            recorder.all_memory.item[i + 1] = number;
            return;
        }
    add_number(&recorder.all_memory, thread);
    add_number(&recorder.all_memory, number);
}

static uint64_t thread_number(void)
{
    static atomic_uint_fast64_t last;
    static _Thread_local uint64_t own;
    if (!own)
        own = atomic_fetch_add(&last, 1) + 1;
    return own;
}

/* Only those that were complete when the task was ready: another task's children may have named the same address. */
static void put_before(uint64_t number)
{
    numbers *list = &recorder.nodes[number - 1].before;
    uint32_t count = 0;
    for (uint32_t i = 0; i < list->count; i++)
        if (recorder.nodes[list->item[i] - 1].complete)
            list->item[count++] = list->item[i];
    put(" %u", count);
    for (uint32_t i = 0; i < count; i++)
        put(" %" PRIu64, list->item[i]);
    free(list->item);
    *list = (numbers){0};
}

/* --- tasks --------------------------------------------------------------------- */

static uint64_t create(double seconds, const od_depend *depends, int32_t ndepends)
{
    uint64_t thread = thread_number(), number = add_node();
    if (!number)
        return 0;
    put("create %" PRIu64 " %.9f %.17g %d", number, now(), seconds, ndepends);
    for (int32_t j = 0; j < ndepends; j++) {
        use *u = depends[j].flags & OD_DEPEND_ALL_MEMORY ? NULL : use_of(depends[j].base, thread);
        if (u)
            order(number, u, depends[j].flags);
        else
            order_after_all(number, thread);
        put(" %#" PRIxPTR ":%s", depends[j].base, depends[j].flags == OD_DEPEND_IN ? "r" : "rw");
    }
    end_line();
    return number;
}

uint64_t od_record_create(double seconds, const od_depend *depends, int32_t ndepends)
{
    if (!begin())
        return 0;
    uint64_t number = create(seconds, depends, ndepends);
    end();
    return number;
}

/* Words are separated by blanks. */
static void put_word(const char *text)
{
    char word[512];
    snprintf(word, sizeof word, "%s", *text ? text : "?");
    for (char *c = word; *c; c++)
        if ((unsigned char)*c <= ' ')
            *c = '_';
    put("%s", word);
}

static void put_kernel_name(const void *code)
{
    Dl_info where;
    const char *name = od_images_kernel_name(code);
    if (name) {
        put_word(name);
        return;
    }
    if (!dladdr(code, &where) || !where.dli_fname) {
        put("%p", code);
        return;
    }
    const char *base = strrchr(where.dli_fname, '/');
    put_word(base ? base + 1 : where.dli_fname);
    put("+%#" PRIxPTR, (uintptr_t)code - (uintptr_t)where.dli_fbase);
}

static uint32_t kernel_index(const void *code, bool shows)
{
    bool is_new;
    uint32_t index = index_of(&recorder.kernels, (uintptr_t)code, 0, &is_new);
    if (!is_new)
        return index;
    put("kernel %u ", index);
    if (shows) /* the construct, no code */
        put("use_device_ptr");
    else
        put_kernel_name(code);
    end_line();
    return index;
}

static uint32_t datum_index(const od_datum *d)
{
    bool is_new;
    uint32_t index = index_of(&recorder.data, d->base, d->size, &is_new);
    if (!is_new)
        return index;
    put("datum %u %#" PRIxPTR " %zu", index, d->base, d->size);
    end_line();
    return index;
}

static const char *mode_name(od_mode mode)
{
    return mode == OD_READ ? "r" : mode == OD_WRITE ? "w" : "rw";
}

void od_record_ready(od_job *job, const void *code)
{
    if (!begin())
        return;
    const od_task *task = &job->task;
    if (!job->number)
        job->number = create(0, NULL, 0);
    uint32_t kernel = kernel_index(code, task->shows);
    for (uint32_t i = 0; i < task->naccess; i++)
        datum_index(task->access[i].datum);
    if (job->number) {
        put("task %" PRIu64 " %.9f %u %d %.17g %u", job->number, now(), kernel, task->priority, task->duration,
            task->naccess);
        for (uint32_t i = 0; i < task->naccess; i++) {
            const od_datum *d = task->access[i].datum;
            put(" %u:%s%s", datum_index(d), mode_name(task->access[i].mode), d->keep ? "" : ":home");
        }
        put_before(job->number);
        end_line();
        recorder.tasks++;
    }
    end();
}

static double since_start(uint64_t ns)
{
    return (double)(int64_t)(ns - recorder.start_ns) * 1e-9;
}

static void put_place(int place)
{
    if (place == OD_HOST)
        put(" host");
    else if (place == OD_SPILL)
        put(" spill");
    else
        put(" %d", place);
}

static void put_ran(const od_job *job, uint64_t end_ns)
{
    const od_task *task = &job->task;
    if (!job->number)
        return;
    put("ran %" PRIu64, job->number);
    put_place(task->place);
    put(" %.9f %.9f %.9f", since_start(task->start_ns), (double)(end_ns - task->start_ns) * 1e-9, now());
    end_line();
    recorder.nodes[job->number - 1].complete = true;
}

void od_record_ran(const od_job *job)
{
    if (!begin())
        return;
    put_ran(job, job->task.end_ns);
    end();
}

void od_record_done(uint64_t number)
{
    if (!number || !begin())
        return;
    put("done %" PRIu64 " %.9f", number, now());
    put_before(number);
    end_line();
    recorder.nodes[number - 1].complete = true;
    end();
}

void od_record_copied(const od_transfer *x)
{
    if (!begin())
        return;
    uint32_t datum = datum_index(x->datum);
    put("copy %u", datum);
    put_place(x->from);
    put_place(x->to);
    put(" %zu %.9f %.9f", x->bytes, since_start(x->start_ns), now());
    end_line();
    end();
}

void od_record_planned(double seconds)
{
    if (!begin())
        return;
    put("plan %.9f %.9f", now(), seconds);
    end_line();
    end();
}

/* --- what the program asks and awaits --------------------------------------------- */

uint64_t od_record_own(uint64_t number)
{
    uint64_t before = owner;
    owner = number;
    return before;
}

void od_record_sync(void)
{
    if (!begin())
        return;
    put("sync %.9f", now());
    end_line();
    end();
}

void od_record_open(uintptr_t base, size_t size, bool undefined, bool hold)
{
    if (!begin())
        return;
    put("open %.9f %" PRIu64 " %#" PRIxPTR " %zu %s%s", now(), owner, base, size, undefined ? "undefined" : "defined",
        hold ? " hold" : "");
    end_line();
    end();
}

void od_record_close(uintptr_t base, size_t size, bool copy_out, bool all, bool hold)
{
    if (!begin())
        return;
    put("close %.9f %" PRIu64 " %#" PRIxPTR " %zu %s%s%s", now(), owner, base, size, copy_out ? "from" : "release",
        all ? " delete" : "", hold ? " hold" : "");
    end_line();
    end();
}

void od_record_range(uintptr_t base, size_t size, od_request_kind kind)
{
    static const char *const names[] = {
        [OD_REQUEST_READ] = "read",     [OD_REQUEST_WRITE] = "write", [OD_REQUEST_DISCARD] = "discard",
        [OD_REQUEST_PULL] = "pull",     [OD_REQUEST_PUSH] = "push",   [OD_REQUEST_SNAPSHOT] = "snapshot",
        [OD_REQUEST_SETTLE] = "settle", [OD_REQUEST_OUTSIDE] = "outside",
        [OD_REQUEST_READ_OUTSIDE] = "read-outside",
    };
    if (!begin())
        return;
    put("range %.9f %" PRIu64 " %#" PRIxPTR " %zu %s", now(), owner, base, size, names[kind]);
    end_line();
    end();
}

void od_record_resume(void)
{
    if (!begin())
        return;
    put("resume %.9f", now());
    end_line();
    end();
}

void od_record_waited(uint64_t number)
{
    if (!number || !begin())
        return;
    put("wait %.9f %" PRIu64, now(), number);
    end_line();
    end();
}

/* --- start and end ------------------------------------------------------------- */

void od_record_start(const char *path, const od_record_run *run)
{
    snprintf(recorder.path, sizeof recorder.path, "%s", path);
    recorder.file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (recorder.file < 0) {
        od_log(OD_LOG_WARNING, "record", "%s: %s; the run is not recorded", path, strerror(errno));
        return;
    }
    recorder.process = getpid();
    recorder.start_ns = od_clock_ns();
    atomic_store(&on, true);
    pthread_mutex_lock(&recorder.lock);
    put("ompdarts-graph %d", FORMAT_VERSION);
    end_line();
    put("run devices=%u memory=%zu buffer=%u lookahead_ns=%.0f seed=%" PRIu64 " spill=%d working=%d", run->ndevices,
        run->memory, run->buffer, run->lookahead * 1e9, run->seed, run->spill, run->working);
    end_line();
    put("policy %s", run->policy);
    end_line();
    put("eviction %s", run->evict);
    end_line();
    put("links %.0f %.9f %.0f %.9f", run->host_link.bandwidth, run->host_link.latency, run->peer_link.bandwidth,
        run->peer_link.latency);
    end_line();
    pthread_mutex_unlock(&recorder.lock);
}

void od_record_end(const od_device_stats *stats, unsigned ndevices)
{
    if (!begin())
        return;
    for (unsigned k = 0; k < ndevices; k++) {
        put("moved %u %" PRIu64 " %" PRIu64 " %" PRIu64, k, stats[k].h2d_bytes, stats[k].d2h_bytes, stats[k].d2d_bytes);
        end_line();
    }
    put("end %" PRIu64 " %u %" PRIu64, recorder.tasks, recorder.data.count, recorder.lines + 1);
    end_line();
    flush();
    if (atomic_load(&on) && close(recorder.file)) {
        od_log(OD_LOG_WARNING, "record", "%s: %s; the recording may not be whole", recorder.path, strerror(errno));
        recorder.file = -1;
    }
    atomic_store(&on, false);
    end();
}

void od_record_interrupt(void)
{
    if (!begin())
        return;
    flush();
    if (atomic_load(&on))
        give_up("the run was interrupted");
    end();
}

void od_record_locks(int (*visit)(pthread_mutex_t *lock))
{
    visit(&recorder.lock);
}
