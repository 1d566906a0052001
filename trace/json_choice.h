/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A choice of settings in a trace. */
#ifndef OD_TRACE_JSON_CHOICE_H
#define OD_TRACE_JSON_CHOICE_H

#include "sched/choice.h"

/* Its arguments, without the last brace. */
char *od_json_choice(char *at, const od_choice *choice);

#endif
