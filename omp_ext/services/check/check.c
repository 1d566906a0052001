/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A handler for SIGSEGV that knows the guard's pages, and leaves all other faults to whoever had the signal before.
 *
 * The handler interrupts the faulting instruction, anywhere in the program: it allocates nothing, and takes no lock
 * that the program could hold (guard.h, images.h). A fault on a page that has just been opened by another thread is
 * answered by trying again.
 */
#define _GNU_SOURCE
#include "omp_ext/services/check/check.h"

#include "memmgr/data/guard.h"
#include "omp_ext/tasks/entry.h"
#include "omp_ext/libomp/images.h"
#include "omp_ext/process/signals/signals.h"
#include "omp_ext/services/source.h"
#include "omp_ext/services/check/symbols.h"
#include "util/log.h"
#include "util/memory.h"

#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

enum {
    STACK_BYTES = 64 * 1024, /* of a handler that walks the stack */
    TEXT_BYTES = 4096,
    FRAMES = 24,      /* looked at */
    FRAMES_SHOWN = OD_MOST_SYMBOLS, /* of the program's, from the access outwards */
    TRIES = 100,      /* at one address, while other threads open and close pages */
};

static od_guard *guard; /* NULL: off */
static _Atomic od_check mode;
static atomic_flag stopping = ATOMIC_FLAG_INIT;
static pthread_key_t stack_key; /* of a thread's alternate stack, to free it */
static _Thread_local bool has_stack;
static _Thread_local struct {
    const void *address;
    unsigned tries;
} missed;

/* --- the message ------------------------------------------------------------- */

typedef struct text {
    char bytes[TEXT_BYTES];
    size_t length;
} text;

__attribute__((format(printf, 2, 3))) static void add(text *t, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int n = vsnprintf(t->bytes + t->length, sizeof t->bytes - t->length, format, arguments);
    va_end(arguments);
    if (n > 0)
        t->length = t->length + (size_t)n < sizeof t->bytes ? t->length + (size_t)n : sizeof t->bytes - 1;
}

/* What a debugger or addr2line can find again: function and offset if exported, and always file and offset. */
static void add_code(text *t, const void *code)
{
    Dl_info info;
    if (!dladdr(code, &info) || !info.dli_fname) {
        add(t, "%p", code);
        return;
    }
    if (info.dli_sname)
        add(t, "%s+%#tx ", info.dli_sname, (const char *)code - (const char *)info.dli_saddr);
    add(t, "(%s+%#tx)", info.dli_fname, (const char *)code - (const char *)info.dli_fbase);
}

/* The file, where the program was compiled with -g. */
static void add_file(text *t, const od_ident *ident)
{
    const char *file;
    int length = od_source_file(ident, &file);
    if (length)
        add(t, " of %.*s", length, file);
}

static bool add_region(text *t, const char *kernel)
{
    od_region_name region;
    if (!od_source_region(kernel, &region))
        return false;
    add(t, "the target region in %.*s, line %d", region.length, region.function, region.line);
    return true;
}

static void add_user(text *t, const od_entry *user)
{
    if (!user) {
        add(t, "a construct that shows device addresses");
        return;
    }
    if (!add_region(t, od_images_kernel_name(user->code))) {
        add(t, "the task ");
        add_code(t, user->code);
    }
    add_file(t, user->source);
}

static bool is_ours(const void *code)
{
    Dl_info own, info;
    return dladdr(&guard, &own) && dladdr(code, &info) && own.dli_fbase == info.dli_fbase;
}

/* The interrupted instruction, and who called it, as far as it is the program's. */
static unsigned find_callers(const void *code, const void *caller[OD_MOST_SYMBOLS])
{
    void *frame[FRAMES];
    int n = backtrace(frame, FRAMES), first = 0;
    unsigned found = 0;
    while (first < n && frame[first] != code)
        first++;
    caller[found++] = code;
    for (int i = first + 1; i < n && i < first + FRAMES_SHOWN && !is_ours(frame[i]); i++)
        caller[found++] = (const char *)frame[i] - 1; /* the call, not what comes after it */
    return found;
}

static void add_callers(text *t, const void *code)
{
    const void *caller[OD_MOST_SYMBOLS];
    char symbol[OD_MOST_SYMBOLS][OD_SYMBOL_TEXT];
    unsigned n = find_callers(code, caller);
    od_symbols_find(caller, n, symbol);
    for (unsigned i = 0; i < n; i++) {
        add(t, i ? "\n     called from " : "  by ");
        if (symbol[i][0])
            add(t, "%s", symbol[i]);
        else
            add_code(t, caller[i]);
    }
    add(t, "\n");
}

typedef struct fault {
    uintptr_t address;
    const void *code; /* the interrupted instruction */
    bool write;
} fault;

static void describe(text *t, const fault *f, const od_guarded *tile)
{
    add(t, "ompdarts: check: the host %s %#" PRIxPTR ", byte %zu of the %zu bytes at %#" PRIxPTR ", while %s\n",
        f->write ? "writes to" : "reads from", f->address, (size_t)(f->address - tile->base), tile->size, tile->base,
        tile->access == OD_GUARD_READABLE ? "a device copy of them is kept"
                                          : "their current contents are on a device only");
    add_callers(t, f->code);
    add(t, "  last used on a device by ");
    add_user(t, tile->user);
    add(t, "\n  No dependence or synchronisation that the library can see orders this access: put it after a taskwait, "
           "taskgroup or barrier,\n  or into a task whose depend clause names these data; or run with "
           "OMPDARTS_COHERENCE=strict.\n");
}

static void print(const text *t)
{
    size_t done = 0;
    while (done < t->length) {
        ssize_t n = write(STDERR_FILENO, t->bytes + done, t->length - done);
        if (n <= 0 && errno != EINTR)
            return;
        done += n > 0 ? (size_t)n : 0;
    }
}

/* --- the signal ---------------------------------------------------------------- */

#if defined __x86_64__
static fault interrupted(const siginfo_t *info, const ucontext_t *context, const od_guarded *tile)
{
    enum { WRITE_ACCESS = 2 }; /* bit of the page fault's error code */
    (void)tile;
    return (fault){(uintptr_t)info->si_addr, (const void *)context->uc_mcontext.gregs[REG_RIP],
                   context->uc_mcontext.gregs[REG_ERR] & WRITE_ACCESS};
}
#else
static fault interrupted(const siginfo_t *info, const ucontext_t *context, const od_guarded *tile)
{
    (void)context;
    return (fault){(uintptr_t)info->si_addr, NULL, tile->access == OD_GUARD_READABLE};
}
#endif

static void report(const fault *f, const od_guarded *tile)
{
    text t = {.length = 0};
    if (mode == OD_CHECK_STOP && atomic_flag_test_and_set(&stopping))
        for (;;) /* another thread is about to end the process */
            pause();
    describe(&t, f, tile);
    if (mode == OD_CHECK_STOP) {
        print(&t);
        _exit(OD_EXIT_CHECK);
    }
    if (!od_guard_exempt(guard, tile->base)) {
        add(&t, "  Too many data are accessed like that: the check ends here.\n");
        mode = OD_CHECK_OFF;
        od_guard_lift(guard, 0, UINTPTR_MAX);
    }
    print(&t);
}

/* Another thread may have opened the page between the fault and now. */
static bool worth_another_try(const siginfo_t *info)
{
    if (info->si_code != SEGV_ACCERR)
        return false;
    if (missed.address != info->si_addr)
        missed.tries = 0;
    missed.address = info->si_addr;
    return missed.tries++ < TRIES;
}

static bool on_fault(const siginfo_t *info, void *context)
{
    od_guarded tile;
    if (!od_guard_find(guard, (uintptr_t)info->si_addr, &tile))
        return worth_another_try(info);
    fault f = interrupted(info, context, &tile);
    missed.tries = 0;
    report(&f, &tile);
    return true;
}

/* --- the handler's stack -------------------------------------------------------- */

static void free_stack(void *stack)
{
    sigaltstack(&(stack_t){.ss_flags = SS_DISABLE}, NULL);
    free(stack);
}

/* A thread's own stack may be what is protected: a local array whose function has returned too early. */
static void give_stack(void)
{
    stack_t old;
    has_stack = true;
    if (sigaltstack(NULL, &old) || !(old.ss_flags & SS_DISABLE))
        return;
    stack_t new = {.ss_sp = od_malloc(STACK_BYTES), .ss_size = STACK_BYTES};
    if (!new.ss_sp || pthread_setspecific(stack_key, new.ss_sp) || sigaltstack(&new, NULL))
        free(new.ss_sp);
}

/* --- what the runtime calls ------------------------------------------------------ */

static void start(const od_run *run)
{
    void *frame;
    od_check wanted = run->options->debug.check;
    if (wanted == OD_CHECK_OFF)
        return;
    od_guard *created = pthread_key_create(&stack_key, free_stack) ? NULL : od_guard_create();
    if (!created) {
        od_log(OD_LOG_WARNING, "check", "out of memory or thread-specific keys: OMPDARTS_DEBUG=check is off");
        return;
    }
    (void)backtrace(&frame, 1); /* loads what it needs, which a handler could not */
    mode = wanted;
    guard = created;
}

/* Nothing is protected any more. */
static void stop(const od_run *run)
{
    (void)run;
    if (!guard)
        return;
    mode = OD_CHECK_OFF;
    od_guard_lift(guard, 0, UINTPTR_MAX);
}

void od_check_update(const od_directory *directory)
{
    if (!guard || mode == OD_CHECK_OFF)
        return;
    if (!has_stack)
        give_stack();
    od_signals_take(SIGSEGV, on_fault);
    if (od_guard_update(guard, directory))
        od_log(OD_LOG_WARNING, "check", "the system cannot protect so many tiles one by one: some are not checked");
}

void od_check_before_store(const od_datum *datum)
{
    if (guard)
        od_guard_lift(guard, datum->base, datum->size);
}

static void before_fork(void)
{
    if (guard)
        od_guard_lock(guard);
}

/* In the child nothing is protected until the next update: what it does to its memory changes nothing for the
 * devices. */
static void after_fork(bool child)
{
    if (!guard)
        return;
    if (child)
        od_guard_lift_all(guard);
    od_guard_unlock(guard);
}

const od_service od_check_service = {
    .start = start, .stop = stop, .before_fork = before_fork, .after_fork = after_fork};
