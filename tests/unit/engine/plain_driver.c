/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* See plain_driver.h. */
#include "tests/unit/engine/plain_driver.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

void plain_complete_request(void *driver, od_request *request)
{
    (void)driver;
    od_request_destroy(request);
}

void plain_fatal(void *driver, const char *message)
{
    (void)driver;
    fail_msg("%s", message);
}
