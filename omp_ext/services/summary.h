/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* OMPDARTS_STATS: the figures of the run, at its end. */
#ifndef OD_OMP_EXT_SUMMARY_H
#define OD_OMP_EXT_SUMMARY_H

#include "omp_ext/services/service.h"

extern const od_service od_summary_service;

#endif
