/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A program that sets its own action for SIGSEGV while kernels run whose page faults are the library's: a handler, by
 * sigaction and by signal, the default action, and none at all. It sees each action again that it has set, its handler
 * gets the faults of its own, and those alone.
 *
 * variants: sigaction signal default ignore
 * memory: 32Ki
 */
#include "check.h"

#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { BLOCKS = 16, SWEEPS = 12, SIZE = BLOCKS * TILE };

static double a[SIZE];
static sigjmp_buf back;
static atomic_int handled;

static void on_fault(int number)
{
    (void)number;
    atomic_fetch_add(&handled, 1);
    siglongjmp(back, 1);
}

static void on_fault_info(int number, siginfo_t *info, void *context)
{
    (void)info;
    (void)context;
    on_fault(number);
}

static void (*plain(const char *variant))(int)
{
    return !strcmp(variant, "default") ? SIG_DFL : !strcmp(variant, "ignore") ? SIG_IGN : on_fault;
}

static void set(const char *variant)
{
    struct sigaction now;
    if (strcmp(variant, "sigaction") != 0) {
        CHECK(signal(SIGSEGV, plain(variant)) == SIG_DFL);
        CHECK(sigaction(SIGSEGV, NULL, &now) == 0 && now.sa_handler == plain(variant));
        return;
    }
    struct sigaction mine = {.sa_sigaction = on_fault_info, .sa_flags = SA_SIGINFO | SA_NODEFER};
    struct sigaction before;
    sigemptyset(&mine.sa_mask);
    sigaddset(&mine.sa_mask, SIGUSR1);
    CHECK(sigaction(SIGSEGV, &mine, &before) == 0 && before.sa_handler == SIG_DFL);
    CHECK(sigaction(SIGSEGV, NULL, &now) == 0 && now.sa_sigaction == on_fault_info);
    CHECK((now.sa_flags & SA_NODEFER) && sigismember(&now.sa_mask, SIGUSR1));
}

/* Tasks name sections; each touches its neighbour's last element besides. */
static void sweep(void)
{
    for (int b = 0; b < BLOCKS; b++) {
        int first = b * TILE, beside = ((b + 1) % BLOCKS + 1) * TILE - 1;
#pragma omp target nowait map(to : a[0 : SIZE]) depend(inout : a[first : TILE]) depend(in : a[beside : 1])
        for (int i = 0; i < TILE - 1; i++)
            a[first + i] += 1 + a[beside];
    }
}

static void fault_of_its_own(void)
{
    volatile char *page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED)
        abort();
    if (!sigsetjmp(back, 1))
        page[0] = 1;
    munmap((void *)page, 4096);
}

int main(int argc, char **argv)
{
    const char *variant = argc > 1 ? argv[1] : "sigaction";
#pragma omp target enter data map(to : a)
#pragma omp parallel num_threads(2)
#pragma omp single
    {
        for (int s = 0; s < SWEEPS; s++) {
            sweep();
            if (s == SWEEPS / 3)
                set(variant);
            if (s == SWEEPS / 3 && plain(variant) == on_fault)
                for (int i = 0; i < 3; i++)
                    fault_of_its_own();
        }
#pragma omp taskwait
    }
    if (plain(variant) == SIG_IGN)
        raise(SIGSEGV);
#pragma omp target exit data map(from : a)
    for (int i = 0; i < SIZE; i++)
        CHECK(a[i] == ((i + 1) % TILE ? SWEEPS : 0));
    CHECK(handled == (plain(variant) == on_fault ? 3 : 0));
    return check_result();
}
