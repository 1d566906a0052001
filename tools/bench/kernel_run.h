/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* One run of a kernel under a policy, for `ompdarts bench`. */
#ifndef OD_TOOLS_BENCH_KERNEL_RUN_H
#define OD_TOOLS_BENCH_KERNEL_RUN_H

#include "tools/bench/bench_results.h"

#include <limits.h>

/* FOLDER/KERNEL-NUMBER-POLICY.ENDING, where NUMBER keeps apart what the policy's name alone might not. */
void od_bench_path(char path[PATH_MAX], const bench_request *r, const bench_kernel *k, size_t p, const char *ending);

/* A timed run, or the first one, which is traced and checks its result. False: it failed, or its result is not
 * `expected`; the reason has been printed. */
bool od_bench_run(const bench_request *r, const bench_kernel *k, size_t p, const char *program, bool timed,
                  const char *expected, bench_result *out);

#endif
