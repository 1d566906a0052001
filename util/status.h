/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Status codes, shared by every part of ompdarts.
 *
 * A function that can fail returns od_status; OD_OK is 0, so that
 * `if (status)` reads as "if it failed". Nothing in the library exits.
 */
#ifndef OD_UTIL_STATUS_H
#define OD_UTIL_STATUS_H

typedef enum od_status {
    OD_OK = 0,
    OD_ENOMEM,  /* host memory exhausted */
    OD_EINVAL,  /* the caller passed something malformed */
    OD_EFULL,   /* a pool has no block of that size now */
    OD_EDEVICE, /* a device or back-end call failed */
    OD_EIO,     /* a file could not be read or written */
    OD_EBUSY,   /* under way: ask again */
} od_status;

/* A short English phrase for a status, never NULL. */
const char *od_status_text(od_status status);

#endif
