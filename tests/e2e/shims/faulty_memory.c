/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Host memory and threads that run out: preloaded after libompdarts.so, this lets one allocation, or the creation of
 * one thread, that the library asks for fail; the program's own and those of other libraries are let through. From the
 * environment:
 *   FAULTY_MALLOC=n  the n-th malloc, calloc or realloc of the library fails
 *   FAULTY_MMAP=n    its n-th mmap fails: host devices' memory, spill areas, windows
 *   FAULTY_THREAD=n  its n-th pthread_create fails
 *   FAULTY_IN_A_ROW=m so many fail from there on, instead of one
 * What failed is said on standard error, so that a test knows when n is beyond the last one.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t n, size_t bytes);
void *__libc_realloc(void *old, size_t bytes);

static uintptr_t code_begin, code_end; /* of libompdarts.so */
static unsigned failing_malloc, failing_mmap, failing_thread, in_a_row = 1;

static int find_code(struct dl_phdr_info *info, size_t size, void *arg)
{
    (void)size;
    (void)arg;
    if (!strstr(info->dlpi_name, "libompdarts.so"))
        return 0;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_LOAD && (info->dlpi_phdr[i].p_flags & PF_X)) {
            code_begin = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
            code_end = code_begin + info->dlpi_phdr[i].p_memsz;
        }
    return 1;
}

static unsigned setting(const char *name)
{
    const char *text = getenv(name);
    return text ? (unsigned)atoi(text) : 0;
}

__attribute__((constructor)) static void load(void)
{
    dl_iterate_phdr(find_code, NULL);
    failing_malloc = setting("FAULTY_MALLOC");
    failing_mmap = setting("FAULTY_MMAP");
    failing_thread = setting("FAULTY_THREAD");
    in_a_row = getenv("FAULTY_IN_A_ROW") ? setting("FAULTY_IN_A_ROW") : 1;
}

static bool fails(void *caller, atomic_uint *calls, unsigned n)
{
    static const char message[] = "faulty: failed\n";
    bool ours = (uintptr_t)caller >= code_begin && (uintptr_t)caller < code_end;
    if (!n || !ours || atomic_fetch_add(calls, 1) + 1 - n >= in_a_row) /* below n: wraps round */
        return false;
    return write(STDERR_FILENO, message, sizeof message - 1) > 0;
}

static atomic_uint mallocs;

void *malloc(size_t bytes)
{
    return fails(__builtin_return_address(0), &mallocs, failing_malloc) ? NULL : __libc_malloc(bytes);
}

void *calloc(size_t n, size_t bytes)
{
    return fails(__builtin_return_address(0), &mallocs, failing_malloc) ? NULL : __libc_calloc(n, bytes);
}

void *realloc(void *old, size_t bytes)
{
    return fails(__builtin_return_address(0), &mallocs, failing_malloc) ? NULL : __libc_realloc(old, bytes);
}

void *mmap(void *at, size_t bytes, int protection, int flags, int file, off_t offset)
{
    static atomic_uint calls;
    if (!fails(__builtin_return_address(0), &calls, failing_mmap))
        return (void *)syscall(SYS_mmap, at, bytes, protection, flags, file, offset);
    errno = ENOMEM;
    return MAP_FAILED;
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *), void *arg)
{
    static atomic_uint calls;
    int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    if (fails(__builtin_return_address(0), &calls, failing_thread))
        return EAGAIN;
    void *symbol = dlsym(RTLD_NEXT, "pthread_create");
    if (!symbol)
        return EAGAIN;
    memcpy(&real, &symbol, sizeof real);
    return real(thread, attributes, start, arg);
}
