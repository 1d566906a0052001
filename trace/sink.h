/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A file written in the background: text is gathered in chunks, which another thread writes. One
 * producer at a time; it waits only where the disk is far behind. A file that cannot be written any more (full disk) is
 * reported once, with a warning; the rest is dropped.
 */
#ifndef OD_TRACE_SINK_H
#define OD_TRACE_SINK_H

#include "util/status.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct od_sink od_sink;

enum { OD_SINK_MOST = 16384 }; /* bytes that may be reserved at once */

/* NULL, with errno set, where the file cannot be made (EBUSY: another process writes it) or there is no memory.
 * `threaded`: else the caller's thread writes. */
od_sink *od_sink_open(const char *path, bool threaded);
/* Room for the next OD_SINK_MOST bytes of text. */
char *od_sink_reserve(od_sink *sink);
/* The text in it ends before `end`. */
void od_sink_commit(od_sink *sink, const char *end);
/* Writes what is left. OD_EIO: not all could be written. */
od_status od_sink_close(od_sink *sink);
/* In the child of a fork, where the file is the parent's and its thread is not there. */
void od_sink_abandon(od_sink *sink);

#endif
