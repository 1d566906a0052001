/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Check mode (OMPDARTS_CHECK): a host access to data of which a device copy is kept is found when it happens, by page
 * protection (memmgr/data/guard.h), and told with the datum, the code that used it on a device, and the code that touches it.
 * Off, every function returns at once.
 */
#ifndef OD_OMP_EXT_CHECK_H
#define OD_OMP_EXT_CHECK_H

#include "memmgr/data/directory.h"
#include "util/options.h"

enum { OD_EXIT_CHECK = 88 }; /* exit code after a finding */

/* Before the first task. */
void od_check_start(od_check mode);
/* The process ends: nothing is protected any more. */
void od_check_stop(void);
/* An event is over: the state of the data may have changed. Under the runtime's lock. */
void od_check_update(const od_directory *directory);
/* Bytes of this datum are about to be copied to the host. Under the runtime's lock. */
void od_check_before_store(const od_datum *datum);

/* Around a fork, in this order. In the child nothing is protected then until the next update: what it does to its memory
 * changes nothing for the devices. */
void od_check_before_fork(void);
void od_check_after_fork(bool child);

#endif
