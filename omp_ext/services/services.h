/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* All services (service.h) at once. */
#ifndef OD_OMP_EXT_SERVICES_H
#define OD_OMP_EXT_SERVICES_H

#include "omp_ext/services/service.h"

void od_services_start(const od_run *run);
void od_services_stop(const od_run *run);
void od_services_interrupt(const od_run *run);
void od_services_before_fork(void);
void od_services_after_fork(bool child);
void od_services_revive(const od_run *run);

#endif
