/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Check mode (OMPDARTS_DEBUG=check): a host access to data of which a device copy is kept is found when it happens, by
 * page protection (memmgr/data/guard.h), and reported with the datum, the code that used it on a device, and the code
 * that touches it. Off, every function returns at once.
 */
#ifndef OD_OMP_EXT_CHECK_H
#define OD_OMP_EXT_CHECK_H

#include "memmgr/data/directory.h"
#include "omp_ext/services/service.h"

enum { OD_EXIT_CHECK = 88 }; /* exit code after a finding */

extern const od_service od_check_service;

/* An event is over: the state of the data may have changed. Under the runtime's lock. */
void od_check_update(const od_directory *directory);
/* Bytes of this datum are about to be copied to the host. Under the runtime's lock. */
void od_check_before_store(const od_datum *datum);

#endif
