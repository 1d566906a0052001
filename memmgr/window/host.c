/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Windows in host memory: a file without a name, mapped twice. Both views show the same pages, the kernels' one with
 * protections of its own. Pages exist once they have been written to; a hole punched into the file gives them back.
 */
#define _GNU_SOURCE
#include "memmgr/window/host.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

/* NULL: there are not so many addresses. */
static void *map(int file, size_t bytes, int protection)
{
    void *at = mmap(NULL, bytes, protection, MAP_SHARED | MAP_NORESERVE, file, 0);
    return at != MAP_FAILED ? at : NULL;
}

static od_status host_reserve(void *state, unsigned k, size_t bytes, od_window_view *view)
{
    (void)state, (void)k;
    struct rlimit limit; /* of files counts here, too: what is larger would end the process (SIGXFSZ) */
    bool is_limited = !getrlimit(RLIMIT_FSIZE, &limit) && limit.rlim_cur != RLIM_INFINITY && bytes > limit.rlim_cur;
    int file = is_limited ? -1 : memfd_create("ompdarts", MFD_CLOEXEC);
    if (file < 0)
        return OD_EDEVICE;
    bool fits = ftruncate(file, (off_t)bytes) == 0;
    view->kernel = fits ? map(file, bytes, PROT_NONE) : NULL;
    view->copies = view->kernel ? map(file, bytes, PROT_READ | PROT_WRITE) : NULL;
    close(file); /* the mappings keep it */
    if (view->copies)
        return OD_OK;
    if (view->kernel)
        munmap(view->kernel, bytes);
    return OD_EDEVICE;
}

static void host_give_back(void *state, unsigned k, size_t bytes, const od_window_view *view)
{
    (void)state, (void)k;
    munmap(view->kernel, bytes);
    munmap(view->copies, bytes);
}

static od_status host_protect(void *state, unsigned k, char *kernel, size_t bytes, od_window_access access)
{
    static const int protections[] = {
        [OD_WINDOW_CLOSED] = PROT_NONE, [OD_WINDOW_READABLE] = PROT_READ, [OD_WINDOW_OPEN] = PROT_READ | PROT_WRITE};
    (void)state, (void)k;
    return mprotect(kernel, bytes, protections[access]) ? OD_ENOMEM : OD_OK;
}

static od_status host_discard(void *state, unsigned k, char *copies, size_t bytes)
{
    (void)state, (void)k;
    return madvise(copies, bytes, MADV_REMOVE) ? OD_EDEVICE : OD_OK;
}

/* The system's limit of mappings, but for what the rest of the process may need: a range that is protected apart is
 * one, and what is behind it another one. */
static size_t host_most_ranges(void *state)
{
    enum { USUAL = 65530 };
    unsigned long most = USUAL;
    (void)state;
    FILE *file = fopen("/proc/sys/vm/max_map_count", "re");
    if (file && fscanf(file, "%lu", &most) != 1)
        most = USUAL;
    if (file)
        fclose(file);
    return (most - most / 8) / 2;
}

const od_window_ops od_host_windows = {.reserve = host_reserve,
                                       .give_back = host_give_back,
                                       .protect = host_protect,
                                       .discard = host_discard,
                                       .most_ranges = host_most_ranges};
