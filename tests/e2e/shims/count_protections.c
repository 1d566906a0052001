/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Preloaded after libompdarts.so: how often mprotect() was called is the last line on standard error. With
 * PROTECTIONS_REFUSED=N each N-th call is refused, as if there were too many mappings; with PROTECTIONS_LIMIT=N the
 * system says that there may be N of them.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static atomic_ulong calls;
static unsigned long refused;

static void print(void)
{
    fprintf(stderr, "mprotect: %lu\n", atomic_load(&calls));
}

__attribute__((constructor)) static void prepare(void)
{
    const char *each = getenv("PROTECTIONS_REFUSED");
    refused = each ? strtoul(each, NULL, 10) : 0;
    atexit(print);
}

int mprotect(void *address, size_t bytes, int protection)
{
    unsigned long call = atomic_fetch_add(&calls, 1) + 1;
    if (refused && call % refused == 0) {
        errno = ENOMEM;
        return -1;
    }
    return (int)syscall(SYS_mprotect, address, bytes, protection);
}

FILE *fopen(const char *name, const char *mode)
{
    char *limit = getenv("PROTECTIONS_LIMIT");
    if (limit && strcmp(name, "/proc/sys/vm/max_map_count") == 0)
        return fmemopen(limit, strlen(limit), "r");
    FILE *(*next)(const char *, const char *) = (FILE * (*)(const char *, const char *)) dlsym(RTLD_NEXT, "fopen");
    return next(name, mode);
}
