/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Windows of devices whose memory is the process's own: LLVM's host devices. */
#ifndef OD_MEMMGR_WINDOW_HOST_H
#define OD_MEMMGR_WINDOW_HOST_H

#include "memmgr/window/window.h"

/* `state` is not used. */
extern const od_window_ops od_host_windows;

#endif
