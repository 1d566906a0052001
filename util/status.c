/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Status codes as English phrases, for messages.
 */
#include "util/status.h"

const char *od_status_text(od_status status)
{
    switch (status) {
    case OD_OK:
        return "success";
    case OD_ENOMEM:
        return "out of host memory";
    case OD_EINVAL:
        return "malformed argument";
    case OD_EFULL:
        return "no free block of that size";
    case OD_EDEVICE:
        return "a device call failed";
    case OD_EBUSY:
        return "under way";
    case OD_EIO:
        return "a file could not be read or written";
    }
    return "unknown status";
}
