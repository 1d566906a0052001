/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* See sink.h. */
#include "trace/sink.h"

#include "util/lock.h"
#include "util/log.h"
#include "util/memory.h"
#include "util/thread.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

enum { CHUNK = 1 << 18, MOST_WAITING = 256 };

typedef struct chunk {
    struct chunk *next;
    size_t length;
    char text[CHUNK];
} chunk;

struct od_sink {
    int file;
    bool threaded;
    char *path;
    chunk *current;
    pthread_t thread;
    od_lock lock; /* protects the rest */
    pthread_cond_t changed;
    chunk *first, **last; /* to be written */
    unsigned waiting;
    chunk *spare;
    bool closing, failed;
};

static bool write_all(int file, const char *text, size_t length)
{
    while (length) {
        ssize_t n = write(file, text, length);
        if (n < 0 && errno != EINTR)
            return false;
        if (n > 0) {
            text += n;
            length -= (size_t)n;
        }
    }
    return true;
}

/* Without the lock; only the writing thread sets `failed`. */
static void write_chunk(od_sink *sink, const chunk *c)
{
    if (sink->failed || write_all(sink->file, c->text, c->length))
        return;
    od_log(OD_LOG_WARNING, "trace", "%s: %s; the trace ends here, the program continues", sink->path, strerror(errno));
    sink->failed = true;
}

static void *write_behind(void *arg)
{
    od_sink *sink = arg;
    od_lock_take(&sink->lock);
    while (sink->first || !sink->closing) {
        chunk *c = sink->first;
        if (!c) {
            pthread_cond_wait(&sink->changed, &sink->lock.mutex);
            continue;
        }
        sink->first = c->next;
        if (!c->next)
            sink->last = &sink->first;
        od_lock_give(&sink->lock);
        write_chunk(sink, c);
        od_lock_take(&sink->lock);
        c->next = sink->spare;
        sink->spare = c;
        sink->waiting--;
        pthread_cond_broadcast(&sink->changed);
    }
    od_lock_give(&sink->lock);
    return NULL;
}

static void free_sink(od_sink *sink)
{
    while (sink->spare) {
        chunk *next = sink->spare->next;
        free(sink->spare);
        sink->spare = next;
    }
    free(sink->current);
    free(sink->path);
    free(sink);
}

/* A process that the program has started may be asked for the same file: it is the first one's. */
static int open_file(const char *path)
{
    int file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    if (file < 0)
        return file;
    if (flock(file, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK) {
        close(file);
        errno = EBUSY;
        return -1;
    }
    if (ftruncate(file, 0)) /* not a plain file: it has no length */
        errno = 0;
    return file;
}

od_sink *od_sink_open(const char *path, bool threaded)
{
    od_sink *sink = od_calloc(1, sizeof *sink);
    if (!sink)
        return NULL;
    sink->path = strdup(path);
    sink->current = od_malloc(sizeof *sink->current);
    sink->last = &sink->first;
    sink->threaded = threaded;
    sink->file = sink->path && sink->current ? open_file(path) : -1;
    if (sink->file < 0) {
        free_sink(sink);
        return NULL;
    }
    sink->current->length = 0;
    od_lock_init(&sink->lock, OD_LOCK_TRACE);
    pthread_cond_init(&sink->changed, NULL);
    if (threaded && od_thread_start(&sink->thread, "od-trace", write_behind, sink)) {
        close(sink->file);
        free_sink(sink);
        errno = EAGAIN;
        return NULL;
    }
    return sink;
}

/* Hands the current chunk to the thread and takes another one. Out of memory: waits for one that has been written. */
static void pass_on(od_sink *sink)
{
    chunk *new;
    od_lock_take(&sink->lock);
    *sink->last = sink->current;
    sink->current->next = NULL;
    sink->last = &sink->current->next;
    sink->waiting++;
    pthread_cond_broadcast(&sink->changed);
    while (!(new = sink->spare) && (sink->waiting >= MOST_WAITING || !(new = od_malloc(sizeof *new))))
        pthread_cond_wait(&sink->changed, &sink->lock.mutex);
    if (new == sink->spare)
        sink->spare = new->next;
    od_lock_give(&sink->lock);
    sink->current = new;
    new->length = 0;
}

char *od_sink_reserve(od_sink *sink)
{
    if (sink->current->length + OD_SINK_MOST > CHUNK && sink->threaded) {
        pass_on(sink);
    } else if (sink->current->length + OD_SINK_MOST > CHUNK) {
        write_chunk(sink, sink->current);
        sink->current->length = 0;
    }
    return sink->current->text + sink->current->length;
}

void od_sink_commit(od_sink *sink, const char *end)
{
    sink->current->length = (size_t)(end - sink->current->text);
}

od_status od_sink_close(od_sink *sink)
{
    if (sink->threaded) {
        od_lock_take(&sink->lock);
        sink->closing = true;
        pthread_cond_broadcast(&sink->changed);
        od_lock_give(&sink->lock);
        pthread_join(sink->thread, NULL);
    }
    write_chunk(sink, sink->current);
    if (close(sink->file) && !sink->failed) {
        od_log(OD_LOG_WARNING, "trace", "%s: %s", sink->path, strerror(errno));
        sink->failed = true;
    }
    od_status status = sink->failed ? OD_EIO : OD_OK;
    free_sink(sink);
    return status;
}

void od_sink_abandon(od_sink *sink)
{
    close(sink->file);
    sink->current = NULL; /* what lies elsewhere in the copy of the parent's memory stays there */
    sink->spare = NULL;
    free_sink(sink);
}
