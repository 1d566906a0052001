/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Parts of a driver for tests that drive the engine by hand and look at its transfers and tasks alone. */
#ifndef OD_TESTS_PLAIN_DRIVER_H
#define OD_TESTS_PLAIN_DRIVER_H

#include "sched/engine/engine.h"

/* Destroys the request. */
void plain_complete_request(void *driver, od_request *request);
/* Fails the test. */
void plain_fatal(void *driver, const char *message);

#endif
