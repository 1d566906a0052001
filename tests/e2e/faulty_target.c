/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A device that fails: preloaded after libompdarts.so, this stands in front of libomptarget's launch and makes every n-th
 * one fail, n being the environment's FAULTY_EVERY, without having touched any data.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef int launch(void *ident, int64_t device, int32_t teams, int32_t threads, void *kernel, void *args);

launch __tgt_target_kernel;

int __tgt_target_kernel(void *ident, int64_t device, int32_t teams, int32_t threads, void *kernel, void *args)
{
    static atomic_uint calls;
    const char *text = getenv("FAULTY_EVERY");
    unsigned every = text ? (unsigned)atoi(text) : 0;
    if (every && (atomic_fetch_add(&calls, 1) + 1) % every == 0)
        return 1;
    void *symbol = dlsym(RTLD_NEXT, "__tgt_target_kernel");
    if (!symbol)
        return 1;
    launch *real;
    memcpy(&real, &symbol, sizeof real);
    return real(ident, device, teams, threads, kernel, args);
}
