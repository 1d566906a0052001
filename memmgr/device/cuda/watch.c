/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * See watch.h. The pages are registered for write protection, which is never switched on: that is what makes the kernel
 * tell. Whoever changes them waits until what has happened is read, and may hold any lock of ours (it may be free()
 * under one), so the reader takes only the watch's own, under which nothing is allocated or freed.
 *
 * Between the change and the message another thread may get the addresses. In this time UFFDIO_WRITEPROTECT answers
 * EAGAIN, also for the watch's own page.
 */
#define _GNU_SOURCE
#include "memmgr/device/cuda/watch.h"

#include "util/memory.h"
#include "util/thread.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PAGE = 4096, MOST_RANGES = 256, TRIES = 1000, SOON_MS = 1 };

typedef struct range {
    uintptr_t begin, end;
} range;

struct od_watch {
    int file;
    int end; /* an eventfd: the thread is to end */
    void *page;
    pthread_t thread;
    bool (*heard)(void *arg);
    void *arg;
    unsigned forks; /* of the process, when last asked; under the lock, like the rest */
    pthread_mutex_t lock;
    range range[MOST_RANGES]; /* gone */
    unsigned count;
    bool too_many;
};

static atomic_uint forks;

static void note_fork(void)
{
    atomic_fetch_add(&forks, 1);
}

/* --- messages; the caller holds the lock ------------------------------------------ */

static void add(od_watch *w, uint64_t begin, uint64_t end)
{
    if (w->count == MOST_RANGES)
        w->too_many = true;
    else
        w->range[w->count++] = (range){(uintptr_t)begin, (uintptr_t)end};
}

static void take(od_watch *w, const struct uffd_msg *m)
{
    if (m->event == UFFD_EVENT_UNMAP || m->event == UFFD_EVENT_REMOVE)
        add(w, m->arg.remove.start, m->arg.remove.end);
    else if (m->event == UFFD_EVENT_REMAP)
        add(w, m->arg.remap.from, m->arg.remap.from + m->arg.remap.len);
}

static void read_all(od_watch *w)
{
    struct uffd_msg message;
    while (read(w->file, &message, sizeof message) == (ssize_t)sizeof message)
        take(w, &message);
}

/* False: somebody changes watched pages, and has not said so yet. */
static bool is_quiet(const od_watch *w)
{
    struct uffdio_writeprotect none = {.range = {(uintptr_t)w->page, PAGE}};
    return ioctl(w->file, UFFDIO_WRITEPROTECT, &none) == 0;
}

/* --- the thread -------------------------------------------------------------------- */

static void *watch(void *arg)
{
    od_watch *w = arg;
    struct pollfd files[] = {{.fd = w->file, .events = POLLIN}, {.fd = w->end, .events = POLLIN}};
    bool done = true;
    for (;;) {
        poll(files, 2, done ? -1 : SOON_MS);
        pthread_mutex_lock(&w->lock);
        read_all(w);
        pthread_mutex_unlock(&w->lock);
        if (files[1].revents)
            return NULL;
        done = w->heard(w->arg);
    }
}

/* --- life -------------------------------------------------------------------------- */

static bool open_file(od_watch *w)
{
    static const uint64_t events = UFFD_FEATURE_EVENT_UNMAP | UFFD_FEATURE_EVENT_REMOVE | UFFD_FEATURE_EVENT_REMAP;
    struct uffdio_api api = {.api = UFFD_API, .features = events | UFFD_FEATURE_PAGEFAULT_FLAG_WP};
    w->file = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | UFFD_USER_MODE_ONLY);
    return w->file >= 0 && !ioctl(w->file, UFFDIO_API, &api) && (api.features & events) == events;
}

static bool open_page(od_watch *w)
{
    w->page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return w->page != MAP_FAILED && od_watch_begin(w, (uintptr_t)w->page, (uintptr_t)w->page + PAGE) && is_quiet(w);
}

static void drop(od_watch *w)
{
    if (w->file >= 0)
        close(w->file);
    if (w->end >= 0)
        close(w->end);
    if (w->page != MAP_FAILED)
        munmap(w->page, PAGE);
    pthread_mutex_destroy(&w->lock);
    free(w);
}

od_watch *od_watch_create(bool (*heard)(void *arg), void *arg)
{
    static bool forks_are_noted;
    od_watch *w = od_calloc(1, sizeof *w);
    if (!w)
        return NULL;
    if (pthread_mutex_init(&w->lock, NULL)) {
        free(w);
        return NULL;
    }
    if (!forks_are_noted)
        forks_are_noted = !pthread_atfork(note_fork, NULL, NULL);
    w->file = -1;
    w->page = MAP_FAILED;
    w->heard = heard;
    w->arg = arg;
    w->forks = atomic_load(&forks);
    w->end = eventfd(0, EFD_CLOEXEC);
    if (forks_are_noted && w->end >= 0 && open_file(w) && open_page(w) &&
        !od_thread_start(&w->thread, "od-watch", watch, w))
        return w;
    drop(w);
    return NULL;
}

void od_watch_destroy(od_watch *w)
{
    uint64_t one = 1;
    if (!w)
        return;
    if (write(w->end, &one, sizeof one) == (ssize_t)sizeof one)
        pthread_join(w->thread, NULL);
    drop(w);
}

/* --- ranges ------------------------------------------------------------------------ */

bool od_watch_begin(od_watch *w, uintptr_t begin, uintptr_t end)
{
    struct uffdio_register r = {.range = {begin, end - begin}, .mode = UFFDIO_REGISTER_MODE_WP};
    return !ioctl(w->file, UFFDIO_REGISTER, &r);
}

void od_watch_end(od_watch *w, uintptr_t begin, uintptr_t end)
{
    struct uffdio_range r = {begin, end - begin};
    (void)ioctl(w->file, UFFDIO_UNREGISTER, &r);
}

bool od_watch_ask(od_watch *w, void (*gone)(void *arg, uintptr_t begin, uintptr_t end), void *arg)
{
    unsigned tries = 0;
    pthread_mutex_lock(&w->lock);
    for (read_all(w); !is_quiet(w) && ++tries < TRIES; read_all(w))
        sched_yield();
    read_all(w);
    bool all_known = tries < TRIES && !w->too_many && w->forks == atomic_load(&forks);
    for (unsigned i = 0; i < w->count; i++)
        gone(arg, w->range[i].begin, w->range[i].end);
    w->count = 0;
    w->too_many = false;
    w->forks = atomic_load(&forks);
    pthread_mutex_unlock(&w->lock);
    return all_known;
}
