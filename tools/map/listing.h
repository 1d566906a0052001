/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The account of a run as text. */
#ifndef OD_TOOLS_MAP_LISTING_H
#define OD_TOOLS_MAP_LISTING_H

#include "tools/map/account.h"

#include <stdio.h>

/* Each time that a construct ran, in the order of time. OD_ENOMEM */
od_status map_list_each(const trace_file *trace, const map_account *account, FILE *out);
/* Sums for each construct of the source. OD_ENOMEM */
od_status map_list_sums(const trace_file *trace, const map_account *account, FILE *out);

#endif
