/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What `ompdarts sim --help` says. */
#ifndef OD_SIM_COMMAND_USAGE_H
#define OD_SIM_COMMAND_USAGE_H

#include <stdio.h>

void sim_print_usage(FILE *file);

#endif
