/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * See faults.h. A thread that has a fault takes one of a fixed number of slots, posts it, and sleeps until it is
 * answered: in a signal handler nothing else is allowed.
 */
#define _GNU_SOURCE
#include "omp_ext/process/signals/faults.h"

#include "omp_ext/process/signals/signals.h"
#include "util/clock.h"
#include "util/thread.h"

#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

enum { SLOTS = 64 };
enum { FREE, TAKEN, POSTED, ANSWERED };

typedef struct slot {
    _Atomic uint32_t state;
    od_fault fault;
    bool ours;
} slot;

static slot slots[SLOTS];
static _Atomic uint32_t posted; /* counts them */
static od_status (*_Atomic serve)(const od_fault *fault);
static _Atomic uintptr_t lowest = UINTPTR_MAX, highest; /* addresses that faults of ours have */
static pid_t process;                                   /* which has the thread */

/* limit NULL: none. */
static void sleep_while(_Atomic uint32_t *word, uint32_t value, const struct timespec *limit)
{
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, limit, NULL, 0);
}

static void wake(_Atomic uint32_t *word)
{
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

/* --- the thread that answers --------------------------------------------------- */

/* False: not yet. */
static bool answer(slot *s)
{
    od_status status = serve(&s->fault);
    if (status == OD_EBUSY)
        return false;
    s->ours = status == OD_OK;
    atomic_store(&s->state, ANSWERED);
    wake(&s->state);
    return true;
}

static void *answer_all(void *arg)
{
    static const struct timespec nap = {.tv_nsec = 20 * 1000};
    (void)arg;
    for (;;) {
        uint32_t seen = atomic_load(&posted);
        bool any = false, later = false;
        for (int i = 0; i < SLOTS; i++) {
            if (atomic_load(&slots[i].state) != POSTED)
                continue;
            bool answered = answer(&slots[i]);
            any |= answered;
            later |= !answered;
        }
        if (!any)
            sleep_while(&posted, seen, later ? &nap : NULL);
    }
    return NULL;
}

/* --- the signal ---------------------------------------------------------------- */

static slot *take_slot(void)
{
    for (;;) {
        for (int i = 0; i < SLOTS; i++) {
            uint32_t expected = FREE;
            if (atomic_compare_exchange_strong(&slots[i].state, &expected, TAKEN))
                return &slots[i];
        }
        sched_yield();
    }
}

static bool ask(uintptr_t address, bool write)
{
    slot *s = take_slot();
    s->fault = (od_fault){.address = address, .write = write, .since_ns = od_clock_ns()};
    atomic_store(&s->state, POSTED);
    atomic_fetch_add(&posted, 1);
    wake(&posted);
    while (atomic_load(&s->state) != ANSWERED)
        sleep_while(&s->state, POSTED, NULL);
    bool ours = s->ours;
    atomic_store(&s->state, FREE);
    return ours;
}

static bool is_write(const ucontext_t *context)
{
#if defined __x86_64__
    enum { WRITE_ACCESS = 2 }; /* bit of the page fault's error code */
    return context->uc_mcontext.gregs[REG_ERR] & WRITE_ACCESS;
#else
    (void)context;
    return true; /* not known: what is only read counts as written, too */
#endif
}

bool od_faults_may_be_at(uintptr_t address)
{
    return address >= lowest && address < highest;
}

static bool on_fault(const siginfo_t *info, void *context)
{
    uintptr_t address = (uintptr_t)info->si_addr;
    bool may_be = info->si_code == SEGV_ACCERR && od_faults_may_be_at(address) && getpid() == process;
    return may_be && ask(address, is_write(context));
}

void od_faults_add(uintptr_t begin, uintptr_t end)
{
    if (begin < lowest)
        lowest = begin;
    if (end > highest)
        highest = end;
}

static void admit(sigset_t *before)
{
    sigset_t ours;
    sigemptyset(&ours);
    sigaddset(&ours, SIGSEGV);
    pthread_sigmask(SIG_UNBLOCK, &ours, before);
}

void od_faults_join_kernel(void)
{
    if (serve)
        admit(NULL);
}

void od_faults_begin_kernel(sigset_t *mask)
{
    od_signals_take(SIGSEGV, on_fault);
    admit(mask);
}

void od_faults_end_kernel(const sigset_t *mask)
{
    pthread_sigmask(SIG_SETMASK, mask, NULL);
}

od_status od_faults_start(od_status (*by)(const od_fault *fault))
{
    struct sigaction wanted;
    if (serve)
        return OD_OK;
    if (od_signals_wanted(SIGSEGV, &wanted) || od_signals_is_handler(&wanted))
        return OD_EBUSY;
    serve = by;
    process = getpid();
    if (od_thread_start(NULL, "od-pages", answer_all, NULL)) {
        serve = NULL;
        return OD_ENOMEM;
    }
    od_signals_take(SIGSEGV, on_fault);
    return OD_OK;
}
