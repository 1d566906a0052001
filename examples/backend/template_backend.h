/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Template of a back-end; see template_backend.c.
 */
#ifndef TEMPLATE_BACKEND_H
#define TEMPLATE_BACKEND_H

#include "memmgr/device/backend.h"

/* Fills `backend`. The caller takes the pools next, and in the end calls od_backend_release(). */
od_status template_backend(od_backend *backend);

#endif
